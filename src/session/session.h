/* A session: one recording, open for analysis. Source + order + machine + filters.
 *
 * Two ways to consume it, no third:
 *  - session_next(): every record in time order, for commands that tell a story (script, trace, sched);
 *  - session_reduce(): samples in any order on several threads, for commands that add up (report, flamegraph, annotate).
 *
 * A file is read in two passes over one mapping. Pass 1 (in session_open) hops over the record headers, applies all side-band to the
 * machine in time order, counts records by type and event, and notes cuts for the workers. Pass 2 decodes samples. For session_next() on a
 * streaming pipe there is one pass: side-band is applied when its turn comes.
 *
 * Times: where samples have no time stamps, a record's offset in the file serves as its time in the model.
 */
#pragma once

#include "base/error.h"
#include "model/machine.h"
#include "perfdata/reader.h"

#include <stdbool.h>
#include <stdint.h>

/* Which samples are delivered. All parts must agree; an empty part agrees with everything. */
struct session_filter {
	const uint64_t *cpus; /* bitmap, or NULL */
	size_t cpu_words;
	struct time_range {
		uint64_t begin, end;
	} * times; /* both inclusive */
	size_t time_count;
	/* --time "10%-20%", "10%/2": resolved against the recording's first and last sample; NULL = none. Fills `times`. */
	const char *time_text;
};

struct session_options {
	struct reader_options input;
	struct session_filter filter;
	unsigned int jobs; /* 0 = pool_default_jobs() */
	bool streaming;	   /* session_next() will be used: don't spool a pipe */
	bool show_progress;
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *progress_context;
};

struct event_counts {
	uint64_t samples;
	uint64_t lost;	       /* from LOST records and PERF_FORMAT_LOST reads of this event */
	uint64_t lost_samples; /* from LOST_SAMPLES */
	uint64_t throttles;
};

struct session {
	struct reader *reader;
	struct machine *machine;
	/* Complete after session_open() for stable input, else at the end. */
	uint64_t record_counts[256];	   /* by type; 0 = unknown types */
	struct event_counts *event_counts; /* by event index */
	uint64_t lost;			   /* in total */
	uint64_t first_time, last_time;	   /* of samples */
	unsigned int jobs;
	struct session_private *private;
};

struct error *session_open(const struct session_options *options, struct session **ret);
void session_close(struct session *session);

/* One record on its way to a command. */
struct record {
	const struct record_header *header; /* valid until the next session_next() */
	uint64_t time;			    /* 0 = none */
	uint64_t model_time;		    /* what to ask the machine with */
	uint64_t offset;		    /* in the file */
	struct event *event;		    /* NULL for records without one */
};

/* 1: *ret is the next record that passed the filter (side-band always passes, already applied to the machine). 0: end. -1: *ret_error is
 * set. */
int session_next(struct session *session, struct record *ret, struct error **ret_error);

/* Any order, any number of threads; what comes out depends on neither. */
struct reducer {
	size_t state_size;
	void (*init)(void *state, void *context);
	/* A decoded sample. Its pointers stay valid until session_close() (stable input is guaranteed here). */
	void (*sample)(void *state, void *context, const struct event *event, const struct sample *sample, uint64_t model_time);
	/* Adds `from` to `into`; `from` is empty afterwards. Called on one thread. */
	void (*merge)(void *into, void *from, void *context);
	void (*deinit)(void *state, void *context); /* may be NULL */
	bool fixed_only;			    /* sample_decode_fixed() is enough */
};
/* Returns the merged state (freed by the caller with free() after its own deinit). */
struct error *session_reduce(struct session *session, const struct reducer *reducer, void *context, void **ret_state);
