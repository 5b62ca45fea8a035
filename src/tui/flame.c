/* A flame graph on a screen (flame.h).
 *
 *	|all                                                  |
 *	|wordcount                              ||ls          |
 *	|main                                   ||main        |
 *	|count_slowly                   ||print |
 *
 * A level is a line. A node begins where the weights before it end, so that no rounding opens a gap; one of less than a column isn't
 * drawn, and its place stays empty. */
#include "tui/flame.h"

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct flame {
	struct terminal *terminal;
	const char *title;
	const struct calltree *tree;	    /* the one that is shown */
	const struct calltree *whole;	    /* as it was given */
	struct calltree *folded;	    /* the same with recursion folded, once it was asked for; or NULL */
	const struct calltree_node *zoom;   /* as wide as the screen */
	const struct calltree_node *cursor; /* at the zoom or below */
	size_t top;			    /* levels below the zoom that are scrolled away */
	char *wanted;			    /* names with this in them are marked; or NULL */
};

static const struct key_help keys[] = {
	{"", "The flame graph"},
	{"Up, Down", "the caller; what costs most of what is called"},
	{"Left, Right", "the neighbours"},
	{"Enter", "zoom: the chosen function as wide as the screen"},
	{"Esc, Backspace", "zoom out, one step; then back"},
	{"Home", "zoom out of all"},
	{"R", "fold recursion: frames of one function that follow each other are one box"},
	{"/", "mark functions with a text in their names"},
	{"?, h, F1", "this help"},
	{"q", "back"},
	{0},
};

static const char *label_of(const struct calltree_node *node)
{
	return node->label ? node->label : "all";
}

/* "fib ×38" */
static void add_label(const struct calltree_node *node, struct strbuf *out)
{
	text_add_safe(out, label_of(node), strlen(label_of(node)));
	calltree_add_repeats(node, out);
}

static size_t depth_of(const struct flame *flame, const struct calltree_node *node)
{
	size_t depth = 0;
	for (; node != flame->zoom && node->parent; node = node->parent)
		depth++;
	return depth;
}

static size_t page_lines(const struct flame *flame)
{
	int lines = terminal_lines(flame->terminal) - 2;
	return lines > 1 ? (size_t)lines : 1;
}

/* ---- drawing ---- */

/* The column where so much of the zoom ends. */
static int column_of(const struct flame *flame, uint64_t weight)
{
	uint64_t total = flame->zoom->total ? flame->zoom->total : 1;
	return (int)((double)weight / (double)total * terminal_columns(flame->terminal) + 0.5);
}

static enum terminal_style style_of(const struct flame *flame, const struct calltree_node *node)
{
	if (node == flame->cursor)
		return STYLE_CURSOR;
	if (flame->wanted && *flame->wanted && strstr(label_of(node), flame->wanted))
		return STYLE_BOX_FOUND;
	return node->kind == FRAME_KERNEL ? STYLE_BOX_KERNEL : STYLE_BOX;
}

/* `before`: the weight at the left of the node. */
static void draw_node(const struct flame *flame, const struct calltree_node *node, uint64_t before, size_t depth)
{
	int from = column_of(flame, before), to = column_of(flame, before + node->total);
	if (to <= from || depth >= flame->top + page_lines(flame))
		return;
	if (depth >= flame->top) {
		struct strbuf text = {0};
		strbuf_add_char(&text, '|');
		add_label(node, &text);
		terminal_put(flame->terminal, 1 + (int)(depth - flame->top), from, to - from, style_of(flame, node), strbuf_str(&text));
		strbuf_deinit(&text);
	}
	for (const struct calltree_node *child = node->children; child; child = child->sibling) {
		draw_node(flame, child, before, depth + 1);
		before += child->total;
	}
}

