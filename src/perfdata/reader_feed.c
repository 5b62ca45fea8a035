/* A reader of records that come from no recording. Its description is complete when it is opened; so chunks go through as they are, but for
 * records that nobody could read: newer kernels have types that we don't know. */
#include "perfdata/reader_internal.h"
#include "perfdata/record_fields.h"
#include "perfdata/stream.h"

#include <string.h>

struct reader *reader_open_feed(const char *name, const struct reader_feed *feed, struct event_list *events, struct features *features)
{
	struct reader *reader = reader_create("");
	arena_deinit(&reader->events.arena);
	reader->events = *events;
	*events = (struct event_list){0};
	reader->path = arena_strdup(&reader->events.arena, name);
	reader->private->feed = *feed;
	if (features) {
		reader->features = *features;
		*features = (struct features){0};
		if (reader->features.tracing_data_size)
			reader_load_formats(reader, reader->features.tracing_data, reader->features.tracing_data_size);
	}
	reader_refresh_events(reader);
	return reader;
}

void reader_refresh_events(struct reader *reader)
{
	reader_events_changed(reader);
	reader_merge_features(reader);
	reader_update_events(reader);
}

const struct reader_feed *reader_file_feed(const struct reader *reader)
{
	const struct reader_feed *feed = &reader->private->feed;

	return feed->find_file ? feed : NULL;
}

/* Whether it is handed on; else it is counted. */
static bool is_sound(struct reader *reader, const struct record_header *header, uint64_t offset)
{
	const struct record_kind *kind = record_kind(header->type);
	const char *broken = kind ? record_check(kind, header) : NULL;
	if (!kind)
		reader->diagnostics.unknown_records++;
	else if (broken)
		reader_diagnostics_note(&reader->diagnostics, offset, broken);
	return kind && !broken;
}

/* Takes out what isn't sound. Behind a size that is impossible nothing can be found. */
static void check_chunk(struct reader *reader, struct reader_chunk *chunk)
{
	uint8_t *data = (uint8_t *)chunk->data;
	size_t kept = 0, at = 0;
	while (chunk->size - at >= sizeof(struct record_header)) {
		const struct record_header *header = (const struct record_header *)(data + at);
		size_t size = header->size;
		if (size < sizeof(*header) || size % 8 || size > chunk->size - at) {
			reader_diagnostics_note(&reader->diagnostics, chunk->offset + at, "size isn't a multiple of 8 within the data");
			break;
		}
		if (is_sound(reader, header, chunk->offset + at)) {
			if (kept != at)
				memmove(data + kept, data + at, size);
			kept += size;
		}
		at += size;
	}
	chunk->size = kept;
}

struct error *reader_next_fed(struct reader *reader, struct reader_chunk **ret)
{
	struct reader_private *private = reader->private;
	*ret = NULL;
	struct error *error = private->feed.next(private->feed.context, ret);
	if (error || !*ret)
		return error;
	(*ret)->offset = private->fed;
	private->fed += (*ret)->size;
	check_chunk(reader, *ret);
	return NULL;
}
