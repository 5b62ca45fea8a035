/* Puts a recording down: head, data, features.
 *
 *	file:  header | ids | attributes | data ……… | table of feature sections | sections
 *	pipe:  pipe header | HEADER_ATTR, EVENT_UPDATE, HEADER_FEATURE, TRACING_DATA | data ……… | BUILD_ID
 *
 * Records that come one by one are collected in a buffer; ring pieces go to the kernel together with what is in it by one writev(). After
 * each write to a file, the data size in its header follows, so that at any moment the file is a valid recording of whole records.
 *
 * Not done here: opening safely (output.c), encoding of features (features_write.c), the pipe's head (writer_pipe.c). */
#include "perfdata/writer.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "perfdata/compress.h"
#include "perfdata/features/features_write.h"
#include "perfdata/output.h"
#include "perfdata/writer_internal.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

/* ── Bytes ── */

static struct error *write_failed(struct writer *writer, int code)
{
	const char *hint = "";
	if (code == ENOSPC)
		hint = " (the disk is full: free some space, use -z or a lower -F, or write elsewhere with -o)";
	else if (code == EDQUOT)
		hint = " (your disk quota is exceeded: free some space, use -z or a lower -F, or write elsewhere with -o)";
	else if (code == EFBIG)
		hint = " (the file size limit is reached: ulimit -f)";
	else if (code == EPIPE)
		hint = " (the program that reads the pipe has ended)";
	writer->failed = code;
	return error_system(code, "writing %s failed after %llu bytes%s", writer->path, (unsigned long long)writer->totals.file_bytes,
			    hint);
}

static struct error *failed_before(const struct writer *writer)
{
	return writer->failed ? error_system(writer->failed, "writing %s failed before", writer->path) : NULL;
}

/* Where the data ends now goes into the header: 8 bytes. */
static void update_data_size(struct writer *writer)
{
	if (writer->pipe || writer->bare)
		return;
	uint64_t size = writer->totals.data_bytes;
	ssize_t done = pwrite(writer->fd, &size, sizeof(size), offsetof(struct file_header, data.size));
	(void)done; /* the bytes are there already: no room is needed; on devices it doesn't matter */
}

/* The size of the record that was just written `at` bytes behind the file's end, with the trace that follows it; 0 = it isn't there. */
static uint64_t written_record(const struct writer *writer, uint64_t at)
{
	const off_t offset = (off_t)(writer->totals.file_bytes + at);
	struct record_auxtrace record = {0};
	ssize_t done = pread(writer->fd, &record, sizeof(record), offset);
	if (done < (ssize_t)sizeof(record.header) || record.header.size < sizeof(record.header))
		return 0;
	return record.header.type == RECORD_AUXTRACE ? record.header.size + record.size : record.header.size;
}

/* How many of the `size` bytes that were just written at the file's end are whole records. */
static uint64_t whole_records(const struct writer *writer, uint64_t size)
{
	uint64_t at = 0, length;
	while (at + sizeof(struct record_header) <= size && (length = written_record(writer, at)) && length <= size - at)
		at += length;
	return at;
}

/* Counts `size` bytes of data (and the standby table behind them) as written, and lets the header know. */
static void account_data(struct writer *writer, uint64_t size)
{
	uint64_t table_at = writer->totals.file_bytes;
	uint64_t absorbed = writer->standby && writer->totals.data_bytes ? writer->standby_size - sizeof(struct record_header) : 0;
	if (writer->standby) {
		writer->totals.data_bytes += absorbed + size + sizeof(struct record_header);
		writer->totals.file_bytes += size + writer->standby_size;
		if (absorbed)
			writer_standby_absorb(writer, table_at - absorbed);
	} else {
		writer->totals.data_bytes += size;
		writer->totals.file_bytes += size;
	}
	update_data_size(writer);
}

/* `written` bytes of a failed write have reached the disk: keeps the whole records of them, and forgets the rest. The room that the rest
 * took is what the standby table goes to. */
static void cut_back(struct writer *writer, uint64_t written, bool data)
{
	if (writer->pipe)
		return;
	uint64_t room = written > writer->standby_size ? written - writer->standby_size : 0;
	uint64_t keep = data ? whole_records(writer, room) : 0;
	uint64_t begin = writer->totals.file_bytes;
	if (keep && writer->standby &&
	    pwrite(writer->fd, writer->standby, writer->standby_size, (off_t)(begin + keep)) != (ssize_t)writer->standby_size)
		keep = 0;
	uint64_t end = keep ? begin + keep + writer->standby_size : begin;
	if (ftruncate(writer->fd, (off_t)end) == 0)
		lseek(writer->fd, (off_t)end, SEEK_SET);
	if (keep)
		account_data(writer, keep);
}

