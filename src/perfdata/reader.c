/* Opening a recording; its records are handed out by reader_records.c.
 *
 * A plain file is mapped and walked where it lies. Everything else (foreign byte order, compression, directories, pipes) goes through a
 * stream (stream.c) that makes plain records of it, into a temporary file that is mapped in its place, or chunk by chunk.
 *
 * Not done here: time order, decoding (decode.c), what a record means. */
#include "perfdata/reader.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/files/process_file.h"
#include "base/log.h"
#include "perfdata/features/features_read.h"
#include "perfdata/reader_internal.h"
#include "perfdata/record_fields.h"
#include "perfdata/stream.h"
#include "perfdata/swap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
		if (!event)
			return error_new_kind(ERROR_FORMAT, "damaged file: more than %d events", READER_EVENTS_MAX);
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
	uint64_t at = header->data.offset + header->data.size, total = 0;
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
		/* Sections don't overlap; where they do somebody wants to fill our memory. */
		total += section.size;
		if (total > private->file.size)
			continue;
		uint8_t *copy = mem_alloc(section.size + 1);
		memcpy(copy, data, section.size);
		features_read(&reader->features, feature, copy, section.size, reader->swapped);
		free(copy);
	}
}

/* Formats that cannot be read cost the names of fields, not the recording. */
void reader_load_formats(struct reader *reader, const void *data, size_t size)
{
	if (reader->private->settled >= READER_SETTLED_MAX)
		return;
	if (size && !reader->formats) {
		if (data != reader->private->tracing_data.data) {
			vec_reserve(&reader->private->tracing_data, size);
			memcpy(reader->private->tracing_data.data, data, size);
			data = reader->private->tracing_data.data;
		}
		error_free(tracepoint_formats_load_data(data, size, &reader->formats));
		reader->features.tracing_data = data;
		reader->features.tracing_data_size = size;
	}
	features_set(&reader->features, FEATURE_TRACING_DATA);
	reader_events_changed(reader);
}

/* A recording without any record: where its data would begin, the table of feature sections does, and its first entry points behind it. */
static bool is_empty_recording(const struct reader_private *private)
{
	const struct file_header *header = &private->header;
	uint64_t first, count = 0;
	for (int i = 0; i < 4; i++)
		count += (uint64_t)__builtin_popcountll(header->features[i]);
	if (!count || private->file.size - header->data.offset < count * sizeof(struct file_section))
		return false;
	memcpy(&first, private->file.data + header->data.offset, sizeof(first));
	return (private->kind.swapped ? __builtin_bswap64(first) : first) == header->data.offset + count * sizeof(struct file_section);
}

/* Brings the data section into the file's bounds. Its size is written last: still 0, or with no features behind it although there is more,
 * when the recorder was killed. Then all that follows is data. */
static void settle_data_section(struct reader *reader)
{
	struct file_header *header = &reader->private->header;
	uint64_t size = reader->private->file.size;
	const uint64_t *features = header->features;
	if (header->data.offset > size) {
		header->data = (struct file_section){.offset = size};
		reader->diagnostics.truncated = true;
		return;
	}
	if (!header->data.size && is_empty_recording(reader->private))
		return;
	uint64_t room = size - header->data.offset;
	bool no_features = !(features[0] | features[1] | features[2] | features[3]);
	if (!header->data.size || (no_features && header->data.size < room && header->size >= FILE_HEADER_SIZE)) {
		reader->diagnostics.unfinished = room > header->data.size;
		header->data.size = room;
		memset(header->features, 0, sizeof(header->features));
	} else if (header->data.size > room) {
		header->data.size = room;
		reader->diagnostics.truncated = true;
	}
}

