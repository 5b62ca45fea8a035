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

static void leave_out_idle(struct fold *fold)
{
	size_t kept = 0;
	for (size_t i = 0; i < fold->entry_count; i++)
		if (!is_of_idle_code(fold, &fold->entries[i]))
			fold->entries[kept++] = fold->entries[i];
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
		struct fold_entry entry = fold->entries[i];
		entry.period = fade(entry.period);
		entry.count = (uint32_t)fade(entry.count);
		if (entry.period)
			fold->entries[kept++] = entry;
	}
	fold->entry_count = kept;
}

struct fold *top_history_next(struct top *top, struct fold *last, bool zero)
{
	struct fold *recent = fold_swap(top->fold);
	if (last && !zero) {
		struct fold *next = fold_create(top->report.session, top->report.opening.resolver, &top->fold_options);
		fade_all(last);
		fold_merge(next, last);
		fold_merge(next, recent);
		fold_destroy(recent);
		recent = next;
	}
	fold_destroy(last);
	fold_finish(recent);
	leave_out_idle(recent);
	return recent;
}
