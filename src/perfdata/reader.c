/* Opening a recording and walking its records.
 *
 * A plain file is mapped and walked where it lies. Everything else (foreign byte order, compression, directories, pipes) goes through a
 * stream (stream.c) that makes plain records of it, into a temporary file that is mapped in its place, or chunk by chunk.
 *
 * Not done here: time order, decoding (decode.c), what a record means. */
#include "perfdata/reader.h"
#include "base/cleanup.h"
#include "perfdata/features_read.h"
#include "perfdata/reader_internal.h"
#include "perfdata/records_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void note_broken(struct reader *reader, uint64_t offset, const char *what)
{
	if (!reader->trouble.broken_records++) {
		reader->trouble.first_broken = what;
		reader->trouble.first_broken_offset = offset;
	}
}

/* ── File form ── */

static void read_ids(struct reader *reader, struct event *event, struct file_section section)
{
	const struct mapping *file = &reader->private->file;
	if (section.offset > file->size || section.size > file->size - section.offset)
		return;
	const uint8_t *at = file->data + section.offset;
	for (uint64_t i = 0; i < section.size / 8; i++) {
		uint64_t id;
		memcpy(&id, at + i * 8, sizeof(id));
		vec_push(&event->ids, reader->swapped ? __builtin_bswap64(id) : id);
	}
}

static struct error *read_attrs(struct reader *reader)
{
	const struct reader_private *private = reader->private;
	const struct file_header *header = &private->header;
	const uint8_t *at = private->file.data + header->attrs.offset;
	uint64_t total_ids = 0;
	for (uint64_t i = 0; i < header->attrs.size / header->attr_size; i++, at += header->attr_size) {
		struct event_attr attr;
		size_t size;
		struct file_section ids;
		size_t room = header->attr_size - sizeof(ids);
		if (!attr_read(at, room, reader->swapped, &attr, &size))
			return error_new_kind(ERROR_FORMAT, "attribute %llu is damaged", (unsigned long long)i);
		struct event *event = reader_add_event(reader, &attr);
		memcpy(&ids, at + room, sizeof(ids));
		if (reader->swapped) {
			ids.offset = __builtin_bswap64(ids.offset);
			ids.size = __builtin_bswap64(ids.size);
		}
		/* Sections that overlap could ask for more memory than the file has bytes. */
		total_ids += ids.size > private->file.size ? 0 : ids.size;
		if (total_ids <= private->file.size)
			read_ids(reader, event, ids);
	}
	return NULL;
}

/* The table of sections behind the data: one for each feature bit, lowest first. */
static void read_features(struct reader *reader)
{
	const struct reader_private *private = reader->private;
	const struct file_header *header = &private->header;
	uint64_t at = header->data.offset + header->data.size;
	for (unsigned int feature = 0; feature < 256; feature++) {
		struct file_section section;
		if (!(header->features[feature / 64] >> feature % 64 & 1))
			continue;
		if (at > private->file.size || private->file.size - at < sizeof(section))
			return;
		memcpy(&section, private->file.data + at, sizeof(section));
		at += sizeof(section);
		if (reader->swapped) {
			section.offset = __builtin_bswap64(section.offset);
			section.size = __builtin_bswap64(section.size);
		}
		if (section.offset > private->file.size || section.size > private->file.size - section.offset)
			continue;
		const uint8_t *data = private->file.data + section.offset;
		if (feature == FEATURE_TRACING_DATA) {
			features_set(&reader->features, feature);
			reader->features.tracing_data = data;
			reader->features.tracing_data_size = section.size;
			continue;
		}
		features_read(&reader->features, feature, data, section.size, reader->swapped);
	}
}

/* Formats that cannot be read cost the names of fields, not the recording. */
static void load_formats(struct reader *reader)
{
	if (!reader->features.tracing_data_size || reader->formats)
		return;
	struct error *error =
		tracepoint_formats_load_data(reader->features.tracing_data, reader->features.tracing_data_size, &reader->formats);
	error_free(error);
}

static struct error *open_file_form(struct reader *reader)
{
	struct reader_private *private = reader->private;
	struct file_header *header = &private->header;
	struct error *error = header_read(private->file.data, private->file.size, private->kind, header);
	if (error)
		return error;
	uint64_t size = private->file.size;
	if (header->data.offset > size) {
		header->data = (struct file_section){.offset = size};
		reader->trouble.truncated = true;
	} else if (!header->data.size) {
		/* Written last: still 0 when the recorder was killed. What follows the head is data then, and there are no features. */
		reader->trouble.unfinished = size > header->data.offset;
		header->data.size = size - header->data.offset;
		memset(header->features, 0, sizeof(header->features));
	} else if (header->data.size > size - header->data.offset) {
		header->data.size = size - header->data.offset;
		reader->trouble.truncated = true;
	}
	if ((error = read_attrs(reader)))
		return error;
	read_features(reader);
	load_formats(reader);
	reader->stable = true;
	reader->records = private->file.data;
	reader->data_offset = header->data.offset;
	reader->data_end = header->data.offset + header->data.size;
	return NULL;
}

/* ── Opening ── */

