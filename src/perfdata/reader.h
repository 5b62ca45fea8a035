/* Reader: one perf.data as a description (events, header features) and a stream of records in the file's order. No policy, no time order,
 * no model.
 *
 * Whatever the input is (file, v1 file, pipe, directory, compressed, foreign byte order, misaligned), its records come out native, 8-byte
 * aligned and decompressed. Two kinds of input:
 *  - stable: the records are in one mapping that lives as long as the reader, and can be walked as often as wanted, by offset and from
 * several threads. Plain files are mapped as they are; compressed, foreign and directory input is first spooled to a nameless temporary
 * file and that is mapped.
 *  - streaming (pipes, when not spooled, and feeds): records come once, in order, in chunks that the caller holds and releases.
 */
#pragma once

#include "base/buildid.h"
#include "base/error.h"
#include "event/event.h"
#include "event/tracepoint/tracepoint.h"
#include "perfdata/features/features.h"
#include "perfdata/layout.h"
#include "perfdata/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* What the reader had to pass over, told once at the end by whoever shows results. */
struct reader_diagnostics {
	uint64_t unknown_records; /* of a type we don't know: skipped by their size */
	uint64_t broken_records;  /* too short for their type, unknown event id, … : skipped */
	const char *first_broken; /* what was wrong with the first one, or NULL */
	uint64_t first_broken_offset;
	bool truncated;		 /* the data ends in the middle of a record, or before its declared end */
	bool changed;		 /* what was read again was something else: somebody wrote to the file meanwhile */
	bool changed_told;	 /* session_diagnostics_text() has said so */
	bool unfinished;	 /* the recorder was killed: data size 0 in the header; read up to the end of the file */
	uint64_t auxtrace_bytes; /* hardware trace that was skipped */
};

/* Counts a broken record; of all, the one that comes first in the file is remembered. `what` is a literal. */
static inline void reader_diagnostics_note(struct reader_diagnostics *diagnostics, uint64_t offset, const char *what)
{
	if (!diagnostics->broken_records++ || offset < diagnostics->first_broken_offset) {
		diagnostics->first_broken = what;
		diagnostics->first_broken_offset = offset;
	}
}

/* More events than this aren't taken: no recorder makes so many (all tracepoints of a kernel are a few thousand). A power of two. */
enum { READER_EVENTS_MAX = 1 << 20 };

struct reader {
	const char *path;
	struct event_list events;
	const struct sample_layout *layouts; /* one for each event, by index */
	struct features features;
	struct tracepoint_formats *formats; /* NULL without tracing data */
	bool swapped;			    /* the recording is of the other byte order (records come out native all the same) */
	bool pipe;			    /* it has the pipe format */
	bool has_times;			    /* samples have PERF_SAMPLE_TIME */
	bool stable;			    /* see above */
	bool unordered;			    /* directory: FINISHED_ROUND says nothing about order, its files come one after another */
	uint64_t data_offset;		    /* stable: first record's offset in `records` … */
	uint64_t data_end;		    /* … and the end */
	const uint8_t *records;		    /* stable: the mapping (record at records + offset) */
	struct reader_diagnostics diagnostics;
	/* Events by the ids of their samples, where these lie close together, as they mostly do: reader_sample_event(). */
	struct reader_ids {
		const uint32_t *events; /* index + 1 by id - first, 0 = none; or NULL */
		uint64_t first, count;
		uint16_t offset; /* of the id in a sample */
	} ids;
	VEC(uint32_t) guest_pids; /* processes of hypervisors whose guests got ids, in the order of their first */
	struct map64 guests;	  /* ids of counters in guests (ID_INDEX): machine_pid << 32 | vcpu, as in struct sample_guest */
	uint64_t unpacked[2];	  /* COMPRESSED and COMPRESSED2 records, of which only what was in them comes out; so far */
	/* private from here */
	struct reader_private *private;
};

struct reader_options {
	const char *path;     /* "-" = standard input, NULL = reader_default_path() */
	const char *recorder; /* the command that makes such a recording, for the error when the default is missing; NULL = perf record */
	bool force;	      /* accept a file of another owner */
	bool streaming;	      /* pipes: don't spool, the caller reads once in order */
	bool head_only;	      /* events and header features are enough: nothing is spooled, and there may be no records to walk */
	uint64_t first_bytes; /* stable input: only about so many bytes of records, from the first one on; 0 = all */
	void (*progress)(void *context, uint64_t done, uint64_t total); /* while spooling; may be NULL */
	void *progress_context;
};

