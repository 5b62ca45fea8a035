/* Ends of stacks, added up. An entry is found by its file and its reason; who merges the counts of several threads adds entry by entry. */
#include "unwind/stack_ends.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS = 16 };

void stack_ends_deinit(struct stack_ends *ends)
{
	vec_deinit(&ends->list);
	map64_deinit(&ends->index);
}

void stack_ends_add(struct stack_ends *ends, unsigned int reason, const struct dso *dso, uint64_t count)
{
	bool is_new;
	ends->stacks += count;
	if (reason == UNWIND_COMPLETE)
		return;
	ends->early += count;
	uint64_t *at = map64_insert(&ends->index, (dso ? dso->index + (uint64_t)1 : 0) * KINDS + reason, &is_new);
	if (is_new) {
		*at = ends->list.len;
		vec_push(&ends->list, (struct stack_end){.dso = dso, .reason = reason});
	}
	ends->list.data[*at].count += count;
}

void stack_ends_merge(struct stack_ends *ends, const struct stack_ends *from)
{
	for (size_t i = 0; i < from->list.len; i++)
		stack_ends_add(ends, from->list.data[i].reason, from->list.data[i].dso, from->list.data[i].count);
	ends->stacks += from->stacks - from->early;
}

static int compare(const void *a, const void *b)
{
	const struct stack_end *x = a, *y = b;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	if (x->reason != y->reason)
		return x->reason < y->reason ? -1 : 1;
	return strcmp(x->dso ? x->dso->name : "", y->dso ? y->dso->name : "");
}

void stack_ends_sort(struct stack_ends *ends)
{
	if (ends->list.len)
		qsort(ends->list.data, ends->list.len, sizeof(*ends->list.data), compare);
}

const char *stack_end_text(unsigned int reason)
{
	static const char *const texts[STACK_END_REASONS] = {
		[UNWIND_COMPLETE] = "complete",
		[UNWIND_SHORT] = "the copied stack was too short",
		[UNWIND_NO_RULES] = "no unwind information",
		[UNWIND_NO_FILE] = "the file was not found",
		[UNWIND_NO_JIT] = "JIT-compiled code without a jitdump",
		[UNWIND_UNREADABLE] = "memory that was not recorded",
		[UNWIND_BROKEN] = "an invalid return address",
		[UNWIND_DEPTH] = "more frames than the limit",
		[UNWIND_UNSUPPORTED] = "a process of an unsupported architecture",
		[STACK_END_FRAME_POINTER] = "no frame pointer",
		[STACK_END_BEFORE_GROWTH] = "the copied stack was too short before its size was increased",
		[STACK_END_RECORDED] = "unwound no further while it was recorded",
		[STACK_END_NOT_COPIED] = "files whose unwind rules were not read yet, and too many stacks to copy",
	};
	return reason < STACK_END_REASONS ? texts[reason] : "?";
}