/* A killed recorder could not note that it compressed: looks for the first such record. Who compresses leaves no sample outside. */
static bool is_compressed(struct reader *reader)
{
	const struct file_section data = reader->private->header.data;
	const uint8_t *at = reader->private->file.data + data.offset;
	uint64_t left = data.size;
	struct record_header head;
	if (features_has(&reader->features, FEATURE_COMPRESSED))
		return true;
	if (!reader->diagnostics.unfinished && features_has(&reader->features, FEATURE_EVENT_DESC))
		return false;
	for (; left >= sizeof(head); at += head.size, left -= head.size) {
		memcpy(&head, at, sizeof(head));
		if (reader->swapped)
			swap_header(&head);
		if (head.type == RECORD_COMPRESSED || head.type == RECORD_COMPRESSED2)
			return true;
		if (head.type == RECORD_SAMPLE || head.type == RECORD_AUXTRACE || head.size < sizeof(head) || head.size > left)
			return false;
	}
	return false;
}

static void set_stable(struct reader *reader, const struct mapping *mapping, uint64_t offset, uint64_t size)
{
	reader->stable = true;
	reader->records = mapping->data;
	reader->data_offset = offset;
	reader->data_end = offset + size;
}

/* How much of `size` bytes of records is wanted. */
static uint64_t wanted_bytes(const struct reader_options *options, uint64_t size)
{
	return options->first_bytes && options->first_bytes < size ? options->first_bytes : size;
}

static struct error *write_all(int fd, const uint8_t *data, size_t size)
{
	while (size) {
		ssize_t done = write(fd, data, size);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return error_system(done < 0 ? errno : ENOSPC,
					    "cannot write the temporary file for decompressed records (TMPDIR chooses its directory)");
		data += done;
		size -= (size_t)done;
	}
	return NULL;
}

/* Runs the stream to its end, into a temporary file that becomes the reader's records. They begin at `start`, as in the input, so that
 * offsets in messages mean the same. */
static struct error *spool(struct reader *reader, uint64_t start, const struct reader_options *options)
{
	struct reader_private *private = reader->private;
	cleanup_close int fd = -1;
	struct error *error = mapping_create_temporary(&fd);
	bool more = true;
	uint64_t written = 0;
	if (private->stream)
		stream_keep_traces(private->stream, true);
	start = (start + 7) & ~7ull;
	if (!error && (ftruncate(fd, (off_t)start) < 0 || lseek(fd, (off_t)start, SEEK_SET) < 0))
		error = error_system(errno, "temporary file");
	while (!error && more && written == wanted_bytes(options, written)) {
		struct reader_chunk *chunk = NULL;
		error = reader_next_chunk(reader, &chunk);
		more = chunk != NULL;
		if (!error && chunk)
			error = write_all(fd, chunk->data, chunk->size);
		written += chunk ? chunk->size : 0;
		stream_chunk_free(chunk);
		if (options->progress && private->stream)
			options->progress(options->progress_context, stream_position(private->stream), private->file_size);
	}
	stream_destroy(take_pointer(private->stream));
	if (!error)
		error = mapping_open_fd(fd, reader->path, &private->spool);
	if (error)
		return error;
	private->formats_removed = true;
	private->headers_done = UINT64_MAX;
	set_stable(reader, &private->spool, start, private->spool.size - start);
	return NULL;
}

struct error *reader_spool(struct reader *reader)
{
	return spool(reader, 0, &(struct reader_options){0});
}

/* simpleperf puts the formats of tracepoints into the first record: under the number of pipes or one of its own, with the data inside the
 * record. */
static void read_leading_formats(struct reader *reader)
{
	const struct file_section data = reader->private->header.data;
	struct cursor cursor = cursor_init(reader->private->file.data + data.offset, data.size, reader->swapped);
	uint32_t type = cursor_u32(&cursor);

	if (type != RECORD_HEADER_TRACING_DATA && type != RECORD_SIMPLEPERF_TRACING_DATA)
		return;
	cursor_u16(&cursor);
	uint16_t size = cursor_u16(&cursor);
	uint32_t payload = cursor_u32(&cursor);
	const void *formats = cursor_bytes(&cursor, payload);
	if (formats && size >= 12 && payload <= size - 12u)
		reader_load_formats(reader, formats, payload);
}

