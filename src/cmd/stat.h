/* What the files of `perf stat` share; within cmd/stat*.c. */
#pragma once

#include "analysis/counts.h"
#include "analysis/metrics.h"
#include "app/groups.h"
#include "cmd/event_words.h"
#include "event/catalog.h"
#include "kernel/proc.h"
#include "kernel/workload.h"
#include "session/control.h"
#include "session/counting.h"

#include <stdio.h>

enum stat_format { STAT_TEXT, STAT_CSV, STAT_JSON };

/* What counts are kept apart by. */
enum stat_per { STAT_PER_ALL, STAT_PER_CPU, STAT_PER_SOCKET, STAT_PER_DIE, STAT_PER_CLUSTER, STAT_PER_CACHE, STAT_PER_CORE, STAT_PER_NODE, STAT_PER_THREAD };

struct stat_options {
	struct output_options verbosity;
	struct event_words words;

	const char *pids, *tids, *user, *cpus;
	bool system_wide;
	bool no_inherit, all_user, all_kernel;
	bool null_run;
	int detailed;
	bool transaction, topdown, smi_cost, group;
	struct {
		const char **data;
		size_t len, cap;
	} metric_words;
	struct metric_plan_options metrics;
	bool no_merge, merge_cores, percore_threads;

	bool repeat_given;
	int repeat;	 /* runs; 0 = until interrupted */
	int64_t delay_ms; /* -1 = until --control says so */
	uint64_t timeout_ms, interval_ms, interval_count;
	bool interval_clear, summary;
	bool sync;
	const char *pre, *post;
	const char *control;

	enum stat_per per;
	int cache_level; /* 0 = the last */
	bool no_scale;
	bool metric_only;
	bool table;
	bool no_csv_summary;
	bool no_advice;
	bool ungrouped; /* numbers */
	enum stat_format format;
	const char *separator;
	const char *output;
	bool append;
	int log_fd; /* -1 = none */
};

extern const struct option stat_option_table[];
void stat_options_init(struct stat_options *options);
/* What follows from several options together, and what they exclude. */
struct error *stat_options_check(struct stat_options *options, bool workload);
static inline bool stat_by_cpu(const struct stat_options *options)
{
	return options->system_wide || options->cpus;
}
static inline bool stat_by_task(const struct stat_options *options)
{
	return options->pids || options->tids || options->user;
}

/* Where counters are told to stop during system management interrupts (Documentation/ABI/testing/sysfs-bus-event_source-devices). */
#define STAT_FREEZE_ON_SMI "/sys/devices/cpu/freeze_on_smi"

/* Everything that measuring needs, released together. */
struct stat_run {
	struct stat_options options;
	char **command; /* NULL = none */
	struct event_catalog *catalog;
	struct event_list events;
	struct metric_plan metrics;
	int *cpus;
	size_t cpu_count;
	struct pid_list threads;
	struct counters counters;
	struct workload workload;
	struct arena place_arena; /* of the places' labels */
	struct counts_places places;
	struct count **now, **before; /* by event, cells of the target */
	size_t cells;
	struct counts counts; /* of what is shown next: an interval, a run, or all runs */
	struct counts total;  /* with intervals: of the whole */
	VEC(double) each_elapsed;
	uint64_t start_ns, shown_ns; /* monotonic: counting began, the last interval ended */
	uint64_t intervals;
	int signal; /* that ended the measuring, or 0 */
	bool stop;  /* no further runs */
	bool cut;   /* we ended the measuring, and with it the command */
	FILE *out;
	char *what;
};

/* stat_events.c: adds what the options ask for. */
struct error *stat_choose_events(struct stat_run *run);
/* stat_places.c: fills run->places for the target. */
struct error *stat_choose_places(struct stat_run *run);
/* stat_measure.c: one run, from starting the command to reading the counters. */
struct error *stat_measure(struct stat_run *run);
/* stat_output.c */
struct error *stat_open_output(struct stat_run *run);
void stat_show_interval(struct stat_run *run, uint64_t time_ns);
void stat_show(struct stat_run *run);
