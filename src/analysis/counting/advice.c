/* Reading counts. What is short or rare says nothing and gets no sentence. A sentence says the number, what it means, and the command that
 * shows more. */
#include "analysis/counting/advice.h"

#include "base/strbuf.h"
#include "base/text.h"

#include <linux/perf_event.h>
#include <math.h>
#include <string.h>

enum { MOST = 3 };

/* Below these, a program is starting and ending more than it works. */
static const double shortest_seconds = 0.1, fewest_cycles = 1e8;

struct adviser {
	const struct counts *counts;
	const struct advice_scope *scope;
	struct counting *result;
};

/* The value of a generic event that was counted without modifiers; negative when there is none. */
static double value_of(const struct adviser *adviser, uint32_t type, uint64_t config)
{
	const struct event_list *events = adviser->counts->events;

	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		const struct count_total *total = counts_total(adviser->counts, i, 0);
		if (event->attr.type == type && event->attr.config == config && !event->tool && !event->cgroup &&
		    !event->attr.exclude_user && !event->attr.exclude_kernel && count_total_is_counted(total))
			return total->value.mean;
	}
	return -1;
}

static double software(const struct adviser *adviser, uint64_t config)
{
	return value_of(adviser, PERF_TYPE_SOFTWARE, config);
}

static double hardware(const struct adviser *adviser, uint64_t config)
{
	return value_of(adviser, PERF_TYPE_HARDWARE, config);
}

static void say(struct adviser *adviser, const char *text)
{
	if (adviser->result->remarks.len < MOST)
		vec_push(&adviser->result->remarks, text);
}

#define SAY(adviser, ...) say(adviser, arena_printf(&(adviser)->result->arena, __VA_ARGS__))

/* What runs less than the time that passed was off the CPU for the rest of it, however many threads it has: because it slept, or because
 * others had the CPU. The scheduler's notes of how long it waited hold for all that was counted when those of how long it ran do. */
static void on_waiting(struct adviser *adviser)
{
	double busy = software(adviser, PERF_COUNT_SW_TASK_CLOCK) / 1e9, elapsed = adviser->counts->elapsed.mean;
	const struct advice_scope *scope = adviser->scope;

	if (!scope->tasks || busy < 0 || elapsed < shortest_seconds || busy > 0.5 * elapsed)
		return;
	if (scope->ran < 0.9 * busy - 0.01)
		SAY(adviser,
		    "%.2f CPUs utilized: it did not run %.0f%% of the time. To see where it sleeps (S, D) or waits for a CPU (R):  "
		    "perf record -e sched:sched_switch -g",
		    busy / elapsed, 100 - 100 * busy / elapsed);
	else if (scope->waited > 0.5 * (elapsed - busy))
		SAY(adviser,
		    "%.2f CPUs utilized: for %.2f of %.2f seconds it waited for a CPU while other tasks ran. To see which:  perf stat "
		    "-a --per-thread -e task-clock sleep 1",
		    busy / elapsed, scope->waited, elapsed);
	else
		SAY(adviser,
		    "%.2f CPUs utilized: it was off the CPU %.0f%% of the time. To see where:  perf record -e sched:sched_switch -g",
		    busy / elapsed, 100 - 100 * busy / elapsed);
}

/* The system calls that were counted, the most frequent ones: "read (1200), write (34)". False when none was asked for. */
static bool name_calls(const struct adviser *adviser, struct strbuf *out)
{
	static const char prefix[] = "syscalls:sys_enter_";
	const struct event_list *events = adviser->counts->events;
	double before = INFINITY;
	bool asked = false;

	for (size_t said = 0, last = SIZE_MAX; said < 3; said++) {
		size_t most = SIZE_MAX;
		for (size_t i = 0; i < events->events.len; i++) {
			double value = counts_total(adviser->counts, i, 0)->value.mean;
			if (!str_starts_with(events->events.data[i]->name, prefix))
				continue;
			asked = true;
			bool is_next = value < before || (value == before && i > last);
			if (value > 0 && is_next && (most == SIZE_MAX || value > counts_total(adviser->counts, most, 0)->value.mean))
				most = i;
		}
		if (most == SIZE_MAX)
			break;
		last = most;
		before = counts_total(adviser->counts, most, 0)->value.mean;
		strbuf_printf(out, "%s%s (%.0f)", said ? ", " : "", events->events.data[most]->name + strlen(prefix), before);
	}
	return asked;
}

