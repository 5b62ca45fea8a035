/* perf kwork top: how the CPUs' time was used: by interrupts, by each thread, and not at all. */
#include "cmd/kwork/kwork.h"

#include "analysis/kwork/top.h"
#include "app/pager.h"
#include "base/text.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct top_command {
	struct kwork_input shared;
	struct kwork_top *top;
	VEC(const struct kwork_task *) rows;
	uint64_t cpus, span, total; /* CPUs; ns of one and of all */
};

/* ---- rows ---- */

static int compare_rates(const void *a, const void *b)
{
	const struct kwork_task *left = *(const struct kwork_task *const *)a, *right = *(const struct kwork_task *const *)b;
	int order = (left->runtime < right->runtime) - (left->runtime > right->runtime);
	if (!order)
		order = (left->task.tid > right->task.tid) - (left->task.tid < right->task.tid);
	return order ? order : (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

static int compare_tids(const void *a, const void *b)
{
	const struct kwork_task *left = *(const struct kwork_task *const *)a, *right = *(const struct kwork_task *const *)b;
	int order = (left->task.tid > right->task.tid) - (left->task.tid < right->task.tid);
	return order ? order : compare_rates(a, b);
}

static void collect(struct top_command *command)
{
	struct kwork_top *top = command->top;
	const char *name = command->shared.name;
	for (size_t i = 0; i < top->tasks.all.len; i++) {
		const struct kwork_task *task = (const struct kwork_task *)top->tasks.all.data[i];
		if (task->runtime && (!name || !strcmp(untrusted_raw(task->comm), name)))
			vec_push(&command->rows, task);
	}
	for (size_t i = 0; i < top->cpus.len; i++) {
		const struct kwork_cpu *cpu = top->cpus.data[i];
		command->cpus += cpu != NULL;
		if (cpu && cpu->idle_task.runtime && !name)
			vec_push(&command->rows, &cpu->idle_task);
	}
	command->span = top->end - top->begin;
	command->total = command->span * command->cpus;
	bool by_tid = command->shared.sort && !strcmp(command->shared.sort, "tid");
	if (command->rows.len)
		qsort(command->rows.data, command->rows.len, sizeof(*command->rows.data), by_tid ? compare_tids : compare_rates);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* What a task ran for is a share of one CPU's time, as in top(1). */
static double rate_of(const struct top_command *command, const struct kwork_task *task)
{
	return percent(task->runtime, command->span);
}

static void add_comm(struct strbuf *out, const struct kwork_task *task)
{
	if (task->task.thread)
		text_add_untrusted(out, task->comm);
	else
		strbuf_printf(out, "[swapper/%" PRIu32 "]", task->cpu);
}

/* ---- text ---- */

static void print_cpu(const struct top_command *command, const struct kwork_cpu *cpu)
{
	enum { BAR = 30 };
	double load = 100 - percent(cpu->idle, command->span);
	int length = (int)(load * BAR / 100 + 0.5);
	printf("%%Cpu%-4" PRIu32 "[%.*s%*s] %6.2f%%\n", cpu->idle_task.cpu, length, "||||||||||||||||||||||||||||||", BAR - length, "",
	       load);
}

static void print_text(const struct top_command *command)
{
	uint64_t idle = 0, hard = 0, soft = 0;
	for (size_t i = 0; i < command->top->cpus.len; i++) {
		const struct kwork_cpu *cpu = command->top->cpus.data[i];
		idle += cpu ? cpu->idle : 0;
		hard += cpu ? cpu->hard : 0;
		soft += cpu ? cpu->soft : 0;
	}
	printf("\nTotal  : %10.3f ms, %" PRIu64 " cpus\n", (double)command->total / 1e6, command->cpus);
	printf("%%Cpu(s): %6.2f%% id, %6.2f%% hi, %6.2f%% si\n", percent(idle, command->total), percent(hard, command->total),
	       percent(soft, command->total));
	for (size_t i = 0; i < command->top->cpus.len; i++)
		if (command->top->cpus.data[i])
			print_cpu(command, command->top->cpus.data[i]);
	printf("\n      PID    TID   %%CPU          RUNTIME  COMMAND\n  -------------------------------------------------\n");
	for (size_t i = 0; i < command->rows.len; i++) {
		const struct kwork_task *task = command->rows.data[i];
		struct strbuf comm = {0};
		add_comm(&comm, task);
		printf("  %7" PRId32 "%7" PRIu32 " %6.2f %13.3f ms  %s\n", task->task.thread ? (int32_t)task->task.thread->pid : 0,
		       task->task.tid, rate_of(command, task), (double)task->runtime / 1e6, strbuf_str(&comm));
		strbuf_deinit(&comm);
	}
	printf("\n");
}

/* ---- for programs ---- */

static struct error *write_table(const struct top_command *command)
{
	static const struct column columns[] = {
		{"pid", "PID", COLUMN_COUNT, ALIGN_RIGHT},
		{"tid", "TID", COLUMN_COUNT, ALIGN_RIGHT},
		{"cpu_percent", "%CPU", COLUMN_PERCENT, ALIGN_RIGHT, .decimals = 2},
		{"runtime", "Runtime", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"comm", "Command", COLUMN_TEXT},
	};
	enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
	struct table *table = table_create_columns("kwork_top", columns, COLUMNS);
	for (size_t i = 0; i < command->rows.len; i++) {
		const struct kwork_task *task = command->rows.data[i];
		struct strbuf comm = {0};
		add_comm(&comm, task);
		const union cell cells[COLUMNS] = {
			{.integer = task->task.thread ? task->task.thread->pid : 0},
			{.integer = task->task.tid},
			{.real = rate_of(command, task)},
			{.integer = task->runtime},
			{.text = arena_strdup(&table->arena, strbuf_str(&comm))},
		};
		strbuf_deinit(&comm);
		table_add_row(table, cells);
	}
	return view_print_table(command->shared.common.format, table, stdout);
}

/* ---- */

static struct error *read_and_show(struct top_command *command, const struct kwork_top_options *wanted)
{
	struct kwork_source source = {0};
	bool done;
	struct strbuf events = {0};
	enum kwork_class classes[KWORK_CLASSES] = {KWORK_SCHED};
	size_t count = 1;
	if (wanted->hard)
		classes[count++] = KWORK_IRQ;
	if (wanted->soft)
		classes[count++] = KWORK_SOFTIRQ;
	kwork_add_events(&events, classes, count);
	struct error *error = kwork_open(&source, &command->shared, strbuf_str(&events), false, KWORK_THREADS, &done);
	if (!error && !done)
		error = kwork_top_create(source.opening.session, wanted, &command->top);
	if (command->top)
		collect(command);
	if (command->top && command->shared.common.format) {
		error = write_table(command);
	} else if (command->top) {
		pager_start("kwork");
		print_text(command);
	}
	if (!error)
		opening_warn(&source.opening);
	kwork_top_destroy(command->top);
	vec_deinit(&command->rows);
	kwork_close(&source);
	strbuf_deinit(&events);
	return error;
}

#define O struct top_command

static const struct option options[] = {
	KWORK_KINDS(O, shared.kinds),
	OPTION_STRING('n', "name", O, shared.name, "NAME", "only threads of this name"),
	OPTION_STRING('s', "sort", O, shared.sort, "KEY", "sort by: rate, runtime or tid (default rate)"),
	KWORK_LIVE(O),
	KWORK_OPTIONS(O),
	OPTION_END,
};

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct top_command command = {0};
	struct kwork_top_options wanted = {0};
	struct kwork_options kinds = {0};
	uint64_t cpus[SCHED_CPUS / 64] = {0};
	sched_input_init(&command.shared.common);
	struct error *error = kwork_parse_live(options, argc, argv, &command, &command.shared);
	const char *sort = command.shared.sort;
	if (!error && sort && strcmp(sort, "rate") != 0 && strcmp(sort, "runtime") != 0 && strcmp(sort, "tid") != 0)
		error = error_new_kind(ERROR_USAGE, "-s %s: unknown key; the keys are rate, runtime and tid", sort);
	if (!error)
		error = kwork_parse_kinds(command.shared.kinds, KWORK_CLASSES, &kinds);
	for (size_t i = 0; i < kinds.class_count; i++) {
		wanted.hard |= kinds.classes[i] == KWORK_IRQ;
		wanted.soft |= kinds.classes[i] == KWORK_SOFTIRQ;
	}
	if (!error)
		error = kwork_parse_scope(&command.shared, cpus, &wanted.scope);
	return error ? error : read_and_show(&command, &wanted);
}

static const char *const usage[] = {"[-n NAME] [-s KEY] [-C LIST] [--time START,STOP] [-i FILE]",
				    "-b [-n NAME] [-s KEY] [-C LIST] [--] [COMMAND]", NULL};
const struct command cmd_kwork_top = {"kwork top", "Show what the CPUs did: threads, interrupts, idle time", usage, options, run};