struct error *writer_write(struct writer *writer, const struct iovec *given, int count, bool data)
{
	struct iovec all[PIECES_MAX + 2], *pieces = all;
	size_t total = 0;
	struct error *error = failed_before(writer);
	if (error)
		return error;
	memcpy(all, given, (size_t)count * sizeof(*all));
	if (data && writer->standby)
		all[count++] = (struct iovec){writer->standby, writer->standby_size};
	while (count > 0) {
		ssize_t done = writev(writer->fd, pieces, count);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			int code = done < 0 ? errno : ENOSPC;
			cut_back(writer, total, data);
			return write_failed(writer, code);
		}
		total += (size_t)done;
		while (count > 0 && (size_t)done >= pieces->iov_len) {
			done -= (ssize_t)pieces->iov_len;
			pieces++;
			count--;
		}
		if (count > 0) {
			pieces->iov_base = (uint8_t *)pieces->iov_base + done;
			pieces->iov_len -= (size_t)done;
		}
	}
	if (data)
		account_data(writer, total - (writer->standby ? writer->standby_size : 0));
	else
		writer->totals.file_bytes += total;
	return NULL;
}

static struct error *write_bytes(struct writer *writer, const void *bytes, size_t size, bool data)
{
	struct iovec piece = {(void *)bytes, size};
	return size ? writer_write(writer, &piece, 1, data) : NULL;
}

struct error *writer_flush(struct writer *writer)
{
	size_t size = writer->buffered;
	writer->buffered = 0;
	writer->round_unwritten = false;
	return write_bytes(writer, writer->buffer, size, true);
}

/* ── Head ── */

/* The oldest size that holds what the events need: readers refuse sizes that they don't know. */
static uint32_t needed_attr_size(const struct event_list *events)
{
	enum { ATTR_SIZE_V7 = 128 };
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->attr.config3)
			return sizeof(struct event_attr);
	return ATTR_SIZE_V7;
}

/* Branches to be shown as such: those of call graphs (--call-graph lbr) are not, the kernel's perf would take the recording for one of
 * -b. */
static bool has_branches(const struct event_attr *attr)
{
	bool call_graph = (attr->sample_type & PERF_SAMPLE_CALLCHAIN) && (attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK);
	return (attr->sample_type & PERF_SAMPLE_BRANCH_STACK) && !call_graph;
}

/* What every feature bit is: given, or known by the writer itself. */
static void own_features(const struct writer *writer, const struct features *features, uint64_t ret_bits[4])
{
	const struct event_list *list = writer->events;
	memset(ret_bits, 0, 4 * sizeof(*ret_bits));
	if (features)
		memcpy(ret_bits, features->present, 4 * sizeof(*ret_bits));
	bool groups = false, branches = false;
	for (size_t i = 0; i < list->events.len; i++) {
		groups |= list->events.data[i]->members > 1;
		branches |= has_branches(&list->events.data[i]->attr);
	}
	const uint64_t mine[] = {
		[FEATURE_EVENT_DESC] = list->events.len > 0,
		[FEATURE_GROUP_DESC] = groups,
		[FEATURE_BRANCH_STACK] = branches,
		[FEATURE_COMPRESSED] = writer->compressor != NULL,
	};
	for (unsigned int bit = 0; bit < sizeof(mine) / sizeof(mine[0]); bit++)
		ret_bits[0] = mine[bit] ? ret_bits[0] | 1ull << bit : ret_bits[0];
	if (!groups)
		ret_bits[0] &= ~(1ull << FEATURE_GROUP_DESC);
	if (writer->pipe) /* it has no places */
		ret_bits[0] &= ~(1ull << FEATURE_AUXTRACE);
}

bool writer_encode_feature(const struct writer *writer, const struct features *features, unsigned int feature, struct strbuf *out)
{
	static const struct features none;
	struct features own = features ? *features : none;
	if (writer->compressor) {
		const struct writer_totals *totals = &writer->totals;
		own.compress_type = 1; /* zstd */
		own.compress_level = (uint32_t)writer->compression_level;
		own.compress_mmap_len = (uint32_t)writer->chunk_size;
		own.compress_ratio = totals->compressed_bytes ? (uint32_t)(totals->appended_bytes / totals->compressed_bytes) : 0;
	}
	if (writer->traces.len) {
		own.traces.data = writer->traces.data;
		own.traces.len = writer->traces.len;
	}
	return features_write(&own, feature, writer->events, writer->attr_size, out);
}

