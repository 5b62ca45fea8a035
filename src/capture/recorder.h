/* The recorder: a pump from rings to a perf.data. It doesn't look into what it moves, but for copies of stacks that are
 * to be sized or unwound (capture/stack_sizes.h, capture/stack_chains.h).
 *
 * It sleeps in one epoll_wait() on everything that can happen: a ring half full, the workload's end, signals, timers, the control channel.
 * Nothing wakes it up without a need. Loss is counted at the end from the counters themselves and written down as records, so that every
 * reader knows. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "capture/counting/counter_set.h"
#include "kernel/workload.h"
#include "perfdata/writer.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the threads that read rings may run. */
enum recorder_affinity {
	AFFINITY_FREE,
	AFFINITY_NODE, /* on the NUMA node of the ring's CPU */
	AFFINITY_CPU,  /* on that CPU */
};

/* One thread of --threads. */
struct recorder_place {
	cpu_set_t cpus;	    /* whose rings it reads */
	cpu_set_t affinity; /* where it may run */
};

/* Where records go that aren't written to a file: to a live session (live.h). */
struct recorder_sink {
	/* Takes a copy of what one ring gave, or of records of our own: up to two pieces of memory, together whole records. Behind each
	 * pass that ends a round (rounds.h) comes a struct record_timed_round. */
	void (*append)(void *context, const struct iovec *pieces, int count);
	void *context;
};

struct stack_chains;  /* capture/stack_chains.h */
struct trace_plan;    /* capture/traces/trace_plan.h */
struct python_frames; /* capture/python/python_frames.h */

/* What has records of its own beside the rings, in the same rounds. */
struct recorder_source {
	int fd;					 /* readable when it should be taken from soon; or -1 */
	void (*measure)(void *context, bool on); /* with the events */
	void (*begin)(void *context);		 /* of a pass over the rings */
	/* … and its end: appends records, of what happened from the begin of the pass before on. `chains`: recorder_stack_chains(). */
	struct error *(*take)(void *context, struct stack_chains *chains, struct strbuf *out);
	void *context;
};

struct recorder_options {
	const char *output;		  /* NULL = perf.data, "-" = standard output */
	const struct recorder_sink *sink; /* instead of an output; or NULL */
	int compression_level;
	const struct recorder_source *source; /* or NULL */
	size_t ring_pages;		 /* 0 = 512 KB, 2 MB for whole CPUs and tracepoints, less where that is more than may be locked */
	const struct trace_plan *traces; /* what is traced by hardware, of the events; or NULL */
	bool quiet;

	/* When the output goes to a new file: */
	bool switch_output;
	uint64_t switch_size;	     /* bytes; 0 = not by size */
	uint64_t switch_time_ns;     /* 0 = not by time */
	struct counter_set *trigger; /* when one of these has a sample; or NULL */
	const struct event_list *trigger_events;
	unsigned int switch_max_files; /* the older ones are deleted; 0 = keep all */
	bool timestamp_filename;

	struct stack_walker *walker;  /* of events with stack_walked, and of `source`; or NULL */
	struct python_frames *python; /* of chains (capture/python/python_frames.h); or NULL */

	uint64_t max_size;	 /* bytes; 0 = no limit */
	bool start_disabled;	 /* events are enabled later: by the edges, or when the control channel says so */
	VEC(uint64_t) edges_ms;	 /* times since the start, in order, at which events are enabled, disabled, enabled … */
	const char *control;	 /* argument of --control, or NULL */
	uint64_t flush_bytes;	 /* read a ring only when it holds so much; 0 = always */
	uint64_t drain_every_ns; /* read the rings so often, however little is in them: somebody waits for the stream; 0 = not by time */
	bool drops_files;	 /* nobody asks for ends of stacks: stack_chains_drop_files() */
	bool reads_overwritten;	 /* overwrite rings, too, are read each time: else at the end, and when a snapshot is wanted */
	enum recorder_affinity affinity;
	unsigned int async_blocks; /* --aio: what at most waits for a thread that writes; 0 = there is none */
	VEC(struct recorder_place)
	places; /* --threads: the output is a directory with a file for each ring; empty = one thread does it all */

