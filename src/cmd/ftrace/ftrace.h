/* Parts of perf ftrace. */
#pragma once

#include "app/groups.h"
#include "bpf/latency/function_latency.h"
#include "kernel/proc.h"
#include "kernel/tracing/function_tracer.h"
#include "kernel/workload.h"

struct ftrace_options {
	const char *pids, *tids, *cpus;
	const char *filter; /* of -F */
	const char *tracer; /* NULL = by the other options */
	const char *sort;   /* profile */
	bool list_functions, system_wide, in_ns, use_bpf;
	uint64_t delay_ms;
	struct function_tracer_options tracing;
	struct output_options output;
};

/* Takes lines of the trace as they come. */
typedef void ftrace_visitor(void *context, const char *line, size_t size);

/* Traces the target or the command (NULL = none) until it ends or a signal comes, and puts the kernel's settings back. The header goes to
 * `header`, if that isn't NULL, before the first line. */
struct error *ftrace_run(const struct ftrace_options *options, char **command, struct strbuf *header, ftrace_visitor *visit, void *context,
			 int *ret_status);
/* The same by a BPF program, for the one function: without text, with its sums. */
struct error *ftrace_run_bpf(const struct ftrace_options *options, char **command, struct function_latency_sums *ret_sums, int *ret_status);

/* The subcommands, behind the parsing of their options: the lines as they are; a table of functions, counts and times; a histogram of one
 * function's times. `command` is what to run, or NULL. */
struct error *ftrace_trace(struct ftrace_options *options, char **command, int *ret_status);
struct error *ftrace_profile(struct ftrace_options *options, char **command, int *ret_status);
struct error *ftrace_latency(struct ftrace_options *options, char **command, int *ret_status);