static struct error *open_input(struct reader *reader, const struct reader_options *options, int *ret_fd)
{
	struct stat st;
	if (!strcmp(reader->path, "-")) {
		*ret_fd = dup(STDIN_FILENO);
		return *ret_fd < 0 ? error_system(errno, "standard input") : NULL;
	}
	int fd = open(reader->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		bool hint = errno == ENOENT && !options->path;
		return error_system(errno, "cannot open %s%s", reader->path, hint ? " (try 'perf record' first)" : "");
	}
	if (fstat(fd, &st) == 0 && !options->force && st.st_uid && st.st_uid != geteuid()) {
		close(fd);
		return error_new_kind(ERROR_PERMISSION, "%s belongs to another user, neither you nor root; use -f to read it all the same",
				      reader->path);
	}
	*ret_fd = fd;
	return NULL;
}

static struct error *open_reader(struct reader *reader, const struct reader_options *options)
{
	struct reader_private *private = reader->private;
	cleanup_close int fd = -1;
	struct error *error = open_input(reader, options, &fd);
	if (error)
		return error;
	error = mapping_open_fd(fd, reader->path, &private->file);
	if (error)
		return error;
	private->file_size = private->file.size;
	if (!header_detect(private->file.data, private->file.size, &private->kind))
		return error_new_kind(ERROR_FORMAT, "not a recording: its first bytes are not those of a perf.data");
	reader->swapped = private->kind.swapped;
	reader->pipe = private->kind.pipe;
	return open_file_form(reader);
}

struct error *reader_open(const struct reader_options *options, struct reader **ret)
{
	struct reader *reader = mem_zalloc(sizeof(*reader));
	reader->private = mem_zalloc(sizeof(*reader->private));
	pthread_mutex_init(&reader->private->copies_lock, NULL);
	reader->path = arena_strdup(&reader->events.arena, options->path ? options->path : "perf.data");
	struct error *error = open_reader(reader, options);
	if (error) {
		error = error_wrap(error, "%s", reader->path);
		reader_close(reader);
		return error;
	}
	reader_merge_features(reader);
	reader_update_events(reader);
	*ret = reader;
	return NULL;
}

void reader_close(struct reader *reader)
{
	if (!reader)
		return;
	struct reader_private *private = reader->private;
	mapping_close(&private->file);
	mapping_close(&private->spool);
	vec_deinit(&private->layouts);
	vec_deinit(&private->tracing_data);
	map64_deinit(&private->ids);
	free(private->near);
	map64_deinit(&private->copies);
	arena_deinit(&private->copies_arena);
	pthread_mutex_destroy(&private->copies_lock);
	tracepoint_formats_destroy(reader->formats);
	features_deinit(&reader->features);
	event_list_deinit(&reader->events);
	free(private);
	free(reader);
}

uint64_t reader_file_size(const struct reader *reader)
{
	return reader->private->file_size;
}

/* ── Walking stable input ── */

/* A record that doesn't begin at a multiple of 8: its aligned copy, the same one each time. */
static const struct record_header *aligned_copy(struct reader *reader, uint64_t offset, uint16_t size)
{
	struct reader_private *private = reader->private;
	pthread_mutex_lock(&private->copies_lock);
	bool fresh;
	uint64_t *slot = map64_insert(&private->copies, offset, &fresh);
	if (fresh)
		*slot = (uintptr_t)arena_copy(&private->copies_arena, reader->records + offset, size);
	const void *copy = (const void *)(uintptr_t)*slot;
	pthread_mutex_unlock(&private->copies_lock);
	return copy;
}

/* Bytes that follow a record without being counted in its size. */
static uint64_t payload_size(const struct reader *reader, const struct record_header *header)
{
	if (reader->private->payloads_removed)
		return 0;
	if (header->type == RECORD_AUXTRACE && header->size >= 16)
		return *(const uint64_t *)(header + 1);
	if (header->type == RECORD_HEADER_TRACING_DATA && header->size >= 12 && reader->pipe)
		return ((uint64_t) * (const uint32_t *)(header + 1) + 7) & ~7ull;
	return 0;
}

/* Whether a record is handed out; what is wrong with it is noted. `at` is where it begins. */
static bool accept_record(struct reader *reader, const struct record_header *header, uint64_t at, bool note)
{
	const struct record_kind *kind = record_kind(header->type);
	if (!kind) {
		reader->trouble.unknown_records += note;
		return false;
	}
	const char *broken = record_check(kind, header);
	if (broken && note)
		note_broken(reader, at, broken);
	return !broken;
}

const struct record_header *reader_record(struct reader *reader, uint64_t *offset, bool note)
{
	for (;;) {
		uint64_t at = *offset;
		struct record_header head;
		if (at >= reader->data_end || reader->data_end - at < sizeof(head)) {
			reader->trouble.truncated |= note && at < reader->data_end;
			return NULL;
		}
		memcpy(&head, reader->records + at, sizeof(head));
		if (head.size < sizeof(head) || head.size > reader->data_end - at) {
			reader->trouble.truncated |= note;
			return NULL;
		}
		const struct record_header *header = (const struct record_header *)(reader->records + at);
		if (at & 7)
			header = aligned_copy(reader, at, head.size);
		uint64_t payload = payload_size(reader, header);
		uint64_t left = reader->data_end - at - head.size;
		if (payload > left) {
			payload = left;
			reader->trouble.truncated |= note;
		}
		*offset = at + head.size + payload;
		if (note && head.type == RECORD_AUXTRACE)
			reader->trouble.auxtrace_bytes += payload;
		if (accept_record(reader, header, at, note))
			return header;
	}
}
