/* Folded stacks: one line for each path that has a weight of its own, "outermost;…;innermost WEIGHT". What flamegraph.pl, speedscope and
 * others read. */
#include "base/text.h"
#include "base/vec.h"
#include "view/view.h"

#include <string.h>

struct folded {
	struct strbuf line;  /* the path to the current node */
	VEC(size_t) lengths; /* of the line, by depth */
	const struct sink *out;
};

static void enter(struct folded *folded, const struct calltree_node *node)
{
	vec_push(&folded->lengths, folded->line.len);
	if (folded->line.len)
		strbuf_add_char(&folded->line, ';');
	text_add_safe(&folded->line, node->label, strlen(node->label));
	if (!node->self)
		return;
	size_t len = folded->line.len;
	strbuf_add_char(&folded->line, ' ');
	strbuf_add_u64(&folded->line, node->self, 0);
	strbuf_add_char(&folded->line, '\n');
	sink_write(folded->out, folded->line.data, folded->line.len);
	folded->line.len = len;
}

static void leave(struct folded *folded)
{
	folded->line.len = folded->lengths.data[--folded->lengths.len];
}

static struct error *show_calltree(const struct calltree *tree, const struct view_options *options, const struct sink *out)
{
	struct folded folded = {.out = out};
	const struct calltree_node *node = tree->root.children;
	while (node) {
		enter(&folded, node);
		if (node->children) {
			node = node->children;
			continue;
		}
		leave(&folded);
		while (!node->sibling && node->parent != &tree->root) {
			node = node->parent;
			leave(&folded);
		}
		node = node->sibling;
	}
	strbuf_deinit(&folded.line);
	vec_deinit(&folded.lengths);
	int failed = sink_flush(out);
	return failed ? error_system(failed, "folded stacks") : NULL;
}

const struct view_ops view_folded = {
	.name = "folded",
	.summary = "folded stacks, one per line with its weight",
	.for_programs = true,
	.calltree = show_calltree,
};
