/* perf report --hierarchy: rows of the first key, below each those of the second, and so on.
 *
 *	   93.6%        ls
 *	      76.4%        [kernel.kallsyms]
 *	          7.9%        [k] __d_lookup_rcu
 *
 * Every row of the flat table is a path through the levels: a node is found by its parent and a hash of what its key says. The nodes are
 * then sorted below their parents and listed; the list is the table. */
#include "cmd/report/table.h"

#include "base/hash.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct hierarchy_node {
	uint32_t parent; /* ROOT = none */
	uint32_t row;	 /* the first of its rows: what its text is made from */
	uint32_t level;
	VEC(uint32_t) children;
	struct row_sums *sums;	 /* by event */
	struct row_modes *modes; /* the same, or NULL */
};

enum { ROOT = 0 };

struct hierarchy {
	struct maker *maker;
	const struct key *levels[ROWS_KEYS_MAX];
	unsigned int level_count;
	const struct key *totals[ROWS_KEYS_MAX]; /* that decide the order */
	unsigned int total_count;
	VEC(struct hierarchy_node) nodes;
	struct map64 ids;
	VEC(uint32_t) listed; /* nodes, in the order of the table; EMPTY is set for "no entry" lines below them */
	unsigned int widths[ROWS_KEYS_MAX];
};

#define EMPTY 0x80000000u

static uint64_t identity(const struct hierarchy *hierarchy, uint32_t row, const struct key *key)
{
	struct key_source source;
	uint64_t words[KEY_WORDS_MAX] = {0};
	rows_source(hierarchy->maker->rows, row, key, &source);
	if (key->domain == KEY_EXTRA)
		words[0] = key->string ? (uintptr_t)source.string : source.words[0];
	else
		key->identify(hierarchy->maker->rows->context, &source, words);
	return hash_words(words, KEY_WORDS_MAX, 0).lo;
}

static uint32_t node_for(struct hierarchy *hierarchy, uint32_t parent, uint32_t row, unsigned int level)
{
	bool new;
	uint64_t *id = map64_insert(&hierarchy->ids, hash_combine(identity(hierarchy, row, hierarchy->levels[level]), parent + 1), &new);
	if (!new)
		return (uint32_t)*id;
	uint32_t node = (uint32_t)hierarchy->nodes.len;
	*id = node;
	vec_push(&hierarchy->nodes, (struct hierarchy_node){.parent = parent, .row = row, .level = level});
	hierarchy->nodes.data[node].sums = mem_zalloc_array(hierarchy->maker->rows->options.event_count, sizeof(struct row_sums));
	if (hierarchy->maker->rows->modes)
		hierarchy->nodes.data[node].modes = mem_zalloc_array(hierarchy->maker->rows->options.event_count, sizeof(struct row_modes));
	vec_push(&hierarchy->nodes.data[parent].children, node);
	return node;
}

static void add_row(struct hierarchy *hierarchy, uint32_t row)
{
	const struct rows *rows = hierarchy->maker->rows;
	size_t events = rows->options.event_count;
	uint32_t at = ROOT;
	for (unsigned int level = 0; level < hierarchy->level_count; level++) {
		at = node_for(hierarchy, at, row, level);
		struct hierarchy_node *node = &hierarchy->nodes.data[at];
		for (size_t i = 0; i < events; i++) {
			node->sums[i].period += rows->sums[row * events + i].period;
			node->sums[i].children += rows->sums[row * events + i].children;
			node->sums[i].count += rows->sums[row * events + i].count;
		}
		for (size_t i = 0; node->modes && i < events; i++) {
			const struct row_modes *modes = &rows->modes[row * events + i];
			node->modes[i].sys += modes->sys;
			node->modes[i].us += modes->us;
			node->modes[i].guest_sys += modes->guest_sys;
			node->modes[i].guest_us += modes->guest_us;
		}
	}
}

static uint64_t total_of(const struct hierarchy_node *node, const struct key *key, size_t event)
{
	switch (key->total) {
	case TOTAL_SAMPLES:
		return node->sums[event].count;
	case TOTAL_OVERHEAD_SYS:
		return node->modes ? node->modes[event].sys : 0;
	case TOTAL_OVERHEAD_US:
		return node->modes ? node->modes[event].us : 0;
	default:
		return node->sums[event].period;
	}
}

/* By the sums that the sort keys name, then by the level's own key. */
static int compare_nodes(const void *x, const void *y, void *context)
{
	const struct hierarchy *hierarchy = context;
	const struct hierarchy_node *a = &hierarchy->nodes.data[*(const uint32_t *)x], *b = &hierarchy->nodes.data[*(const uint32_t *)y];
	const struct rows_options *options = &hierarchy->maker->rows->options;
	for (unsigned int i = 0; i < hierarchy->total_count; i++) {
		for (size_t e = 0; e < options->event_count; e++) {
			size_t event = e == 0 ? options->sort_event : e;
			uint64_t u = total_of(a, hierarchy->totals[i], event), v = total_of(b, hierarchy->totals[i], event);
			if (u != v)
				return u > v ? -1 : 1;
		}
	}
	return rows_compare_key(hierarchy->maker->rows, a->row, b->row, hierarchy->levels[a->level]);
}

static bool is_visible(const struct hierarchy *hierarchy, const struct hierarchy_node *node)
{
	double limit = hierarchy->maker->report->options->percent_limit;
	return report_percent(node->sums[0].period, hierarchy->maker->totals[0]) >= limit;
}

