/* What perf top shows: the samples since the last screen, and those before, which fade. */
#include "cmd/top/top.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's functions in which a CPU waits for work. */
static bool is_idle(const char *name)
{
	static const char *const names[] = {"acpi_idle_do_entry",
					    "acpi_processor_ffh_cstate_enter",
					    "acpi_safe_halt",
					    "arch_cpu_idle",
					    "cpu_idle",
					    "cpu_idle_poll",
					    "cpu_startup_entry",
					    "default_idle",
					    "idle_cpu",
					    "intel_idle",
					    "intel_idle_ibrs",
					    "intel_idle_irq",
					    "mwait_idle",
					    "mwait_idle_with_hints",
					    "mwait_idle_with_hints.constprop.0",
					    "native_safe_halt",
					    "poll_idle",
					    "ppc64_runlatch_off",
					    "pseries_dedicated_idle_sleep",
					    "psw_idle",
					    "psw_idle_exit",
					    "pv_native_safe_halt"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static bool is_of_idle_code(const struct fold *fold, const struct fold_entry *entry)
{
	const struct symbol *symbol = fold->frames[entry->leaf].symbol;
	return entry->cpumode == PERF_RECORD_MISC_KERNEL && symbol && is_idle(symbol->name);
}

bool top_hides(const struct top_options *options, unsigned int cpumode)
{
	return (options->hide_kernel && cpumode == PERF_RECORD_MISC_KERNEL) || (options->hide_user && cpumode == PERF_RECORD_MISC_USER);
}

/* Idle code, and what is hidden since a key was pressed. */
static void leave_out(const struct top *top, struct fold *fold)
{
	size_t kept = 0;
	for (size_t i = 0; i < fold->entry_count; i++)
		if (!is_of_idle_code(fold, &fold->entries[i]) && !top_hides(top->options, fold->entries[i].cpumode))
			fold_move_entry(fold, kept++, i);
	fold->entry_count = kept;
}

/* ---- fading ---- */

/* An entry that has faded to less than this part of a sample goes: rows of processes that ended would be kept for minutes. */
enum { LEAST_PART = 16 };

/* What is left of a period or a count at each screen: 7/8, as with the kernel's tool. */
static uint64_t fade(uint64_t value)
{
	return value * 7 / 8;
}

void top_weigh(struct top *top, const struct event *event, uint64_t period)
{
	while (top->weights.len <= event->index)
		vec_push(&top->weights, 0);
	uint64_t *weight = &top->weights.data[event->index];
	*weight = *weight ? *weight - *weight / 8 + period / 8 : period;
}

static bool is_worth_it(const struct top *top, const struct fold_entry *entry)
{
	uint64_t weight = entry->event < top->weights.len ? top->weights.data[entry->event] : 0;
	return entry->period && entry->period >= weight / LEAST_PART;
}

static void fade_all(const struct top *top, struct fold *fold, unsigned int times)
{
	size_t kept = 0;
	for (size_t i = 0; i < fold->entry_count; i++) {
		struct fold_entry *entry = &fold->entries[i];
		for (unsigned int n = 0; n < times && entry->period; n++) {
			entry->period = fade(entry->period);
			entry->count = (uint32_t)fade(entry->count);
		}
		if (is_worth_it(top, entry))
			fold_move_entry(fold, kept++, i);
	}
	fold->entry_count = kept;
}

/* ---- histories ---- */

static struct fold *create(const struct top *top, const struct top_history *history)
{
	return fold_create(top->report.session, top->report.opening.resolver, &history->options);
}

void top_history_open(struct top *top, struct top_history *history, const struct fold_options *options)
{
	history->options = *options;
	history->fold = create(top, history);
	history->feed = fold_feed_open(history->fold);
}

static void drop_aside(struct top_history *history)
{
	fold_destroy(history->aside);
	history->aside = NULL;
	history->fades = 0;
}

void top_history_close(struct top_history *history)
{
	top_history_release(history);
	drop_aside(history);
	if (history->feed)
		fold_feed_close(history->feed);
	fold_destroy(history->fold);
	fold_destroy(history->shown);
	*history = (struct top_history){0};
}

void top_history_release(struct top_history *history)
{
	fold_destroy(history->before);
	history->before = NULL;
}

/* Adds to `sum` what is left of `older`. */
static void add_faded(const struct top *top, struct fold *sum, struct fold *older, unsigned int times)
{
	if (!older)
		return;
	if (times)
		fade_all(top, older, times);
	fold_merge(sum, older);
}

void top_history_set_aside(struct top *top, struct top_history *history)
{
	add_faded(top, history->fold, history->aside, 1);
	struct fold *sum = fold_swap(history->fold);
	fold_finish(sum);
	fold_destroy(history->aside);
	history->aside = sum;
	history->fades++;
}

struct fold *top_history_next(struct top *top, struct top_history *history, bool due)
{
	struct fold *last = history->shown;
	if (!top->restarts && !(due && top->options->zero))
		add_faded(top, history->fold, last, history->fades + due);
	if (!top->restarts)
		add_faded(top, history->fold, history->aside, due);
	if (!history->keeps_before) { /* what comes now needs the memory */
		fold_destroy(last);
		last = NULL;
	}
	struct fold *next = fold_swap(history->fold);
	if (top->restarts) {
		fold_destroy(next);
		next = create(top, history);
	}
	drop_aside(history);
	fold_finish(next);
	if (history == &top->rows)
		report_ignore_callees(&top->report, next);
	leave_out(top, next);
	history->before = last;
	history->shown = next;
	return next;
}

void top_history_carry(const struct top_history *history, struct carrying *carrying)
{
	struct fold *const folds[] = {history->fold, history->shown, history->before, history->aside};
	for (size_t i = 0; i < sizeof(folds) / sizeof(folds[0]); i++)
		if (folds[i])
			fold_carry(folds[i], carrying);
}
