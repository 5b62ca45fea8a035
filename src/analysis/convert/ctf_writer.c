/* Packets are put together in memory and added to their file when they are full, which is opened for that only: there may be more CPUs than
 * a process can have files. */
#include "analysis/convert/ctf_writer.h"

#include "base/cleanup.h"
#include "base/files/output.h"
#include "base/files/process_file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PACKET_SIZE = 256 << 10, MOST_HELD = 64 << 20, UUID_SIZE = 16, MAGIC = 0xc1fc1fc1 };
static const char STREAM_NAME[] = "perf_stream_";

/* How a packet begins: trace.packet.header and stream.packet.context of the metadata below. */
struct __attribute__((packed)) packet_head {
	uint32_t magic;
	uint8_t uuid[UUID_SIZE];
	uint32_t stream_id;
	uint64_t begin, end;
	uint64_t content_bits, packet_bits;
	uint64_t discarded;
	uint32_t cpu;
};

struct __attribute__((packed)) event_head {
	uint32_t id;
	uint64_t time;
};

struct stream {
	uint32_t number;
	uint64_t begin, last; /* times of the packet's first and of the newest event */
	bool has_file;
	struct strbuf packet; /* its head is filled in when it is written */
};

struct ctf_writer {
	char *path;
	int folder;
	bool made;  /* the folder wasn't there */
	bool begun; /* what is in it is ours to remove: all that could refuse it has been looked at */
	bool finished;
	uint8_t uuid[UUID_SIZE];
	VEC(struct stream) streams;
	struct map64 by_number; /* stream → index + 1 */
	size_t held;		/* bytes of packets, without … */
	size_t newest;		/* … what this stream has got … */
	size_t newest_length;	/* … beyond this length */
};

/* ---- the folder ---- */

static bool is_stream_name(const char *name)
{
	const char *digits = name + strlen(STREAM_NAME);
	return str_starts_with(name, STREAM_NAME) && *digits && strspn(digits, "0123456789") == strlen(digits);
}

static bool is_ours(const char *name)
{
	return !strcmp(name, "metadata") || is_stream_name(name);
}

