/* Parts of the flight recorder. */
#pragma once

#include "analysis/where/kind.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "bpf/latency/slow_calls_shared.h"
#include "cmd/agent/flight.h"
#include "result/table.h"

#include <sys/types.h>

/* ---- flight_triggers.c ---- */

/* As many slow calls as there is room for at a time: where they come faster than they are looked at, a look ends nonetheless. */
enum { FLIGHT_CALLS_MOST = 2048 };

/* Where slow calls come from: a BPF program. */
struct flight_calls {
	bool (*next)(void *context, struct slow_call *ret);
	uint64_t (*missed)(const void *context);
	void (*close)(void *context);
	void *context;
};

/* Watches calls for a trigger, which lives as long as the watch. Takes them over. */
void flight_watch_add_calls(struct flight_watch *watch, const struct flight_trigger *trigger, const struct flight_calls *calls);

/* ---- flight_ring.c: records of the last seconds ---- */

/* Behind it lie the record and the texts. */
struct flight_entry {
	uint64_t time; /* 0 = none */
	uint64_t row;  /* a hash of what follows; with value_ns */
	uint64_t value_ns;
	uint32_t pid, tid; /* of a sample */
	uint32_t record_size, texts_size;
	enum where_kind kind;
};

static inline const struct record_header *flight_entry_record(const struct flight_entry *entry)
{
	return (const void *)(entry + 1);
}

/* "COMM\0FUNCTION\0IN\0" */
static inline const char *flight_entry_texts(const struct flight_entry *entry)
{
	return (const char *)(entry + 1) + entry->record_size;
}

struct flight_chunk {
	struct strbuf entries;
	uint64_t newest;
};

struct flight_ring {
	VEC(struct flight_chunk) chunks; /* the oldest first */
	uint64_t bytes;
	uint64_t dropped; /* the newest time of what is gone; 0 = nothing is */
};

void flight_ring_deinit(struct flight_ring *ring);
void flight_ring_add(struct flight_ring *ring, const struct flight_entry *entry, const void *record, const char *texts);
/* What is older, and what is too much. */
void flight_ring_drop(struct flight_ring *ring, uint64_t older_than, uint64_t most_bytes);
/* All zero: before the first. */
struct flight_cursor {
	size_t chunk, at;
};
const struct flight_entry *flight_ring_next(const struct flight_ring *ring, struct flight_cursor *cursor);

/* ---- flight_history.c: sums of the hour before ---- */

struct flight_cell {
	uint64_t row, value_ns;
};

struct flight_slice {
	uint64_t begin, end;
	struct flight_cell *cells; /* by row */
	size_t count;
};

struct flight_history {
	VEC(struct flight_slice) slices; /* the oldest first */
	size_t cells;			 /* in all of them */
	struct map64 now;		 /* of the open slice: row → value */
	uint64_t begin;			 /* of the open slice; 0 = none is */
};

void flight_history_deinit(struct flight_history *history);
void flight_history_add(struct flight_history *history, uint64_t row, uint64_t value_ns);
/* Time goes on. */
void flight_history_turn(struct flight_history *history, uint64_t now);
/* Nanoseconds in each second: on average, and the most of any slice. Of slices that ended before `until`. */
struct flight_before {
	double average, most;
};
struct flight_before flight_history_of(const struct flight_history *history, uint64_t row, uint64_t until);
/* How long those are, together. */
uint64_t flight_history_ns(const struct flight_history *history, uint64_t until, size_t *ret_slices);

/* ---- flight_gaps.c: waits that are missing ---- */

struct flight_gap {
	uint64_t time; /* of a round's end */
	struct flight_waits missing;
};

/* Rounds at whose end more were missing than before, the oldest first. */
struct flight_gaps {
	VEC(struct flight_gap) rounds;
};

void flight_gaps_deinit(struct flight_gaps *gaps);
void flight_gaps_add(struct flight_gaps *gaps, uint64_t time, struct flight_waits missing);
/* Rounds that ended before: what was missing then is no longer told apart. */
void flight_gaps_drop(struct flight_gaps *gaps, uint64_t older_than);
/* A line for each reason, of those that are missing since then. */
void flight_gaps_tell(const struct flight_gaps *gaps, uint64_t since, struct table *table);

/* ---- flight_table.c: what differs ---- */

struct flight_span {
	uint64_t from, to;
};

enum { FLIGHT_CAUSES = 8 };
struct flight_causes {
	struct flight_cause list[FLIGHT_CAUSES]; /* in the order in which they were known */
	size_t count;
	unsigned int more; /* for which there was no room */
};

/* Rows of the ring's samples in the span. The first ones are of whom a cause names. */
struct table *flight_table(const struct flight_ring *ring, const struct flight_history *history, struct flight_span span,
			   const struct flight_causes *causes);

/* ---- flight_file.c: a recording ---- */

/* Records that tell of a thread as it was at a time, and with a process's first one of its maps. */
void flight_describe_thread(const struct session *session, const struct thread *thread, uint64_t time, struct strbuf *out);
/* `gone`: such records, of who isn't there any more. */
struct error *flight_write(const struct session *session, const struct flight_ring *ring, const struct strbuf *gone,
			   struct flight_span span, struct event_catalog *catalog, const char *path);

/* ---- flight_writer.c: the process that writes it ---- */

enum { FLIGHT_STUCK = 4 };
/* All zero: none. */
struct flight_writer {
	pid_t pid;		   /* who writes; 0 = nobody does */
	uint64_t until;		   /* has so long for it */
	pid_t stuck[FLIGHT_STUCK]; /* who had too long, was killed, and isn't gone yet */
	size_t stuck_count;
};

enum flight_written {
	FLIGHT_NONE,   /* nobody writes */
	FLIGHT_WRITES, /* it isn't done */
	FLIGHT_WRITTEN,
	FLIGHT_FAILED, /* why has been said */
};

/* A process does `write`, and has written when that returns true. False: there can be none. Nobody may write yet. */
bool flight_writer_start(struct flight_writer *writer, uint64_t now, bool (*write)(void *context), void *context);
/* Once for each end; who takes too long is given up. */
enum flight_written flight_writer_look(struct flight_writer *writer, uint64_t now);
