/* What the files of the session share and nobody else sees. */
#pragma once

#include "model/jitdump.h"
#include "session/apply.h"
#include "session/deferred.h"
#include "session/digests.h"
#include "session/order.h"
#include "session/readings.h"
#include "session/session.h"
#include "session/slices.h"
#include "session/ties.h"
#include "session/turns.h"

#include <pthread.h>

/* ---- source.c: the records of a stable mapping or of a stream of chunks, one after the other, and again by offset while they are held
 * ---- */

/* A piece of a stream that is kept because records in it wait for their turn. */
struct held_chunk {
	struct reader_chunk *chunk; /* NULL = given back */
	uint64_t offset;
	size_t waiting; /* records */
	bool read;	/* to its end */
};

struct source {
	struct reader *reader;
	uint64_t offset; /* of the next record */
	uint64_t asked;	 /* stable input: memory is on its way up to there */
	bool note;	 /* first reading: the reader notes diagnostics */
	/* Streams: in order of their offsets; the first `released` ones are gone. */
	VEC(struct held_chunk) chunks;
	size_t released;
	size_t at; /* position in the newest chunk */
};

void source_init(struct source *source, struct reader *reader, bool note);
void source_deinit(struct source *source);
/* The next record and its offset; NULL at the end or on an error. A stream's record is valid until the next call, or as long as it is held.
 */
const struct record_header *source_next(struct source *source, uint64_t *ret_offset, struct error **ret_error);
/* Keeps the record at `offset` readable until it is let go of, once for each hold. */
void source_hold(struct source *source, uint64_t offset);
void source_let_go(struct source *source, uint64_t offset);
const struct record_header *source_at(struct source *source, uint64_t offset);

/* ---- apply.c ---- */

/* LOST, LOST_SAMPLES and THROTTLE into the counts. */
void apply_loss(struct session *session, const struct record_header *header);

/* A MMAP or MMAP2 record of executable memory of a process. */
struct apply_map {
	uint32_t pid;
	uint64_t start;
	const char *name;
};
/* Applies such a record around the code of jitdumps. */
void apply_around_code(struct machine *machine, const struct record_header *header, uint64_t time);
/* False when the record is something else. */
bool apply_user_map(const struct record_header *header, struct apply_map *ret);

/* ---- jit_feed.c ---- */

/* A jitdump, or the part of one that a running program has written since. */
struct jit_source {
	const struct jitdump *dump;
	struct dso *dso;
	struct process *process;
	uint32_t pid;
	char *path;	   /* as recorded */
	const char *found; /* where the file is; interned */
	bool timed;
	int64_t offset;	 /* from the dump's clock to the recording's */
	uint64_t begun;	 /* time of the MMAP record */
	uint64_t looked; /* streams: when it was read last */
	size_t next;	 /* event of the dump */
};
/* What to do with a side-band record: apply it as it is, around the code of jitdumps, or not at all. */
enum jit_verdict { JIT_APPLY, JIT_APPLY_AROUND, JIT_SKIP };
/* Looks at a side-band record before it is applied, at `time` of the model; `record_time` is its own, 0 = none. */
enum jit_verdict jit_feed_record(struct session *session, const struct record_header *header, uint64_t record_time, uint64_t time);
/* Adds what was generated up to `time` of the model. */
void jit_feed_until(struct session *session, uint64_t time);
/* After machine_forget(): processes lie elsewhere, or are gone with their dumps. */
void jit_feed_renew(struct session *session);
struct session_private;
void jit_feed_deinit(struct session_private *private);

/* ---- filter.c ---- */

struct filter {
	const uint64_t *cpus;
	size_t cpu_words;
	VEC(struct time_range) times;
	bool active;
};

/* True when the text has percentages, for which the recording's first and last time must be known. */
bool filter_text_is_relative(const char *text);
struct error *filter_init(struct filter *filter, const struct session_filter *wanted, uint64_t first_time, uint64_t last_time);
void filter_deinit(struct filter *filter);
/* Samples of events without times are in ranges without an end only, as for the kernel's perf. */
#define FILTER_NO_TIME UINT64_MAX
bool filter_accepts_time(const struct filter *filter, uint64_t time);
static inline bool filter_accepts_cpu(const struct filter *filter, uint32_t cpu)
{
	return !filter->cpus || (cpu / 64 < filter->cpu_words && filter->cpus[cpu / 64] >> cpu % 64 & 1);
}

/* ---- session.c ---- */

/* A line of the processor's cache: two threads that write to one wait for each other each time. */
enum { SESSION_LINE = 64 };

struct session_private {
	struct session_options options;
	bool prepared;	   /* pass 1 is done, the machine is finished */
	bool started;	   /* session_next() was called */
	bool file_order;   /* session_next() delivers in the order of the file */
	bool offset_times; /* pass 1 and reductions: some samples have no time, so offsets are the model's times */
	size_t known_events;
	size_t known_guests;	/* of reader->guest_pids */
	bool uniform;		/* all events have the time in the same place: lets pass 1 do without the event */
	VEC(uint64_t) cuts;	/* pass 1: offsets where workers may begin, and the end */
	size_t slices_taken;	/* pass 1: of a large file, how many were read at the same time as others (scan.c) */
	size_t slices_foreseen; /* in the order of time: how many were hopped over before it was their turn (slices.c) */
	struct readings readings;
	VEC(struct jit_source) jit_sources;
	struct intern jit_paths;
	VEC(reading_values) cut_values; /* at each cut, where counters are read */
	struct filter filter;
	struct deferred deferred; /* pass 1 */
	struct ties ties;	  /* pass 1, where samples have times */

