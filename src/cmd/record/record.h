/* What the options of `perf record` hold; within cmd/record*.c. */
#pragma once

#include "app/groups.h"
#include "bpf/sample_filter.h"
#include "capture/off_cpu_samples.h"
#include "capture/recorder.h"
#include "capture/sampling.h"
#include "capture/traces/trace_plan.h"
#include "cmd/event_words.h"
#include "cmd/targets.h"

#define RECORD_OFF_CPU_DEFAULT UINT64_MAX

struct record_options {
	struct output_options verbosity;
	struct event_words words;
	struct sampling sampling;
	struct recorder_options recorder;
	struct trace_plan traces;

	struct targets targets;
	bool no_inherit_given;
	bool dry_run;
	bool no_buildid;	  /* -B */
	bool no_buildid_cache;	  /* -N */
	bool self_contained;	  /* --self-contained */
	bool debug_files;	  /* --debuginfod: go into the cache, too */
	bool off_cpu;		  /* --off-cpu */
	uint64_t off_cpu_ms;	  /* --off-cpu-thresh; RECORD_OFF_CPU_DEFAULT = not given */
	const char *setup_filter; /* "pin", "unpin", or NULL */
	const char *vmlinux;	  /* goes into the cache; or NULL */
	bool buildid_all;
	bool timestamp_boundary;
	int realtime;
	int switch_max_files;
	const char *switch_event; /* --switch-output-event, or NULL */
	uint64_t map_timeout_ms;
	int synth_jobs;
};

extern const struct option record_option_table[];
/* What holds without any option. */
void record_options_init(struct record_options *options);
/* What the configuration says (record.build-id); the command line comes afterwards. */
struct error *record_options_configure(struct record_options *options);
/* What follows from several options together, and what they exclude. */
struct error *record_options_check(struct record_options *options, bool workload);

/* The filters of samples (filter.c). */
struct record_filters {
	struct bpf_sample_filter **data;
	size_t len, cap;
};
/* Filters the samples of the events that have a filter from now on: before they are enabled. */
struct error *record_filters_open(struct record_filters *filters, const struct event_list *events, const struct counter_set *counters);
/* How many samples the BPF programs have dropped until now. */
uint64_t record_filters_dropped(const struct record_filters *filters);
/* Counters whose filter others have displaced (bpf_sample_filter_lost()). */
size_t record_filters_lost(const struct record_filters *filters);
/* Takes the BPF programs away from their events. */
void record_filters_close(struct record_filters *filters);

/* --off-cpu (off_cpu.c). What it excludes and what it needs of the other options. */
struct error *record_off_cpu_check(struct record_options *options);
/* Gives the recording a walker, if it has none, for the stacks of waits. */
void record_off_cpu_choose_way(const struct record_options *options, const struct targets_place *place, struct stack_walker **walker);
/* After sampling_configure(). */
void record_off_cpu_configure(const struct record_options *options, struct event_list *events);
/* When the counters are open: from here on the recorder has a source of samples. */
struct error *record_off_cpu_open(struct record_options *options, const struct event_list *events, const struct targets_place *place,
				  struct off_cpu_samples **ret);
/* Warns of waits that are missing. */
void record_off_cpu_tell(const struct off_cpu_samples *samples);

/* Hardware traces (traces.c). Option callbacks: -m's field is a struct record_options, that of the others a struct trace_plan. */
option_parse_fn record_option_buffers, record_option_snapshot, record_option_trace_sample;
/* What is traced, of the events; what excludes it. Before sampling_configure(). */
struct error *record_plan_traces(struct record_options *options, struct event_list *events, struct event_catalog *catalog);

/* Frames of Python (python.c): for chains that can have them, else NULL; and what stays of their names, when all data of a file are
 * written. */
struct python_frames *record_open_python(const struct record_options *options);
void record_keep_python(const struct python_frames *frames, struct features *features);

/* One line about the stacks of --call-graph auto; nothing without it. Warns of frames of Python that are missing in any. */
void record_tell_stacks(const struct recorder *recorder, const struct python_frames *python);

struct record_summary {
	uint64_t samples;
	struct strbuf losses; /* sentences about lost records and throttling, of the last file */
	uint64_t full_traces; /* how often the buffer of a hardware trace was full */
};

/* Says what is missing in the trace. */
void record_tell_traces(const struct record_options *options, const struct recorder_totals *totals, const struct record_summary *summary);

/* Reads the recording just written: counts, the times of the first and last sample, and the build-ids of the files that samples hit (or of
 * all) for its header. */
struct error *record_examine(const char *path, const struct record_options *options, struct features *features,
			     struct record_summary *summary);
/* The build-id of a file, a module or "[kernel.kallsyms]…". */
bool record_read_build_id(const char *path, struct buildid *ret);
/* --kcore: whether it can be had; an error says why not. */
struct error *record_check_code(void);
/* The kernel's code goes into the recording at `path`, a directory; NULL = perf.data. */
struct error *record_keep_code(const char *path);
/* Whether --vmlinux names the kernel that runs. */
struct error *record_check_vmlinux(const char *path);
/* Puts the files of the build-ids into the build-id cache, where they aren't yet; with debug files from servers and the kernel's vmlinux
 * where the options say so. */
void record_fill_cache(const struct features *features, const struct record_options *options);
