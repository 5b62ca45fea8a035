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

static const char flamegraph_script[] = {
#include "view/flamegraph_script.h"
};

enum { ROW = 17, PAD = 10, TOP = 64, TEXT_ROOM = 3 };
static const double LETTER_WIDTH = 6.9, LEAST_WIDTH = 0.3; /* pixels */

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

/* A walk over the frames that are wide enough to be seen, in preorder. `index` counts the others too, as flamegraph_add_script() numbers
 * them. */
struct visible_walk {
	const struct calltree_node *node;
	size_t index;
	unsigned int depth;
	unsigned int hidden_at; /* below this depth nothing is seen until the walk comes back to it */
	double scale;		/* pixels for a weight of 1 */
	double width;
	double start[FLAMEGRAPH_DEEPEST + 2]; /* by depth: where the next frame begins */
};

static void visible_walk_init(struct visible_walk *walk, const struct calltree *tree, unsigned int width)
{
	*walk = (struct visible_walk){.node = &tree->root, .hidden_at = UINT_MAX, .start = {PAD}};
	walk->scale = tree->root.total ? (double)(width - 2 * PAD) / (double)tree->root.total : 0;
}

static void visible_walk_step(struct visible_walk *walk)
{
	walk->node = next_node(walk->node, walk->depth < FLAMEGRAPH_DEEPEST, &walk->depth);
	walk->index++;
}

/* True for the next visible frame, whose left edge is *ret_x; false at the end. Call visible_walk_step() after each. */
static bool visible_walk_find(struct visible_walk *walk, double *ret_x)
{
	for (; walk->node; visible_walk_step(walk)) {
		if (walk->depth > walk->hidden_at)
			continue;
		walk->width = (double)walk->node->total * walk->scale;
		*ret_x = walk->start[walk->depth];
		walk->start[walk->depth + 1] = *ret_x;
		walk->start[walk->depth] += walk->width;
		walk->hidden_at = walk->width < LEAST_WIDTH ? walk->depth : UINT_MAX;
		if (walk->hidden_at == UINT_MAX)
			return true;
	}
	return false;
}

static void add_frame(struct strbuf *out, const struct visible_walk *walk, double x, double y, uint64_t whole, const char *unit)
{
	const struct calltree_node *node = walk->node;
	double width = walk->width;
	const char *label = node->label ? node->label : "all";
	size_t length = strlen(label);
	strbuf_printf(out, "<g data-i=\"%zu\"><title>", walk->index);
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

/* In pixels: the drawing ends above the deepest frame that can be seen. */
static unsigned int flamegraph_height(const struct calltree *tree, unsigned int width)
{
	struct visible_walk walk;
	unsigned int deepest = 0;
	double x;
	for (visible_walk_init(&walk, tree, width); visible_walk_find(&walk, &x); visible_walk_step(&walk))
		if (walk.depth > deepest)
			deepest = walk.depth;
	return TOP + (deepest + 1) * ROW + PAD;
}

static void add_frames(struct strbuf *out, const struct calltree *tree, const char *unit, unsigned int width, unsigned int height)
{
	struct visible_walk walk;
	double x;
	for (visible_walk_init(&walk, tree, width); visible_walk_find(&walk, &x); visible_walk_step(&walk))
		add_frame(out, &walk, x, (double)height - PAD - (walk.depth + 1) * ROW, tree->root.total, unit);
}

const char *flamegraph_unit(const struct view_options *options)
{
	return options->unit ? options->unit : "samples";
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

void flamegraph_add_script(struct strbuf *out, const struct calltree *tree, const struct view_options *options, unsigned int width,
			   bool page)
{
	struct map64 numbers = {0};
	strbuf_printf(out, "var FLAME={width:%u,page:%s,inverted:false,unit:", width, page ? "true" : "false");
	add_script_string(out, flamegraph_unit(options));
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
	strbuf_add_str(out, flamegraph_script);
	map64_deinit(&numbers);
}

/* Title, buttons and the line that tells about a frame. Drawn over the frames: it stays in sight when a tall graph is scrolled. */
static void add_header(struct strbuf *out, const char *title)
{
	strbuf_add_str(out, "<g id=\"header\"><rect width=\"100%\" height=\"60\" fill=\"#fdfcf7\" fill-opacity=\"0.9\"/>\n"
			    "<text x=\"10\" y=\"20\" font-size=\"15\" font-weight=\"bold\">");
	text_add_html(out, title, strlen(title));
	strbuf_add_str(
		out,
		"</text>\n<text id=\"reset\" class=\"button\" x=\"10\" y=\"38\">Reset zoom (Esc)</text>"
		"<text id=\"search\" class=\"button\" x=\"150\" y=\"38\">Search (/)</text>"
		"<text id=\"invert\" class=\"button\" x=\"250\" y=\"38\">Invert (i)</text>"
		"<text x=\"350\" y=\"38\" fill=\"#666\">arrows move, Enter zooms</text>"
		"<text id=\"found\" x=\"560\" y=\"38\" fill=\"#a0a\"> </text>\n<text id=\"details\" x=\"10\" y=\"56\"> </text>\n</g>\n");
}

void flamegraph_add_drawing(struct strbuf *out, const struct calltree *tree, const struct view_options *options, unsigned int width)
{
	unsigned int height = flamegraph_height(tree, width);
	strbuf_printf(
		out,
		"<svg id=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" role=\"img\" "
		"font-family=\"monospace\" font-size=\"11.5\">\n"
		"<style>#flame{background:#fdfcf7}#frames g{cursor:pointer}#frames g:hover rect,.focus rect{stroke:#000;stroke-width:1}"
		"#frames text{pointer-events:none}.button{cursor:pointer;fill:#36c;text-decoration:underline}</style>\n<g id=\"frames\">\n",
		width, height, width, height);
	add_frames(out, tree, flamegraph_unit(options), width, height);
	strbuf_add_str(out, "</g>\n");
	add_header(out, options->title ? options->title : "Flame graph");
}
