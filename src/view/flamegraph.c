/* What the two flame graph forms share: the drawing as SVG elements, the tree as data for the script, the script itself.
 *
 * The SVG that is written already shows the whole picture, so it can be looked at where scripts don't run; what is narrower than a third of
 * a pixel is left to the script, which draws it when it is zoomed in. Colours repeat those of flamegraph.js.
 */
#include "view/flamegraph_internal.h"

#include "base/hash.h"
#include "base/text.h"

#include <limits.h>
#include <math.h>
#include <string.h>

const char flamegraph_script[] = {
#include "view/flamegraph_script.h"
};

enum { ROW = 17, PAD = 10, TOP = 64, TEXT_ROOM = 3 };
static const double LETTER_WIDTH = 6.9, LEAST_WIDTH = 0.3; /* pixels */

static unsigned int tree_depth(const struct calltree *tree)
{
	unsigned int depth = 0, deepest = 0;
	const struct calltree_node *node = &tree->root;
	while (node) {
		if (depth > deepest)
			deepest = depth;
		if (node->children) {
			node = node->children;
			depth++;
			continue;
		}
		while (node && !node->sibling) {
			node = node->parent;
			depth--;
		}
		node = node ? node->sibling : NULL;
	}
	return deepest;
}

/* The next node in preorder, going below `node` only when `enter`; NULL at the end. */
static const struct calltree_node *next_node(const struct calltree_node *node, bool enter, unsigned int *depth)
{
	if (enter && node->children) {
		(*depth)++;
		return node->children;
	}
	while (node && !node->sibling) {
		node = node->parent;
		(*depth)--;
	}
	return node ? node->sibling : NULL;
}

static void add_color(struct strbuf *out, const struct calltree_node *node, bool root)
{
	uint32_t h = 0;
	for (const char *c = node->label ? node->label : "all"; *c; c++)
		h = h * 31 + (unsigned char)*c;
	double a = h % 97 / 97.0, b = h % 53 / 53.0;
	if (root)
		strbuf_add_str(out, "hsl(45,30%,75%)");
	else if (node->kind == FRAME_KERNEL)
		strbuf_printf(out, "hsl(%.0f,90%%,%.0f%%)", 22 + 12 * a, 60 + 10 * b);
	else if (node->kind == FRAME_JIT)
		strbuf_printf(out, "hsl(%.0f,50%%,%.0f%%)", 95 + 35 * a, 58 + 12 * b);
	else if (node->kind == FRAME_INLINED)
		strbuf_printf(out, "hsl(%.0f,50%%,%.0f%%)", 180 + 20 * a, 62 + 10 * b);
	else if (node->kind == FRAME_OTHER)
		strbuf_printf(out, "hsl(0,0%%,%.0f%%)", 70 + 12 * b);
	else
		strbuf_printf(out, "hsl(%.0f,85%%,%.0f%%)", 42 + 14 * a, 60 + 12 * b);
}

