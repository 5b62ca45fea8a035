/* The kernel's own tracers of functions (function, function_graph) in tracefs. They are set up for one use and everything is put back as it
 * was before.
 *
 * Source of the facts: Documentation/trace/ftrace.rst of the kernel. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pattern_list {
	VEC(const char *) items;
};

struct function_tracer_options {
	const char *tracer;			      /* "function", "function_graph" */
	struct pattern_list functions, not_functions; /* patterns; empty = all, none */
	struct pattern_list graphs, not_graphs;	      /* function_graph: with what they call */
	const pid_t *pids;			      /* threads; with count 0 all there are */
	size_t pid_count;
	const int *cpus; /* with count 0 all */
	size_t cpu_count;
	uint64_t buffer_kb;			    /* for each CPU; 0 = as it is */
	bool inherit;				    /* children, too */
	bool call_stacks, irq_info;		    /* function */
	bool no_sleep_time, no_irqs, verbose, tail; /* function_graph; tail: names behind the ends of functions */
	uint64_t threshold_us;			    /* only calls that took longer; 0 = all */
	uint32_t depth;				    /* 0 = any */
};

struct function_tracer;

/* Sets everything up, switched off. The error tells why not; everything is as it was before then, too. */
struct error *function_tracer_open(const char *tracefs, const struct function_tracer_options *options, struct function_tracer **ret);
/* Adds one more thread, before the start. */
struct error *function_tracer_add_pid(struct function_tracer *tracer, pid_t pid);
/* Begins or ends writing into the buffers; what is in them stays. */
struct error *function_tracer_switch(struct function_tracer *tracer, bool on);
/* Where the text comes out: never waits (EAGAIN). */
int function_tracer_fd(const struct function_tracer *tracer);
/* Adds the comment lines that explain the columns. */
void function_tracer_add_header(const struct function_tracer *tracer, struct strbuf *out);
/* How many entries were lost because nobody read them in time. */
uint64_t function_tracer_lost(const struct function_tracer *tracer);
/* Puts everything back. Does nothing with NULL. */
void function_tracer_close(struct function_tracer *tracer);

/* Is there such a tracer in this kernel? */
bool function_tracer_exists(const char *tracefs, const char *tracer);
