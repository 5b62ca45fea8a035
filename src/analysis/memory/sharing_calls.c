/* Who calls the code of a place: a tree of the stacks of its samples, from the outermost caller on, or from the code on. */
#include "analysis/memory/sharing.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>

/* Functions by name; without one by address. Equal names are one label. */
static const char *label_of(struct shared_lines *sharing, const struct frame *frame)
{
	char address[32];
	if (frame->symbol)
		return intern_string(&sharing->labels, frame->symbol->name);
	snprintf(address, sizeof(address), "0x%" PRIx64, frame->ip);
	return intern_string(&sharing->labels, address);
}

void sharing_calls_add(struct shared_lines *sharing, struct sharing_place *place, const struct event *event, const struct sample *sample,
		       uint64_t model_time)
{
	struct stack *stack = &sharing->stack;
	const struct stack_options options = {.inlines = STACK_INLINES_UNWOUND, .stitcher = sharing->options.stitcher};
	if (!place->calls) {
		place->calls = calltree_create();
		vec_push(&sharing->trees, place->calls);
	}
	stack_resolve(sharing->resolver, sharing->session->machine, place->thread, event, sample, model_time, &options, stack);
	struct calltree_node *node = &place->calls->root;
	for (size_t i = 0, count = stack->frames.len; i < count; i++) {
		const struct frame *frame = &stack->frames.data[sharing->options.calls == SHARING_CALLERS_FIRST ? count - 1 - i : i];
		node = calltree_child(place->calls, node, label_of(sharing, frame), FRAME_OTHER);
	}
	calltree_weigh(node, sample->period);
}

/* Branches that are lighter than `least`, or with `percent` than so much of what they hang on, count in their parents only. */
static void prune(struct calltree_node *node, double least, double percent)
{
	struct calltree_node **at = &node->children;
	double needed = percent ? percent / 100 * (double)node->total : least;
	while (*at) {
		if ((double)(*at)->total < needed) {
			*at = (*at)->sibling;
			continue;
		}
		prune(*at, least, percent);
		at = &(*at)->sibling;
	}
}

void sharing_calls_finish(struct calltree *calls, uint64_t total, double percent, bool of_parent)
{
	prune(&calls->root, percent / 100 * (double)total, of_parent ? percent : 0);
	calltree_sort(&calls->root, calltree_by_weight);
}
