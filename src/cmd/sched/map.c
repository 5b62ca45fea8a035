/* perf sched map: a column for each CPU and a line for each switch; tasks have names of a letter and a digit, which are explained where
 * they begin.
 *
 *	  *A0        2135.865590 secs A0 => migration/0:18
 *	   A0 *B0    2135.873731 secs B0 => sh:5510
 *	  *.   B0    2135.873886 secs .  => swapper:0            . is idle
 */
#include "cmd/sched/sched.h"

#include "analysis/sched/tasks.h"
#include "analysis/script/filter.h"
#include "analysis/tracker.h"
#include "app/color.h"
#include "app/pager.h"
#include "base/log.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/name_list.h"
#include "cmd/sched/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define O struct map_command

struct mapped_task {
	struct sched_task task;
	char name[3]; /* "A0", ". ", "- "; "" = none yet */
	bool is_explained;
	uint32_t renamed; /* how often it had got a name, when it was explained last */
};

struct mapped_cpu {
	struct mapped_task *task; /* that runs there; NULL = unknown */
	bool seen;
	unsigned int column;
};

struct map_command {
	struct sched_input common;
	struct name_list tasks;
	const char *cpus, *color_cpus, *color_pids;
	bool compact, fuzzy, colors;

	struct opening opening;
	struct sched_tasks states;
	struct mapped_cpu *cpu; /* SCHED_CPUS */
	unsigned int columns;
	unsigned int *order; /* compact: CPUs in the order in which they were seen; `columns` of them */
	uint64_t shown[SCHED_CPUS / 64], colored[SCHED_CPUS / 64];
	struct script_ids colored_pids;
	char letter, digit;		/* of the next name */
	uint64_t shown_lines, left_out; /* switches on CPUs that have no column */
	struct strbuf cells;		/* of all columns, as they are in a line but for its mark */
	struct strbuf text;		/* of lines: the last one is being made; flush() */
	struct sched_rows rows;		/* --format */
};

static const struct option options[] = {
	OPTION_FLAG(0, "compact", O, compact, "show columns only for CPUs that are used, in order of first use"),
	OPTION_STRING(0, "cpus", O, cpus, "LIST", "show only lines for these CPUs"),
	OPTION_CUSTOM(0, "task-name", O, tasks, "NAMES", "show only tasks with these names (comma-separated), and - for others",
		      name_list_option),
	OPTION_FLAG(0, "fuzzy-name", O, fuzzy, "with --task-name: match parts of names"),
	OPTION_STRING(0, "color-cpus", O, color_cpus, "LIST", "highlight these CPUs"),
	OPTION_STRING(0, "color-pids", O, color_pids, "PIDS", "highlight these processes"),
	SCHED_FORMAT(O),
	SCHED_OPTIONS(O),
	SCHED_DUMP(O),
	OPTION_END,
};

/* ---- names ---- */

static bool is_wanted(const struct map_command *command, const struct untrusted *comm)
{
	const struct name_list *list = &command->tasks;
	if (!list->names.len || name_list_has(list, untrusted_raw(comm)))
		return true;
	for (size_t i = 0; command->fuzzy && i < list->names.len; i++)
		if (strstr(untrusted_raw(comm), list->names.data[i]))
			return true;
	return false;
}

static void name_task(struct map_command *command, struct mapped_task *task, const struct untrusted *comm)
{
	if (!task->task.tid || !is_wanted(command, comm)) {
		memcpy(task->name, task->task.tid ? "- " : ". ", sizeof(task->name));
		return;
	}
	task->name[0] = command->letter;
	task->name[1] = command->digit;
	if (command->letter++ < 'Z')
		return;
	command->letter = 'A';
	command->digit = command->digit < '9' ? (char)(command->digit + 1) : '0';
}

/* ---- lines ---- */

static bool has_bit(const uint64_t bits[], uint32_t cpu)
{
	return bits[cpu / 64] >> cpu % 64 & 1;
}

static bool is_marked(const struct map_command *command, uint32_t cpu, const struct mapped_task *task)
{
	for (size_t i = 0; task && i < command->colored_pids.len; i++)
		if (command->colored_pids.data[i] == task->task.tid)
			return true;
	return command->color_cpus && has_bit(command->colored, cpu);
}

/* "*A0 ": as long as each cell is. */
enum { CELL = 4 };
static const char unknown[] = "  ", other[] = "- ";

static void put_cell(char *to, char mark, const char *name)
{
	const char cell[CELL] = {mark, name[0], name[1], ' '};
	memcpy(to, cell, CELL);
}

