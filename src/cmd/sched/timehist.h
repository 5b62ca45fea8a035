/* Parts of perf sched timehist. */
#pragma once

#include "analysis/sched/timehist.h"
#include "analysis/script/filter.h"
#include "analysis/stack.h"
#include "cmd/sched/rows.h"
#include "cmd/sched/sched.h"

#define TIMEHIST_STACK_DEFAULT UINT64_MAX

/* The column of a task, as it was made last. */
struct timehist_label {
	const struct thread *thread; /* NULL = none */
	const struct untrusted *comm;
	uint32_t pid;
	bool idle;
	uint8_t length;
	char text[42];
};
enum { TIMEHIST_LABELS = 256 };

struct timehist_command {
	struct sched_input common;
	const char *cpus, *pids, *tids, *priorities;
	bool summary, with_summary, idle_only, folded;
	bool wakeups, migrations, next, state, cpu_visual, show_priority, before_migrations;
	bool stacks;
	uint64_t max_stack; /* frames; TIMEHIST_STACK_DEFAULT = as many as the output has by default */

	struct opening opening;
	struct stack stack;
	struct strbuf text;			       /* of lines: the last one is being made; timehist_flush() */
	struct timehist_label labels[TIMEHIST_LABELS]; /* by tid */
	unsigned int cpu_count;			       /* of the recording's machine */
	bool has_header;			       /* it was printed */
	struct sched_rows rows;			       /* --format: of lines */
};

/* "name[tid]", or "name[tid/pid]" of a thread that isn't its process's first. */
void timehist_add_task(struct strbuf *out, const struct thread *thread, const struct untrusted *comm, bool idle);
/* Once: with the first line, or where there is none. */
void timehist_print_header(struct timehist_command *command);
/* For struct sched_timehist_options.line; the context is the command. */
void timehist_print_line(void *context, const struct sched_line *line);
/* Lines of a recording in a file are printed many at a time: those that wait. */
void timehist_flush(struct timehist_command *command);
/* Instead of all that: folded stacks of the waits. */
struct error *timehist_print_folded(struct timehist_command *command, const struct sched_timehist_options *tracking);
/* The same for programs: before the lines, each of them, and the sums. */
void timehist_rows_begin(struct timehist_command *command);
void timehist_rows_line(void *context, const struct sched_line *line);
struct error *timehist_rows_write_summary(const struct timehist_command *command, const struct sched_timehist *timehist);
/* Where a task left the CPU: whether that was recorded; and the innermost functions in one line. */
bool timehist_has_stacks(const struct timehist_command *command);
void timehist_add_stack(struct timehist_command *command, const struct sched_line *line);
/* The tables behind the lines: run times by thread, and the idle ones. */
void timehist_print_summary(const struct timehist_command *command, struct sched_timehist *timehist);