/* What is read when nobody says what: standard input where it is a pipe, as in "perf record -o - … | perf report", else "perf.data". */
const char *reader_default_path(void);
struct error *reader_open(const struct reader_options *options, struct reader **ret);
void reader_close(struct reader *reader);
/* What to call it in messages: its path, or "standard input". */
const char *reader_name(const struct reader *reader);

/* What a recording in a file says of itself; of a pipe only the version. */
struct reader_place {
	uint32_t version; /* of its header: 0 for the oldest form */
	time_t changed;	  /* when the file was last written to, which stands for when it was recorded */
	uint64_t data_offset, data_size;
	uint64_t features_offset;
};
void reader_place(const struct reader *reader, struct reader_place *ret);

/* The event a record belongs to, by its id; NULL when there is none. With a single event, or events without ids, the first.
 * A sample with the id of another recorder's event, as the kernel makes them, is that of the only event that can have such. */
struct event *reader_event(const struct reader *reader, const struct record_header *header);
/* The same for a sample. */
static inline const struct event *reader_sample_event(const struct reader *reader, const struct record_header *header)
{
	const struct reader_ids *ids = &reader->ids;
	uint64_t id;
	if (!ids->events || header->size < ids->offset + sizeof(id))
		return reader_event(reader, header);
	memcpy(&id, (const uint8_t *)header + ids->offset, sizeof(id));
	uint32_t found = id - ids->first < ids->count ? ids->events[id - ids->first] : 0;
	return found ? reader->events.events.data[found - 1] : reader_event(reader, header);
}
/* Why a sample has no event: a literal for reader_diagnostics_note(). */
const char *reader_unknown_event_reason(const struct reader *reader);
/* By id; NULL when unknown. */
struct event *reader_event_by_id(const struct reader *reader, uint64_t id);

/* Whether the user parts of call chains may be in records of their own (CALLCHAIN_DEFERRED), behind their samples. Such input is never
 * streaming. */
bool reader_defers_chains(const struct reader *reader);

/* Stable input. The record at `offset`, or NULL at the end or when what follows cannot be a record (diagnostics say which). `*offset` moves
 * to the next one; the bytes of RECORD_AUXTRACE are passed over. Thread-safe apart from diagnostics, which only the first pass (`note`
 * true) writes. */
const struct record_header *reader_record(struct reader *reader, uint64_t *offset, bool note);
/* Stable input, for what looks at a record more than once although others may write to the file: the record at `offset`, copied to `copy`
 * (READER_RECORD_MAX bytes, aligned to 8) and checked there. NULL when no sound record is there any more. Thread-safe. */
const struct record_header *reader_record_copy(const struct reader *reader, uint64_t offset, void *copy);
enum { READER_RECORD_MAX = 64 << 10 };
/* Stable input. Whether a record lies in the file; else it is a copy already. */
static inline bool reader_in_file(const struct reader *reader, const struct record_header *header)
{
	return (uintptr_t)header - (uintptr_t)reader->records < reader->data_end;
}
/* Whether others were seen to write to the file or to cut it short while it was read. */
bool reader_changed(const struct reader *reader);
#define READER_CHANGED "the file was modified or truncated while it was read: the output may be incomplete or wrong"
/* Whether a sound record of the kernel's, or one of the recorder's that describes no events, is at `offset`, which reader_record() would
 * hand out and do nothing else. Changes nothing. */
bool reader_is_plain(const struct reader *reader, uint64_t offset);

/* Stable input. The hardware trace that follows an AUXTRACE record at `offset` without being counted in its size, valid as long as the
 * reader; NULL where there is none. */
const void *reader_trace(const struct reader *reader, const struct record_header *header, uint64_t offset, uint64_t *ret_size);
/* Stable input. Records from offset `from` to `to` were read and won't be again for long: their memory can go. */
void reader_forget(const struct reader *reader, uint64_t from, uint64_t to);