/* Removes a trace, or only looks. *ret_other: the name of what is no part of one, freed by the caller; NULL = there is nothing else. */
enum pass { PASS_LOOK, PASS_REMOVE };
static struct error *go_over_folder(const struct ctf_writer *writer, enum pass pass, char **ret_other)
{
	int fd = openat(writer->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct error *error = NULL;
	*ret_other = NULL;
	if (!folder) {
		error = error_system(errno, "%s", writer->path);
		if (fd >= 0)
			close(fd);
		return error;
	}
	while (!error && (entry = readdir(folder))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (pass == PASS_REMOVE && is_ours(entry->d_name) && unlinkat(writer->folder, entry->d_name, 0))
			error = error_system(errno, "removing %s/%s", writer->path, entry->d_name);
		else if (!is_ours(entry->d_name) && !*ret_other)
			*ret_other = text_safe_copy(entry->d_name);
	}
	closedir(folder);
	return error;
}

static struct error *clear_folder(const struct ctf_writer *writer)
{
	cleanup_free char *other = NULL;
	return go_over_folder(writer, PASS_REMOVE, &other);
}

static struct error *open_folder(struct ctf_writer *writer)
{
	struct stat status;
	writer->made = !mkdir(writer->path, 0777);
	if (!writer->made && errno != EEXIST)
		return error_system(errno, "%s", writer->path);
	bool link = !lstat(writer->path, &status) && S_ISLNK(status.st_mode);
	if (link && !owner_is_trusted(status.st_uid))
		return error_new_kind(ERROR_PERMISSION,
				      "refusing to write through %s, a symbolic link of another user; remove it or choose another folder",
				      writer->path);
	writer->folder = open(writer->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (link ? 0 : O_NOFOLLOW));
	if (writer->folder < 0)
		return error_system(errno, "%s", writer->path);
	if (fstat(writer->folder, &status) || !owner_is_trusted(status.st_uid))
		return error_new_kind(ERROR_PERMISSION, "%s belongs to another user: choose a folder that isn't there yet", writer->path);
	return NULL;
}

struct error *ctf_writer_create(const char *folder, bool force, struct ctf_writer **ret)
{
	cleanup_free char *other = NULL;
	struct ctf_writer *writer = mem_zalloc(sizeof(*writer));
	writer->path = mem_strdup(folder);
	writer->folder = -1;
	if (getrandom(writer->uuid, UUID_SIZE, 0) != UUID_SIZE)
		memset(writer->uuid, 0, UUID_SIZE);
	writer->uuid[6] = 0x40 | (writer->uuid[6] & 0x0f); /* RFC 4122: version 4, random */
	writer->uuid[8] = 0x80 | (writer->uuid[8] & 0x3f);
	struct error *error = open_folder(writer);
	if (!error)
		error = go_over_folder(writer, PASS_LOOK, &other);
	if (!error && other && !force)
		error = error_new(
			"%s has other files in it ('%s'), which readers of the trace would take for streams: choose a new folder, or use --force",
			folder, other);
	writer->begun = !error;
	if (!error)
		error = clear_folder(writer);
	if (error) {
		ctf_writer_destroy(writer);
		return error;
	}
	*ret = writer;
	return NULL;
}

void ctf_writer_destroy(struct ctf_writer *writer)
{
	if (!writer)
		return;
	if (writer->begun && !writer->finished)
		error_free(clear_folder(writer));
	if (writer->made && !writer->finished)
		rmdir(writer->path);
	if (writer->folder >= 0)
		close(writer->folder);
	for (size_t i = 0; i < writer->streams.len; i++)
		strbuf_deinit(&writer->streams.data[i].packet);
	vec_deinit(&writer->streams);
	map64_deinit(&writer->by_number);
	free(writer->path);
	free(writer);
}

/* Adds to a file of the folder, which only we have made. */
static struct error *write_file(const struct ctf_writer *writer, const char *name, bool is_new, const struct strbuf *text)
{
	bool closed = false;
	int fd = openat(writer->folder, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (is_new ? O_CREAT | O_EXCL : O_APPEND), 0666);
	if (fd < 0)
		return error_system(errno, "%s/%s", writer->path, name);
	struct error *error = output_write(fd, text->data, text->len, name, &closed);
	if (close(fd) && !error)
		error = error_system(errno, "writing %s/%s", writer->path, name);
	return error;
}

/* ---- packets ---- */

static struct stream *find_stream(struct ctf_writer *writer, uint32_t number)
{
	bool is_new;
	uint64_t *index = map64_insert(&writer->by_number, number, &is_new);
	if (is_new) {
		vec_push(&writer->streams, (struct stream){.number = number});
		*index = writer->streams.len;
	}
	return &writer->streams.data[*index - 1];
}

static struct error *write_packet(struct ctf_writer *writer, struct stream *stream)
{
	char name[sizeof(STREAM_NAME) + 12];
	struct packet_head head = {.magic = MAGIC,
				   .begin = stream->begin,
				   .end = stream->last,
				   .content_bits = stream->packet.len * 8,
				   .packet_bits = stream->packet.len * 8,
				   .cpu = stream->number};
	memcpy(head.uuid, writer->uuid, UUID_SIZE);
	memcpy(stream->packet.data, &head, sizeof(head));
	snprintf(name, sizeof(name), "%s%" PRIu32, STREAM_NAME, stream->number);
	struct error *error = write_file(writer, name, !stream->has_file, &stream->packet);
	stream->has_file = true;
	writer->held -= stream->packet.len;
	strbuf_deinit(&stream->packet);
	return error;
}

static struct error *write_all(struct ctf_writer *writer)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < writer->streams.len; i++)
		if (writer->streams.data[i].packet.len)
			error = write_packet(writer, &writer->streams.data[i]);
	return error;
}

/* The last event is complete. */
static void count_newest(struct ctf_writer *writer)
{
	if (writer->streams.len)
		writer->held += writer->streams.data[writer->newest].packet.len - writer->newest_length;
}

