/* Where the calls and events of a trace come from: stacks as lines under them, and added up as a flame graph. */
#pragma once

#include "analysis/stack.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/untrusted.h"
#include "session/session.h"
#include "symbol/resolve.h"

struct trace_stack_options {
	unsigned int max_depth; /* frames; 0 = the default */
	bool kernel_of_calls;	/* the kernel's part of system calls' stacks, too */
};

struct trace_stacks;

/* Options are copied; session and resolver must outlive it. */
struct trace_stacks *trace_stacks_create(struct session *session, struct resolver *resolver, const struct trace_stack_options *options);
void trace_stacks_destroy(struct trace_stacks *stacks);

/* Resolves the stack of a sample; of a system call (`is_call`) without the kernel's part unless that was asked for. What follows is about
 * this one. Returns how many frames there are. */
size_t trace_stacks_take(struct trace_stacks *stacks, const struct record *record, const struct sample *sample, struct thread *thread,
			 bool is_call);
/* A frame a line, indented. */
void trace_stacks_add_lines(const struct trace_stacks *stacks, struct strbuf *out);
/* A JSON array of strings. */
void trace_stacks_add_json(const struct trace_stacks *stacks, struct strbuf *out);
/* "name+0x12", "0x7f…": one address. `maps` NULL: nothing is known of it. */
void trace_add_place(const struct frame *frame, struct strbuf *out);

/* Adds `duration` to the stack in the flame graph, below the thread's name, with `call` at its tip. */
void trace_stacks_weigh(struct trace_stacks *stacks, const struct untrusted *comm, const char *call, uint64_t duration);
/* Writes the flame graph: its form follows the ending of the name (.html, .svg, .folded). */
struct error *trace_stacks_draw(struct trace_stacks *stacks, const char *path);
