/* perf stat -b: what is counted on all CPUs while certain BPF programs run there (bpf/counters/program_counters.h). */
#include "cmd/stat/stat.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

struct ids {
	VEC(uint32_t) list;
};

static struct error *parse(const char *text, struct ids *ret)
{
	cleanup_free char *copy = mem_strdup(text);
	char *rest = copy, *word;
	uint32_t id;

	while ((word = strsep(&rest, ","))) {
		if (!number_parse_u32(word, &id) || !id)
			return error_new_kind(ERROR_USAGE, "-b %s: invalid BPF program id '%s'; 'bpftool prog' lists the programs", text,
					      word);
		vec_push(&ret->list, id);
	}
	return NULL;
}

struct error *stat_programs_check(const struct stat_options *options)
{
	struct ids ids = {0};
	struct error *error = parse(options->bpf_programs, &ids);

	vec_deinit(&ids.list);
	if (error)
		return error;
	if (targets_are_tasks(&options->targets))
		return error_new_kind(ERROR_USAGE, "-b counts BPF programs in all processes: omit -p, -t and -u");
	if (options->bpf_task_counters || options->for_each_cgroup || options->recorded || options->display.per == STAT_PER_THREAD)
		return error_new_kind(
			ERROR_USAGE, "-b counts for all tasks together: omit --bpf-counters, --for-each-cgroup, --per-thread and 'record'");
	return NULL;
}

static struct error *add_event(struct stat_run *run, uint32_t index, int cpu, int fd)
{
	return bpf_program_counters_add_event(run->programs, index, cpu, fd);
}

struct error *stat_programs_open(struct stat_run *run)
{
	size_t events = run->events->events.len;
	struct ids ids = {0};
	struct error *error = parse(run->options.bpf_programs, &ids);

	if (!error && events > EVENT_COUNTERS_MOST)
		error = error_new_kind(ERROR_UNSUPPORTED, "-b supports at most %d events, but there are %zu", EVENT_COUNTERS_MOST, events);
	for (size_t i = 0; !error && i < events; i++)
		if (run->events->events.data[i]->cgroup)
			error = error_new_kind(ERROR_USAGE, "-b counts for all tasks together: omit -G");
	if (!error)
		error = bpf_program_counters_open(ids.list.data, ids.list.len, (uint32_t)events, &run->programs);
	if (!error)
		error = stat_bpf_add_events(run, add_event);
	if (!error)
		error = bpf_program_counters_start(run->programs);
	vec_deinit(&ids.list);
	return error;
}

void stat_programs_read(struct stat_run *run)
{
	struct bpf_task_counters_value value;

	for (size_t i = 0; i < run->counters.count; i++) {
		const struct counter *counter = &run->counters.each[i];
		for (size_t slot = 0; slot < counter_slots(counter); slot++) {
			if (counter->fds[slot] < 0)
				continue;
			bpf_program_counters_read(run->programs, (uint32_t)i, run->counters.target.cpus[slot], &value);
			run->cells.now[i][slot] = (struct counter_value){
				.value = value.value, .enabled_ns = value.enabled_ns, .running_ns = value.running_ns, .open = true};
		}
	}
}
