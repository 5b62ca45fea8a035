/* What the two flame graph forms share: the drawing as SVG elements, the tree as data for the script, the script itself.
 *
 * The SVG that is written already shows the picture, so it can be looked at where scripts don't run; what is narrower than a pixel is left
 * to the script, which draws it when it is zoomed in.
 */
#include "view/flamegraph_internal.h"

#include "base/hash.h"
#include "base/number.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/vec.h"
#include "view/flame_data.h"
#include "view/flame_palette.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char packed_script[] = {
#include "view/packed_script.h"
};
static const char flamegraph_script[] = {
#include "view/flamegraph_script.h"
};

enum { WIDTH = 1200, ROW = 17, PAD = 10, TOP = 64, TEXT_ROOM = 3, LEGEND_MODULES = 8 };
static const double LETTER_WIDTH = 6.9, LEAST_WIDTH = 1; /* pixels */

/* How the frames of one graph are coloured. */
struct painter {
	const struct calltree *tree;
	const struct flame_palette *palette;
	struct flame_extent extent;
	bool changes;
};

static struct painter painter_of(const struct calltree *tree, const struct view_options *options)
{
	return (struct painter){.tree = tree,
				.palette = flame_palette_find(options->palette),
				.extent = flame_extent_of(tree, FLAME_DEEPEST, FLAME_MOST),
				.changes = options->changes};
}

static unsigned int class_of(void *context, const struct calltree_node *node)
{
	const struct painter *painter = context;
	return painter->changes ? flame_palette_change(node, &painter->tree->root) : flame_palette_class(painter->palette, node);
}

/* A walk over the frames that are wide enough to be seen, in preorder. `index` counts the others too, as flame_data_add() numbers them. */
struct visible_walk {
	const struct calltree_node *node;
	const struct flame_extent *extent;
	size_t index;
	unsigned int depth;
	unsigned int hidden_at; /* below this depth nothing is seen until the walk comes back to it */
	double scale;		/* pixels for a weight of 1 */
	double width;
	double start[FLAME_DEEPEST + 2]; /* by depth: where the next frame begins */
};

static void visible_walk_init(struct visible_walk *walk, const struct painter *painter)
{
	const struct calltree *tree = painter->tree;
	*walk = (struct visible_walk){.node = &tree->root, .extent = &painter->extent, .hidden_at = UINT_MAX, .start = {PAD}};
	walk->scale = tree->root.total ? (double)(WIDTH - 2 * PAD) / (double)tree->root.total : 0;
}

