/* Call graphs as text.
 *
 *	|
 *	---main                      one stack leads to the row: no branch, no percentage
 *	   |
 *	   |--60.00%--parse          a branch; frames without own weight and with a single callee stand below each other
 *	   |          read_token
 *	    --40.00%--run            the last branch ends the bar
 *
 * A chain of nodes is drawn as one when nothing ends or branches off between them, also not what was left out for being too light. In
 * fractal style a percentage relates to the parent, and what is missing from 100 % is drawn as [...].
 */
#include "view/stdio_internal.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { MARGIN = 12, INDENT = 11 };

struct drawing {
	const struct table_graph *graph;
	struct strbuf *out;
	bool color;
	unsigned int margin;
	struct strbuf bars; /* the bars of the open levels: "|          " or "           " for each */
};

static void add_label(const struct calltree_node *node, struct strbuf *out)
{
	text_add_safe(out, node->label, strlen(node->label));
}

static void add_value(const struct table_graph *graph, uint64_t weight, uint64_t count, uint64_t total, bool colored, struct strbuf *out)
{
	double percent = total ? (double)weight * 100.0 / (double)total : 0.0;
	const char *color = colored && graph->value == GRAPH_PERCENT ? stdio_color(percent) : NULL;
	if (color)
		strbuf_add_str(out, color);
	if (graph->value == GRAPH_COUNT)
		strbuf_add_u64(out, count, 0);
	else if (graph->value == GRAPH_PERIOD)
		strbuf_add_u64(out, weight, 0);
	else
		strbuf_printf(out, "%.2f%%", percent);
	if (color)
		strbuf_add_str(out, STDIO_COLOR_END);
}

static void add_margin(const struct drawing *drawing)
{
	strbuf_add_chars(drawing->out, ' ', MARGIN + drawing->margin);
	strbuf_add(drawing->out, strbuf_str(&drawing->bars), drawing->bars.len);
}

static void push_bar(struct drawing *drawing, bool bar)
{
	strbuf_add_char(&drawing->bars, bar ? '|' : ' ');
	strbuf_add_chars(&drawing->bars, ' ', INDENT - 1);
}

static void pop_bar(struct drawing *drawing)
{
	drawing->bars.len -= INDENT;
}

static void draw_children(struct drawing *drawing, const struct calltree_node *node, uint64_t total);

/* One branch: its first frame with the value, the others below. `bar`: more branches follow. */
static void draw_branch(struct drawing *drawing, const struct calltree_node *node, uint64_t total, bool bar)
{
	struct strbuf *out = drawing->out;
	add_margin(drawing);
	strbuf_add_str(out, bar ? "|--" : " --");
	add_value(drawing->graph, node->total, node->total_count, total, drawing->color, out);
	strbuf_add_str(out, "--");
	add_label(node, out);
	strbuf_add_char(out, '\n');
	push_bar(drawing, bar);
	const struct calltree_node *last = node;
	for (const struct calltree_node *next; (next = calltree_continuation(last)); last = next) {
		add_margin(drawing);
		add_label(next, out);
		strbuf_add_char(out, '\n');
	}
	uint64_t below = drawing->graph->style == GRAPH_FRACTAL ? last->total - last->self : total;
	draw_children(drawing, last, below);
	pop_bar(drawing);
}

static void draw_rest(struct drawing *drawing, uint64_t weight, uint64_t count, uint64_t total)
{
	add_margin(drawing);
	strbuf_add_str(drawing->out, " --");
	add_value(drawing->graph, weight, count, total, drawing->color, drawing->out);
	strbuf_add_str(drawing->out, "--[...]\n");
}

static void draw_children(struct drawing *drawing, const struct calltree_node *node, uint64_t total)
{
	bool fractal = drawing->graph->style == GRAPH_FRACTAL;
	uint64_t remaining = total, counted = 0;
	uint32_t drawn = 0;
	for (const struct calltree_node *child = node->children; child; child = child->sibling) {
		remaining -= child->total;
		counted += child->total_count;
		push_bar(drawing, true);
		add_margin(drawing);
		strbuf_add_char(drawing->out, '\n');
		pop_bar(drawing);
		draw_branch(drawing, child, total, child->sibling || (fractal && remaining));
		if (++drawn == drawing->graph->most_entries)
			break;
	}
	if (!fractal || !remaining || remaining == total)
		return;
	if (drawing->graph->value == GRAPH_COUNT && node->total_count - node->self_count <= counted)
		return;
	draw_rest(drawing, remaining, node->total_count - node->self_count - counted, total);
}