static void color_cell(const struct map_command *command, unsigned int column, struct strbuf *out, const char *cell)
{
	static const char mark[] = "\033[1;34m", unmark[] = "\033[m";
	uint32_t cpu = command->compact ? command->order[column] : column;
	bool marked = is_marked(command, cpu, command->cpu[cpu].task);
	strbuf_add_str(out, marked ? mark : "");
	strbuf_add(out, cell, CELL);
	strbuf_add_str(out, marked ? unmark : "");
}

/* The cell of the CPU at which something happens is marked. */
static void add_cells(struct map_command *command, uint32_t at, bool left)
{
	const struct mapped_cpu *cpu = &command->cpu[at];
	char *cells = command->cells.data, *own = cells + cpu->column * (size_t)CELL;
	put_cell(own, '*', left ? other : cpu->task->name);
	strbuf_add_literal(&command->text, "  ");
	if (!command->colors)
		strbuf_add(&command->text, cells, command->cells.len);
	for (unsigned int i = 0; command->colors && i < command->columns; i++)
		color_cell(command, i, &command->text, cells + i * (size_t)CELL);
	put_cell(own, ' ', cpu->task->name);
}

static void add_time(struct strbuf *out, uint64_t time)
{
	enum { TIME_COLUMNS = 12 };
	strbuf_add_literal(out, "  ");
	sched_add_time(out, time, TIME_COLUMNS);
	strbuf_add_literal(out, " secs ");
}

static void add_explanation(struct strbuf *out, struct mapped_task *task, const struct untrusted *comm)
{
	strbuf_add_str(out, task->name);
	strbuf_add_str(out, " => ");
	text_add_untrusted(out, comm);
	strbuf_printf(out, ":%u", task->task.tid);
}

static void flush(struct map_command *command)
{
	fwrite_unlocked(command->text.data, 1, command->text.len, stdout);
	command->text.len = 0;
}

/* Lines of a recording in a file are printed many at a time. */
static void end_line(struct map_command *command)
{
	enum { PORTION = 32 << 10 };
	strbuf_add_char(&command->text, '\n');
	if (command->text.len >= PORTION || !command->opening.session->reader->stable)
		flush(command);
}

static uint32_t count_names(const struct thread *thread, uint64_t time)
{
	uint32_t count = thread->comm_count;
	while (count && thread->comms[count - 1].time > time)
		count--;
	return count;
}

/* A task is explained when it comes first, and when it has got a new name since. */
static void explain(struct strbuf *out, struct mapped_task *task, const struct untrusted *comm, uint64_t time)
{
	uint32_t names = count_names(task->task.thread, time);
	if (!task->is_explained || task->renamed != names)
		add_explanation(out, task, comm);
	task->is_explained = true;
	task->renamed = names;
}

static void set_columns(struct map_command *command, unsigned int columns)
{
	for (; command->columns < columns; command->columns++) {
		put_cell(strbuf_reserve(&command->cells, CELL), ' ', unknown);
		strbuf_advance(&command->cells, CELL);
	}
}

/* A column for a CPU that wasn't seen before. */
static bool add_column(struct map_command *command, uint32_t cpu)
{
	struct mapped_cpu *mapped = &command->cpu[cpu];
	if (mapped->seen)
		return false;
	mapped->seen = true;
	mapped->column = command->compact ? command->columns : cpu;
	command->order[mapped->column] = cpu;
	set_columns(command, mapped->column < command->columns ? command->columns : mapped->column + 1);
	return true;
}

/* For programs: who runs on the CPU from now on. */
static void add_row(struct map_command *command, const struct tracker_event *event, const struct mapped_task *in,
		    const struct untrusted *comm)
{
	struct sched_rows *rows = &command->rows;
	sched_rows_number(rows, event->time);
	sched_rows_number(rows, event->cpu);
	sched_rows_bytes(rows, in->name, strcspn(in->name, " "));
	sched_rows_text(rows, untrusted_raw(comm));
	sched_rows_number(rows, in->task.tid);
	sched_rows_end_row(rows);
}

static void begin_rows(struct map_command *command)
{
	struct sched_rows *rows = &command->rows;
	*rows = (struct sched_rows){.format = command->common.format, .id = "map"};
	sched_rows_column(rows, "time", COLUMN_NANOSECONDS);
	sched_rows_column(rows, "cpu", COLUMN_COUNT);
	sched_rows_column(rows, "name", COLUMN_TEXT);
	sched_rows_column(rows, "comm", COLUMN_TEXT);
	sched_rows_column(rows, "tid", COLUMN_COUNT);
	sched_rows_begin(rows);
}