static struct error *open_file_form(struct reader *reader, const struct reader_options *options)
{
	struct reader_private *private = reader->private;
	struct error *error = header_read(private->file.data, private->file.size, private->kind, &private->header);
	if (error)
		return error;
	settle_data_section(reader);
	if ((error = read_attrs(reader)))
		return error;
	read_features(reader);
	if (reader->features.tracing_data_size)
		reader_load_formats(reader, reader->features.tracing_data, reader->features.tracing_data_size);
	else
		read_leading_formats(reader);
	reader_settle_headers(reader);
	const struct file_section data = private->header.data;
	if (!reader->swapped && data.offset % 8 == 0 && !private->directory_files.len && !is_compressed(reader)) {
		set_stable(reader, &private->file, data.offset, wanted_bytes(options, data.size));
		return NULL;
	}
	if (options->head_only)
		return NULL;
	struct stream *stream = stream_create_memory(reader, private->file.data + data.offset, data.size);
	for (size_t i = 0; i < private->directory_files.len; i++)
		stream_add_memory(stream, private->directory_files.data[i].data, private->directory_files.data[i].size);
	private->stream = stream;
	return spool(reader, data.offset, options);
}

/* ── Pipe form ── */

/* One maker's pipes begin with features as records of their own types: the first is a text whose length tells. */
static bool has_vendor_features(const uint8_t *data, size_t size, bool swapped)
{
	struct record_header head;
	uint32_t length;
	if (size < PIPE_HEADER_SIZE + sizeof(head) + sizeof(length))
		return false;
	memcpy(&head, data + PIPE_HEADER_SIZE, sizeof(head));
	memcpy(&length, data + PIPE_HEADER_SIZE + sizeof(head), sizeof(length));
	if (swapped)
		return false;
	return head.type == RECORD_VENDOR_FEATURES && head.size == length + sizeof(head) + sizeof(length);
}

/* Whether a mapped pipe form can be walked where it lies. */
static bool pipe_is_plain(const struct reader *reader)
{
	const struct mapping *file = &reader->private->file;
	uint64_t at = PIPE_HEADER_SIZE;
	struct record_header head;
	if (reader->swapped || reader->private->vendor_features)
		return false;
	while (file->size - at >= sizeof(head)) {
		memcpy(&head, file->data + at, sizeof(head));
		if (at % 8 || head.type == RECORD_COMPRESSED || head.type == RECORD_COMPRESSED2)
			return false;
		if (head.size < sizeof(head) || head.size > file->size - at || !reader_is_header_record(reader, head.type))
			return true;
		uint64_t feature = 0;
		if (head.type == RECORD_HEADER_FEATURE && head.size >= 16)
			memcpy(&feature, file->data + at + sizeof(head), sizeof(feature));
		if (feature == FEATURE_COMPRESSED)
			return false;
		uint64_t following = reader_payload_size(reader, &head, file->data + at + sizeof(head), false);
		at += head.size;
		at += following < file->size - at ? following : file->size - at;
	}
	return at % 8 == 0;
}

/* Applies what describes the recording, up to the first record that doesn't. */
static void read_pipe_headers(struct reader *reader)
{
	uint64_t offset = reader->data_offset;
	const struct record_header *header;
	while ((header = reader_record(reader, &offset, false)) && reader_is_header_record(reader, header->type)) {
		reader_apply_record(reader, header, offset);
		reader->private->headers_done = offset;
	}
	reader_settle_headers(reader);
}

static struct error *open_pipe_form(struct reader *reader, const struct reader_options *options)
{
	struct reader_private *private = reader->private;
	const struct mapping *file = &private->file;
	private->vendor_features = has_vendor_features(file->data, file->size, reader->swapped);
	if (pipe_is_plain(reader)) {
		set_stable(reader, file, PIPE_HEADER_SIZE, wanted_bytes(options, file->size - PIPE_HEADER_SIZE));
		read_pipe_headers(reader);
		return NULL;
	}
	struct stream *stream = stream_create_memory(reader, file->data + PIPE_HEADER_SIZE, file->size - PIPE_HEADER_SIZE);
	private->stream = stream;
	return options->head_only ? stream_fill(stream, true, &private->first_chunk) : spool(reader, PIPE_HEADER_SIZE, options);
}