static void visible_walk_step(struct visible_walk *walk)
{
	walk->node = flame_next_node(walk->node, walk->extent, true, &walk->depth);
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

static const char *unit_of(const struct view_options *options)
{
	return options->unit ? options->unit : "samples";
}

static void add_frame_title(struct strbuf *out, const struct painter *painter, const struct calltree_node *node, const char *unit)
{
	const struct calltree_node *root = &painter->tree->root;
	const char *label = node->label ? node->label : "all";
	char total[32];
	strbuf_add_str(out, "<title>");
	text_add_html(out, label, strlen(label));
	strbuf_printf(out, " (%s ", number_format_grouped(node->total, total));
	text_add_html(out, unit, strlen(unit));
	strbuf_printf(out, ", %.2f%%", root->total ? 100.0 * (double)node->total / (double)root->total : 0);
	if (painter->changes && root->total_count && root->total)
		strbuf_printf(out, ", %+.2f%%",
			      100.0 * (double)node->total / (double)root->total -
				      100.0 * (double)node->total_count / (double)root->total_count);
	strbuf_add_str(out, ")</title>");
}

static void add_frame(struct strbuf *out, const struct painter *painter, const struct visible_walk *walk, double x, double y,
		      const char *unit)
{
	const char *label = walk->node->label ? walk->node->label : "all";
	size_t length = strlen(label);
	strbuf_printf(out, "<g data-i=\"%zu\">", walk->index);
	add_frame_title(out, painter, walk->node, unit);
	strbuf_printf(out, "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" class=\"c%u\"/>", x, y, walk->width - 0.4, ROW - 1,
		      class_of((void *)painter, walk->node));
	double room = floor((walk->width - 6) / LETTER_WIDTH);
	if (room >= TEXT_ROOM) {
		strbuf_printf(out, "<text x=\"%.1f\" y=\"%.0f\">", x + 3, y + 12);
		size_t shown = length <= (size_t)room ? length : (size_t)room - 2;
		while (shown < length && shown && ((unsigned char)label[shown] & 0xc0) == 0x80)
			shown--;
		text_add_html(out, label, shown);
		strbuf_add_str(out, shown < length ? "..</text>" : "</text>");
	}
	strbuf_add_str(out, "</g>\n");
}

/* In pixels: the drawing ends where the deepest frame does that can be seen. */
static unsigned int flamegraph_height(const struct painter *painter)
{
	struct visible_walk walk;
	unsigned int deepest = 0;
	double x;
	for (visible_walk_init(&walk, painter); visible_walk_find(&walk, &x); visible_walk_step(&walk))
		if (walk.depth > deepest)
			deepest = walk.depth;
	return TOP + (deepest + 1) * ROW + PAD;
}

static void add_frames(struct strbuf *out, const struct painter *painter, const struct view_options *options, unsigned int height)
{
	struct visible_walk walk;
	double x;
	strbuf_add_str(out, "<g id=\"frames\">\n");
	for (visible_walk_init(&walk, painter); visible_walk_find(&walk, &x); visible_walk_step(&walk)) {
		double y = options->icicle ? TOP + (double)walk.depth * ROW : (double)height - PAD - (walk.depth + 1) * ROW;
		add_frame(out, painter, &walk, x, y, unit_of(options));
	}
	strbuf_add_str(out, "</g>\n");
}

/* What the legend and the style sheet need to know of all frames. */
struct census {
	uint32_t families; /* a bit for each that is used */
	size_t module_count;
	struct census_module {
		const char *name;
		uint64_t self;
		unsigned int class;
	} * modules; /* the heaviest first */
};

static int by_weight(const void *a, const void *b)
{
	const struct census_module *left = a, *right = b;
	return left->self != right->self ? (left->self < right->self ? 1 : -1) : strcmp(left->name, right->name);
}

struct modules {
	VEC(struct census_module) list;
	struct map64 places;
};

static void add_module(struct modules *modules, const char *name, unsigned int class, uint64_t self)
{
	bool is_new;
	uint64_t *place = map64_insert(&modules->places, (uintptr_t)name, &is_new);
	if (is_new) {
		*place = modules->list.len;
		vec_push(&modules->list,
			 (struct census_module){.name = name, .class = class / FLAME_SHADES * FLAME_SHADES + FLAME_SHADES / 2});
	}
	modules->list.data[*place].self += self;
}

static struct census take_census(const struct painter *painter)
{
	const struct calltree *tree = painter->tree;
	struct census census = {0};
	struct modules modules = {0};
	unsigned int depth = 0;
	for (const struct calltree_node *node = &tree->root; node; node = flame_next_node(node, NULL, true, &depth)) {
		unsigned int class = class_of((void *)painter, node);
		census.families |= 1u << class / FLAME_SHADES;
		if (node->module && !tree->module_count)
			add_module(&modules, node->module, class, node->self);
	}
	for (size_t i = 0; i < tree->module_count; i++) {
		const struct calltree_node any = {.module = tree->modules[i].name};
		add_module(&modules, any.module, class_of((void *)painter, &any), tree->modules[i].self);
	}
	map64_deinit(&modules.places);
	if (modules.list.len)
		qsort(modules.list.data, modules.list.len, sizeof(*modules.list.data), by_weight);
	census.modules = modules.list.data;
	census.module_count = modules.list.len;
	return census;
}

static void add_legend_entry(struct strbuf *out, double *x, unsigned int class, const char *name)
{
	strbuf_printf(out, "<rect x=\"%.0f\" y=\"43\" width=\"10\" height=\"10\" class=\"c%u\"/><text class=\"dim\" x=\"%.0f\" y=\"52\">",
		      *x, class, *x + 14);
	text_add_html(out, name, strlen(name));
	strbuf_add_str(out, "</text>");
	*x += 14 + LETTER_WIDTH * (double)text_width(name, strlen(name)) + 12;
}

static void add_legend(struct strbuf *out, const struct painter *painter, const struct census *census)
{
	double x = PAD;
	strbuf_add_str(out, "<g id=\"legend\">");
	if (!painter->changes && flame_palette_by_module(painter->palette)) {
		for (size_t i = 0; i < census->module_count && i < LEGEND_MODULES; i++)
			add_legend_entry(out, &x, census->modules[i].class, census->modules[i].name);
	} else {
		for (unsigned int i = 0; i < FLAME_FAMILIES_MAX; i++) {
			const char *name = census->families >> i & 1 ? flame_palette_family(painter->palette, i, painter->changes) : NULL;
			unsigned int shade = painter->changes ? FLAME_SHADES - 1 : FLAME_SHADES / 2;
			if (name)
				add_legend_entry(out, &x, i * FLAME_SHADES + shade, name);
		}
	}
	strbuf_add_str(out, "</g>");
}

/* Title, what was measured, and the legend; the script puts its tools and the line that tells about a frame in their place. */
static void add_header(struct strbuf *out, const struct painter *painter, const struct census *census, const struct view_options *options)
{
	const char *title = options->title ? options->title : "Flame graph", *subtitle = options->subtitle ? options->subtitle : "";
	strbuf_add_str(out, "<g id=\"header\"><text id=\"title\" class=\"head\" x=\"10\" y=\"18\" font-size=\"15\" font-weight=\"bold\">");
	text_add_html(out, title, strlen(title));
	strbuf_add_str(out, "</text>\n<text id=\"subtitle\" class=\"dim\" x=\"10\" y=\"35\">");
	text_add_html(out, subtitle, strlen(subtitle));
	if (painter->extent.least)
		strbuf_printf(out, "; frames below %.2g%% are omitted",
			      100.0 * (double)painter->extent.least / (double)painter->tree->root.total);
	strbuf_add_str(out, "</text>\n");
	add_legend(out, painter, census);
	strbuf_add_str(out, "</g>\n");
}

static void add_style(struct strbuf *out, const struct painter *painter, const struct census *census)
{
	strbuf_add_str(out, "<style>#flame{background:#fdfcf7;color-scheme:light dark}.head{fill:#222}.dim{fill:#555}"
			    "#frames g{cursor:pointer}#frames text{pointer-events:none;fill:#000}"
			    "#frames g:hover rect,.focus rect{stroke:#000;stroke-width:1}\n"
			    ".bar{font:12px monospace;color:#222;background:#fdfcf7;padding:4px 10px;box-sizing:border-box;width:100%}"
			    ".bar b{font-size:15px}.bar div{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;min-height:1.35em}"
			    ".bar .tools{white-space:normal;padding:2px 0}.bar input,.bar button{font:inherit;margin-right:6px}"
			    ".bar svg{display:inline;height:10px;width:10px;margin:0 4px 0 8px}.bar .found{color:#a000a0}\n");
	flame_palette_add_rules(out, painter->palette, census->families, painter->changes, false);
	strbuf_add_str(out, "\n@media(prefers-color-scheme:dark){#flame{background:#1c1c1e}.head{fill:#eee}.dim{fill:#aaa}"
			    "#frames g:hover rect,.focus rect{stroke:#fff}.bar{color:#eee;background:#1c1c1e}.bar .found{color:#ff80ff}\n");
	flame_palette_add_rules(out, painter->palette, census->families, painter->changes, true);
	strbuf_add_str(out, "}\n#frames .m{fill:#e600e6}</style>\n");
}

static void add_drawing(struct strbuf *out, const struct calltree *tree, const struct view_options *options)
{
	struct painter painter = painter_of(tree, options);
	struct census census = take_census(&painter);
	unsigned int height = flamegraph_height(&painter);
	strbuf_printf(
		out,
		"<svg id=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\" role=\"img\" "
		"font-family=\"monospace\" font-size=\"11.5\">\n",
		WIDTH, height, WIDTH, height);
	add_style(out, &painter, &census);
	add_frames(out, &painter, options, height);
	add_header(out, &painter, &census, options);
	free(census.modules);
}

static struct error *add_script(struct strbuf *out, const struct calltree *tree, const struct view_options *options)
{
	struct painter painter = painter_of(tree, options);
	strbuf_printf(out, "var FLAME={icicle:%s,changes:%s,unit:", options->icicle ? "true" : "false",
		      options->changes ? "true" : "false");
	text_add_script(out, unit_of(options), strlen(unit_of(options)));
	strbuf_add_str(out, ",data:\n\"");
	if (!flame_data_add(out, tree, &painter.extent, options->changes, class_of, &painter))
		return error_new("flame graph: not enough memory to compress %llu frames", (unsigned long long)tree->nodes);
	strbuf_add_str(out, "\"};\n");
	strbuf_add_str(out, packed_script);
	strbuf_add_str(out, flamegraph_script);
	return NULL;
}

struct parts {
	const struct calltree *tree;
	const struct view_options *options;
	struct strbuf texts[2];
	struct error *error; /* the script's */
};

static void add_part(void *context, unsigned int worker, size_t number)
{
	struct parts *parts = context;
	(void)worker;
	if (number)
		add_drawing(&parts->texts[number], parts->tree, parts->options);
	else
		parts->error = add_script(&parts->texts[number], parts->tree, parts->options);
}

/* What is compressed takes about as long as what is drawn. */
struct error *flamegraph_add(struct strbuf *out, const struct calltree *tree, const struct view_options *options, const char *between)
{
	struct parts parts = {.tree = tree, .options = options};
	pool_run(pool_default_jobs(), 2, add_part, &parts);
	strbuf_add(out, parts.texts[1].data, parts.texts[1].len);
	strbuf_add_str(out, between);
	strbuf_add(out, strbuf_str(&parts.texts[0]), parts.texts[0].len);
	strbuf_deinit(&parts.texts[0]);
	strbuf_deinit(&parts.texts[1]);
	return parts.error;
}

struct error *flamegraph_write(const struct strbuf *text, const struct sink *out)
{
	sink_write(out, text->data, text->len);
	int failed = sink_flush(out);
	return failed ? error_system(failed, "flame graph") : NULL;
}
