/* perf sched timehist: what the scheduler did, line by line, and sums by task. This file has the options; timehist_print.c the text. */
#include "cmd/sched/timehist.h"

#include "app/pager.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

#define O struct timehist_command

enum { DEFAULT_STACK = 5, PRIORITIES = 140 };

static const struct option options[] = {
	OPTION_HEADING("Filters"),
	OPTION_STRING('C', "cpu", O, cpus, "LIST", "only these CPUs, such as 0-3,7"),
	OPTION_STRING('p', "pid", O, pids, "PIDS", "only these processes (comma-separated)"),
	OPTION_STRING('t', "tid", O, tids, "TIDS", "only these threads"),
	OPTION_STRING(0, "prio", O, priorities, "LIST", "only tasks with these priorities, such as 100-120"),
	OPTION_STRING(0, "time", O, common.time, "START,STOP", "only this time range, in seconds"),
	OPTION_HEADING("Lines"),
	OPTION_FLAG('w', "wakeups", O, wakeups, "also show wake-ups"),
	OPTION_FLAG('M', "migrations", O, migrations, "also show migrations of tasks to other CPUs"),
	OPTION_FLAG('I', "idle-hist", O, idle_only, "show only idle times of CPUs"),
	OPTION_FLAG('s', "summary", O, summary, "show only the summary by task"),
	OPTION_FLAG('S', "with-summary", O, with_summary, "show lines, and the summary by task at the end"),
	OPTION_FLAG(0, "folded", O, folded,
		    "instead of lines: folded stacks with the microseconds that tasks were blocked there, for flame graphs"),
	OPTION_HEADING("Columns"),
	OPTION_FLAG('n', "next", O, next, "show which task ran next"),
	OPTION_FLAG(0, "state", O, state, "show the state in which the task left the CPU; with -s: wait times by state"),
	OPTION_FLAG(0, "show-prio", O, show_priority, "show the task's priority"),
	OPTION_FLAG(0, "pre-migrations", O, before_migrations,
		    "show the part of the delay that the task waited on CPUs from which it was moved away before it ran"),
	OPTION_FLAG('V', "cpu-visual", O, cpu_visual, "show one column per CPU"),
	OPTION_FLAG('g', "call-graph", O, stacks,
		    "show where the task left the CPU, if stacks were recorded (default; --no-call-graph: do not)"),
	OPTION_U64(0, "max-stack", O, max_stack, "N", "show at most N functions of the stack (default 5, with --folded 127)"),
	SCHED_FORMAT(O),
	SCHED_OPTIONS(O),
	SCHED_DUMP(O),
	OPTION_END,
};

/* What the command line asks for, checked. */
struct wishes {
	struct sched_timehist_options tracking;
	struct script_ids pids, tids;
	uint64_t priorities[PRIORITIES / 64 + 1];
	uint64_t cpus[SCHED_CPUS / 64];
};

static struct error *check_folded(const struct timehist_command *command)
{
	bool lines = command->wakeups || command->migrations || command->idle_only || command->summary || command->with_summary;
	bool columns = command->next || command->state || command->show_priority || command->cpu_visual || command->before_migrations;
	if (lines || columns || command->priorities)
		return error_new_kind(
			ERROR_USAGE,
			"--folded shows stacks, not lines: -w, -M, -I, -s, -S, -n, -V, --state, --show-prio, --pre-migrations and --prio do not apply");
	return NULL;
}

static bool has_sums(const struct timehist_command *command)
{
	return command->summary || command->with_summary;
}

