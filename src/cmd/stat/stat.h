/* What the files of `perf stat` share; within cmd/stat*.c. */
#pragma once

#include "analysis/counting/cells.h"
#include "analysis/counting/counts.h"
#include "analysis/counting/metrics.h"
#include "app/command.h"
#include "app/groups.h"
#include "bpf/counters/program_counters.h"
#include "bpf/counters/task_counters.h"
#include "capture/control.h"
#include "capture/counting/counting.h"
#include "cmd/event_words.h"
#include "cmd/targets.h"
#include "event/catalog.h"
#include "kernel/proc.h"
#include "kernel/workload.h"

#include <stdio.h>

/* What counts are kept apart by. */
enum stat_per {
	STAT_PER_ALL,
	STAT_PER_CPU,
	STAT_PER_SOCKET,
	STAT_PER_DIE,
	STAT_PER_CLUSTER,
	STAT_PER_CACHE,
	STAT_PER_CORE,
	STAT_PER_NODE,
	STAT_PER_THREAD
};

/* How counts are shown, live or from a recording. */
struct stat_display {
	enum stat_per per;
	bool per_given;
	int cache_level; /* 0 = the last */
	bool no_merge, merge_cores, percore_threads;
	bool metric_only;
	bool skip_empty; /* rows of events that never happened */
	bool table;
	bool interval_clear;
	bool no_csv_summary;
	bool no_advice;
	bool ungrouped;	    /* numbers */
	const char *format; /* a view's name; NULL = text for people */
	const char *separator;
	const char *output; /* of a live recording: where the recording goes */
	bool append;
	int log_fd; /* -1 = none */
};

struct stat_options {
	struct output_options verbosity;
	struct stat_display display;
	struct event_words words;

	struct targets targets;
	bool no_inherit, all_user, all_kernel;
	bool null_run;
	int detailed;
	bool transaction, topdown, smi_cost, group;
	uint32_t topdown_level; /* 0 = the first */
	struct {
		const char **data;
		size_t len, cap;
	} metric_words;
	struct metric_plan_options metrics;

	bool repeat_given;
	int repeat;	  /* runs; 0 = until interrupted */
	int64_t delay_ms; /* -1 = until --control says so */
	uint64_t timeout_ms, interval_ms, interval_count;
	bool summary;
	bool sync;
	const char *pre, *post;
	const char *control;

	bool no_scale;
	const char *cputype, *for_each_cgroup;
	const char *attribute_map; /* --bpf-attr-map, which is not needed; or NULL */
	bool bpf_task_counters;
	const char *bpf_programs; /* -b: ids, or NULL */
	bool recorded;		  /* perf stat record */
};

enum { TOPDOWN_LEVELS = 2 };

extern const struct option stat_option_table[];
/* The field is a struct stat_display. */
extern const struct option stat_display_group[];
/* What holds without options. */
void stat_options_init(struct stat_options *options);
/* What follows from several options together, and what they exclude. */
struct error *stat_display_check(const struct stat_display *display);
/* `workload`: there is a command to run. */
struct error *stat_options_check(struct stat_options *options, bool workload);

struct stat_recording;

/* Everything that counting needs, live or from a recording; released together. */
struct stat_run {
	struct stat_options options;
	bool smi_thawed;	/* freeze_on_smi was off, and is to be again */
	char **command;		/* NULL = none */
	const char **arguments; /* of the whole command line, NULL-terminated, for recordings */
	struct event_catalog *catalog;
	struct event_list own_events;
	struct event_list *events; /* own_events, or those of a recording */
	struct metric_plan metrics;
	int *cpus;
	size_t cpu_count;
	struct pid_list threads;
	struct {
		const char **data;
		size_t len, cap;
	} thread_names; /* of a recording's threads */
	struct arena name_arena;
	struct counter_set counters;
	bool bpf_refused;		       /* BPF programs can't be loaded here: counters of the target's own are taken */
	struct bpf_program_counters *programs; /* -b: what runs outside of these BPF programs isn't counted; or NULL */
	struct bpf_task_counters *bpf;	       /* adds up what the counters of the CPUs show; NULL = counters of the target's own */
	struct workload workload;
	struct arena place_arena; /* of the places' labels */
	struct counts_places places;
	struct counter_cells cells; /* what was counted so far and up to the last interval */
	struct counts counts;	    /* of what is shown next: an interval, a run, or all runs */
	struct counts total;	    /* with intervals: of the whole */
	VEC(double) each_elapsed;
	uint64_t start_ns, shown_ns; /* monotonic: counting began, the last interval ended */
	uint64_t intervals;
	struct proc_scheduled *scheduled_before; /* of each of the threads, when counting began; NULL = not asked for */
	struct proc_scheduled scheduled;	 /* of all runs, as far as known */
	int signal;				 /* that ended the measuring, or 0 */
	bool stop;				 /* no further runs */
	bool cut;				 /* we ended the measuring, and with it the command */
	bool timed_out;				 /* … since --timeout was over */
	struct stat_recording *recording;	 /* of perf stat record */
	FILE *out;
	char *what;
};
/* Frees and closes all that is there; fields that were never set are fine. */
void stat_run_deinit(struct stat_run *run);

