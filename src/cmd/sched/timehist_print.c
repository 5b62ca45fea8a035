/* The text of perf sched timehist, column by column as the kernel's tool prints it. */
#include "cmd/sched/timehist.h"

#include "analysis/tracker.h"
#include "base/text.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

enum { NAME_COLUMNS = 30, NS_PER_US = 1000, NS_PER_MS = 1000000, US_PER_S = 1000000 };

static const char dashes[] =
	"--------------------------------------------------------------------------------------------------------------"
	"--------------------------------------------------------------------------------------------------------------";

/* One column for each CPU, and one more. */
static unsigned int visual_columns(const struct timehist_command *command)
{
	return command->cpu_count + 1;
}

/* Once, before the first line; a summary alone has none. */
void timehist_print_header(struct timehist_command *command)
{
	if (command->has_header)
		return;
	command->has_header = true;
	unsigned int visual = visual_columns(command);
	printf("%15s %6s ", "time", "cpu");
	if (command->cpu_visual) {
		putchar(' ');
		for (unsigned int i = 0; i < visual; i++)
			printf("%x", i % 16);
		putchar(' ');
	}
	printf(" %-*s", NAME_COLUMNS, "task name");
	if (command->show_priority)
		printf("  %-8s", "prio");
	bool moved = command->before_migrations;
	printf("  %9s  %9s%s  %9s%s\n%15s %-6s ", "wait time", "sch delay", moved ? "  pre-mig time" : "", "run time",
	       command->state ? "  state" : "", "", "");
	if (command->cpu_visual)
		printf(" %*s ", (int)visual, "");
	printf(" %-*s", NAME_COLUMNS, "[tid/pid]");
	if (command->show_priority)
		printf("  %-8s", "");
	printf("  %9s  %9s%s  %9s%s\n%.15s %.6s ", "(msec)", "(msec)", moved ? "        (msec)" : "", "(msec)",
	       command->state ? "       " : "", dashes, dashes);
	if (command->cpu_visual) {
		putchar(' ');
		for (unsigned int i = 0; i < visual; i++)
			putchar('-');
		putchar(' ');
	}
	printf(" %.*s", NAME_COLUMNS, dashes);
	if (command->show_priority)
		printf("  %.8s", dashes);
	printf("  %.9s  %.9s%s  %.9s%s\n", dashes, dashes, moved ? "  ------------" : "", dashes, command->state ? "  -----" : "");
}

/* "name[tid/pid]"; the pid where it is another one, neither for idle tasks. */
void timehist_add_task(struct strbuf *out, const struct thread *thread, const struct untrusted *comm, bool idle)
{
	text_add_untrusted(out, comm);
	if (idle || thread->pid == UINT32_MAX)
		return;
	strbuf_add_char(out, '[');
	strbuf_add_u64(out, thread->tid, 0);
	if (thread->pid != thread->tid) {
		strbuf_add_char(out, '/');
		strbuf_add_u64(out, thread->pid, 0);
	}
	strbuf_add_char(out, ']');
}

/* Padded; longer names push what is behind. */
static void make_task_column(struct strbuf *out, const struct thread *thread, const struct untrusted *comm, bool idle)
{
	strbuf_add_char(out, ' ');
	size_t start = out->len;
	timehist_add_task(out, thread, comm, idle);
	strbuf_pad(out, start, NAME_COLUMNS);
	strbuf_add_char(out, ' ');
}

/* The same few tasks come again and again. */
static void add_task_column(struct timehist_command *command, const struct thread *thread, const struct untrusted *comm, bool idle)
{
	struct strbuf *out = &command->text;
	struct timehist_label *label = &command->labels[(thread->tid ^ (uint32_t)idle << 7) % TIMEHIST_LABELS];
	if (label->thread == thread && label->comm == comm && label->pid == thread->pid && label->idle == idle) {
		memcpy(strbuf_reserve(out, sizeof(label->text)), label->text, sizeof(label->text));
		strbuf_advance(out, label->length);
		return;
	}
	size_t start = out->len;
	make_task_column(out, thread, comm, idle);
	size_t length = out->len - start;
	if (length > sizeof(label->text))
		return;
	*label = (struct timehist_label){.thread = thread, .comm = comm, .pid = thread->pid, .idle = idle, .length = (uint8_t)length};
	memcpy(label->text, out->data + start, length);
}

/* Milliseconds, cut off behind the microseconds. */
static char *put_ms(char *to, uint64_t ns, unsigned int width)
{
	to = sched_put_thousandths(to, ns / NS_PER_US, width);
	*to++ = ' ';
	return to;
}