bool reader_defers_chains(const struct reader *reader)
{
	for (size_t i = 0; i < reader->events.events.len; i++)
		if (reader->events.events.data[i]->attr.defer_callchain)
			return true;
	return false;
}

/* A real pipe. `begun` are the bytes that were read to recognise it. */
static struct error *open_pipe_fd(struct reader *reader, const struct reader_options *options, int fd, const uint8_t *begun, size_t size)
{
	struct reader_private *private = reader->private;
	private->vendor_features = has_vendor_features(begun, size, reader->swapped);
	private->stream = stream_create_fd(reader, fd, begun + PIPE_HEADER_SIZE, size - PIPE_HEADER_SIZE);
	if (!options->streaming)
		return spool(reader, PIPE_HEADER_SIZE, options);
	stream_keep_traces(private->stream, true);
	struct error *error = stream_fill(private->stream, true, &private->first_chunk);
	/* What samples lack comes behind them, and what ran before a hardware trace that tells of it. */
	if (!error && (reader_defers_chains(reader) || private->traced))
		return spool(reader, PIPE_HEADER_SIZE, options);
	stream_keep_traces(private->stream, false);
	return error;
}

/* ── Opening ── */

static struct error *open_input(struct reader *reader, const struct reader_options *options, int *ret_fd)
{
	struct stat st;
	if (!strcmp(reader->path, "-")) {
		*ret_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
		return *ret_fd < 0 ? error_system(errno, "standard input") : NULL;
	}
	int fd = open(reader->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		bool hint = errno == ENOENT && !options->path;
		const char *recorder = options->recorder ? options->recorder : "perf record";
		return hint ? error_system(errno, "cannot be opened (make one with '%s' first)", recorder)
			    : error_system(errno, "cannot be opened");
	}
	if (fstat(fd, &st) == 0 && !options->force && !owner_is_trusted(st.st_uid)) {
		close(fd);
		return error_new_kind(ERROR_PERMISSION, "belongs to another user; use --force to read it anyway");
	}
	*ret_fd = fd;
	return NULL;
}

static struct error *recognise(struct reader *reader, const void *data, size_t size)
{
	if (!size)
		return error_new_kind(ERROR_FORMAT, "it is empty");
	if (!header_detect(data, size, &reader->private->kind))
		return error_new_kind(ERROR_FORMAT, "not a recording: it has no perf.data header");
	reader->swapped = reader->private->kind.swapped;
	reader->pipe = reader->private->kind.pipe;
	return NULL;
}

static struct error *open_mapped(struct reader *reader, const struct reader_options *options, int fd)
{
	struct reader_private *private = reader->private;
	struct error *error = mapping_open_fd(fd, reader->path, &private->file);
	if (error)
		return error;
	private->file_size = private->file.size;
	error = recognise(reader, private->file.data, private->file.size);
	if (error)
		return error;
	return reader->pipe ? open_pipe_form(reader, options) : open_file_form(reader, options);
}

/* The file form out of a pipe (cat perf.data | …): it needs seeking, so it becomes a file first. */
static struct error *open_piped_file(struct reader *reader, const struct reader_options *options, int fd, const uint8_t *begun, size_t size)
{
	enum { BLOCK = 64 << 10 };
	cleanup_close int temporary = -1;
	cleanup_free uint8_t *block = mem_alloc(BLOCK);
	struct error *error = mapping_create_temporary(&temporary);
	if (!error)
		error = write_all(temporary, begun, size);
	while (!error) {
		ssize_t got = read(fd, block, BLOCK);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_system(errno, "reading");
		if (!got)
			return open_mapped(reader, options, temporary);
		error = write_all(temporary, block, (size_t)got);
	}
	return error;
}

