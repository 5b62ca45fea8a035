/* perf where: its options, and its answer, which several files write. */
#pragma once

#include "analysis/where/reasons.h"
#include "app/groups.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "capture/counting/counter_set.h"
#include "cmd/targets.h"
#include "kernel/process/cpu_limit.h"

#include <stdbool.h>

struct where_command {
	struct input_options input;
	struct output_options output;
	bool system_wide;
	const char *pids;
	const char *record; /* -o */
	uint64_t freq;
	size_t ring_pages;
	const char *format;	/* or NULL */
	const char *flamegraph; /* a file to draw, or NULL */
	bool all_threads;	/* idle ones too */
	uint64_t most;		/* reasons in words */
	const char *callgraph;
};

struct where_limits;
struct where_answer {
	const struct where_command *command;
	const struct where_timeline *timeline;
	const struct where_sums *sums;
	const struct where_reasons *reasons;
	const struct where_limits *limits;
	bool is_live; /* what is recorded is here: devices can be asked for their names */
};

/* What was asleep when measuring began: the threads of processes, or all. */
struct where_sleepers {
	VEC(struct where_asleep) all; /* by number */
};
void where_sleepers_find(const uint32_t *pids, size_t pid_count, struct where_sleepers *ret);
/* One thread; false when it doesn't sleep. */
bool where_sleepers_look(uint32_t pid, uint32_t tid, struct where_sleepers *ret);
void where_sleepers_deinit(struct where_sleepers *sleepers);

/* A control group with a limit of CPU time: when it was first met, and at the end. */
struct where_limit {
	struct cpu_limit first, last;
	struct map64 pids; /* of processes that were seen in it → nothing */
};
struct where_limits {
	VEC(struct where_limit) all;
	struct strbuf mounts; /* /proc/self/mountinfo */
};
/* In which one is the process now? */
void where_limits_look(struct where_limits *limits, pid_t pid);
/* The one that kept those that waited for a CPU from running, if it held all of them, and for a good part of the time; or NULL. */
const struct where_limit *where_limits_find(const struct where_limits *limits, const struct where_reason *reason);
/* Keeps those that held somebody back meanwhile. */
void where_limits_finish(struct where_limits *limits);
void where_limits_deinit(struct where_limits *limits);

/* In words, and the tables for people. */
void where_show(const struct where_answer *answer);
/* The same as tables for programs. */
struct error *where_write(const struct where_answer *answer);
/* The table of threads; for people with times in milliseconds, the first ones, idle ones only when asked for. */
struct table *where_threads_table(const struct where_answer *answer, bool for_people);
/* So many are not in it for people, though they aren't idle. */
size_t where_threads_beyond(const struct where_answer *answer);
/* Adds "md0 → dm-1 (device-mapper target delay)", or the numbers of devices that aren't here. */
void where_add_devices(struct strbuf *out, const struct where_answer *answer, const struct where_reason *reason);

/* A program that reports switches of threads, or NULL: there can be none here. */
struct bpf_switches *where_switches_open(void);
/* The events of its samples. */
struct error *where_switches_add_events(struct event_list *events, struct event_catalog *catalog);
/* live_options.opened and begun; the context is the program. */
struct error *where_switches_direct(void *switches, const struct event_list *events, const struct counter_set *counters);
void where_switches_begin(void *switches);
/* For where_options: next_switch and read_stack. */
bool where_switches_next(struct bpf_switches *switches, uint64_t until, struct where_switch *ret);
bool where_switches_read_stack(const struct sample *sample, struct where_told_stack *ret);
