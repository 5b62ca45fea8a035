/* What perf top shows: the samples since the last screen, and those before, which fade. */
#include "cmd/top/top.h"

#include <linux/perf_event.h>
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

/* What is left of a period or a count at each screen: 7/8, as with the kernel's tool. */
static uint64_t fade(uint64_t value)
{
	return value * 7 / 8;
}

static void fade_all(struct fold *fold)
{
	size_t kept = 0;
	for (size_t i = 0; i < fold->entry_count; i++) {
		struct fold_entry *entry = &fold->entries[i];
		entry->period = fade(entry->period);
		entry->count = (uint32_t)fade(entry->count);
		if (entry->period)
			fold_move_entry(fold, kept++, i);
	}
	fold->entry_count = kept;
}

/* ---- histories ---- */

static void start(struct top *top, struct top_history *history)
{
	history->fold = fold_create(top->report.session, top->report.opening.resolver, &history->options);
	history->feed = fold_feed_open(history->fold);
}

void top_history_open(struct top *top, struct top_history *history, const struct fold_options *options)
{
	history->options = *options;
	start(top, history);
}

void top_history_close(struct top_history *history)
{
	top_history_release(history);
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

struct fold *top_history_next(struct top *top, struct top_history *history, bool due)
{
	struct fold *next = fold_swap(history->fold), *last = history->shown;
	if (last && !top->restarts && !(due && top->options->zero)) {
		struct fold *recent = next;
		next = fold_create(top->report.session, top->report.opening.resolver, &history->options);
		if (due)
			fade_all(last);
		fold_merge(next, last);
		fold_merge(next, recent);
		fold_destroy(recent);
	} else if (top->restarts) {
		fold_destroy(next);
		next = fold_create(top->report.session, top->report.opening.resolver, &history->options);
	}
	fold_finish(next);
	if (history == &top->rows)
		report_ignore_callees(&top->report, next);
	leave_out(top, next);
	history->before = last;
	history->shown = next;
	return next;
}
