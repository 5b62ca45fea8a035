/* The recorder's parts: within session/recorder*.c. */
#pragma once

#include "base/strbuf.h"
#include "capture/control.h"
#include "capture/recorder.h"
#include "capture/rounds.h"
#include "capture/stack_chains.h"
#include "capture/stack_sizes.h"
#include "capture/synth/synth.h"
#include "capture/traces/trace_areas.h"
#include "kernel/poller.h"
#include "kernel/ring_set.h"

#include <sched.h>
#include <stdatomic.h>

/* What an epoll event is about: the kind in the upper half, an index below. */
enum wakeup {
	WAKEUP_RING = 1,
	WAKEUP_SIGNAL,
	WAKEUP_EDGE,
	WAKEUP_SWITCH,
	WAKEUP_CONTROL,
	WAKEUP_TRIGGER,
	WAKEUP_WORKERS,
	WAKEUP_DRAIN,
	WAKEUP_SIZES, /* copies of stacks may have to grow */
	WAKEUP_SOURCE
};

static inline uint64_t recorder_tag(enum wakeup wakeup, size_t index)
{
	return (uint64_t)wakeup << 32 | index;
}

/* A counter whose records are in the recording. */
struct recorder_counter {
	const struct counter *counter;
	unsigned int event; /* index */
};

struct recorder {
	const struct recorder_options *options;
	struct event_list *events;
	struct counter_set *counters;
	struct stack_sizes *sizes;	    /* NULL without --call-graph dwarf,auto */
	struct stack_chains *chains;	    /* NULL without --call-graph auto */
	VEC(struct recorder_counter) every; /* the events' counters, and those that `sizes` adds */
	struct strbuf source;		    /* records of options->source */
	struct strbuf *rewritten;	    /* by ring: what becomes of records that aren't written as they are */
	struct workload *workload;
	struct ring_set rings;
	struct ring_set trigger_rings;
	struct trace_areas *traces; /* NULL without hardware traces */
	struct async *async;	    /* NULL without --aio */
	struct workers *workers;    /* NULL without --threads */
	struct writer *writer;
	struct control control;
	struct poller poller;
	int timer_edge, timer_switch, timer_drain;
	size_t edge;	    /* the next of options->edges_ms */
	int affinity_cpu;   /* whose place we run at; -1 = anywhere */
	cpu_set_t affinity; /* where we ran before */
	struct rounds marks;
	unsigned int empty_rounds; /* since the last one that had records; with drain_every_ns */
	size_t trailer;		   /* sample_id bytes of our own records */
	bool may_be_long;	   /* there are kinds of records that the kernel makes too long */
	uint64_t *lost_written;	   /* by event × slot: what was noted in earlier outputs */
	atomic_size_t alive;	   /* rings into which threads of the target can still write */
	bool ends_with_target;	   /* … and nothing else goes on: the recording ends with them */
	struct recorder_totals totals;
	char **old_files; /* of --switch-output, oldest first */
	size_t old_file_count;
	bool started; /* the workload has been released: it has maps of its own, and those measured may have children */
	bool stop;
	bool switch_wanted;
	bool snapshot_wanted;
};

/* recorder_output.c: files */
struct error *recorder_open_output(struct recorder *recorder);
struct error *recorder_close_output(struct recorder *recorder);
struct error *recorder_switch_output(struct recorder *recorder);
/* Adds what a writer has written to the totals. */
void recorder_add_totals(struct recorder *recorder, const struct writer *writer);
/* recorder_async.c: --aio. Errors of earlier writing come with later calls. */
struct error *recorder_open_async(struct recorder *recorder);
struct error *recorder_async_append(struct recorder *recorder, const struct iovec *pieces, int count);
/* After each pass over the rings; `round`: what was appended before can be sorted. */
struct error *recorder_async_finish(struct recorder *recorder, bool round);
/* Waits until all is written: the writer is the recorder's own again. Nothing to do without --aio. */
struct error *recorder_async_settle(struct recorder *recorder);
void recorder_close_async(struct recorder *recorder);
/* How much of the output's data there is, without waiting for what is under way. */
uint64_t recorder_data_bytes(struct recorder *recorder);
/* recorder_workers.c: all do nothing without --threads. */
struct error *recorder_open_workers(struct recorder *recorder);
struct error *recorder_open_worker_files(struct recorder *recorder);
struct error *recorder_start_workers(struct recorder *recorder);
void recorder_take_worker_news(struct recorder *recorder);
/* Bytes so far. */
uint64_t recorder_workers_written(const struct recorder *recorder);
/* Empties all rings, ends the threads and completes their files. */
struct error *recorder_stop_workers(struct recorder *recorder);
void recorder_close_workers(struct recorder *recorder);
/* traces/recorder_traces.c: all do nothing without hardware traces. */
struct error *recorder_open_traces(struct recorder *recorder);
/* What was traced beside a ring goes to the output. */
struct error *recorder_take_trace(struct recorder *recorder, size_t ring, uint64_t *bytes);
/* Counters have been switched, all or those of this name. */
void recorder_switched_traces(struct recorder *recorder, const char *name, bool on);
bool recorder_has_snapshots(const struct recorder *recorder);
/* Of a recorder that has snapshots: empties all rings, and adds the newest trace. */
struct error *recorder_take_snapshot(struct recorder *recorder);
/* Records that describe the traces. */
void recorder_describe_traces(const struct recorder *recorder, struct synth *synth);
/* recorder_trigger.c */
struct error *recorder_open_trigger(struct recorder *recorder);
void recorder_take_trigger(struct recorder *recorder, size_t index, bool hung_up);
/* recorder_synth.c */
struct error *recorder_synthesize(struct recorder *recorder);
/* The same in two steps: look now, write to an output that is opened later. */
void recorder_take_tasks(struct recorder *recorder, struct strbuf *records);
/* For --call-graph auto, where no tasks are recorded before the first samples. */
void recorder_learn_tasks(struct recorder *recorder);
struct error *recorder_write_init(struct recorder *recorder, const struct strbuf *tasks);
/* recorder.c: nothing is written before the end or a snapshot, so what runs already is looked at then. */
bool recorder_overwrites_all(const struct recorder *recorder);
/* recorder.c: takes what is in the rings. *ret_bytes: how much it was. */
struct error *recorder_drain(struct recorder *recorder, bool all, uint64_t *ret_bytes);
/* Moves what is in one ring to a writer, and counts it. */
struct error *recorder_drain_ring(struct recorder *recorder, struct ring *ring, struct writer *writer, uint64_t *bytes);
/* Watches the first descriptor of a ring, or the next one: the thread behind the one before has ended; others may go on writing into the
 * ring. What the ring holds already is not told of after that: look. False when there is none left. */
bool recorder_watch_next_member(struct poller *poller, struct ring *ring, uint64_t tag);