	/* session_next(). What `ahead` changes with each record, what both look at, and what the session's thread changes are apart. */
	char apart_from_model[SESSION_LINE];
	struct source source;
	struct order order;
	VEC(bool) unwanted;    /* by event index: nobody looks at its samples */
	struct slices *slices; /* its samples, as far as they are known; NULL = it is gone over record by record */
	bool scanned;	       /* the source is at its end */
	bool round_mark;       /* a FINISHED_ROUND was delivered: the round is to be finished now */
	char apart_from_order[SESSION_LINE];
	struct digests digests;	     /* the digester is changed under digest_lock */
	bool digests_now;	     /* what is hopped over is digested */
	pthread_mutex_t digest_lock; /* held while samples are digested */
	char apart_from_digests[SESSION_LINE];
	struct session_turns turns;				  /* whose turn comes next */
	bool reads_ahead;					  /* ahead.h may be used … */
	struct ahead *ahead;					  /* … and is: `source` and `order` are its thread's */
	struct digests_share share;				  /* of turns that aren't `ahead`'s */
	bool takes_digests;					  /* who asked for them is still there */
	void (*told)(void *context, const struct record *record); /* session_tell_others() */
	void *told_context;
	bool holding; /* the record delivered last came from the order and is still held */
	uint64_t held_offset;
	uint64_t *copy;			 /* stable input: of the record being delivered or applied; READER_RECORD_MAX bytes */
	bool copies;			 /* such copies are delivered */
	bool plain;			 /* session_next_sample() may take the short way */
	uint64_t round_begin, forgotten; /* session_next_sample(): what may be forgotten next, and what is */
	uint64_t parted;		 /* the newest time that session_part_times() gave, and whether a sample has it */
	bool parted_sample;
	uint64_t forgot_lost; /* session->lost when the machine forgot last */
	reading_values values;
	size_t near;	     /* for ties_time() */
	struct record group; /* the sample whose members are being delivered */
	struct sample group_sample;
	uint64_t group_index; /* of its next member */
	bool in_group;
};

/* Events may have come since the last look (in a stream they come with its first records). */
void session_look_at_events(struct session *session);
/* Of a record that is read for the first time. */
void session_count_record(struct session *session, const struct record_header *header, uint64_t time, uint64_t offset);
static inline void session_count_sample(struct session *session, const struct event *event, uint64_t time)
{
	session->event_counts[event->index].samples++;
	if (!time)
		return;
	if (!session->first_time || time < session->first_time)
		session->first_time = time;
	if (time > session->last_time)
		session->last_time = time;
}
/* Takes note of the counters read with a sample. */
void session_follow_readings(const struct session *session, const struct record_header *header, reading_values values);
/* The record as it is now, whatever others write to the file from here on; valid until the next call. NULL, which is noted: none is there
 * any more. */
const struct record_header *session_stable_record(struct session *session, uint64_t offset);
/* Whether nobody asks for what such a record tells. */
bool session_passes_over(const struct session *session, uint32_t type, uint16_t misc);
/* Side-band into the machine, after the code that was generated until then. */
void session_apply_in_order(struct session *session, const struct record_header *header, uint64_t record_time, uint64_t time);
/* The time of a sample or of another record, by where its event has it; 0 = none. */
static inline uint64_t session_time_at(const struct record_header *header, const struct sample_layout *layout)
{
	uint64_t time = 0;
	if (header->type == RECORD_SAMPLE) {
		if (layout->time && header->size >= layout->time + sizeof(time))
			memcpy(&time, (const uint8_t *)header + layout->time, sizeof(time));
	} else if (layout->trailer_time && header->size >= sizeof(*header) + layout->trailer_time) {
		const uint8_t *end = (const uint8_t *)header + header->size - record_excess(header, layout->trailer);
		memcpy(&time, end - layout->trailer_time, sizeof(time));
	}
	return time == UINT64_MAX ? 0 : time;
}
/* The time of a record of the stream; 0 = none. */
uint64_t session_record_time(const struct session *session, const struct record_header *header);
/* Whose turns come, up to `room` of them, as long as what is read can't change the events; fewer: something else follows. The time of one
 * that was met at once is what the model's time has come to then. To ret_share is added which digests they have. */
size_t session_read_ahead(struct session *session, struct order_item *ret, size_t room, struct digests_share *ret_share);
/* Runs pass 1 if it wasn't run yet. */
struct error *session_prepare(struct session *session);
/* How far a pass is: 0 at its beginning, data_end at its end. For the thread that opened the session. */
void session_report_progress(const struct session *session, uint64_t offset);
/* options.sparing: what lies before `offset` is read for now, and leaves memory from *left on, once that is so many bytes. */
void session_leave_behind(const struct session *session, uint64_t *left, uint64_t offset, uint64_t distance);
