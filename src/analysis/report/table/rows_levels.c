/* Tables in levels (rows_table.h): lines of the first key, below each those of the second, and so on.
 *
 *	   93.6%        ls
 *	      76.4%        [kernel.kallsyms]
 *	          7.9%        [k] __d_lookup_rcu
 *
 * Every row of the flat table is a path through the levels: a node is found by its parent and a hash of what its key says. The nodes are
 * then sorted below their parents and listed; the list is the table. */
#include "analysis/report/table/rows_table_internal.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct level_node {
	uint32_t parent; /* ROOT = none */
	uint32_t row;	 /* the first of its rows: what its text is made from */
	uint32_t level;
	uint64_t id; /* of the path to it */
	bool open;
	VEC(uint32_t) children;
	struct row_sums *sums;	 /* by event */
	struct row_modes *modes; /* the same, or NULL */
};

enum { ROOT = 0 };

struct rows_levels {
	struct rows_table *table;
	const struct key *keys[ROWS_KEYS_MAX]; /* by level */
	unsigned int count;
	const struct key *totals[ROWS_KEYS_MAX]; /* that decide the order */
	unsigned int total_count;
	VEC(struct level_node) nodes;
	struct map64 ids;
	VEC(uint32_t) listed; /* nodes, in the order of the table; EMPTY is set for "no entry" lines below them */
	unsigned int widths[ROWS_KEYS_MAX];
	bool folds; /* lines can be closed */
};

#define EMPTY 0x80000000u

static uint64_t identity(const struct rows_levels *levels, uint32_t row, const struct key *key)
{
	struct key_source source;
	uint64_t words[KEY_WORDS_MAX] = {0};
	rows_source(levels->table->rows, row, key, &source);
	if (key->domain == KEY_EXTRA)
		words[0] = !key->string ? source.words[0] : source.string ? hash_bytes(source.string, strlen(source.string)) : 0;
	else
		key->identify(levels->table->rows->context, &source, words);
	return hash_words(words, KEY_WORDS_MAX, 0).lo;
}

static uint32_t node_for(struct rows_levels *levels, uint32_t parent, uint32_t row, unsigned int level)
{
	bool new;
	uint64_t id = hash_combine(identity(levels, row, levels->keys[level]), levels->nodes.data[parent].id + 1);
	uint64_t *known = map64_insert(&levels->ids, id, &new);
	if (!new)
		return (uint32_t)*known;
	uint32_t node = (uint32_t)levels->nodes.len;
	*known = node;
	vec_push(&levels->nodes, (struct level_node){.parent = parent, .row = row, .level = level, .id = id});
	levels->nodes.data[node].sums = mem_zalloc_array(levels->table->rows->options.event_count, sizeof(struct row_sums));
	if (levels->table->rows->modes)
		levels->nodes.data[node].modes = mem_zalloc_array(levels->table->rows->options.event_count, sizeof(struct row_modes));
	vec_push(&levels->nodes.data[parent].children, node);
	return node;
}