static struct file_header make_header(const struct writer *writer)
{
	const struct event_list *list = writer->events;
	struct file_header header = {
		.magic = HEADER_MAGIC_V2, .size = sizeof(header), .attr_size = writer->attr_size + sizeof(struct file_section)};
	uint64_t at = sizeof(header);
	for (size_t i = 0; i < list->events.len; i++)
		at += list->events.data[i]->ids.len * sizeof(uint64_t);
	header.attrs = (struct file_section){at, list->events.len * header.attr_size};
	header.data.offset = writer->data_offset ? writer->data_offset : at + header.attrs.size;
	return header;
}

/* Recordings that cannot be understood without their features. */
static bool needs_standby(const struct writer *writer, const struct features *features)
{
	const struct event_list *list = writer->events;
	bool tracepoints = false;
	for (size_t i = 0; i < list->events.len; i++)
		tracepoints |= list->events.data[i]->attr.type == PERF_TYPE_TRACEPOINT;
	return features && (tracepoints || writer->compressor || features_has(features, FEATURE_DIR_FORMAT) ||
			    features_has(features, FEATURE_AUXTRACE));
}

static struct error *write_head(struct writer *writer, const struct features *features)
{
	const struct event_list *list = writer->events;
	struct file_header header = make_header(writer);
	struct strbuf out = {0}, sections = {0};
	uint64_t bits[4];
	if (needs_standby(writer, features)) {
		own_features(writer, features, bits);
		writer_standby_prepare(writer, features, bits, header.data.offset, &sections);
		header.data.offset += sections.len;
		memcpy(header.features, writer->standby_bits, sizeof(header.features));
	}
	writer->data_offset = header.data.offset;
	strbuf_add(&out, &header, sizeof(header));
	for (size_t i = 0; i < list->events.len; i++)
		if (list->events.data[i]->ids.len)
			strbuf_add(&out, list->events.data[i]->ids.data, list->events.data[i]->ids.len * sizeof(uint64_t));
	struct file_section ids = {.offset = sizeof(header)};
	for (size_t i = 0; i < list->events.len; i++) {
		struct event_attr attr = list->events.data[i]->attr;
		ids.size = list->events.data[i]->ids.len * sizeof(uint64_t);
		attr.size = writer->attr_size;
		strbuf_add(&out, &attr, writer->attr_size);
		strbuf_add(&out, &ids, sizeof(ids));
		ids.offset += ids.size;
	}
	strbuf_add(&out, strbuf_str(&sections), sections.len);
	struct error *error = write_bytes(writer, out.data, out.len, false);
	struct iovec nothing = {&out, 0};
	if (!error && writer->standby)
		error = writer_write(writer, &nothing, 1, true);
	strbuf_deinit(&sections);
	strbuf_deinit(&out);
	return error;
}

struct error *writer_open(const struct writer_options *options, const struct event_list *events, const struct features *features,
			  struct writer **ret)
{
	struct writer *writer = mem_zalloc(sizeof(*writer));
	struct output output = {.fd = -1};
	writer->events = events;
	writer->fd = -1;
	writer->path = mem_strdup(options->path ? options->path : "perf.data");
	writer->attr_size = needed_attr_size(events);
	writer->chunk_size = options->ring_size ? options->ring_size : CHUNK_DEFAULT;
	writer->chunk_size = writer->chunk_size < CHUNK_MIN ? CHUNK_MIN : writer->chunk_size > CHUNK_MAX ? CHUNK_MAX : writer->chunk_size;
	writer->compression_level = options->compression_level;
	struct error *error = NULL;
	if (options->compression_level)
		error = compressor_create(options->compression_level, &writer->compressor);
	if (!error)
		error = (options->directory ? output_open_directory : output_open)(writer->path, options->keep_old, &output);
	writer->fd = output.fd;
	writer->pipe = output.pipe;
	writer->bare = options->bare;
	if (!error && writer->bare) {
		log_debug("writing %s", writer->path);
	} else if (!error && writer->pipe) {
		uint64_t bits[4];
		own_features(writer, features, bits);
		error = writer_pipe_head(writer, features, bits);
	} else if (!error) {
		error = write_head(writer, features);
	}
	if (error) {
		writer_close(writer);
		return error;
	}
	*ret = writer;
	return NULL;
}

