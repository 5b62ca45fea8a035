/* Trackers: analyses of tracepoints, told of each record in the order of time.
 *
 *	static const struct tracker_handler handlers[] = {
 *		{"sched:sched_waking", {"pid", "target_cpu"}, on_waking},
 *		{"sched:sched_switch", {"prev_pid", "prev_state", "next_pid"}, on_switch},
 *		{0},
 *	};
 *
 * A tracker is bound to its session's events once, by the event's index: no name is compared and no field looked for when a record comes.
 * The handlers get the integers of their fields in the order of the table. A new tool is a table of handlers, a result, and a page of
 * `cmd`. */
#pragma once

#include "base/error.h"
#include "base/untrusted.h"
#include "session/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tracepoint_field;

enum { TRACKER_FIELDS = 8 };
/* Instead of a field's name: stack_chain_hash() of the sample, which costs as much as the chain is long. */
#define TRACKER_CHAIN "(chain)"

/* A record on its way to a handler; everything in it is valid during the call. */
struct tracker_event {
	const struct record *record;
	uint64_t time; /* of the sample, as are these: 0 and -1 where it has none */
	uint32_t pid, tid, cpu;
	/* The fields of the handler, sign-extended as their types say; 0 for those that the recording's format lacks. */
	const uint64_t *values;
	const struct tracepoint_field *const *fields; /* NULL for those that the recording's format lacks */
	struct tracker *tracker;
};

struct tracker_handler {
	const char *event; /* "sched:sched_switch", "sched:sched_stat_*" (all that begin so); NULL ends a table */
	const char *fields[TRACKER_FIELDS];
	void (*handle)(void *context, const struct tracker_event *event);
	const char *unless; /* nobody is told of the event where the recording has this one, which tells the same; or NULL */
};

struct tracker;

/* `handlers` and `context` must live as long as the tracker. */
struct tracker *tracker_create(struct session *session, const struct tracker_handler *handlers, void *context);
void tracker_destroy(struct tracker *tracker);
/* Whether the recording has such an event; while streaming, whether it is known by now. */
bool tracker_has(const struct tracker *tracker, const char *event);
/* An error when it hasn't, which names the command that records it. */
struct error *tracker_require(const struct tracker *tracker, const char *event, const char *recorder);
/* Whether a record is one of an event that has a handler. */
bool tracker_wants(struct tracker *tracker, const struct record *record);
/* Gives a record of the session to its handler. Records without one are fine: false, and nothing happens; also for broken ones, which the
 * session counts. */
bool tracker_give(struct tracker *tracker, const struct record *record);
/* From now on samples that nobody wants need not be looked at: for who asks session_next_sample() and gives this tracker alone. */
void tracker_choose_events(struct tracker *tracker);
/* The fields for this tracker's handlers are taken out of samples when these are read, often by another thread, and not looked for when
 * their turn has come: for who gives it records of session_next_sample(), also if others get them as well. Before the first record; of
 * several trackers one is spared. */
void tracker_digest_ahead(struct tracker *tracker);
/* All that is left of the session, to its end, digested ahead. */
struct error *tracker_run(struct tracker *tracker);
/* All of the event's sample. Most handlers do with what the event itself has, for which no sample needs to be looked at. */
const struct sample *tracker_sample(const struct tracker_event *event);
/* The text of a field, by its place in the handler's table: "" when it isn't there. It ends at *ret_len, without a NUL. */
const struct untrusted *tracker_text(const struct tracker_event *event, unsigned int field, size_t *ret_len);
