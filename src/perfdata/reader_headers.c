/* Records that describe the recording itself: the pipe form consists of them where the file form has sections; some occur in files, too. */
#include "base/cursor.h"
#include "perfdata/features/features_read.h"
#include "perfdata/reader_internal.h"

#include <linux/perf_event.h>
#include <string.h>

static void apply_attr(struct reader *reader, struct cursor *cursor)
{
	struct event_attr attr;
	size_t size;
	if (!attr_read(cursor->at, cursor_left(cursor), cursor->swap, &attr, &size))
		return;
	cursor_bytes(cursor, size);
	struct event *event = reader_add_event(reader, &attr);
	if (!event) {
		reader_diagnostics_note(&reader->diagnostics, 0, "too many events");
		return;
	}
	while (cursor_left(cursor) >= sizeof(uint64_t))
		vec_push(&event->ids, cursor_u64(cursor));
}

static const char *rest_as_text(struct reader *reader, struct cursor *cursor)
{
	size_t left = cursor_left(cursor);
	return arena_strndup(&reader->events.arena, (const char *)cursor->at, strnlen((const char *)cursor->at, left));
}

static struct event *event_to_update(struct reader *reader, uint64_t id)
{
	if (reader->events.events.len == 1)
		return reader->events.events.data[0];
	reader_update_events(reader);
	return reader_event_by_id(reader, id);
}

static void apply_update(struct reader *reader, struct cursor *cursor)
{
	uint64_t what = cursor_u64(cursor);
	struct event *event = event_to_update(reader, cursor_u64(cursor));
	if (!event)
		return;
	if (what == EVENT_UPDATE_UNIT) {
		event->unit = rest_as_text(reader, cursor);
	} else if (what == EVENT_UPDATE_NAME) {
		event->name = rest_as_text(reader, cursor);
	} else if (what == EVENT_UPDATE_SCALE) {
		uint64_t bits = cursor_u64(cursor);
		if (!cursor->failed)
			memcpy(&event->scale, &bits, sizeof(event->scale));
	}
}

static void apply_feature(struct reader *reader, struct cursor *cursor)
{
	uint64_t feature = cursor_u64(cursor);
	if (!cursor->failed && feature < 256)
		features_read(&reader->features, (unsigned int)feature, cursor->at, cursor_left(cursor), cursor->swap);
	if (feature == FEATURE_EVENT_DESC || feature == FEATURE_GROUP_DESC)
		reader_events_changed(reader);
}

/* Chromium OS recorded pipes with one record type for each feature, counted on from HOSTNAME at 69. */
static void apply_vendor_feature(struct reader *reader, const struct record_header *header, struct cursor *cursor)
{
	unsigned int feature = header->type - RECORD_VENDOR_FEATURES + FEATURE_HOSTNAME;
	features_read(&reader->features, feature, cursor->at, cursor_left(cursor), cursor->swap);
	reader_events_changed(reader);
}

bool reader_is_header_record(const struct reader *reader, uint32_t type)
{
	switch (type) {
	case RECORD_HEADER_ATTR:
	case RECORD_HEADER_EVENT_TYPE:
	case RECORD_HEADER_TRACING_DATA:
	case RECORD_HEADER_BUILD_ID:
	case RECORD_HEADER_FEATURE:
	case RECORD_EVENT_UPDATE:
	case RECORD_ID_INDEX:
	case RECORD_AUXTRACE_INFO:
	case RECORD_THREAD_MAP:
	case RECORD_CPU_MAP:
	case RECORD_STAT_CONFIG:
	case RECORD_TIME_CONV:
		return true;
	}
	return reader_is_vendor_feature(reader, type);
}

uint64_t reader_payload_size(const struct reader *reader, const struct record_header *header, const void *fields, bool swap)
{
	struct cursor cursor = cursor_init(fields, header->size - sizeof(*header), swap);
	if (reader_is_vendor_feature(reader, header->type))
		return 0;
	if (header->type == RECORD_AUXTRACE)
		return cursor_u64(&cursor);
	if (header->type == RECORD_HEADER_TRACING_DATA && reader->pipe)
		return cursor_u32(&cursor);
	return 0;
}

void reader_apply_header(struct reader *reader, const struct record_header *header, bool swap)
{
	struct cursor cursor = cursor_init(header + 1, header->size - sizeof(*header), swap);
	if (reader->private->settled >= READER_SETTLED_MAX)
		return;
	if (reader_is_vendor_feature(reader, header->type)) {
		apply_vendor_feature(reader, header, &cursor);
		return;
	}
	switch (header->type) {
	case RECORD_HEADER_ATTR:
		if (reader->pipe)
			apply_attr(reader, &cursor);
		break;
	case RECORD_ID_INDEX:
		reader_apply_id_index(reader, &cursor);
		break;
	case RECORD_AUXTRACE_INFO:
		reader->private->traced = true;
		break;
	case RECORD_EVENT_UPDATE:
		apply_update(reader, &cursor);
		break;
	case RECORD_HEADER_FEATURE:
		apply_feature(reader, &cursor);
		break;
	case RECORD_HEADER_BUILD_ID:
		features_set(&reader->features, FEATURE_BUILD_ID);
		features_read_build_id(&reader->features, header, cursor.at, cursor_left(&cursor), swap, false);
		break;
	}
}

void reader_settle_headers(struct reader *reader)
{
	if (reader->private->names_outdated)
		reader_merge_features(reader);
	reader_update_events(reader);
}
