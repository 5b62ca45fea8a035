/* perf trace: what its files share. */
#pragma once

#include "app/groups.h"
#include "base/vec.h"
#include "cmd/trace_print.h"
#include "cmd/trace_table.h"
#include "kernel/proc.h"
#include "kernel/workload.h"

#include <stdbool.h>
#include <stdint.h>

/* How calls are added up. */
enum trace_summary_mode { TRACE_BY_THREAD, TRACE_BY_CGROUP, TRACE_TOTAL };

struct trace_options {
	struct output_options verbosity;
	/* Who: */
	bool system_wide;
	const char *cpus, *pids, *tids, *user, *cgroup, *filter_pids;
	bool no_inherit;
	uint64_t delay_ms;
	/* What: */
	VEC(const char *) words; /* of -e */
	bool no_syscalls;
	uint64_t shortest; /* --duration, ns */
	bool failures;
	uint64_t max_events;
	/* How: */
	struct trace_print_options print;
	const char *output;
	bool force;
	uint64_t string_limit;
	uint64_t ring_bytes;
	/* Sums: */
	bool summary;	   /* only sums */
	bool with_summary; /* sums as well */
	bool errno_summary;
	bool histograms;
	enum trace_summary_mode summary_mode;
};

/* Everything that a trace needs, released together. */
struct trace {
	const struct trace_options *options;
	struct trace_table table;
	struct trace_printer *printer; /* NULL with only sums */
	struct call_sums *sums;	       /* NULL without */
	struct workload workload;
	struct pid_list targets;
	bool targets_are_threads;
	int output; /* descriptor */
	int signal; /* that ended the trace, or 0 */
};

/* Follows the target live with the BPF program. */
struct error *trace_live(struct trace *trace);
