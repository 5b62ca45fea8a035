/* Private to the call trees of a fold: stacks as sequences of labels.
 *
 *	fold_tree.c      all nodes, from stacks in order; what is known of frames' labels
 *	fold_heaviest.c  the heaviest nodes, without looking at the others
 *	fold_bundles.c   stacks as those are divided by
 */
#pragma once

#include "analysis/report/fold_internal.h"
#include "result/calltree_limit.h"

struct stack_step;
struct open_run;

/* What tells nodes of one parent apart. */
struct label {
	const char *text; /* interned */
	const char *file; /* options->by_file; else NULL */
	uint8_t kind;	  /* the same; else 0 */
};

struct tree_growing {
	struct fold *fold;
	const struct fold_calltree_options *options;
	uint32_t *frame_ranks; /* by frame: of its label */
	uint32_t *root_ranks;  /* by actor; NULL = stacks begin at the root */
	struct label *labels;  /* by rank */
	size_t label_count;
	const struct fold_piece *pieces; /* none shares frames */
	const uint32_t *frames;		 /* theirs */
	uint32_t *entries;		 /* numbers, in the order of their stacks */
	size_t count;
	struct stack_step *steps;  /* by position in `entries` */
	VEC(struct open_run) path; /* the root and the last stack */
	struct calltree *tree;	   /* NULL: weights are counted in `limit` */
	struct calltree_limit limit;
	struct fold_piece *whole_pieces; /* NULL = the fold's are so */
	uint32_t *whole_frames;
};

/* An entry's frames, innermost first: those of its inner piece, then those of its outer one. */
struct stack_frames {
	const uint32_t *inner, *outer;
	uint32_t inner_count, count; /* count: of both */
};

static inline __attribute__((always_inline)) struct stack_frames fold_tree_frames(const struct tree_growing *growing,
										  const struct fold_entry *entry)
{
	struct stack_frames frames = {.inner = &entry->leaf, .inner_count = 1, .count = 1};
	if (entry->inner == FOLD_NONE && entry->outer == FOLD_NONE)
		return frames;
	frames.inner_count = frames.count = 0;
	if (entry->inner != FOLD_NONE) {
		const struct fold_piece *inner = &growing->pieces[entry->inner];
		frames.inner = growing->frames + inner->frames;
		frames.inner_count = frames.count = inner->frame_count;
	}
	if (entry->outer != FOLD_NONE) {
		const struct fold_piece *outer = &growing->pieces[entry->outer];
		frames.outer = growing->frames + outer->frames;
		frames.count += outer->frame_count;
	}
	return frames;
}

/* The frame at a depth, counted from the root's children on, less the thread's. */
static inline uint32_t fold_tree_frame(const struct tree_growing *growing, const struct stack_frames *frames, uint32_t depth)
{
	uint32_t at = growing->options->reverse ? depth : frames->count - 1 - depth;
	return at < frames->inner_count ? frames->inner[at] : frames->outer[at - frames->inner_count];
}

/* The rank of the label at a depth + 1; 0 behind the end. */
static inline uint64_t fold_tree_element(const struct tree_growing *growing, const struct fold_entry *entry,
					 const struct stack_frames *frames, uint32_t depth)
{
	if (growing->root_ranks && !depth--)
		return growing->root_ranks[entry->actor] + (uint64_t)1;
	return depth < frames->count ? growing->frame_ranks[fold_tree_frame(growing, frames, depth)] + (uint64_t)1 : 0;
}

/* What a frame says of a node. */
void fold_tree_describe(const struct tree_growing *growing, uint32_t frame, struct calltree_node *node);
/* What ends in each file, as the legend of a picture needs it: `own` is what ends in each frame. */
void fold_tree_sum_modules(const struct tree_growing *growing, const uint64_t *own, struct calltree *tree);
/* The heaviest options->most nodes, and how heavy they are at least; also sums by file of what ends in each. */
void fold_tree_heaviest(const struct tree_growing *growing, struct calltree *tree);