static void on_kernel_time(struct adviser *adviser)
{
	double user = adviser->counts->user.mean, system = adviser->counts->system.mean;
	struct strbuf calls = {0};

	if (!adviser->scope->workload || user + system < shortest_seconds || system < 0.5 * (user + system))
		return;
	double share = 100 * system / (user + system);
	if (!name_calls(adviser, &calls))
		SAY(adviser,
		    "%.0f%% of its CPU time is spent in the kernel. To see which system calls:  perf stat --skip-empty -e "
		    "'syscalls:sys_enter_*'",
		    share);
	else
		SAY(adviser, "%.0f%% of its CPU time is spent in the kernel%s%s. To see how long system calls take:  perf trace -s", share,
		    calls.len ? ", most calls: " : "", strbuf_str(&calls));
	strbuf_deinit(&calls);
}

static bool counts_caches(const struct adviser *adviser)
{
	const struct event_list *events = adviser->counts->events;

	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->attr.type == PERF_TYPE_HW_CACHE)
			return true;
	return false;
}

static void on_instructions(struct adviser *adviser)
{
	double cycles = hardware(adviser, PERF_COUNT_HW_CPU_CYCLES), instructions = hardware(adviser, PERF_COUNT_HW_INSTRUCTIONS);

	if (cycles < fewest_cycles || instructions < 0 || instructions > 0.5 * cycles)
		return;
	SAY(adviser, "insn per cycle %.2f: the processor stalls more than it executes, mostly on memory. %s  perf record -e cache-misses",
	    instructions / cycles, counts_caches(adviser) ? "Where:" : "To see cache misses:  perf stat -d; where they occur:");
}

static void on_branches(struct adviser *adviser)
{
	double branches = hardware(adviser, PERF_COUNT_HW_BRANCH_INSTRUCTIONS), misses = hardware(adviser, PERF_COUNT_HW_BRANCH_MISSES);

	if (branches < fewest_cycles / 10 || misses < 0.1 * branches)
		return;
	SAY(adviser, "%.0f%% of all branches are mispredicted. To see where:  perf record -e branch-misses", 100 * misses / branches);
}

/* Of a clock that counts what ran. */
static void on_rate(struct adviser *adviser, uint64_t config, const char *name, const char *meaning)
{
	static const double least = 10000; /* a second */
	double busy = software(adviser, PERF_COUNT_SW_TASK_CLOCK) / 1e9, count = software(adviser, config);

	if (!adviser->scope->tasks || busy < shortest_seconds / 2 || count < 0 || count < least * busy)
		return;
	SAY(adviser, "%s %.0f K/sec: %s", name, count / busy / 1000, meaning);
}

static void on_multiplexing(struct adviser *adviser)
{
	double least = 100;

	for (size_t i = 0; i < adviser->result->rows.len; i++)
		if (adviser->result->rows.data[i].multiplexed && adviser->result->rows.data[i].running < least)
			least = adviser->result->rows.data[i].running;
	if (least < 25)
		SAY(adviser,
		    "Counters were multiplexed, down to %.0f%% of the time: those counts are estimates. For exact counts, use fewer "
		    "events (-e)",
		    least);
}

bool advice_lacks_hardware(const struct counts *counts)
{
	const struct event_list *events = counts->events;
	size_t asked = 0;

	for (size_t i = 0; i < events->events.len; i++) {
		if (events->events.data[i]->attr.type != PERF_TYPE_HARDWARE)
			continue;
		if (!counts->absent || !counts->absent[i])
			return false;
		asked++;
	}
	return asked;
}

void advice_add(const struct counts *counts, const struct advice_scope *scope, struct counting *result)
{
	struct adviser adviser = {.counts = counts, .scope = scope, .result = result};

	on_waiting(&adviser);
	on_kernel_time(&adviser);
	on_instructions(&adviser);
	on_branches(&adviser);
	on_rate(&adviser, PERF_COUNT_SW_PAGE_FAULTS, "page faults",
		"it allocates and frees memory all the time. To see where:  perf record -e page-faults -g");
	on_rate(&adviser, PERF_COUNT_SW_CONTEXT_SWITCHES, "context switches",
		"it sleeps and wakes up very often. To see where:  perf record -e context-switches -g");
	on_multiplexing(&adviser);
	if (scope->tells_no_hardware)
		say(&adviser, "Hardware counters (cycles, instructions …) are not available on this machine. To see what is:  perf doctor");
}