	bool directory; /* the output is a directory, even with one thread */

	/* Side-band of what already runs: */
	bool synthesize_tasks, synthesize_cgroups, namespaces, data_maps, tail_synthesize;
	bool is_workload_target; /* the target is only the workload */
	bool all_tasks;		 /* -a, -C */
	uint64_t map_timeout_ns;
	bool (*build_id)(const char *path, struct buildid *ret); /* --buildid-mmap: reads them for MMAP2 records; else NULL */
	unsigned int synth_jobs;

	/* Called when an output's data is complete, before its header features are written, with the path (not for pipes): gives the
	 * features, which may be NULL. They must live until the next call. */
	struct error *(*describe)(void *context, const char *path, const struct features **ret);
	/* What is known of the features when an output is opened: pipes send them first, files keep some for the case of a kill. */
	const struct features *(*describe_ahead)(void *context);
	/* Called when events have begun, before the workload goes on; not when they begin later (start_disabled). Or NULL. */
	void (*begun)(void *context);
	/* Told of each signal that would end the recording or have it write something; true: it is meant otherwise, and is done with. Or
	 * NULL. */
	bool (*signal)(void *context, int number, pid_t sender);
	void *context;
};

/* What happened, for the closing lines. */
struct recorder_totals {
	uint64_t wakeups;
	uint64_t lost; /* samples and records that the kernel had to drop for want of room, over all events */
	uint64_t *lost_by_event;
	uint64_t stack_copies, stack_bytes,
		stacks_cut;	      /* --call-graph dwarf,auto: samples with stacks, bytes of them, stacks that may end early */
	unsigned int largest_stack;   /* bytes that were asked for at most */
	struct writer_totals written; /* all outputs together */
	unsigned int files;
	char *last_path; /* of the last output */
	int signal;	 /* that ended the recording, or 0 */
	bool reached_max_size;
	bool addresses_hidden; /* kptr_restrict: no kernel map */
	unsigned int map_timeouts;
	uint64_t trace_bytes;	/* of hardware traces */
	unsigned int snapshots; /* of them */
};

struct recorder;

/* Maps the rings and opens the output, if there is no sink. All arguments live as long as the recorder; `workload` may be NULL. */
struct error *recorder_create(const struct recorder_options *options, struct event_list *events, struct counter_set *counters,
			      struct workload *workload, struct recorder **ret);
/* Records until the workload ends, the target is gone, a signal or the control channel says stop, or --max-size is reached. */
struct error *recorder_run(struct recorder *recorder);
/* The parts of recorder_run(), for who fetches records from a sink when they are wanted. First what already runs, then events begin. */
struct error *recorder_begin(struct recorder *recorder);
/* Waits until something happens, at most options.drain_every_ns, and empties the rings. While recorder_goes_on(). */
struct error *recorder_step(struct recorder *recorder);
bool recorder_goes_on(const struct recorder *recorder);
/* Can be read when recorder_step() wouldn't wait. */
int recorder_fd(const struct recorder *recorder);
/* To be told of in a handler of step's: the recording is over. */
void recorder_stop(struct recorder *recorder);
/* No events from now on; what is left in the rings comes. */
struct error *recorder_end(struct recorder *recorder);
/* Samples that counters had to drop since this was asked last, as LOST_SAMPLES records; recorder_finish() does it at the end. */
struct error *recorder_write_lost(struct recorder *recorder);
/* Completes the output. To be called also after a failed recorder_run(): what was written stays readable. */
struct error *recorder_finish(struct recorder *recorder);
const struct recorder_totals *recorder_totals(const struct recorder *recorder);
/* Of --call-graph auto, and with a walker: what became of stacks; else NULL. */
struct stack_chains *recorder_stack_chains(const struct recorder *recorder);
/* Doesn't close the counters. */
void recorder_destroy(struct recorder *recorder);