static void on_switch(void *context, const struct tracker_event *event)
{
	struct map_command *command = context;
	uint32_t cpu = event->cpu;
	uint64_t time = event->record->model_time;
	if (cpu >= SCHED_CPUS) {
		command->left_out++;
		return;
	}
	bool is_new_cpu = add_column(command, cpu);
	struct mapped_task *in = sched_tasks_get(&command->states, (uint32_t)event->values[1], time, NULL);
	struct mapped_task *out = sched_tasks_get(&command->states, (uint32_t)event->values[0], time, NULL);
	const struct untrusted *comm = thread_comm(in->task.thread, time), *left = thread_comm(out->task.thread, time);
	bool comes = is_wanted(command, comm), goes = command->tasks.names.len && is_wanted(command, left) && *out->name;
	command->cpu[cpu].task = in;
	if (!*in->name)
		name_task(command, in, comm);
	put_cell(command->cells.data + command->cpu[cpu].column * (size_t)CELL, ' ', in->name); /* also where no line is shown */
	if ((command->cpus && !has_bit(command->shown, cpu)) || (!comes && !goes))
		return;
	command->shown_lines++;
	if (command->common.format) {
		add_row(command, event, in, comm);
		return;
	}
	if (comes) {
		add_cells(command, cpu, false);
		add_time(&command->text, event->time);
		explain(&command->text, in, comm, time);
		if (command->compact && is_new_cpu)
			strbuf_printf(&command->text, " (CPU %u)", cpu);
		end_line(command);
	}
	if (goes) {
		add_cells(command, cpu, true);
		add_time(&command->text, event->time);
		end_line(command);
	}
}

/* ---- */

static struct error *show(struct map_command *command)
{
	static const struct tracker_handler handlers[] = {{"sched:sched_switch", {"prev_pid", "next_pid"}, on_switch}, {0}};
	uint32_t online = command->opening.session->reader->features.cpus_online;
	command->cpu = mem_zalloc_array(SCHED_CPUS, sizeof(*command->cpu));
	command->order = mem_zalloc_array(SCHED_CPUS, sizeof(*command->order));
	set_columns(command, command->compact ? 0 : online < SCHED_CPUS ? online : SCHED_CPUS);
	command->letter = 'A';
	command->digit = '0';
	command->colors = color_wanted(COLOR_ON_TERMINALS);
	sched_tasks_init(&command->states, command->opening.session->machine, sizeof(struct mapped_task));
	struct tracker *tracker = tracker_create(command->opening.session, handlers, command);
	struct error *error = tracker_require(tracker, "sched:sched_switch", "perf sched record");
	if (!error && command->common.format)
		begin_rows(command);
	else if (!error)
		pager_start("sched");
	if (!error)
		error = tracker_run(tracker);
	flush(command);
	if (!error)
		error = sched_rows_finish(&command->rows);
	if (!error && command->left_out)
		log_warning("Switches on CPUs above %d are not shown: %" PRIu64 ".", SCHED_CPUS - 1, command->left_out);
	const bool empty = !command->opening.session->record_counts[RECORD_SAMPLE];
	if (!error && !command->shown_lines && (empty || command->cpus || command->tasks.names.len))
		sched_tell_nothing(&command->opening, "--cpus and --task-name");
	if (!error)
		opening_warn(&command->opening);
	tracker_destroy(tracker);
	sched_tasks_deinit(&command->states);
	free(command->cpu);
	free(command->order);
	strbuf_deinit(&command->cells);
	strbuf_deinit(&command->text);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct map_command command = {0};
	bool done;
	sched_input_init(&command.common);
	struct error *error = options_parse_alone(options, argc, argv, &command, "");
	if (!error)
		error = sched_parse_bits("--cpus", command.cpus, SCHED_CPUS, command.shown);
	if (!error && command.fuzzy && !command.tasks.names.len)
		error = error_new_kind(ERROR_USAGE, "--fuzzy-name requires --task-name");
	if (!error && command.common.format && (command.compact || command.color_cpus || command.color_pids))
		error = error_new_kind(ERROR_USAGE, "--format prints rows: --compact, --color-cpus and --color-pids do not apply");
	if (!error)
		error = sched_parse_bits("--color-cpus", command.color_cpus, SCHED_CPUS, command.colored);
	if (!error && command.color_pids)
		error = script_filter_add_ids(command.color_pids, &command.colored_pids);
	if (!error)
		error = sched_open(&command.opening, &command.common, false, &done);
	if (!error && !done)
		error = show(&command);
	opening_end(&command.opening);
	name_list_deinit(&command.tasks);
	vec_deinit(&command.colored_pids);
	return error;
}

static const char *const usage[] = {"[--compact] [--cpus LIST] [--task-name NAMES] [-i FILE]", NULL};
const struct command cmd_sched_map = {"sched map", "Show which task ran on which CPU, one column per CPU", usage, options, run};
