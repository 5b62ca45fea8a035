/* perf trace: what its files share. */
#pragma once

#include "app/color.h"
#include "app/groups.h"
#include "base/vec.h"
#include "bpf/syscalls/syscalls_shared.h"
#include "cmd/trace/print.h"
#include "cmd/trace/table.h"
#include "cmd/trace/words.h"
#include "event/catalog.h"
#include "kernel/proc.h"
#include "kernel/workload.h"

#include <stdbool.h>
#include <stdint.h>

/* How calls are added up. */
enum trace_summary_mode { TRACE_BY_THREAD, TRACE_BY_CGROUP, TRACE_TOTAL };

/* What an option and its negation say. */
enum trace_choice { TRACE_NOT_SAID, TRACE_YES, TRACE_NO };

enum trace_faults { TRACE_MAJOR_FAULTS = 1, TRACE_MINOR_FAULTS = 2 };

struct trace_options {
	struct output_options verbosity;
	/* Who: */
	bool system_wide;
	const char *cpus, *pids, *tids, *user, *cgroup, *filter_pids;
	bool no_inherit;
	uint64_t delay_ms;
	/* What: */
	struct trace_words words;  /* -e, --filter */
	bool syscalls;		   /* --syscalls, --no-syscalls; */
	bool syscalls_given;	   /* … one of them was there */
	enum trace_choice signals; /* --signals, --no-signals */
	unsigned int faults;	   /* enum trace_faults */
	bool sched;
	const char *switch_on, *switch_off;
	bool show_on_off;
	uint64_t shortest; /* --duration, ns */
	bool failures;
	uint64_t max_events;
	/* How: */
	struct trace_print_options print;
	enum color_choice color;
	const char *map_dump; /* a map of the BPF program, shown at the end; or NULL */
	const char *output;
	bool force;
	bool sandbox; /* of a recording */
	uint64_t string_limit;
	uint64_t ring_bytes; /* 0 = the default */
	const char *input;   /* recording to show, or NULL */
	bool no_bpf;
	bool kernel_types;  /* --force-btf */
	bool sorted;	    /* always so */
	bool print_formats; /* events as the kernel formats them */
	bool print_sample;
	bool tool_stats;
	uint64_t map_timeout_ms; /* 0 = the default */
	/* Where from: */
	const char *call_graph; /* as record takes it, or NULL */
	bool kernel_graph;
	uint64_t max_stack, min_stack; /* frames; 0 = not given */
	const char *flamegraph;	       /* file, or NULL */
	bool no_lines;		       /* only the flame graph */
	/* Sums: */
	bool summary;	   /* only sums */
	bool with_summary; /* sums as well */
	bool errno_summary;
	bool histograms;
	enum trace_summary_mode summary_mode;
};

/* Signals and ends of threads as tracepoints tell them: for recordings, and where no BPF program sees them. */
#define TRACE_SIGNAL_EVENT "signal:signal_deliver"
#define TRACE_SENT_EVENT "signal:signal_generate"
#define TRACE_END_EVENT "sched:sched_process_exit"

/* Everything that a trace needs, released together. */
struct trace {
	const struct trace_options *options;
	struct event_catalog *catalog;
	struct trace_table table;
	struct trace_events events;    /* besides system calls */
	bool calls;		       /* system calls are traced */
	bool signals;		       /* so are signals, and how threads end */
	struct pid_list left_out;      /* processes that aren't traced, besides ourselves */
	bool wants_program;	       /* the BPF program runs beside events … */
	bool program_tells_calls;      /* … and it tells the calls, not samples */
	struct trace_strings *strings; /* what it told; NULL = none */
	uint64_t samples;	       /* read from a recording or its stream */
	struct bpf_types_text *types;  /* --force-btf, or NULL */
	struct trace_printer *printer; /* NULL with only sums */
	struct syscall_sums *sums;     /* NULL without */
	struct workload workload;
	struct pid_list targets;
	bool targets_are_threads;
	int output; /* descriptor */
	int signal; /* that ended the trace, or 0 */
};

/* Follows the target live with the BPF program. */
struct error *trace_live(struct trace *trace);
/* Lines of signals and ends of threads: --- SIGUSR1 {si_signo=SIGUSR1, …} ---, +++ exited with 0 +++ */
void trace_show_signal(const struct trace *trace, const struct signal_record *record);
void trace_show_exit(const struct trace *trace, const struct exit_record *record);
/* Such a line of anything: `mark` stands around what is said. */
void trace_show_mark(const struct trace *trace, const struct thread_record *thread, const char *name, const char *mark,
		     const struct strbuf *detail);
/* The sums and statistics behind the last line. */
struct error *trace_show_end(struct trace *trace);
/* Which calls and events are wanted, of a machine that uname -m calls so. May be called again. */
struct error *trace_select_events(struct trace *trace, const char *machine);
/* Whether signals and ends of threads are: with all calls, or all but some, and when asked for. */
bool trace_wants_signals(const struct trace_options *options);
/* How often an event is shown (nr=), 0 = always. */
uint64_t trace_limit_of(const struct trace *trace, const char *event);
