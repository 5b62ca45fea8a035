/* Folded stacks: the tree that flame graphs are drawn of, path by path. */
#include "analysis/folded_stacks.h"
#include "analysis/import/imported.h"
#include "result/calltree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { STEP_NS = 1000 }; /* between samples: their order is all that is known */

/* The node's label as a frame; what is inlined into a function of the kernel is one as well. */
static uint32_t frame_of(struct imported *imported, const struct calltree_node *node, uint32_t caller)
{
	bool in_kernel = caller != IMPORTED_NO_STACK && imported->frames.data[imported->stacks.data[caller].frame].kernel;
	const struct imported_frame frame = {
		.function = intern_string(&imported->texts, node->label),
		.mapping = node->kind == FRAME_JIT ? intern_string(&imported->texts, "jit") : NULL,
		.kernel = node->kind == FRAME_KERNEL || (node->kind == FRAME_INLINED && in_kernel),
		.inlined = node->kind == FRAME_INLINED,
	};
	return imported_frame(imported, &frame);
}

static void add_sample(struct imported *imported, uint64_t weight, uint32_t stack, uint32_t thread)
{
	vec_push(&imported->samples,
		 (struct imported_sample){
			 .stack = stack, .thread = thread, .count = 1, .period = weight, .time = (imported->samples.len + 1) * STEP_NS});
}

/* All below a node that is `stack` already; threads are numbered as they come. */
static void add_paths(struct imported *imported, const struct calltree_node *top, uint32_t stack, uint32_t thread)
{
	const struct calltree_node *node = top->children;
	if (top->self && top->parent)
		add_sample(imported, top->self, stack, thread);
	while (node) {
		stack = imported_stack(imported, stack, frame_of(imported, node, stack));
		if (node->self)
			add_sample(imported, node->self, stack, thread);
		if (node->children) {
			node = node->children;
			continue;
		}
		for (; node != top && !node->sibling; node = node->parent)
			stack = imported->stacks.data[stack].parent;
		if (node == top)
			return;
		stack = imported->stacks.data[stack].parent;
		node = node->sibling;
	}
}

static void add_threads(struct imported *imported, const struct calltree_node *root)
{
	uint32_t tid = 1;
	for (const struct calltree_node *node = root->children; node; node = node->sibling, tid++)
		add_paths(imported, node, IMPORTED_NO_STACK, imported_thread(imported, tid, tid, node->label));
}

struct error *import_folded(const char *data, size_t size, const struct import_options *options, struct imported *ret)
{
	struct folded_stacks folded;
	FILE *in = size ? fmemopen((void *)data, size, "r") : NULL;
	if (!in)
		return size ? error_system(errno, "%s", options->name) : error_new("%s is empty", options->name);
	struct error *error = folded_stacks_read(in, options->name, false, &folded);
	fclose(in);
	if (!error && folded.two_weights)
		error = error_new("%s has two weights a line, those of a comparison of two recordings: import each by itself",
				  options->name);
	if (!error) {
		imported_event(ret, "samples", false);
		ret->left_out = folded.other_lines;
		if (options->comm)
			add_threads(ret, &folded.tree->root);
		else
			add_paths(ret, &folded.tree->root, IMPORTED_NO_STACK, imported_thread(ret, 1, 1, "folded"));
	}
	folded_stacks_deinit(&folded);
	return error;
}