bool writer_is_pipe(const struct writer *writer)
{
	return writer->pipe;
}

const char *writer_path(const struct writer *writer)
{
	return writer->path;
}

struct writer_totals writer_totals(const struct writer *writer)
{
	struct writer_totals totals = writer->totals;
	totals.file_bytes += writer->buffered;
	totals.data_bytes += writer->buffered;
	return totals;
}

/* ── Data ── */

struct error *writer_add(struct writer *writer, const void *record, size_t size)
{
	struct error *error = failed_before(writer);
	if (error)
		return error;
	if (size > sizeof(writer->buffer) - writer->buffered && (error = writer_flush(writer)))
		return error;
	memcpy(writer->buffer + writer->buffered, record, size);
	writer->buffered += size;
	writer->round_open = true;
	return NULL;
}

/* One COMPRESSED record after another into the buffer, until all of `input` is in them and the decompressor could give all of it back. */
static struct error *compress(struct writer *writer, struct compress_input input)
{
	bool more = true;
	while (more) {
		struct record_header header = {.type = RECORD_COMPRESSED};
		struct error *error;
		if (sizeof(writer->buffer) - writer->buffered < COMPRESSED_RECORD_MAX && (error = writer_flush(writer)))
			return error;
		uint8_t *at = writer->buffer + writer->buffered;
		size_t size =
			compressor_step(writer->compressor, &input, at + sizeof(header), COMPRESSED_RECORD_MAX - sizeof(header), &more);
		if (!size)
			continue;
		header.size = (uint16_t)(sizeof(header) + size);
		memcpy(at, &header, sizeof(header));
		writer->buffered += header.size;
		writer->totals.compressed_bytes += size;
	}
	return NULL;
}

static struct error *append_compressed(struct writer *writer, const struct iovec *pieces, int count)
{
	for (int i = 0; i < count; i++) {
		const uint8_t *at = pieces[i].iov_base;
		size_t left = pieces[i].iov_len;
		while (left) {
			size_t size = left < writer->chunk_size ? left : writer->chunk_size;
			struct error *error = compress(writer, (struct compress_input){at, size});
			if (error)
				return error;
			at += size;
			left -= size;
		}
	}
	return NULL;
}

/* Copying a little costs less than a system call for each ring. `total` is the size of all pieces: they go to the buffer as one, since a
 * record may straddle them. */
static struct error *append_copied(struct writer *writer, const struct iovec *pieces, int count, size_t total)
{
	struct error *error = NULL;
	if (total > sizeof(writer->buffer) - writer->buffered && (error = writer_flush(writer)))
		return error;
	for (int i = 0; i < count; i++) {
		memcpy(writer->buffer + writer->buffered, pieces[i].iov_base, pieces[i].iov_len);
		writer->buffered += pieces[i].iov_len;
	}
	writer->round_unwritten = true;
	return NULL;
}

struct error *writer_append(struct writer *writer, const struct iovec *pieces, int count)
{
	struct error *error = failed_before(writer);
	size_t total = 0;
	assert(count <= PIECES_MAX);
	for (int i = 0; i < count; i++)
		total += pieces[i].iov_len;
	if (error || !total)
		return error;
	writer->round_open = writer->round_unwritten = true;
	writer->totals.appended_bytes += total;
	if (writer->compressor)
		return append_compressed(writer, pieces, count);
	if (total <= COPIED_MAX)
		return append_copied(writer, pieces, count, total);

	struct iovec all[PIECES_MAX + 1];
	int n = 0;
	if (writer->buffered)
		all[n++] = (struct iovec){writer->buffer, writer->buffered};
	writer->buffered = 0;
	for (int i = 0; i < count; i++)
		if (pieces[i].iov_len)
			all[n++] = pieces[i];
	writer->round_unwritten = false;
	return writer_write(writer, all, n, true);
}

static struct error *add_bare(struct writer *writer, uint32_t type)
{
	struct record_header header = {.type = type, .size = sizeof(header)};
	return writer_add(writer, &header, sizeof(header));
}