static struct error *open_unmappable(struct reader *reader, const struct reader_options *options, int *fd)
{
	uint8_t begun[PIPE_HEADER_SIZE + 16];
	size_t size = 0;
	while (size < sizeof(begun)) {
		ssize_t got = read(*fd, begun + size, sizeof(begun) - size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_system(errno, "reading");
		if (!got)
			break;
		size += (size_t)got;
	}
	struct error *error = recognise(reader, begun, size);
	if (error)
		return error;
	if (!reader->pipe)
		return open_piped_file(reader, options, *fd, begun, size);
	return open_pipe_fd(reader, options, take_fd(*fd), begun, size);
}

static struct error *open_reader(struct reader *reader, const struct reader_options *options)
{
	cleanup_close int fd = -1;
	struct stat st;
	struct error *error = open_input(reader, options, &fd);
	if (error)
		return error;
	if (fstat(fd, &st) < 0)
		return error_system(errno, "its kind");
	reader->private->file_time = st.st_mtime;
	if (S_ISDIR(st.st_mode)) {
		int data = -1;
		error = reader_open_directory(reader, fd, options->force, &data);
		if (error)
			return error;
		close(fd);
		fd = data;
		if (fstat(fd, &st) == 0)
			reader->private->file_time = st.st_mtime;
	} else if (!S_ISREG(st.st_mode)) {
		return open_unmappable(reader, options, &fd);
	}
	return open_mapped(reader, options, fd);
}

struct reader *reader_create(const char *path)
{
	struct reader *reader = mem_zalloc(sizeof(*reader));
	reader->private = mem_zalloc(sizeof(*reader->private));
	pthread_mutex_init(&reader->private->copies_lock, NULL);
	reader->path = arena_strdup(&reader->events.arena, path);
	return reader;
}

const char *reader_default_path(void)
{
	struct stat st;
	return !fstat(STDIN_FILENO, &st) && S_ISFIFO(st.st_mode) ? "-" : "perf.data";
}

void reader_place(const struct reader *reader, struct reader_place *ret)
{
	const struct reader_private *private = reader->private->feed.of ? reader->private->feed.of->private : reader->private;
	const struct file_header *header = &private->header;
	*ret = (struct reader_place){.version = private->kind.v1 ? 0 : 1,
				     .changed = private->file_time,
				     .data_offset = header->data.offset,
				     .data_size = header->data.size,
				     .features_offset = header->data.offset + header->data.size};
}

const char *reader_name(const struct reader *reader)
{
	return strcmp(reader->path, "-") ? reader->path : "standard input";
}

/* Who didn't ask for standard input, as a program that is started with a pipe there, hears how to read the file. */
static struct error *name_input(struct error *error, const struct reader *reader, const struct reader_options *options)
{
	bool chosen = !options->path && !strcmp(reader->path, "-");
	return error_wrap(error, "%s%s", reader_name(reader), chosen ? " (a pipe; -i perf.data reads the file instead)" : "");
}

struct error *reader_open(const struct reader_options *options, struct reader **ret)
{
	struct reader *reader = reader_create(options->path ? options->path : reader_default_path());
	struct error *error = open_reader(reader, options);
	if (error) {
		error = name_input(error, reader, options);
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
	if (reader_changed(reader) && !reader->diagnostics.changed_told)
		log_warning("%s: " READER_CHANGED, reader->path);
	stream_destroy(private->stream);
	stream_chunk_free(private->first_chunk);
	mapping_close(&private->file);
	mapping_close(&private->spool);
	for (size_t i = 0; i < private->directory_files.len; i++)
		mapping_close(&private->directory_files.data[i]);
	vec_deinit(&private->directory_files);
	map64_deinit(&reader->guests);
	map64_deinit(&reader->private->named_guests);
	vec_deinit(&reader->guest_pids);
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
