/* The pipe form of a recording: there is no going back to a header, so all that describes the data is sent before it as records. */
#include "base/mem.h"
#include "perfdata/features/features_write.h"
#include "perfdata/writer_internal.h"

#include <string.h>

/* ── Records of the head; each is padded to 8 bytes ── */

/* The first `size` bytes of a record's structure (perfdata/records.def), whose header has the type. Returns where it began. */
static size_t begin(struct strbuf *out, const void *record, size_t size)
{
	strbuf_add(out, record, size);
	return out->len - size;
}

/* Gives the record that began at `start` its size. False, and it is taken back, when it is too long for one. */
static bool end(struct strbuf *out, size_t start)
{
	strbuf_add_chars(out, '\0', -(out->len - start) & 7);
	if (out->len - start > UINT16_MAX) {
		out->len = start;
		return false;
	}
	uint16_t size = (uint16_t)(out->len - start);
	memcpy(out->data + start + offsetof(struct record_header, size), &size, sizeof(size));
	return true;
}

static struct error *add_attr(const struct writer *writer, const struct event *event, struct strbuf *out)
{
	struct event_attr attr = event->attr;
	const struct record_header_attr record = {.header.type = RECORD_HEADER_ATTR};
	size_t start = begin(out, &record, offsetof(struct record_header_attr, attr));
	attr.size = writer->attr_size;
	strbuf_add(out, &attr, writer->attr_size);
	if (event->ids.len)
		strbuf_add(out, event->ids.data, event->ids.len * sizeof(uint64_t));
	if (!end(out, start))
		return error_new(
			"event %s has %zu counters, too many for the pipe format; record to a file with -o, or measure fewer threads "
			"or CPUs",
			event->name, event->ids.len);
	return NULL;
}

static void add_feature(const struct writer *writer, const struct features *features, unsigned int feature, struct strbuf *out)
{
	const struct record_header_feature record = {.header.type = RECORD_HEADER_FEATURE, .feature = feature};
	size_t start = begin(out, &record, sizeof(record));
	if (!writer_encode_feature(writer, features, feature, out))
		out->len = start;
	else
		end(out, start); /* what is too long for a record cannot be sent: the kernel's perf leaves it out, too */
}

static void add_tracing_data(const struct features *features, struct strbuf *out)
{
	size_t padded = (features->tracing_data_size + 7) & ~7ull;
	const struct record_header_tracing_data record = {.header.type = RECORD_HEADER_TRACING_DATA, .size = (uint32_t)padded};
	size_t start = begin(out, &record, sizeof(record));
	end(out, start); /* to 16 bytes, so that all records lie aligned, too, when the stream is kept in a file */
	strbuf_add(out, features->tracing_data, features->tracing_data_size);
	strbuf_add_chars(out, '\0', padded - features->tracing_data_size);
}

static bool feature_goes_ahead(unsigned int feature)
{
	return feature != FEATURE_TRACING_DATA && feature != FEATURE_BUILD_ID && feature != FEATURE_SAMPLE_TIME &&
	       feature != FEATURE_SELF_CONTAINED; /* too large for a record */
}

struct error *writer_pipe_head(struct writer *writer, const struct features *features, const uint64_t bits[4])
{
	const struct event_list *list = writer->events;
	const uint64_t header[2] = {HEADER_MAGIC_V2, PIPE_HEADER_SIZE};
	struct strbuf out = {0};
	struct error *error = NULL;
	strbuf_add(&out, header, sizeof(header));
	for (size_t i = 0; i < list->events.len && !error; i++)
		error = add_attr(writer, list->events.data[i], &out);
	for (unsigned int feature = 0; feature < FEATURE_COUNT; feature++)
		if (bits[feature / 64] >> feature % 64 & 1 && feature_goes_ahead(feature))
			add_feature(writer, features, feature, &out);
	if (features && features->tracing_data_size)
		add_tracing_data(features, &out);
	if (!error) {
		struct iovec piece = {out.data, out.len};
		error = writer_write(writer, &piece, 1, false);
	}
	strbuf_deinit(&out);
	return error;
}

struct error *writer_add_build_id(struct writer *writer, const struct feature_build_id *entry)
{
	struct strbuf out = {0};
	features_write_build_id(entry, RECORD_HEADER_BUILD_ID, &out);
	struct error *error = writer_add(writer, out.data, out.len);
	strbuf_deinit(&out);
	return error;
}

struct error *writer_pipe_tail(struct writer *writer, const struct features *features)
{
	struct strbuf out = {0};
	for (size_t i = 0; features && i < features->build_ids.len; i++)
		features_write_build_id(&features->build_ids.data[i], RECORD_HEADER_BUILD_ID, &out);
	struct iovec piece = {out.data, out.len};
	struct error *error = out.len ? writer_write(writer, &piece, 1, true) : NULL;
	strbuf_deinit(&out);
	return error;
}