struct error *ctf_writer_begin_event(struct ctf_writer *writer, uint32_t number, uint32_t id, uint64_t time, struct strbuf **ret)
{
	static const struct packet_head nothing;
	count_newest(writer);
	struct stream *stream = find_stream(writer, number);
	struct error *error = stream->packet.len >= PACKET_SIZE	  ? write_packet(writer, stream)
			      : writer->held >= (size_t)MOST_HELD ? write_all(writer)
								  : NULL;
	writer->newest = (size_t)(stream - writer->streams.data);
	writer->newest_length = stream->packet.len;
	if (error)
		return error;
	stream->last = time > stream->last ? time : stream->last;
	if (!stream->packet.len) {
		strbuf_add(&stream->packet, &nothing, sizeof(nothing));
		stream->begin = stream->last;
	}
	const struct event_head head = {id, stream->last};
	strbuf_add(&stream->packet, &head, sizeof(head));
	*ret = &stream->packet;
	return NULL;
}

/* ---- metadata ---- */

void ctf_add_string(struct strbuf *out, const char *text, size_t length)
{
	struct strbuf safe = {0};
	text_add_safe(&safe, text, length);
	strbuf_add_char(out, '"');
	for (size_t i = 0; i < safe.len; i++) {
		if (safe.data[i] == '"' || safe.data[i] == '\\')
			strbuf_add_char(out, '\\');
		strbuf_add_char(out, safe.data[i]);
	}
	strbuf_add_char(out, '"');
	strbuf_deinit(&safe);
}

static void add_uuid(const uint8_t *uuid, struct strbuf *out)
{
	for (size_t i = 0; i < UUID_SIZE; i++)
		strbuf_printf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

static void add_trace(const struct ctf_writer *writer, const struct ctf_description *description, struct strbuf *out)
{
	enum { SECOND = 1000000000 };
	int64_t seconds = description->clock_offset_ns / SECOND, rest = description->clock_offset_ns % SECOND;
	if (rest < 0) {
		seconds--;
		rest += SECOND;
	}
	strbuf_add_str(out, "/* CTF 1.8 */\n\n"
			    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
			    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
			    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n\n"
			    "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	add_uuid(writer->uuid, out);
	strbuf_printf(out, "\";\n\tbyte_order = %s;\n", __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "le" : "be");
	strbuf_add_str(out,
		       "\tpacket.header := struct {\n\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n\t};\n};\n\n");
	strbuf_printf(out, "env {\n%s};\n\n", description->environment);
	strbuf_add_str(out, "clock {\n\tname = perf_clock;\n\tdescription = ");
	ctf_add_string(out, description->clock, strlen(description->clock));
	strbuf_printf(out, ";\n\tfreq = %d;\n\toffset_s = %" PRId64 ";\n\toffset = %" PRId64 ";\n\tabsolute = false;\n};\n\n", SECOND,
		      seconds, rest);
	strbuf_add_str(out,
		       "typealias integer { size = 64; align = 8; signed = false; map = clock.perf_clock.value; } := time_t;\n\n"
		       "stream {\n\tid = 0;\n"
		       "\tevent.header := struct {\n\t\tuint32_t id;\n\t\ttime_t timestamp;\n\t};\n"
		       "\tpacket.context := struct {\n\t\ttime_t timestamp_begin;\n\t\ttime_t timestamp_end;\n\t\tuint64_t content_size;\n"
		       "\t\tuint64_t packet_size;\n\t\tuint64_t events_discarded;\n\t\tuint32_t cpu_id;\n\t};\n};\n\n");
}

struct error *ctf_writer_finish(struct ctf_writer *writer, const struct ctf_description *description)
{
	struct strbuf text = {0};
	count_newest(writer);
	struct error *error = write_all(writer);
	add_trace(writer, description, &text);
	strbuf_add_str(&text, description->events);
	if (!error)
		error = write_file(writer, "metadata", true, &text);
	strbuf_deinit(&text);
	writer->finished = !error;
	return error;
}