/* How long it waited, was delayed and ran. */
static void add_times(struct timehist_command *command, const struct sched_line *line)
{
	enum { MS_COLUMNS = 6, WIDE_MS_COLUMNS = 9, TIMES = 4 };
	struct strbuf *out = &command->text;
	char *begin = strbuf_reserve(out, TIMES * (WIDE_MS_COLUMNS + DIGITS_ROOM)), *to = begin;
	to = put_ms(to, line->wait, MS_COLUMNS);
	to = put_ms(to, line->delay, MS_COLUMNS);
	if (command->before_migrations)
		to = put_ms(to, line->before_migration, WIDE_MS_COLUMNS);
	to = put_ms(to, line->run, MS_COLUMNS);
	strbuf_advance(out, (size_t)(to - begin));
}

static void print_ms(uint64_t ns, int width)
{
	printf("%*" PRIu64 ".%03" PRIu64 " ", width, ns / NS_PER_MS, ns % NS_PER_MS / NS_PER_US);
}

/* -V: a mark in the column of the CPU. */
static void add_visual(struct timehist_command *command, uint32_t cpu, char mark)
{
	struct strbuf *out = &command->text;
	if (!command->cpu_visual)
		return;
	strbuf_add_char(out, ' ');
	size_t start = out->len;
	strbuf_add_chars(out, ' ', visual_columns(command));
	if (cpu < visual_columns(command))
		out->data[start + cpu] = mark;
	strbuf_add_char(out, ' ');
}

/* The scheduler's own functions say nothing. */
static bool is_scheduler(const struct frame *frame)
{
	static const char *const names[] = {"schedule", "__schedule", "preempt_schedule"};
	for (size_t i = 0; frame->symbol && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(frame->symbol->name, names[i]))
			return true;
	return false;
}

static bool has_chain(const struct sched_line *line)
{
	return line->event->record->event->attr.sample_type & PERF_SAMPLE_CALLCHAIN;
}

void timehist_add_stack(struct timehist_command *command, const struct sched_line *line)
{
	enum { SCHEDULER_FRAMES = 2, MOST_FRAMES = 1 << 16 };
	const struct stack_options options = {
		.max_depth = (unsigned int)(command->max_stack < MOST_FRAMES ? command->max_stack : MOST_FRAMES) + SCHEDULER_FRAMES};
	struct strbuf *out = &command->text;
	const struct record *record = line->event->record;
	if (!has_chain(line))
		return;
	stack_resolve(command->opening.resolver, command->opening.session->machine, line->thread, record->event,
		      tracker_sample(line->event), record->model_time, &options, &command->stack);
	bool is_first = true;
	for (size_t i = 0; i < command->stack.frames.len; i++) {
		const struct frame *frame = &command->stack.frames.data[i];
		if (is_scheduler(frame))
			continue;
		strbuf_add_str(out, is_first ? "" : " <- ");
		is_first = false;
		if (frame->symbol)
			text_add_safe(out, frame->symbol->name, strlen(frame->symbol->name));
		else
			strbuf_add_str(out, "[unknown]");
	}
}

/* -n: who came next. */
static void add_next(struct strbuf *out, const struct sched_line *line)
{
	strbuf_add_char(out, ' ');
	size_t start = out->len;
	strbuf_add_str(out, "next: ");
	size_t length;
	const struct untrusted *name = sched_line_next_comm(line, &length);
	text_add_safe(out, untrusted_raw(name), length);
	strbuf_add_char(out, '[');
	strbuf_add_u64(out, line->next_tid, 0);
	strbuf_add_char(out, ']');
	strbuf_pad(out, start, NAME_COLUMNS);
}

/* "139", or "139->120" of a task whose priority was changed while it ran. */
static void add_priority(struct strbuf *out, const struct sched_line *line)
{
	char text[64];
	int len = line->first_priority == line->priority ? 0 : snprintf(text, sizeof(text), "%" PRId64 "->", line->first_priority);
	snprintf(text + len, sizeof(text) - (size_t)len, "%" PRId64, line->priority);
	strbuf_printf(out, " %-8s ", text);
}

/* A run that has ended. */
static void add_switch(struct timehist_command *command, const struct sched_line *line)
{
	struct strbuf *out = &command->text;
	add_visual(command, line->cpu, line->idle ? 'i' : 's');
	add_task_column(command, line->thread, line->comm, line->idle);
	if (command->show_priority)
		add_priority(out, line);
	add_times(command, line);
	if (command->state)
		strbuf_printf(out, " %5c ", line->idle ? 'I' : line->state);
	if (command->next)
		add_next(out, line);
	else if (command->wakeups)
		strbuf_add_chars(out, ' ', NAME_COLUMNS + 2);
	if (command->stacks && !line->idle && has_chain(line) && command->max_stack) {
		strbuf_add_str(out, "   ");
		timehist_add_stack(command, line);
	}
}

