/* perf stat --bpf-counters: the counts of tasks are kept in the kernel (bpf/counters/task_counters.h), from counters that are opened
 * once for each CPU. Whole CPUs have one counter each in any case: there the option changes nothing. */
#include "cmd/stat/stat.h"

#include "base/log.h"
#include "base/mem.h"
#include "kernel/hardware/cpus.h"

#include <linux/perf_event.h>
#include <stdlib.h>

bool stat_wants_bpf(const struct stat_run *run)
{
	bool wanted = run->options.bpf_task_counters;

	for (size_t i = 0; i < run->events->events.len; i++)
		wanted |= run->events->events.data[i]->bpf_counter;
	return wanted && !run->bpf_refused && (!targets_are_cpus(&run->options.targets) || run->options.display.per == STAT_PER_THREAD);
}

static struct error *check(const struct stat_run *run)
{
	const struct event_list *events = run->events;

	if (run->options.recorded)
		return error_new_kind(ERROR_UNSUPPORTED,
				      "counts kept in the kernel (--bpf-counters) cannot be recorded: omit 'record' or the option");
	if (run->options.control)
		return error_new_kind(ERROR_UNSUPPORTED, "--control and --bpf-counters cannot be combined");
	if (events->events.len > EVENT_COUNTERS_MOST)
		return error_new_kind(ERROR_UNSUPPORTED, "--bpf-counters supports at most %d events, but there are %zu",
				      EVENT_COUNTERS_MOST, events->events.len);
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		if (event->inherit)
			return error_new_kind(ERROR_UNSUPPORTED, "%s: --bpf-counters follows children for all events, or with -i for none",
					      event->name);
		if (event->cgroup)
			return error_new_kind(ERROR_UNSUPPORTED, "%s: --bpf-counters does not support control groups", event->name);
	}
	return NULL;
}

static bool counts_switches(const struct event *event)
{
	return !event->tool && event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES &&
	       !event->attr.exclude_kernel;
}

static struct error *add_event(struct stat_run *run, uint32_t index, int cpu, int fd)
{
	return bpf_task_counters_add_event(run->bpf, index, cpu, fd);
}

struct error *stat_bpf_add_events(struct stat_run *run, stat_bpf_add add)
{
	struct error *error = NULL;

	for (size_t i = 0; i < run->counters.count; i++) {
		const struct counter *counter = &run->counters.each[i];
		for (size_t slot = 0; !error && slot < counter_slots(counter); slot++)
			if (counter->fds[slot] >= 0)
				error = add(run, (uint32_t)i, run->counters.target.cpus[slot], counter->fds[slot]);
	}
	return error;
}

static struct error *add_targets(struct stat_run *run, const struct counter_target *tasks, size_t cells, bool at_exec)
{
	struct error *error = NULL;

	for (size_t i = 0; !error && i < tasks->thread_count; i++) {
		struct counters_target target = {.cell = cells > 1 ? (uint32_t)i : 0, .awaits_exec = at_exec};
		error = bpf_task_counters_add_target(run->bpf, tasks->threads[i], &target);
	}
	return error;
}

/* `error` is why it can't be had here: said, and taken note of. */
static struct error *do_without(struct stat_run *run, struct error *error)
{
	log_warning("%s; counting without --bpf-counters", error_message(error));
	error_free(error);
	stat_bpf_close(run);
	counter_set_close(&run->counters);
	run->bpf_refused = true;
	return NULL;
}

struct error *stat_bpf_open(struct stat_run *run, const struct counting_scope *tasks_scope, const struct counter_target *tasks)
{
	static const pid_t any_thread = -1;
	struct counting_scope scope = *tasks_scope;
	size_t cells = run->options.display.per == STAT_PER_THREAD ? tasks->thread_count : 1;
	struct bpf_task_counters_options options = {
		.config = {.events = (uint32_t)run->events->events.len, .cells = (uint32_t)cells, .inherit = !scope.no_inherit},
		.targets = tasks->thread_count};
	struct counter_target target = {.threads = &any_thread, .thread_count = 1, .cgroup = -1};
	struct error *error = check(run);
	int *cpus;

	if (error)
		return error;
	scope.no_inherit = true;
	scope.workload = false;
	counting_configure(run->events, &scope);
	counter_cells_allocate(&run->cells, run->events->events.len, 1, cells);
	for (uint32_t i = 0; i < options.config.events; i++)
		options.config.switches[i] = counts_switches(run->events->events.data[i]);
	error = bpf_task_counters_open(&options, &run->bpf);
	if (error)
		return do_without(run, error);
	cpus_online(&cpus, &target.cpu_count);
	target.cpus = cpus;
	error = counter_set_open_present(&run->counters, run->events, &target);
	if (!error)
		error = stat_bpf_add_events(run, add_event);
	if (!error)
		error = add_targets(run, tasks, cells, tasks_scope->workload && !scope.delayed);
	free(cpus);
	run->counters.target.cpus = NULL;
	run->counters.target.cpu_count = 0;
	if (error)
		return error;
	error = bpf_task_counters_start(run->bpf);
	return error ? do_without(run, error) : NULL;
}

void stat_bpf_read(struct stat_run *run)
{
	struct bpf_task_counters_value value;

	bpf_task_counters_update(run->bpf);
	for (size_t i = 0; i < run->counters.count; i++)
		for (size_t cell = 0; counter_slots(&run->counters.each[i]) && cell < run->cells.threads; cell++) {
			bpf_task_counters_read(run->bpf, (uint32_t)i, (uint32_t)cell, &value);
			run->cells.now[i][cell] = (struct counter_value){
				.value = value.value, .enabled_ns = value.enabled_ns, .running_ns = value.running_ns, .open = true};
		}
}

void stat_bpf_close(struct stat_run *run)
{
	if (run->bpf && bpf_task_counters_unfollowed(run->bpf))
		log_warning("%u new tasks were not counted: out of memory", bpf_task_counters_unfollowed(run->bpf));
	if (run->bpf && bpf_task_counters_missed(run->bpf))
		log_warning("the kernel skipped %u context switches because another tool started or stopped tracing; what ran until the "
			    "next switch was not counted. Measure again without that tool, or without --bpf-counters",
			    bpf_task_counters_missed(run->bpf));
	bpf_task_counters_close(run->bpf);
	run->bpf = NULL;
	bpf_program_counters_close(run->programs);
	run->programs = NULL;
}

void stat_bpf_set_running(struct stat_run *run, bool running)
{
	if (run->bpf)
		bpf_task_counters_set_running(run->bpf, running);
	if (run->programs)
		bpf_program_counters_set_running(run->programs, running);
}
