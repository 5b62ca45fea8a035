/* A live source: events of the running system as a session reads them, without a recording.
 *
 *	counters ──► rings ─┐ every tick, or sooner when one is half full
 *	/proc, /sys ────────┴► chunk ──► reader ──► session ──► session_next(), trackers
 *	BPF rings of the caller's own: by its clock, until the round that is over
 *
 *	live_open(&options, &live);
 *	session_open(&(struct session_options){.reader = live_take_reader(live), .streaming = true, .forgets = true}, &session);
 *	while (session_next(session, &record, &error) > 0)
 *		…                                  as with a file
 *	session_close(session);
 *	live_close(live, false);
 *
 * What a session on a live source promises:
 *  - Events begin with the first session_next(). First comes side-band of what runs and is mapped already, applied to the model like all
 *    side-band; then a held workload starts.
 *  - Records of all events and CPUs come in one order, that of time, as from a file (order.h). Each is delivered at the latest two rounds
 *    after it was read: a round ends with the first tick at which the one before is ROUND_LATENESS_NS old. What comes still later comes all
 *    the same, out of order. No more is held than was read in these rounds, and a pass reads no more than what is in the rings.
 *  - session_next() waits, but never longer than a tick: then a FINISHED_ROUND comes (struct record_timed_round, which says until when the
 *    rings were read, in CLOCK_MONOTONIC), though nothing happened. That is the moment to draw, to write, to look at something else. With
 *    sampling.clockid CLOCK_MONOTONIC all records before the end of the round before the last two have been delivered then; so a BPF
 *    program whose records have that clock is put in order with them (cmd/trace/replay.c).
 *  - Nothing is read while the caller doesn't call. When a ring is full the kernel drops records, and says so: LOST records, and once a
 *    second and at the end LOST_SAMPLES of each counter, are in the session's counts as with a file (session_loss_text()).
 *  - With session_options.forgets memory is bounded by what runs, however many processes come and go.
 *  - The end (0) comes when the workload or all threads of the target have ended, at a signal (SIGINT, SIGTERM, SIGHUP, which are taken
 *    while it is open) or after live_stop(), behind all that happened until then.
 *
 * One thread at a time uses a live source and its session. */
#pragma once

#include "base/error.h"
#include "capture/counting/counter_set.h"
#include "capture/sampling.h"
#include "event/catalog.h"
#include "kernel/workload.h"
#include "perfdata/reader.h"

#include <stdbool.h>
#include <stdint.h>

struct live_options {
	const char *name;	   /* for messages, in place of a file's; NULL = "live" */
	struct event_list *events; /* as parsed; taken over, and left empty */
	struct event_catalog *catalog;
	const struct sampling *sampling;     /* as of sampling_configure(); only during live_open() */
	const struct counter_target *target; /* its arrays live as long as the source */
	struct workload *workload;	     /* started and held, is released by the first session_next(); or NULL */
	size_t ring_pages;		     /* of each ring, a power of two; 0 = as many as `perf record` takes */
	uint64_t tick_ns;		     /* 0 = a tenth of a second */
	uint64_t delay_ms;		     /* events begin so long after the first session_next() */
	uint64_t map_timeout_ns;	     /* as of struct synth */
	unsigned int synth_jobs;	     /* threads that read /proc; 0 = one for each CPU */
	/* Time off the CPU as well (off_cpu_samples.h), with its event. The clock of `sampling` is CLOCK_MONOTONIC then, and the target
	 * whole CPUs. */
	bool off_cpu;
	uint64_t off_cpu_ns;	   /* waits that last so long have a sample each, others are added up … */
	uint64_t off_cpu_every_ns; /* … for so long at least, and come late then; 0 = until the next tick */
	size_t python_bytes;	   /* that names and lines of Python take at most; 0 = PYTHON_FRAMES_BYTES */
	/* Told of the open counters, before events begin: for programs that write samples of theirs (bpf-output). Or NULL. */
	struct error *(*opened)(void *context, const struct event_list *events, const struct counter_set *counters);
	/* Events have begun; a held workload is still held. Not with a delay. Or NULL. */
	void (*begun)(void *context);
	/* As of struct recorder_options: of SIGINT, SIGTERM, SIGHUP and SIGUSR2. Or NULL. */
	bool (*signal)(void *context, int number, pid_t sender);
	void *context; /* of all */
};

struct live;
struct thread;

/* Opens counters and rings. On an error nothing stays open, and the workload is still held. */
struct error *live_open(const struct live_options *options, struct live **ret);
/* The reader for session_options.reader or opening_options.reader. Once: it belongs to the session then. */
struct reader *live_take_reader(struct live *live);
/* Can be read when session_next() has something to fetch, and wouldn't wait for it: at each tick at the latest. For poll(), from the first
 * session_next() on. */
int live_fd(const struct live *live);
/* Nothing new from now on. */
void live_stop(struct live *live);
/* The signal that ended it, or 0. */
int live_signal(const struct live *live);
/* Who may not see the kernel's addresses has no names for its functions. Known after the first session_next(). */
bool live_hides_addresses(const struct live *live);
/* Where memory is short: rules for stacks that can be read again go. */
void live_shed(struct live *live);
/* For session_options.thread_gone: whether the machine we run on has no such thread any more. */
bool live_thread_gone(void *context, const struct thread *thread);
/* Waits that aren't among the samples of options.off_cpu, so far: there was no room for them … */
uint64_t live_off_cpu_missed(const struct live *live);
/* … or the kernel did not tell of their end. */
uint64_t live_off_cpu_unseen(const struct live *live);
/* After session_close(). Warns of names of Python for which there was no room. Closing tracepoints takes the kernel long: `process_ends`,
 * it is left to a child that outlives us (afterwards.h) and the caller ends soon. */
void live_close(struct live *live, bool process_ends);