/* GRAPH_TREE and GRAPH_FRACTAL. */
static void draw_tree(const struct table_graph *graph, const struct row *row, bool color, struct strbuf *out)
{
	struct drawing drawing = {.graph = graph, .out = out, .color = color};
	const struct calltree_node *node = &row->tree->root, *only = node->children;
	size_t before = out->len;
	uint64_t total = graph->style == GRAPH_FRACTAL ? row->value : graph->total;
	if (only && !only->sibling && only->total == row->value) {
		bool first = true;
		uint32_t drawn = 0;
		for (const struct calltree_node *at = only; at; at = calltree_continuation(at)) {
			node = at;
			if ((at == only && graph->skip_first) || (graph->most_entries && drawn == graph->most_entries))
				continue;
			if (first) {
				add_margin(&drawing);
				strbuf_add_str(out, "|\n");
				add_margin(&drawing);
				strbuf_add_str(out, "---");
				drawing.margin = 3;
			} else {
				add_margin(&drawing);
			}
			first = false;
			add_label(at, out);
			strbuf_add_char(out, '\n');
			drawn++;
		}
	}
	draw_children(&drawing, node, total);
	if (out->len != before)
		strbuf_add_char(out, '\n');
	strbuf_deinit(&drawing.bars);
}

/* Stacks one by one: those that end in a node with own weight. */

struct graph_ending {
	const struct calltree_node *node;
	size_t order;
};

struct endings {
	VEC(struct graph_ending) list;
};

static void collect(const struct calltree_node *node, uint64_t least, struct endings *endings)
{
	for (const struct calltree_node *child = node->children; child; child = child->sibling)
		collect(child, least, endings);
	if (node->parent && node->self && node->self >= least)
		vec_push(&endings->list, (struct graph_ending){.node = node, .order = endings->list.len});
}

static int heavier(const void *a, const void *b)
{
	const struct graph_ending *x = a, *y = b;
	if (x->node->self != y->node->self)
		return x->node->self > y->node->self ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void add_path(const struct calltree_node *node, bool folded, struct strbuf *out)
{
	if (!node->parent)
		return;
	add_path(node->parent, folded, out);
	if (folded)
		strbuf_add_str(out, node->parent->parent ? ";" : " ");
	else
		strbuf_add_chars(out, ' ', 16);
	add_label(node, out);
	if (!folded)
		strbuf_add_char(out, '\n');
}

static void draw_list(const struct table_graph *graph, const struct row *row, bool color, struct strbuf *out)
{
	struct endings endings = {0};
	collect(&row->tree->root, graph->least, &endings);
	if (endings.list.len)
		qsort(endings.list.data, endings.list.len, sizeof(*endings.list.data), heavier);
	bool folded = graph->style == GRAPH_FOLDED;
	for (size_t i = 0; i < endings.list.len && (!graph->most_entries || i < graph->most_entries); i++) {
		const struct calltree_node *node = endings.list.data[i].node;
		if (!folded)
			strbuf_add_chars(out, ' ', 11);
		/* Folded: what ends here; flat: with what goes on from here. */
		add_value(graph, folded ? node->self : node->total, folded ? node->self_count : node->total_count, graph->total, color,
			  out);
		if (!folded)
			strbuf_add_char(out, '\n');
		add_path(node, folded, out);
		strbuf_add_char(out, '\n');
	}
	vec_deinit(&endings.list);
}

void stdio_add_graph(const struct table_graph *graph, const struct row *row, bool color, struct strbuf *out)
{
	switch (graph->style) {
	case GRAPH_TREE:
	case GRAPH_FRACTAL:
		draw_tree(graph, row, color, out);
		break;
	case GRAPH_FLAT:
	case GRAPH_FOLDED:
		draw_list(graph, row, color, out);
		break;
	case GRAPH_NONE:
		break;
	}
}