static struct error *read_wishes(const struct timehist_command *command, struct wishes *ret)
{
	struct error *error = command->pids ? script_filter_add_ids(command->pids, &ret->pids) : NULL;
	if (!error && command->tids)
		error = script_filter_add_ids(command->tids, &ret->tids);
	if (!error && command->common.time)
		error = sched_parse_time(command->common.time, &ret->tracking.scope);
	if (!error && command->priorities)
		error = sched_parse_bits("--prio", command->priorities, PRIORITIES, ret->priorities);
	if (!error && command->cpus)
		error = sched_parse_bits("-C", command->cpus, SCHED_CPUS, ret->cpus);
	ret->tracking.scope.cpus = command->cpus ? ret->cpus : NULL;
	ret->tracking.scope.cpu_words = SCHED_CPUS / 64;
	if (!error && command->summary && (command->wakeups || command->next))
		error = error_new_kind(ERROR_USAGE, "-s shows no lines: omit -w and -n, or use -S");
	if (!error && command->summary && command->before_migrations)
		error = error_new_kind(ERROR_USAGE, "-s shows no lines: omit --pre-migrations, or use -S");
	if (!error && command->folded)
		error = check_folded(command);
	if (!error && command->common.format && (command->folded || command->cpu_visual))
		error = error_new_kind(ERROR_USAGE, "--format prints rows: -V and --folded do not apply");
	if (!error && command->common.format && command->summary && (command->state || command->show_priority))
		error = error_new_kind(ERROR_USAGE, "--format with -s has all sums: --state and --show-prio do not apply");
	ret->tracking.pids = ret->pids.data;
	ret->tracking.pid_count = ret->pids.len;
	ret->tracking.tids = ret->tids.data;
	ret->tracking.tid_count = ret->tids.len;
	ret->tracking.priorities = command->priorities ? ret->priorities : NULL;
	ret->tracking.wakeups = command->wakeups;
	ret->tracking.migrations = command->migrations;
	ret->tracking.idle_only = command->idle_only;
	ret->tracking.sums = has_sums(command);
	return error;
}

static struct error *print_text(struct timehist_command *command, struct wishes *wishes, struct sched_timehist **ret)
{
	wishes->tracking.line = command->summary ? NULL : timehist_print_line;
	pager_start("sched");
	struct error *error = sched_timehist_create(command->opening.session, &wishes->tracking, ret);
	timehist_flush(command);
	if (!error && !command->summary)
		timehist_print_header(command);
	if (!error && has_sums(command))
		timehist_print_summary(command, *ret);
	return error;
}

static struct error *write_rows(struct timehist_command *command, struct wishes *wishes, struct sched_timehist **ret)
{
	wishes->tracking.line = command->summary ? NULL : timehist_rows_line;
	if (!command->summary)
		timehist_rows_begin(command);
	struct error *error = sched_timehist_create(command->opening.session, &wishes->tracking, ret);
	struct error *rows_error = sched_rows_finish(&command->rows);
	if (!error && !rows_error && has_sums(command))
		error = timehist_rows_write_summary(command, *ret);
	if (!error)
		return rows_error;
	error_free(rows_error);
	return error;
}

static struct error *show(struct timehist_command *command, struct wishes *wishes)
{
	struct sched_timehist *timehist = NULL;
	if (command->folded)
		return timehist_print_folded(command, &wishes->tracking);
	if (command->max_stack == TIMEHIST_STACK_DEFAULT)
		command->max_stack = DEFAULT_STACK;
	wishes->tracking.context = command;
	uint32_t online = command->opening.session->reader->features.cpus_online;
	command->cpu_count = online && online < SCHED_CPUS ? online : 1;
	struct error *error = command->common.format ? write_rows(command, wishes, &timehist) : print_text(command, wishes, &timehist);
	bool chosen = !command->opening.session->record_counts[RECORD_SAMPLE] || command->cpus || command->pids || command->tids ||
		      command->priorities || wishes->tracking.scope.begin || wishes->tracking.scope.end;
	if (!error && chosen && !timehist->switches)
		sched_tell_nothing(&command->opening, "-C, -p, -t, --prio and --time");
	sched_timehist_destroy(timehist);
	stack_deinit(&command->stack);
	strbuf_deinit(&command->text);
	if (!error)
		opening_warn(&command->opening);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct timehist_command command = {.stacks = true, .max_stack = TIMEHIST_STACK_DEFAULT};
	struct wishes wishes = {0};
	bool done;
	sched_input_init(&command.common);
	struct error *error = options_parse_alone(options, argc, argv, &command, "");
	if (!error)
		error = read_wishes(&command, &wishes);
	command.common.time = NULL; /* runs that reach into the range are cut at its ends, so events outside are needed */
	if (!error)
		error = sched_open(&command.opening, &command.common, true, &done);
	if (!error && !done)
		error = show(&command, &wishes);
	opening_end(&command.opening);
	vec_deinit(&wishes.pids);
	vec_deinit(&wishes.tids);
	return error;
}

static const char *const usage[] = {"[-s | -S] [-w] [-M] [-n] [-V] [--state] [-p PIDS] [-C LIST] [--time START,STOP] [-i FILE]",
				    "--folded [-p PIDS] [-C LIST] [--time START,STOP] [-i FILE]", NULL};
const struct command cmd_sched_timehist = {"sched timehist", "Show scheduling events line by line, and a summary by task", usage, options,
					   run};