/* Adds the node's children and what is below them. */
static void list_children(struct hierarchy *hierarchy, uint32_t index)
{
	const struct hierarchy_node *node = &hierarchy->nodes.data[index];
	if (node->children.len)
		qsort_r(node->children.data, node->children.len, sizeof(uint32_t), compare_nodes, hierarchy);
	bool any = false;
	for (size_t i = 0; i < node->children.len; i++) {
		uint32_t child = node->children.data[i];
		if (!is_visible(hierarchy, &hierarchy->nodes.data[child]))
			continue;
		any = true;
		vec_push(&hierarchy->listed, child);
		list_children(hierarchy, child);
	}
	if (!any && node->children.len && index != ROOT)
		vec_push(&hierarchy->listed, index | EMPTY);
}

static void add_name(const struct hierarchy *hierarchy, const struct hierarchy_node *node, struct strbuf *out)
{
	const struct key *key = hierarchy->levels[node->level];
	struct strbuf text = {0};
	union cell cell = report_key_cell(hierarchy->maker, node->row, key, &text);
	strbuf_clear(out);
	if (key->text || key->string)
		strbuf_add_str(out, cell.text ? cell.text : "");
	else
		strbuf_add_u64(out, cell.integer, 0);
	size_t width = hierarchy->widths[node->level], length = out->len;
	if (!(key->flags & KEY_RAGGED) && length < width)
		strbuf_add_chars(out, ' ', width - length);
	size_t blank = strspn(strbuf_str(out), " ");
	if (blank && blank < out->len) {
		memmove(out->data, out->data + blank, out->len - blank + 1);
		out->len -= blank;
	}
	strbuf_deinit(&text);
}

static void fetch(const void *context, size_t index, struct row_scratch *scratch, struct row *ret)
{
	const struct hierarchy *hierarchy = context;
	const struct maker *maker = hierarchy->maker;
	uint32_t listed = hierarchy->listed.data[index];
	const struct hierarchy_node *node = &hierarchy->nodes.data[listed & ~EMPTY];
	size_t name = maker->table->columns.len - 1;
	*ret = (struct row){.cells = scratch->cells, .value = node->sums[0].period, .depth = node->level};
	if (listed & EMPTY) {
		ret->note = true;
		strbuf_clear(&scratch->texts[name]);
		strbuf_printf(&scratch->texts[name], "no entry >= %.2f%%", maker->report->options->percent_limit);
		scratch->cells[name].text = strbuf_str(&scratch->texts[name]);
		return;
	}
	for (size_t i = 0; i < name; i++)
		scratch->cells[i] = report_total_cell(maker, &node->sums[maker->events.data[i]],
						      node->modes ? &node->modes[maker->events.data[i]] : NULL, maker->keys.data[i],
						      maker->events.data[i]);
	add_name(hierarchy, node, &scratch->texts[name]);
	scratch->cells[name].text = strbuf_str(&scratch->texts[name]);
	row_scratch_set_tree(scratch, !node->children.len && maker->graphs ? callgraphs_row(maker->graphs, node->row) : NULL);
	ret->tree = scratch->tree;
}

/* One column for all names: as wide as the widest level with its indent. */
static void add_name_column(struct hierarchy *hierarchy)
{
	struct table *table = hierarchy->maker->table;
	struct strbuf title = {0};
	unsigned int width = 0;
	for (unsigned int i = 0; i < hierarchy->level_count; i++) {
		const struct key *key = hierarchy->levels[i];
		const char *name = key->title + strspn(key->title, " ");
		strbuf_printf(&title, "%s%.*s", i ? " / " : "", (int)strlen(name), name);
		hierarchy->widths[i] = report_key_width(hierarchy->maker, key);
		if (hierarchy->widths[i] < strlen(key->title))
			hierarchy->widths[i] = (unsigned int)strlen(key->title);
		if (hierarchy->widths[i] + 3 * i > width)
			width = hierarchy->widths[i] + 3 * i;
	}
	vec_push(&table->columns,
		 (struct column){
			 .id = "name", .title = arena_strdup(&table->arena, strbuf_str(&title)), .kind = COLUMN_TEXT, .min_width = width});
	strbuf_deinit(&title);
	table->levels = hierarchy->level_count;
}

static void setup(struct hierarchy *hierarchy)
{
	const struct report *report = hierarchy->maker->report;
	for (size_t i = 0; i < report->sort.keys.len; i++) {
		const struct key *key = report->sort.keys.data[i];
		if (key->domain == KEY_TOTAL)
			hierarchy->totals[hierarchy->total_count++] = key;
		else if (!report_is_elided(report, key))
			hierarchy->levels[hierarchy->level_count++] = key;
	}
	vec_push(&hierarchy->nodes, (struct hierarchy_node){.level = 0});
}

struct error *report_show_hierarchy(struct maker *maker)
{
	struct hierarchy hierarchy = {.maker = maker};
	setup(&hierarchy);
	for (size_t i = 0; i < maker->rows->shown_count; i++)
		add_row(&hierarchy, maker->rows->order[i]);
	list_children(&hierarchy, ROOT);
	add_name_column(&hierarchy);
	struct table *table = maker->table;
	size_t most = maker->report->options->most_rows;
	table->fetched = most && most < hierarchy.listed.len ? most : hierarchy.listed.len;
	table->fetch = fetch;
	table->fetch_context = &hierarchy;
	struct error *error = report_render(maker);
	for (size_t i = 0; i < hierarchy.nodes.len; i++) {
		vec_deinit(&hierarchy.nodes.data[i].children);
		free(hierarchy.nodes.data[i].sums);
		free(hierarchy.nodes.data[i].modes);
	}
	vec_deinit(&hierarchy.nodes);
	vec_deinit(&hierarchy.listed);
	map64_deinit(&hierarchy.ids);
	return error;
}
