/* Which recorded chains lack a caller. The chain itself doesn't show it; the call frame information of the innermost function does. */
#include "analysis/leaf_callers.h"

#include "analysis/stack.h"
#include "unwind/unwind.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

void leaf_callers_deinit(struct leaf_callers *callers)
{
	vec_deinit(&callers->functions);
}

/* The innermost user frame, if it comes from a chain that nothing was added to. */
static uint32_t innermost(const struct fold *fold, const struct fold_entry *entry, const bool *chained)
{
	if (entry->outer == FOLD_NONE || !chained[entry->event])
		return FOLD_NONE;
	const struct fold_piece *piece = &fold->pieces[entry->outer];
	return piece->frame_count ? *fold_piece_frame(fold, piece, 0) : FOLD_NONE;
}

/* By event. Freed by the caller. */
static bool *chained_events(const struct fold *fold)
{
	const struct event_list *events = &fold->session->reader->events;
	bool *chained = mem_zalloc_array(events->events.len + 1, sizeof(*chained));
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event_attr *attr = &events->events.data[i]->attr;
		chained[i] = (attr->sample_type & PERF_SAMPLE_CALLCHAIN) && !stack_exceeds_chain(fold->session->machine, attr) &&
			     !stack_is_unwound_chain(attr);
	}
	return chained;
}

static void add(struct leaf_callers *callers, struct map64 *index, const struct fold_frame *frame, uint64_t count)
{
	struct dso *dso = frame->map->dso;
	bool is_new;
	uint64_t *at = map64_insert(index, frame->symbol ? (uintptr_t)frame->symbol : (uintptr_t)dso, &is_new);
	if (is_new) {
		*at = callers->functions.len;
		vec_push(&callers->functions, (struct leaf_function){.dso = dso, .symbol = frame->symbol});
	}
	callers->functions.data[*at].count += count;
	callers->lacking += count;
}

static int compare(const void *a, const void *b)
{
	const struct leaf_function *x = a, *y = b;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	int files = strcmp(x->dso->name, y->dso->name);
	return files ? files : strcmp(x->symbol ? x->symbol->name : "", y->symbol ? y->symbol->name : "");
}

void leaf_callers_find(const struct fold *fold, struct resolver *resolver, bool by_address, struct leaf_callers *ret)
{
	const char *arch = fold->session->machine->arch;
	uint64_t *counts = mem_zalloc_array(fold->frame_count + 1, sizeof(*counts));
	bool *chained = chained_events(fold);
	struct map64 index = {0};
	*ret = (struct leaf_callers){0};
	for (size_t i = 0; i < fold->entry_count; i++) {
		uint32_t frame = innermost(fold, &fold->entries[i], chained);
		if (frame == FOLD_NONE)
			continue;
		counts[frame] += fold->entries[i].count;
		ret->stacks += fold->entries[i].count;
	}
	for (size_t id = 0; id < fold->frame_count; id++) {
		const struct fold_frame *frame = &fold->frames[id];
		if (counts[id] && frame->map &&
		    unwind_lacks_frame(resolver, frame->map->dso, map_to_dso(frame->map, frame->ip), arch, !by_address))
			add(ret, &index, frame, counts[id]);
	}
	if (ret->functions.len)
		qsort(ret->functions.data, ret->functions.len, sizeof(*ret->functions.data), compare);
	map64_deinit(&index);
	free(chained);
	free(counts);
}