struct error *writer_add_trace(struct writer *writer, const struct record_auxtrace *record, const struct iovec *pieces, int count)
{
	static const uint8_t zeros[8];
	struct record_auxtrace own = *record;
	struct iovec all[4] = {{&own, sizeof(own)}};
	int n = 1;
	struct error *error = writer_flush(writer);
	if (error)
		return error;
	own.size = 0;
	for (int i = 0; i < count; i++) {
		own.size += pieces[i].iov_len;
		all[n++] = pieces[i];
	}
	if (own.size % sizeof(zeros))
		all[n++] = (struct iovec){(void *)zeros, sizeof(zeros) - own.size % sizeof(zeros)};
	own.size = (own.size + sizeof(zeros) - 1) & ~(uint64_t)(sizeof(zeros) - 1);
	own.header = (struct record_header){.type = RECORD_AUXTRACE, .size = sizeof(own)};
	const struct feature_trace place = {writer->totals.file_bytes, sizeof(own)};
	writer->round_open = true;
	error = writer_write(writer, all, n, true);
	if (!error)
		vec_push(&writer->traces, place);
	return error;
}

struct error *writer_finish_round(struct writer *writer)
{
	if (!writer->round_open)
		return failed_before(writer);
	struct error *error = writer->bare ? NULL : add_bare(writer, RECORD_FINISHED_ROUND);
	writer->round_open = false;
	/* What was appended must not grow old: a killed recorder would lose it. The bare record can wait for the next write. */
	return error || !writer->round_unwritten ? error : writer_flush(writer);
}

struct error *writer_add_empty_round(struct writer *writer)
{
	struct error *error = add_bare(writer, RECORD_FINISHED_ROUND);

	return error ? error : writer_flush(writer);
}

struct error *writer_finish_init(struct writer *writer)
{
	return add_bare(writer, RECORD_FINISHED_INIT);
}

struct error *writer_finish_data(struct writer *writer)
{
	return writer->failed ? NULL : writer_flush(writer);
}

/* ── End ── */

static struct error *write_feature_sections(struct writer *writer, const struct features *features, const uint64_t bits[4],
					    uint64_t ret_written[4])
{
	struct file_section sections[FEATURE_COUNT];
	unsigned int count = 0;
	struct strbuf out = {0};
	for (unsigned int feature = 0; feature < FEATURE_COUNT; feature++) {
		size_t start = out.len;
		if (!(bits[feature / 64] >> feature % 64 & 1) || !writer_encode_feature(writer, features, feature, &out))
			continue;
		sections[count++] = (struct file_section){start, out.len - start};
		ret_written[feature / 64] |= 1ull << feature % 64;
	}
	uint64_t base = writer->totals.file_bytes + count * sizeof(sections[0]);
	for (unsigned int i = 0; i < count; i++)
		sections[i].offset += base;
	struct iovec pieces[] = {{sections, count * sizeof(sections[0])}, {out.data, out.len}};
	struct error *error = count ? writer_write(writer, pieces, 2, false) : NULL;
	strbuf_deinit(&out);
	return error;
}

static struct error *finish_file(struct writer *writer, const struct features *features)
{
	uint64_t bits[4], written[4] = {0}, table_at = writer->totals.file_bytes - (writer->standby_size - sizeof(struct record_header));
	own_features(writer, features, bits);
	struct error *error = write_feature_sections(writer, features, bits, written);
	if (error)
		return error_wrap(error, "header features");
	if (writer->standby) {
		writer_standby_absorb(writer, table_at);
		writer->totals.data_bytes += writer->standby_size - sizeof(struct record_header);
	}
	struct file_header header = make_header(writer);
	header.data.size = writer->totals.data_bytes;
	memcpy(header.features, written, sizeof(written));
	if (pwrite(writer->fd, &header, sizeof(header), 0) != sizeof(header) && errno != ESPIPE)
		return write_failed(writer, errno);
	return NULL;
}

struct error *writer_finish(struct writer *writer, const struct features *features)
{
	struct error *error = writer_finish_data(writer);
	if (error)
		return error;
	if (writer->failed && (writer->pipe || writer->failed == EIO))
		return failed_before(writer);
	if (writer->bare)
		return failed_before(writer);
	if (writer->pipe)
		return writer_pipe_tail(writer, features);
	/* After a failed write there may be room again since the half written piece was given back: try. */
	int failed = writer->failed;
	writer->failed = 0;
	error = finish_file(writer, features);
	if (failed)
		writer->failed = failed;
	return error;
}

void writer_close(struct writer *writer)
{
	if (!writer)
		return;
	if (writer->fd >= 0) {
		if (!writer->failed)
			error_free(writer_flush(writer));
		close(writer->fd);
	}
	compressor_destroy(writer->compressor);
	vec_deinit(&writer->traces);
	free(writer->standby);
	free(writer->path);
	free(writer);
}