static void add_row(struct rows_levels *levels, uint32_t row)
{
	const struct rows *rows = levels->table->rows;
	size_t events = rows->options.event_count;
	uint32_t at = ROOT;
	for (unsigned int level = 0; level < levels->count; level++) {
		at = node_for(levels, at, row, level);
		struct level_node *node = &levels->nodes.data[at];
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

static uint64_t total_of(const struct level_node *node, const struct key *key, size_t event)
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
	const struct rows_levels *levels = context;
	const struct level_node *a = &levels->nodes.data[*(const uint32_t *)x], *b = &levels->nodes.data[*(const uint32_t *)y];
	const struct rows_options *options = &levels->table->rows->options;
	for (unsigned int i = 0; i < levels->total_count; i++) {
		for (size_t e = 0; e < options->event_count; e++) {
			size_t event = e == 0 ? options->sort_event : e;
			uint64_t u = total_of(a, levels->totals[i], event), v = total_of(b, levels->totals[i], event);
			if (u != v)
				return u > v ? -1 : 1;
		}
	}
	return rows_compare_key(levels->table->rows, a->row, b->row, levels->keys[a->level]);
}

static bool is_visible(const struct rows_levels *levels, const struct level_node *node)
{
	double limit = levels->table->options.least_percent;
	return rows_percent(node->sums[0].period, levels->table->totals[0]) >= limit;
}

static bool is_open(const struct rows_levels *levels, const struct level_node *node)
{
	const struct rows_open *open = levels->table->options.open;
	return !open || (map64_find(&open->others, node->id) ? !open->all : open->all);
}

/* Adds the node's children and what is below them. */
static void list_children(struct rows_levels *levels, uint32_t index)
{
	const struct level_node *node = &levels->nodes.data[index];
	if (node->children.len)
		qsort_r(node->children.data, node->children.len, sizeof(uint32_t), compare_nodes, levels);
	bool any = false;
	for (size_t i = 0; i < node->children.len; i++) {
		uint32_t child = node->children.data[i];
		if (!is_visible(levels, &levels->nodes.data[child]))
			continue;
		any = true;
		vec_push(&levels->listed, child);
		levels->nodes.data[child].open = is_open(levels, &levels->nodes.data[child]);
		if (levels->nodes.data[child].open)
			list_children(levels, child);
	}
	if (!any && node->children.len && index != ROOT)
		vec_push(&levels->listed, index | EMPTY);
}

static void add_name(const struct rows_levels *levels, const struct level_node *node, struct strbuf *out)
{
	const struct key *key = levels->keys[node->level];
	struct strbuf text = {0};
	union cell cell = rows_table_cell(levels->table, node->row, key, &text);
	strbuf_clear(out);
	if (key->text || key->string)
		strbuf_add_str(out, cell.text ? cell.text : "");
	else
		strbuf_add_u64(out, cell.integer, 0);
	size_t width = levels->widths[node->level], length = out->len;
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
	const struct rows_levels *levels = context;
	const struct rows_table *table = levels->table;
	uint32_t listed = levels->listed.data[index];
	const struct level_node *node = &levels->nodes.data[listed & ~EMPTY];
	size_t name = table->table->columns.len - 1;
	*ret = (struct row){.cells = scratch->cells, .value = node->sums[0].period, .depth = node->level};
	if (listed & EMPTY) {
		ret->note = true;
		strbuf_clear(&scratch->texts[name]);
		strbuf_printf(&scratch->texts[name], "no entry >= %.2f%%", table->options.least_percent);
		scratch->cells[name].text = strbuf_str(&scratch->texts[name]);
		return;
	}
	for (size_t i = 0; i < name; i++)
		scratch->cells[i] = rows_table_total(table, &node->sums[table->events.data[i]],
						     node->modes ? &node->modes[table->events.data[i]] : NULL, table->keys.data[i],
						     table->events.data[i]);
	if (levels->folds && node->children.len)
		ret->sign = node->open ? '-' : '+';
	add_name(levels, node, &scratch->texts[name]);
	scratch->cells[name].text = strbuf_str(&scratch->texts[name]);
	row_scratch_set_tree(scratch,
			     !node->children.len && table->graphs ? callgraphs_row(table->graphs, node->row, scratch->shallow) : NULL);
	ret->tree = scratch->tree;
}

static const struct level_node *node_at(const struct rows_levels *levels, size_t line)
{
	return &levels->nodes.data[levels->listed.data[line] & ~EMPTY];
}

uint32_t rows_levels_row(const struct rows_levels *levels, size_t line)
{
	return node_at(levels, line)->row;
}

uint64_t rows_table_line_id(const struct rows_table *table, size_t line)
{
	return node_at(table->levels, line)->id;
}

/* What a node and those above it are called. */
static uint64_t name_of(const struct rows_levels *levels, uint32_t index)
{
	uint64_t name = 0;
	struct strbuf text = {0};
	for (const struct level_node *node; index != ROOT; index = node->parent) {
		node = &levels->nodes.data[index];
		const struct key *key = levels->keys[node->level];
		union cell cell = rows_table_cell(levels->table, node->row, key, &text);
		const char *string = key->text || key->string ? cell.text : NULL;
		name = hash_combine(name, string ? hash_bytes(string, strlen(string)) : cell.integer);
	}
	strbuf_deinit(&text);
	return name;
}

uint64_t rows_table_line_name(const struct rows_table *table, size_t line)
{
	return name_of(table->levels, table->levels->listed.data[line] & ~EMPTY);
}

void rows_table_carry_open(const struct rows_table *from, const struct rows_table *to, struct rows_open *open)
{
	struct map64 names = {0}, carried = {0};
	for (uint32_t i = ROOT + 1; i < from->levels->nodes.len; i++)
		if (map64_find(&open->others, from->levels->nodes.data[i].id))
			map64_insert(&names, name_of(from->levels, i), NULL);
	for (uint32_t i = ROOT + 1; names.count && i < to->levels->nodes.len; i++)
		if (map64_find(&names, name_of(to->levels, i)))
			map64_insert(&carried, to->levels->nodes.data[i].id, NULL);
	map64_deinit(&names);
	map64_deinit(&open->others);
	open->others = carried;
}

bool rows_table_line_opens(const struct rows_table *table, size_t line)
{
	return !(table->levels->listed.data[line] & EMPTY) && node_at(table->levels, line)->children.len;
}

bool rows_table_line_has(const struct rows_table *table, size_t line, const struct key *key)
{
	const struct rows_levels *levels = table->levels;
	if (!levels)
		return true;
	for (unsigned int i = 0; i <= node_at(levels, line)->level; i++)
		if (levels->keys[i] == key)
			return true;
	return false;
}

/* One column for all names: as wide as the widest level with its indent. */
static void add_name_column(struct rows_levels *levels)
{
	struct table *table = levels->table->table;
	struct strbuf title = {0};
	unsigned int width = 0;
	for (unsigned int i = 0; i < levels->count; i++) {
		const struct key *key = levels->keys[i];
		const char *name = key->title + strspn(key->title, " ");
		strbuf_printf(&title, "%s%.*s", i ? " / " : "", (int)strlen(name), name);
		levels->widths[i] = rows_table_width(levels->table, key);
		if (levels->widths[i] < strlen(key->title))
			levels->widths[i] = (unsigned int)strlen(key->title);
		if (levels->widths[i] + 3 * i > width)
			width = levels->widths[i] + 3 * i;
	}
	vec_push(&table->columns,
		 (struct column){
			 .id = "name", .title = arena_strdup(&table->arena, strbuf_str(&title)), .kind = COLUMN_TEXT, .min_width = width});
	strbuf_deinit(&title);
	table->levels = levels->count;
}

static void setup(struct rows_levels *levels)
{
	const struct rows_table_options *options = &levels->table->options;
	for (size_t i = 0; i < options->level_count && levels->count < ROWS_KEYS_MAX && levels->total_count < ROWS_KEYS_MAX; i++) {
		if (options->levels[i]->domain == KEY_TOTAL)
			levels->totals[levels->total_count++] = options->levels[i];
		else
			levels->keys[levels->count++] = options->levels[i];
	}
	vec_push(&levels->nodes, (struct level_node){.level = 0});
}

struct rows_levels *rows_levels_create(struct rows_table *table)
{
	struct rows_levels *levels = mem_zalloc(sizeof(*levels));
	levels->table = table;
	levels->folds = table->options.open;
	setup(levels);
	for (size_t i = 0; i < table->rows->shown_count; i++)
		add_row(levels, table->rows->order[i]);
	list_children(levels, ROOT);
	add_name_column(levels);
	size_t most = table->options.most_lines;
	table->table->fetched = most && most < levels->listed.len ? most : levels->listed.len;
	table->table->fetch = fetch;
	table->table->fetch_context = levels;
	return levels;
}

void rows_levels_destroy(struct rows_levels *levels)
{
	if (!levels)
		return;
	for (size_t i = 0; i < levels->nodes.len; i++) {
		vec_deinit(&levels->nodes.data[i].children);
		free(levels->nodes.data[i].sums);
		free(levels->nodes.data[i].modes);
	}
	vec_deinit(&levels->nodes);
	vec_deinit(&levels->listed);
	map64_deinit(&levels->ids);
	free(levels);
}