/* events.c: adds what the options ask for to own_events. */
struct error *stat_choose_events(struct stat_run *run);

/* places.c: fills run->places for the CPUs and threads. The topology is this machine's, or a recording's. */
struct features;
struct error *stat_choose_places(struct stat_run *run, const struct features *recorded);

/* measure.c: one run, from starting the command to reading the counters. */
struct error *stat_measure(struct stat_run *run);

/* bpf.c: counts of tasks that a BPF program keeps. open: in place of counters of the tasks' own, which would have that scope; where
 * this machine or this user can't have it, sets run->bpf_refused and says so, and nothing is open. */
bool stat_wants_bpf(const struct stat_run *run);
struct error *stat_bpf_open(struct stat_run *run, const struct counting_scope *tasks_scope, const struct counter_target *tasks);
/* Hands the counters that are open to a BPF program: `add` is called for each event and CPU. */
typedef struct error *(*stat_bpf_add)(struct stat_run *run, uint32_t index, int cpu, int fd);
struct error *stat_bpf_add_events(struct stat_run *run, stat_bpf_add add);
/* Into run->cells, by thread. */
void stat_bpf_read(struct stat_run *run);
void stat_bpf_close(struct stat_run *run);
/* To be told after the counters were enabled, and before they are disabled. */
void stat_bpf_set_running(struct stat_run *run, bool running);

/* programs.c: -b. open: beside counters of all CPUs, which are open. */
struct error *stat_programs_check(const struct stat_options *options);
struct error *stat_programs_open(struct stat_run *run);
/* Into run->cells, by CPU, where counters are open. */
void stat_programs_read(struct stat_run *run);

/* rounds.c: cells and what becomes of them. prepare: when events and places are known. */
void stat_prepare_counts(struct stat_run *run);
/* An interval ended at `time_ns` (as start_ns): shows what was counted in it. The cells must be read. */
void stat_end_interval(struct stat_run *run, uint64_t time_ns);
/* Counting ended: the whole is added to what is shown at the end. */
void stat_end(struct stat_run *run, uint64_t time_ns);

/* waits.c: how long what is measured waited for a CPU. begin: when counting begins; end: adds to run->scheduled. */
void stat_waits_begin(struct stat_run *run);
void stat_waits_end(struct stat_run *run);

/* output.c */
struct error *stat_open_output(struct stat_run *run);
/* What could not be written; of standard error it isn't asked. */
struct error *stat_close_output(struct stat_run *run);
/* Rows of an interval that ended at `time_ns`, since counting began. */
void stat_show_interval(struct stat_run *run, uint64_t time_ns);
/* All that is told at the end. */
void stat_show(struct stat_run *run);

/* record.c: a recording of counts. begin: when the counters are open; round: when they were read, `time_ns` since the beginning. */
struct error *stat_record_begin(struct stat_run *run);
struct error *stat_record_round(struct stat_run *run, uint64_t time_ns, bool final);
struct error *stat_record_end(struct stat_run *run);
/* NULL is fine; what wasn't ended stays an unfinished file. */
void stat_record_close(struct stat_recording *recording);

/* report.c */
extern const struct command cmd_stat_report;