/* A wakeup or a migration, which have no times. */
static void add_other(struct timehist_command *command, const struct sched_line *line)
{
	struct strbuf *out = &command->text;
	bool moved = line->kind == SCHED_LINE_MIGRATION;
	if (moved && command->cpu_visual)
		strbuf_add_char(out, ' ');
	add_visual(command, moved ? line->cpu : UINT32_MAX, 'm');
	if (moved && command->cpu_visual)
		strbuf_add_char(out, ' ');
	add_task_column(command, line->thread, line->comm, line->idle);
	strbuf_printf(out, "  %9s  %9s%s  %9s %s: ", "", "", command->before_migrations ? "              " : "", "",
		      moved ? "migrated" : "awakened");
	timehist_add_task(out, line->other, line->other_comm, false);
	if (moved)
		strbuf_printf(out, " cpu %u => %u", line->from_cpu, line->to_cpu);
}

void timehist_flush(struct timehist_command *command)
{
	fwrite_unlocked(command->text.data, 1, command->text.len, stdout);
	command->text.len = 0;
}

void timehist_print_line(void *context, const struct sched_line *line)
{
	enum { TIME_COLUMNS = 15, PORTION = 32 << 10 };
	struct timehist_command *command = context;
	struct strbuf *out = &command->text;
	timehist_print_header(command);
	char *begin = strbuf_reserve(out, TIME_COLUMNS + DIGITS_ROOM), *to = sched_put_time(begin, line->time, TIME_COLUMNS);
	strbuf_advance(out, (size_t)(sched_put_cpu(to, line->cpu) - begin));
	if (line->kind == SCHED_LINE_SWITCH)
		add_switch(command, line);
	else
		add_other(command, line);
	strbuf_add_char(out, '\n');
	if (out->len >= PORTION || !command->opening.session->reader->stable)
		timehist_flush(command);
}

/* ---- sums ---- */

static void print_summary_header(const struct timehist_command *command)
{
	bool waits = command->state, idle = command->idle_only;
	printf("\n%s summary\n%*s  parent  %s%s\n",
	       idle    ? "Idle-time"
	       : waits ? "Wait-time"
		       : "Runtime",
	       NAME_COLUMNS, "comm", idle ? "sched-out" : " sched-in",
	       waits  ? "     run-time      sleep      iowait     preempt       delay"
	       : idle ? "    idle-time   min-idle    avg-idle    max-idle  stddev  migrations"
		      : "     run-time    min-run     avg-run     max-run  stddev  migrations");
	printf("%*s            (count)       (msec)     (msec)      (msec)      (msec)       %s\n%.117s\n", NAME_COLUMNS, "",
	       waits ? "(msec)" : "%", dashes);
}

/* A thread's row of the summary; with --state the kinds of waits instead of the lengths of runs. */
static void print_times(const struct timehist_command *command, const struct sched_times *times)
{
	struct strbuf text = {0};
	timehist_add_task(&text, times->task.thread, times->comm, false);
	printf("%*s %7d %10" PRIu64 "  ", NAME_COLUMNS, strbuf_str(&text), (int)times->task.thread->ppid, times->runs.count);
	strbuf_deinit(&text);
	const uint64_t waits[] = {times->sleep, times->iowait, times->preempt, times->delay};
	const uint64_t runs[] = {times->shortest, times->run / times->runs.count, times->longest};
	print_ms(times->run, 7);
	for (size_t i = 0; command->state && i < 4; i++)
		print_ms(waits[i], i ? 7 : 6);
	for (size_t i = 0; !command->state && i < 3; i++)
		print_ms(runs[i], i ? 7 : 6);
	if (!command->state)
		printf("%7.2f   %5" PRIu64, statistics_relative(&times->runs), times->migrations);
	putchar('\n');
}

void timehist_print_summary(const struct timehist_command *command, struct sched_timehist *timehist)
{
	uint64_t tasks = 0, switches = 0, run = 0;
	print_summary_header(command);
	for (size_t i = 0; i < timehist->tasks.all.len; i++) {
		const struct sched_times *times = (const struct sched_times *)timehist->tasks.all.data[i];
		if (!times->runs.count || !times->task.tid)
			continue;
		tasks++;
		switches += times->runs.count;
		run += times->run;
		print_times(command, times);
	}
	if (!tasks)
		printf("<no still running tasks>\n");
	printf("\nIdle stats:\n");
	uint64_t range = timehist->end - timehist->begin;
	for (unsigned int cpu = 0; cpu < command->cpu_count; cpu++) {
		const struct sched_times *times = cpu < timehist->idle.len ? &timehist->idle.data[cpu] : NULL;
		if (!times || !times->runs.count) {
			printf("    CPU %2u idle entire time window\n", cpu);
			continue;
		}
		switches += times->runs.count;
		printf("    CPU %2u idle for ", cpu);
		print_ms(times->run, 6);
		printf(" msec  (%6.2f%%)\n", range ? 100.0 * (double)times->run / (double)range : 0);
	}
	printf("\n    Total number of unique tasks: %" PRIu64 "\nTotal number of context switches: %" PRIu64
	       "\n           Total run time (msec): ",
	       tasks, switches);
	print_ms(run, 2);
	printf("\n    Total scheduling time (msec): ");
	print_ms(range, 2);
	printf(" (x %u)\n", command->cpu_count);
}
