/* The flight recorder: what happened in the last seconds is held in memory, and becomes a recording when something is wrong.
 *
 *	records of the session ──► flight_ring ─────── a trigger ──► FOLDER/20261127T230102.345Z.perf.data
 *	samples, as rows ─────┬──►    (seconds)           │
 *	                      └──► flight_history ────────┴────────► FOLDER/20261127T230102.345Z.txt
 *	                              (sums of an hour)
 *
 * It looks at what the agent samples anyway, and so costs a copy of each record. A recording begins `before` the trigger and ends `after`
 * it; the text says what was the matter and which rows of it differ from the hour before. */
#pragma once

#include "base/error.h"
#include "base/vec.h"
#include "event/catalog.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- flight_triggers.c ---- */

enum flight_trigger_kind { FLIGHT_LOAD, FLIGHT_PRESSURE, FLIGHT_LATENCY };

struct flight_trigger {
	char *text; /* as it was asked for: "futex>100ms" */
	enum flight_trigger_kind kind;
	char *resource; /* PRESSURE: "cpu", "io", "memory" */
	double level;	/* LOAD; PRESSURE in percent */
	/* LATENCY: from one event to another one. */
	char *system, *begin, *end_system, *end;
	uint64_t ns;
};
typedef VEC(struct flight_trigger) flight_trigger_list;

struct flight_settings {
	const char *folder; /* NULL = there is no recorder */
	uint64_t before_ns, after_ns;
	uint64_t quiet_ns;    /* after a recording, no other one by itself */
	uint64_t keep, limit; /* recordings, bytes of all */
	flight_trigger_list triggers;
};

/* Adds triggers, a list with commas. */
struct error *flight_triggers_parse(const char *text, flight_trigger_list *ret);
void flight_triggers_deinit(flight_trigger_list *triggers);
/* Waits so long have to be seen one by one, for what the triggers look for. */
uint64_t flight_wait_ns(const struct flight_settings *settings);

/* Why there is to be a recording. All zero: nothing is known. */
struct flight_cause {
	char what[200];
	uint64_t time;	   /* CLOCK_MONOTONIC */
	uint64_t begin;	   /* of a call that took too long, which ended at `time`; 0 = it is no call */
	uint32_t pid, tid; /* whose fault it may be, or who asks; 0 = nobody's. tid 0: all threads of the process */
	bool asked;	   /* by a person or a program: never too often */
};

struct flight_watch;
/* Before rights are given up. */
struct error *flight_watch_open(const flight_trigger_list *triggers, struct flight_watch **ret);
void flight_watch_close(struct flight_watch *watch);
/* What has happened since the last look, one at a time; false: nothing else, or enough for one look. */
bool flight_watch_next(struct flight_watch *watch, struct flight_cause *ret);

/* ---- flight.c ---- */

struct flight_counts {
	uint64_t triggers, recordings, failed;
};

/* Waits off the CPU that aren't among the samples, in all. */
struct flight_waits {
	uint64_t missed, unseen; /* there was no room for them; the kernel did not report their ends */
};

struct flight;

struct flight_options {
	const struct flight_settings *settings;
	struct flight_watch *watch;
	struct session *session;
	struct resolver *resolver;
	struct event_catalog *catalog;
	uint64_t memory; /* about so many bytes for records, and as many for who has ended */
};

/* Keeps the pointers. */
struct flight *flight_open(const struct flight_options *options);
void flight_close(struct flight *flight);
/* A record that session_next() has given, while it is valid; `sample` is decoded, NULL for other records. `value_ns`: the time that the
 * sample stands for, `waits` off a CPU; 0 = it isn't in the text's rows. */
void flight_add(struct flight *flight, const struct record *record, const struct sample *sample, uint64_t value_ns, bool waits);
/* Somebody wants a recording; its time is now unless it is set. */
void flight_want(struct flight *flight, const struct flight_cause *cause);
/* A round has ended, up to `ended_ns`, and so many waits are missing by now: looks at the triggers, writes what is due. */
void flight_take_round(struct flight *flight, uint64_t ended_ns, struct flight_waits missing);
/* No more rounds: what is wanted is written as far as it goes. */
void flight_end(struct flight *flight);
struct flight_counts flight_counts(const struct flight *flight);
