/* Places in code. */
#include "view/export/locations.h"

static uint32_t number_of(struct locations *locations, const struct samples *samples, uint32_t inner, uint32_t outer)
{
	const struct samples_stack *stacks = samples->stacks.data;
	bool new;
	uint64_t *number = map64_insert(&locations->numbers, (uint64_t)stacks[inner].frame << 32 | stacks[outer].frame, &new);
	if (new) {
		vec_push(&locations->list, (struct location){inner, outer});
		*number = locations->list.len;
	}
	return (uint32_t)*number;
}

static bool is_inlined(const struct samples *samples, uint32_t stack)
{
	return samples->frames.data[samples->stacks.data[stack].frame].inlined;
}

void locations_of_stack(struct locations *locations, const struct samples *samples, uint32_t stack, samples_path *ret)
{
	ret->len = 0;
	while (stack) {
		uint32_t inner = stack;
		while (is_inlined(samples, stack) && samples->stacks.data[stack].parent)
			stack = samples->stacks.data[stack].parent;
		vec_push(ret, number_of(locations, samples, inner, stack));
		stack = samples->stacks.data[stack].parent;
	}
}

void locations_deinit(struct locations *locations)
{
	map64_deinit(&locations->numbers);
	vec_deinit(&locations->list);
}
