/* Switches as a BPF program reports them, between the session's records. Samples tell of the stacks before the switches come. */
#include "analysis/where/timeline_internal.h"

#include "base/mem.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

bool where_switches_have(const struct event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_BPF_OUTPUT;
}

void where_switches_deinit(struct where_switches *switches)
{
	for (size_t i = 0; i < switches->chains.len; i++)
		free(switches->chains.data[i]);
	vec_deinit(&switches->chains);
	vec_deinit(&switches->chain);
	map64_deinit(&switches->places);
	map64_deinit(&switches->parts);
}

/* ---- stacks ---- */

/* The place of what is known of a stack: a chain of the kernel, and where the program has called it. */
static const struct where_place *place_of_part(struct where_build *build, const struct where_thread *thread, const uint64_t *kernel,
					       size_t count, uint64_t ip, uint64_t model_time)
{
	struct where_switches *switches = &build->switches;
	const struct record like = {.event = switches->whole, .model_time = model_time};
	switches->chain.len = 0;
	for (size_t i = 0; i < count; i++)
		vec_push(&switches->chain, kernel[i]);
	if (ip) {
		vec_push(&switches->chain, (uint64_t)PERF_CONTEXT_USER);
		vec_push(&switches->chain, ip);
	}
	const struct sample part = {.cpumode = CPUMODE_KERNEL, .chain = switches->chain.data, .chain_count = (uint32_t)switches->chain.len};
	return where_place_of(&build->timeline->places, &like, &part, thread->task.thread, false);
}

static void learn_whole(struct where_build *build, const struct record *record, const struct sample *sample,
			const struct where_told_stack *told)
{
	struct where_switches *switches = &build->switches;
	const struct where_thread *thread = where_thread_at(build, sample->tid, record->model_time);
	const struct where_place *place = where_place_of(&build->timeline->places, record, sample, thread->task.thread, false);
	size_t kernel = 0;
	switches->whole = record->event;
	while (kernel < sample->chain_count && sample->chain[kernel] != (uint64_t)PERF_CONTEXT_USER)
		kernel++;
	const struct where_place *part = place_of_part(build, thread, sample->chain, kernel, told->ip, record->model_time);
	where_learn_whole(build, thread, part, place);
	*map64_insert(&switches->places, told->number, NULL) = (uintptr_t)place;
}

static void learn_part(struct where_switches *switches, const struct where_told_stack *told)
{
	bool is_new;
	uint64_t *index = map64_insert(&switches->parts, told->number, &is_new);
	if (!is_new)
		return;
	*index = switches->chains.len;
	uint64_t *chain = mem_alloc((told->kernel_count + 2) * sizeof(*chain));
	chain[0] = told->kernel_count + 1;
	chain[1] = (uint64_t)PERF_CONTEXT_KERNEL;
	memcpy(chain + 2, told->kernel, told->kernel_count * sizeof(*chain));
	vec_push(&switches->chains, chain);
}

void where_switches_learn(struct where_build *build, const struct record *record)
{
	struct where_told_stack told;
	struct sample sample;
	if (!build->options->read_stack || !session_decode(build->session, record, &sample) || !build->options->read_stack(&sample, &told))
		return;
	if (told.kernel_count)
		learn_part(&build->switches, &told);
	else if (sample.tid != UINT32_MAX)
		learn_whole(build, record, &sample, &told);
}

static const struct where_place *find_place(struct where_build *build, const struct where_thread *thread, const struct where_switch *told,
					    bool *ret_has_copy)
{
	struct where_switches *switches = &build->switches;
	const uint64_t *known = map64_find(&switches->places, told->stack), *part = map64_find(&switches->parts, told->stack);
	*ret_has_copy = known;
	if (known)
		return (const struct where_place *)(uintptr_t)*known;
	if (!part || !switches->whole)
		return NULL;
	const uint64_t *chain = switches->chains.data[*part];
	return where_likely_whole(build, thread, place_of_part(build, thread, chain + 1, chain[0], told->ip, told->known));
}

/* ---- switches ---- */

static struct where_thread *take_leaving(struct where_build *build, const struct where_switch *told)
{
	struct where_thread *thread = where_thread_at(build, told->previous, told->known);
	struct where_leaving leaving = {.time = told->time,
					.model_time = told->known,
					.goes_on = told->goes_on,
					.has_argument = told->ip,
					.argument = told->argument};
	build->timeline->has_stacks = true;
	leaving.place = find_place(build, thread, told, &leaving.has_copy);
	where_leave(build, thread, &leaving);
	return thread;
}

static void take(struct where_build *build, const struct where_switch *told)
{
	if (told->is_waking) {
		where_wake(build, told->next, &told->waking, told->known);
		return;
	}
	struct where_thread *before = told->previous ? take_leaving(build, told) : NULL;
	where_note_time(build, told->time);
	where_runs_switch(&build->runs, told->cpu, before, told->time);
	if (told->next && told->waking.time)
		where_wake(build, told->next, &told->waking, told->known);
	if (told->next)
		where_come_back(build, where_thread_at(build, told->next, told->known), told->time, told->known, told->cpu);
}

void where_switches_take(struct where_build *build, uint64_t until)
{
	const struct where_options *options = build->options;
	struct where_switch told;
	while (options->next_switch && options->next_switch(options->tick_context, until, &told))
		take(build, &told);
}