static double share(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

/* What has the name in it, without counting a caller and what it calls twice. */
static uint64_t found_below(const struct flame *flame, const struct calltree_node *node)
{
	uint64_t sum = 0;
	if (strstr(label_of(node), flame->wanted))
		return node->total;
	for (const struct calltree_node *child = node->children; child; child = child->sibling)
		sum += found_below(flame, child);
	return sum;
}

static void draw(struct flame *flame)
{
	const struct calltree_node *node = flame->cursor, *root = &flame->tree->root;
	size_t depth = depth_of(flame, node), page = page_lines(flame);
	struct strbuf status = {0};
	if (depth < flame->top)
		flame->top = depth;
	if (depth >= flame->top + page)
		flame->top = depth - page + 1;
	terminal_clear(flame->terminal);
	terminal_put(flame->terminal, 0, 0, terminal_columns(flame->terminal), STYLE_TITLE, flame->title);
	draw_node(flame, flame->zoom, 0, 0);
	add_label(node, &status);
	strbuf_printf(&status, ": %.2f%%, itself %.2f%%", share(node->total, root->total), share(node->self, root->total));
	if (flame->wanted && *flame->wanted)
		strbuf_printf(&status, "   marked: %.2f%%", share(found_below(flame, root), root->total));
	strbuf_add_str(&status, "   Enter: zoom   ?: help   q: back");
	status_put(flame->terminal, strbuf_str(&status), terminal_columns(flame->terminal));
	terminal_show(flame->terminal, 0, -1);
	strbuf_deinit(&status);
}

/* ---- moving ---- */

static const struct calltree_node *heaviest_child(const struct calltree_node *node)
{
	const struct calltree_node *found = node->children;
	for (const struct calltree_node *child = found; child; child = child->sibling)
		if (child->total > found->total)
			found = child;
	return found;
}

/* The next or the previous child of the same parent that is wide enough to be seen. */
static const struct calltree_node *neighbour(const struct flame *flame, const struct calltree_node *node, bool right)
{
	const struct calltree_node *before = NULL;
	uint64_t seen = flame->zoom->total / (uint64_t)(terminal_columns(flame->terminal) + 1);
	bool passed = false;
	if (node == flame->zoom)
		return NULL;
	for (const struct calltree_node *child = node->parent->children; child; child = child->sibling) {
		if (child == node && !right)
			return before;
		if (child == node)
			passed = true;
		else if (child->total > seen && passed)
			return child;
		else if (child->total > seen)
			before = child;
	}
	return NULL;
}

static void go(struct flame *flame, const struct calltree_node *node)
{
	if (node)
		flame->cursor = node;
}

static void zoom(struct flame *flame, const struct calltree_node *node)
{
	flame->zoom = flame->cursor = node;
	flame->top = 0;
}

/* False: there is nothing to zoom out of. */
static bool zoom_out(struct flame *flame)
{
	if (!flame->zoom->parent)
		return false;
	const struct calltree_node *cursor = flame->cursor;
	zoom(flame, flame->zoom->parent);
	flame->cursor = cursor;
	return true;
}

/* The node that is drawn at a place below `node`, which begins where the weights before it end; or NULL. */
static const struct calltree_node *node_at(const struct flame *flame, const struct calltree_node *node, size_t depth, int column)
{
	uint64_t before = 0;
	while (depth) {
		const struct calltree_node *child = node->children;
		for (; child && column_of(flame, before + child->total) <= column; child = child->sibling)
			before += child->total;
		if (!child || column_of(flame, before) > column)
			return NULL;
		node = child;
		depth--;
	}
	return node;
}

/* The cursor goes to the box that was clicked; where it is already, that is zoomed into. */
static void click(struct flame *flame)
{
	int line, column;
	terminal_clicked(flame->terminal, &line, &column);
	const struct calltree_node *node = NULL;
	if (line >= 1 && (size_t)line <= page_lines(flame))
		node = node_at(flame, flame->zoom, flame->top + (size_t)line - 1, column);
	if (node && node == flame->cursor)
		zoom(flame, node);
	go(flame, node);
}

static void ask(struct flame *flame)
{
	char *wanted = question_ask(flame->terminal, "Mark", "A part of functions' names; nothing marks none", flame->wanted);
	if (!wanted)
		return;
	free(flame->wanted);
	flame->wanted = wanted;
}

static void fold_recursion(struct flame *flame)
{
	if (!flame->folded) {
		flame->folded = calltree_fold_recursion(flame->whole);
		calltree_sort(&flame->folded->root, calltree_by_label);
	}
	flame->tree = flame->tree == flame->whole ? flame->folded : flame->whole;
	zoom(flame, &flame->tree->root);
}

/* False: the person leaves. */
static bool take_key(struct flame *flame, int key)
{
	const struct key_help *lists[] = {keys};
	switch (key) {
	case KEY_LINE_UP:
		if (flame->cursor != flame->zoom)
			go(flame, flame->cursor->parent);
		break;
	case KEY_LINE_DOWN:
		go(flame, heaviest_child(flame->cursor));
		break;
	case KEY_GO_LEFT:
	case KEY_GO_RIGHT:
		go(flame, neighbour(flame, flame->cursor, key == KEY_GO_RIGHT));
		break;
	case KEY_RETURN:
		zoom(flame, flame->cursor);
		break;
	case KEY_FIRST:
		zoom(flame, &flame->tree->root);
		break;
	case KEY_CLICK:
		click(flame);
		break;
	case 'R':
		fold_recursion(flame);
		break;
	case '/':
		ask(flame);
		break;
	case '?':
	case 'h':
	case KEY_HELP_F1:
		help_show(flame->terminal, "Keys of the flame graph", lists, 1);
		break;
	case KEY_ESCAPE:
	case KEY_RUBOUT:
		return zoom_out(flame);
	case 'q':
	case KEY_CLOSED:
		return false;
	default:
		break;
	}
	return true;
}

void flame_show(struct terminal *terminal, const char *title, const struct calltree *tree)
{
	struct flame flame = {
		.terminal = terminal, .title = title, .whole = tree, .tree = tree, .zoom = &tree->root, .cursor = &tree->root};
	do {
		draw(&flame);
	} while (take_key(&flame, terminal_key(terminal, -1)));
	calltree_destroy(flame.folded);
	free(flame.wanted);
}
