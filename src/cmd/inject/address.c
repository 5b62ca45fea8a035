/* The addresses of a sample: where it was, and its callers, by the call chain or unwound. */
#include "cmd/inject/inject.h"

static struct error *visit_chain(const struct inject_sample *sample, const struct maps *maps, inject_visitor *visit)
{
	const struct machine *machine = sample->inject->session->machine;
	struct error *error = NULL;
	for (uint64_t i = 0; i < sample->sample.chain_count && !error; i++) {
		uint64_t word = sample->sample.chain[i];
		uint8_t mode;
		if (!stack_is_marker(word))
			error = visit(sample, maps, word);
		else
			maps = stack_marker_mode(word, &mode) ? machine_maps(machine, sample->thread, mode) : NULL;
	}
	return error;
}

static struct error *visit_stack(const struct inject_sample *sample, const struct stack *stack, inject_visitor *visit)
{
	const struct machine *machine = sample->inject->session->machine;
	struct error *error = NULL;
	for (size_t i = 0; i < stack->frames.len && !error; i++)
		error = visit(sample, machine_maps(machine, sample->thread, stack->frames.data[i].cpumode), stack->frames.data[i].ip);
	return error;
}

struct error *inject_visit(struct inject *inject, const struct record *record, const struct stack *stack, inject_visitor *visit)
{
	struct machine *machine = inject->session->machine;
	struct inject_sample sample = {.inject = inject, .record = record};
	if (!session_decode(inject->session, record, &sample.sample))
		return NULL;
	sample.thread = session_sample_thread(machine, &sample.sample, record->model_time);
	const struct maps *maps = machine_maps(machine, sample.thread, sample.sample.cpumode), *user = thread_maps(sample.thread);
	struct error *error = visit(&sample, maps, sample.sample.ip);
	if (!error && sample.sample.addr)
		error = visit(&sample, user, sample.sample.addr);
	for (uint64_t i = 0; i < sample.sample.branch_count && !error; i++) {
		error = visit(&sample, user, sample.sample.branches[i].from);
		error = error ? error : visit(&sample, user, sample.sample.branches[i].to);
	}
	if (error)
		return error;
	return stack ? visit_stack(&sample, stack, visit) : visit_chain(&sample, maps, visit);
}