static void add_frame(struct strbuf *out, const struct calltree_node *node, size_t index, double x, double y, double width, uint64_t whole,
		      const char *unit)
{
	const char *label = node->label ? node->label : "all";
	size_t length = strlen(label);
	strbuf_printf(out, "<g data-i=\"%zu\"><title>", index);
	text_add_html(out, label, length);
	strbuf_printf(out, " (%llu ", (unsigned long long)node->total);
	text_add_html(out, unit, strlen(unit));
	strbuf_printf(out, ", %.2f%%)</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"",
		      100.0 * (double)node->total / (double)whole, x, y, width - 0.4 > LEAST_WIDTH ? width - 0.4 : LEAST_WIDTH, ROW - 1);
	add_color(out, node, !node->label);
	strbuf_add_str(out, "\"/>");
	double room = floor((width - 6) / LETTER_WIDTH);
	if (room >= TEXT_ROOM) {
		strbuf_printf(out, "<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + 12);
		size_t shown = length <= (size_t)room ? length : (size_t)room - 2;
		while (shown < length && shown && ((unsigned char)label[shown] & 0xc0) == 0x80)
			shown--;
		text_add_html(out, label, shown);
		strbuf_add_str(out, shown < length ? "..</text>" : "</text>");
	}
	strbuf_add_str(out, "</g>\n");
}

void flamegraph_add_frames(struct strbuf *out, const struct calltree *tree, const char *unit, unsigned int width)
{
	uint64_t whole = tree->root.total;
	if (!whole)
		return;
	double scale = (double)(width - 2 * PAD) / (double)whole;
	double height = flamegraph_height(tree);
	double starts[FLAMEGRAPH_DEEPEST + 2] = {PAD}; /* by depth: where the next frame begins */
	unsigned int depth = 0;
	size_t index = 0;
	/* `index` counts all nodes in the order in which flamegraph_add_data() writes them: below an invisible one they are only counted.
	 */
	unsigned int hidden_at = UINT_MAX;
	for (const struct calltree_node *node = &tree->root; node; index++) {
		bool visible = depth <= hidden_at;
		if (visible)
			hidden_at = UINT_MAX;
		bool deep = depth >= FLAMEGRAPH_DEEPEST;
		if (visible && !deep) {
			double frame_width = (double)node->total * scale;
			if (frame_width >= LEAST_WIDTH)
				add_frame(out, node, index, starts[depth], height - PAD - (depth + 1) * ROW, frame_width, whole, unit);
			else
				hidden_at = depth;
			starts[depth + 1] = starts[depth];
			starts[depth] += frame_width;
		}
		node = next_node(node, !deep, &depth);
	}
}

unsigned int flamegraph_height(const struct calltree *tree)
{
	unsigned int depth = tree_depth(tree);
	return TOP + ((depth > FLAMEGRAPH_DEEPEST ? FLAMEGRAPH_DEEPEST : depth) + 1) * ROW + PAD;
}

/* A JSON string in which neither markup nor the end of a script can begin. */
static void add_script_string(struct strbuf *out, const char *string)
{
	struct strbuf json = {0};
	text_add_json(&json, string, strlen(string));
	for (size_t i = 0; i < json.len; i++) {
		if (strchr("<>&", json.data[i]))
			strbuf_printf(out, "\\u%04x", json.data[i]);
		else
			strbuf_add_char(out, json.data[i]);
	}
	strbuf_deinit(&json);
}

static void add_labels(struct strbuf *out, const struct calltree *tree, struct map64 *numbers)
{
	unsigned int depth = 0;
	uint64_t count = 0;
	for (const struct calltree_node *node = &tree->root; node; node = next_node(node, true, &depth)) {
		bool is_new;
		uint64_t *number = map64_insert(numbers, (uintptr_t)node->label, &is_new);
		if (!is_new)
			continue;
		*number = count++;
		if (*number)
			strbuf_add_char(out, ',');
		add_script_string(out, node->label ? node->label : "all");
	}
}

void flamegraph_add_data(struct strbuf *out, const struct calltree *tree, const char *unit, unsigned int width, bool page)
{
	struct map64 numbers = {0};
	strbuf_printf(out, "var FLAME={width:%u,page:%s,inverted:false,unit:", width, page ? "true" : "false");
	add_script_string(out, unit);
	strbuf_add_str(out, ",labels:[");
	add_labels(out, tree, &numbers);
	strbuf_add_str(out, "],\nnodes:[");
	unsigned int depth = 0;
	for (const struct calltree_node *node = &tree->root; node; node = next_node(node, depth < FLAMEGRAPH_DEEPEST, &depth)) {
		if (node != &tree->root)
			strbuf_add_char(out, ',');
		strbuf_add_u64(out, depth, 0);
		strbuf_add_char(out, ',');
		strbuf_add_u64(out, *map64_find(&numbers, (uintptr_t)node->label) * 8 + node->kind, 0);
		strbuf_add_char(out, ',');
		strbuf_add_u64(out, node->total, 0);
	}
	strbuf_add_str(out, "]};\n");
	map64_deinit(&numbers);
}

void flamegraph_add_controls(struct strbuf *out, const struct calltree *tree, const struct view_options *options, unsigned int width)
{
	unsigned int height = flamegraph_height(tree);
	strbuf_printf(
		out,
		"<svg id=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" role=\"img\" "
		"font-family=\"monospace\" font-size=\"11.5\">\n"
		"<style>#flame{background:#fdfcf7}#frames g{cursor:pointer}#frames g:hover rect,.focus rect{stroke:#000;stroke-width:1}"
		"#frames text{pointer-events:none}.button{cursor:pointer;fill:#36c;text-decoration:underline}</style>\n"
		"<text x=\"10\" y=\"20\" font-size=\"15\" font-weight=\"bold\">",
		width, height, width, height);
	const char *title = options->title ? options->title : "Flame graph";
	text_add_html(out, title, strlen(title));
	strbuf_add_str(out, "</text>\n<text id=\"reset\" class=\"button\" x=\"10\" y=\"38\">Reset zoom (Esc)</text>"
			    "<text id=\"search\" class=\"button\" x=\"150\" y=\"38\">Search (/)</text>"
			    "<text id=\"invert\" class=\"button\" x=\"250\" y=\"38\">Invert (i)</text>"
			    "<text x=\"350\" y=\"38\" fill=\"#666\">arrows move, Enter zooms</text>"
			    "<text id=\"found\" x=\"560\" y=\"38\" fill=\"#a0a\"> </text>\n<text id=\"details\" x=\"10\" y=\"56\"> "
			    "</text>\n<g id=\"frames\">\n");
}
