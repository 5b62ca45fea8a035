/* Samples: storage, and rows by thread. */
#include "result/samples.h"

#include "base/mem.h"

#include <stdlib.h>

struct samples *samples_create(void)
{
	struct samples *samples = mem_zalloc(sizeof(*samples));
	vec_push(&samples->stacks, (struct samples_stack){.frame = SAMPLES_NONE});
	return samples;
}

void samples_destroy(struct samples *samples)
{
	if (!samples)
		return;
	vec_deinit(&samples->events);
	vec_deinit(&samples->threads);
	vec_deinit(&samples->actors);
	vec_deinit(&samples->files);
	vec_deinit(&samples->mappings);
	vec_deinit(&samples->functions);
	vec_deinit(&samples->frames);
	vec_deinit(&samples->stacks);
	vec_deinit(&samples->rows);
	arena_deinit(&samples->arena);
	free(samples);
}

void samples_stack_path(const struct samples *samples, uint32_t stack, samples_path *ret)
{
	uint32_t depth = samples->stacks.data[stack].depth;
	vec_reserve(ret, depth + 1);
	for (ret->len = depth; depth > 0; stack = samples->stacks.data[stack].parent)
		ret->data[--depth] = samples->stacks.data[stack].frame;
}

const char **samples_function_sources(const struct samples *samples)
{
	const char **sources = mem_zalloc_array(samples->functions.len + 1, sizeof(*sources));
	for (size_t i = 0; i < samples->frames.len; i++)
		if (samples->frames.data[i].source_file)
			sources[samples->frames.data[i].function] = samples->frames.data[i].source_file;
	return sources;
}

/* Counting sort: stable, and groups are few beside rows. */
void samples_group_by_thread(const struct samples *samples, bool by_event, struct samples_groups *ret)
{
	size_t threads = samples->threads.len, groups = threads * (by_event ? samples->events.len : 1);
	uint32_t *starts = mem_zalloc_array(groups + 1, sizeof(*starts));
	*ret = (struct samples_groups){.rows = mem_alloc_array(samples->rows.len + 1, sizeof(*ret->rows))};
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < samples->rows.len; i++) {
			const struct samples_row *row = &samples->rows.data[i];
			size_t group = samples->actors.data[row->actor].thread + (by_event ? row->event * threads : 0);
			if (pass)
				ret->rows[starts[group]++] = (uint32_t)i;
			else
				starts[group + 1]++;
		}
		for (size_t i = 0; !pass && i < groups; i++)
			starts[i + 1] += starts[i];
	}
	/* Each start has moved to its group's end. */
	for (size_t i = 0; i < groups; i++)
		if (starts[i] != (i ? starts[i - 1] : 0))
			vec_push(&ret->ends, starts[i]);
	free(starts);
}

void samples_groups_deinit(struct samples_groups *groups)
{
	free(groups->rows);
	vec_deinit(&groups->ends);
}