/* Stable input, for who goes from record to record: asks for the memory from `offset` on. Where headers lie nobody knows beforehand, so
 * that all of it is asked for: each header would be waited for otherwise. After a record that is longer than that, only for one header
 * further on, where it is if all are as long. `asked` is what the call before returned, 0 at first. */
enum { READER_LINE = 64, READER_AHEAD = 2048, READER_RECORDS_AHEAD = 4 };
static inline uint64_t reader_ask_ahead(const struct reader *reader, uint64_t offset, uint64_t asked)
{
	uint64_t left = reader->data_end - offset, until = left < READER_AHEAD ? reader->data_end : offset + READER_AHEAD;
	if (!asked)
		asked = offset;
	if (asked < offset) {
		uint64_t ahead = (offset - asked + READER_AHEAD) * READER_RECORDS_AHEAD;
		if (ahead < left)
			__builtin_prefetch(reader->records + offset + ahead);
		return until;
	}
	for (; asked < until; asked += READER_LINE)
		__builtin_prefetch(reader->records + asked);
	return asked;
}
/* The same for who looks into a long record: for the beginning of the next one, and its end if it is as long. */
static inline void reader_ask_next(const struct reader *reader, uint64_t offset, uint16_t size)
{
	enum { BEGINNING = 1280 };
	if (size <= READER_AHEAD || reader->data_end - offset < (uint64_t)size * 2)
		return;
	const uint8_t *next = reader->records + offset + size;
	for (unsigned int i = 0; i < BEGINNING; i += READER_LINE)
		__builtin_prefetch(next + i);
	__builtin_prefetch(next + size - sizeof(uint64_t));
}
/* Stable input. The size of the sample at `offset`, below data_end; 0 when no whole sample that lies as it should is there: reader_record()
 * tells then. */
static inline uint16_t reader_sample_size(const struct reader *reader, uint64_t offset)
{
	const struct record_header *header = (const struct record_header *)(reader->records + offset);
	uint64_t left = reader->data_end - offset;
	if (left < sizeof(*header) || offset & 7)
		return 0;
	uint16_t size = *(const volatile uint16_t *)&header->size;
	bool whole = header->type == RECORD_SAMPLE && size >= sizeof(*header) && size % 8 == 0 && size <= left;
	return whole ? size : 0;
}

/* Streaming input: the next piece of whole records. Events, features and formats are complete as soon as the first record that is no header
 * record was returned. Release each chunk with reader_chunk_release(). */
struct reader_chunk {
	const uint8_t *data;
	size_t size;
	uint64_t offset; /* of its first byte in the stream, for messages */
};
struct error *reader_next_chunk(struct reader *reader, struct reader_chunk **ret); /* *ret = NULL: end */
void reader_chunk_release(struct reader_chunk *chunk);

/* Records that come from no recording: from the rings of running events (capture/live.h), from a test. `next` waits for the next chunk and
 * sets *ret to NULL at the end. Chunks hold whole records, native and aligned to 8 bytes; `data` and the chunk itself come from mem_alloc()
 * and are the reader's from then on, which sets `offset`, and takes out what is of no known type or unsound. */
struct reader_feed {
	struct error *(*next)(void *context, struct reader_chunk **ret);
	void *context;
	/* A file that there is nowhere else: its bytes, a copy of mem_alloc(); NULL = there is none. Any thread may ask. May be NULL. */
	void *(*find_file)(void *context, const struct buildid *id, size_t *ret_size);
	/* The recording that the records are made from, which stays longer: what reader_place() tells of; or NULL. */
	const struct reader *of;
};

/* A streaming reader of a feed. What a recording's header would tell comes with it: `events` (with attributes, names and ids) and
 * `features` (may be NULL) are taken over and left empty; formats of tracepoints come from features->tracing_data. `name` stands for the
 * recording's in messages. Never fails. */
struct reader *reader_open_feed(const char *name, const struct reader_feed *feed, struct event_list *events, struct features *features);
/* Reads a feed to its end into a temporary file: stable input from then on. */
struct error *reader_spool(struct reader *reader);
/* Of a feed: to be called when events were given ids since it was opened, and before a session is opened on it. */
void reader_refresh_events(struct reader *reader);
/* NULL without a feed that has files. */
const struct reader_feed *reader_file_feed(const struct reader *reader);
