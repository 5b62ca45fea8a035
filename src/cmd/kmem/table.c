/* Results of perf kmem stat for programs: a table for each question, whose rows say by "table" what they are about. Sizes are in bytes. */
#include "cmd/kmem/kmem.h"

#include "view/view.h"

#include <stdio.h>

static struct table *begin(const char *id, const struct column *columns, size_t count)
{
	struct table *table = table_create_columns(id, columns, count);
	table->subject_id = "table";
	table->subject = id;
	return table;
}

static const char *function_name(struct table *table, const struct kmem_show *show, uint64_t address)
{
	struct strbuf name = {0};
	kmem_add_function(&name, show, address, true);
	const char *copy = arena_strdup(&table->arena, strbuf_str(&name));
	strbuf_deinit(&name);
	return copy;
}

/* ---- slab ---- */

static struct table *slab_rows(const struct kmem_show *show, const char *id, const struct kmem_slab_row *rows, size_t count, uint64_t most)
{
	static const struct column columns[] = {
		{"ptr", "Object", COLUMN_ADDRESS, ALIGN_RIGHT},
		{"callsite_address", "Address", COLUMN_ADDRESS, ALIGN_RIGHT},
		{"callsite", "Callsite", COLUMN_TEXT},
		{"allocated", "Allocated", COLUMN_BYTES, ALIGN_RIGHT},
		{"requested", "Requested", COLUMN_BYTES, ALIGN_RIGHT},
		{"hits", "Hits", COLUMN_COUNT, ALIGN_RIGHT},
		{"pingpong", "Ping-pong", COLUMN_COUNT, ALIGN_RIGHT},
		{"fragmentation", "Fragmentation", COLUMN_PERCENT, ALIGN_RIGHT, .decimals = 3},
	};
	enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
	size_t hidden = count && !rows[0].object; /* the object's column */
	struct table *table = begin(id, columns + hidden, COLUMNS - hidden);
	for (size_t i = 0; i < count && i < most; i++) {
		const struct kmem_slab_row *row = &rows[i];
		const union cell cells[COLUMNS] = {
			{.integer = row->object},
			{.integer = row->call_site},
			{.text = function_name(table, show, row->call_site)},
			{.integer = row->allocated},
			{.integer = row->requested},
			{.integer = row->hits},
			{.integer = row->ping_pong},
			{.real = kmem_fragmentation(row->requested, row->allocated)},
		};
		table_add_row(table, cells + hidden);
	}
	return table;
}

static struct table *slab_sums(const struct kmem_slab *slab)
{
	static const struct column columns[] = {
		{"requested", "Requested", COLUMN_BYTES, ALIGN_RIGHT},
		{"allocated", "Allocated", COLUMN_BYTES, ALIGN_RIGHT},
		{"freed", "Freed", COLUMN_BYTES, ALIGN_RIGHT},
		{"allocations", "Allocations", COLUMN_COUNT, ALIGN_RIGHT},
		{"cross_node", "For another node", COLUMN_COUNT, ALIGN_RIGHT},
	};
	enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
	const union cell cells[COLUMNS] = {{.integer = slab->requested},
					   {.integer = slab->allocated},
					   {.integer = slab->freed},
					   {.integer = slab->allocations},
					   {.integer = slab->cross_node}};
	struct table *table = begin("slab_summary", columns, COLUMNS);
	table_add_row(table, cells);
	return table;
}

/* ---- pages ---- */

static const char *flag_text(struct table *table, const struct kmem_pages *pages, uint64_t flags)
{
	struct strbuf text = {0};
	kmem_add_flags(&text, pages, flags);
	const char *copy = arena_strdup(&table->arena, strbuf_str(&text));
	strbuf_deinit(&text);
	return copy;
}

static struct table *page_rows(const struct kmem_show *show, const struct kmem_pages *pages, bool caller)
{
	static const struct column columns[] = {
		{"page", "Page", COLUMN_COUNT, ALIGN_RIGHT}, {"callsite_address", "Address", COLUMN_ADDRESS, ALIGN_RIGHT},
		{"callsite", "Callsite", COLUMN_TEXT},	     {"allocated", "Allocated", COLUMN_BYTES, ALIGN_RIGHT},
		{"hits", "Hits", COLUMN_COUNT, ALIGN_RIGHT}, {"order", "Order", COLUMN_COUNT, ALIGN_RIGHT},
		{"migrate_type", "Type", COLUMN_TEXT},	     {"gfp_flags", "Flags", COLUMN_TEXT},
	};
	enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
	const struct kmem_page_row *rows = caller ? pages->callers : pages->pages;
	size_t count = caller ? pages->caller_count : pages->page_count;
	uint64_t most = caller ? show->options->caller_lines : show->options->row_lines;
	struct table *table = begin(caller ? "page_callers" : "pages", columns + caller, COLUMNS - caller);
	for (size_t i = 0; i < count && i < most; i++) {
		const struct kmem_page_row *row = &rows[i];
		const union cell cells[COLUMNS] = {
			{.integer = row->page},
			{.integer = row->call_site},
			{.text = function_name(table, show, row->call_site)},
			{.integer = row->bytes},
			{.integer = row->hits},
			{.integer = row->order},
			{.text = kmem_type_name(kmem_page_type(pages, row->migrate_type))},
			{.text = flag_text(table, pages, row->flags)},
		};
		table_add_row(table, cells + caller);
	}
	return table;
}

static struct table *page_sums(const struct kmem_pages *pages)
{
	static const struct column columns[] = {
		{"allocations", "Allocations", COLUMN_COUNT, ALIGN_RIGHT},
		{"allocated", "Allocated", COLUMN_BYTES, ALIGN_RIGHT},
		{"frees", "Frees", COLUMN_COUNT, ALIGN_RIGHT},
		{"freed", "Freed", COLUMN_BYTES, ALIGN_RIGHT},
		{"free_only", "Free only", COLUMN_COUNT, ALIGN_RIGHT},
		{"free_only_bytes", "Free only", COLUMN_BYTES, ALIGN_RIGHT},
		{"failures", "Failures", COLUMN_COUNT, ALIGN_RIGHT},
		{"failed_bytes", "Failed", COLUMN_BYTES, ALIGN_RIGHT},
	};
	enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
	const union cell cells[COLUMNS] = {
		{.integer = pages->allocated.count}, {.integer = pages->allocated.bytes}, {.integer = pages->freed.count},
		{.integer = pages->freed.bytes},     {.integer = pages->unmatched.count}, {.integer = pages->unmatched.bytes},
		{.integer = pages->failed.count},    {.integer = pages->failed.bytes},
	};
	struct table *table = begin("page_summary", columns, COLUMNS);
	table_add_row(table, cells);
	return table;
}

static struct table *page_orders(const struct kmem_pages *pages)
{
	static const struct column columns[] = {{"order", "Order", COLUMN_COUNT, ALIGN_RIGHT},
						{"migrate_type", "Type", COLUMN_TEXT},
						{"hits", "Hits", COLUMN_COUNT, ALIGN_RIGHT}};
	enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
	struct table *table = begin("page_orders", columns, COLUMNS);
	for (size_t order = 0; order < KMEM_ORDERS; order++) {
		for (enum kmem_page_type type = 0; type < KMEM_PAGE_TYPES; type++) {
			const union cell cells[COLUMNS] = {
				{.integer = order}, {.text = kmem_type_name(type)}, {.integer = pages->orders[order][type]}};
			if (pages->orders[order][type])
				table_add_row(table, cells);
		}
	}
	return table;
}

/* ---- */

enum { MOST_TABLES = 8 };

struct tables {
	struct table *list[MOST_TABLES];
	size_t count;
};

static void add_slab(struct tables *tables, const struct kmem_show *show, const struct kmem_slab *slab)
{
	const struct kmem_stat_options *options = show->options;
	if (options->wanted.callers)
		tables->list[tables->count++] = slab_rows(show, "slab_callers", slab->callers, slab->caller_count, options->caller_lines);
	if (options->wanted.rows)
		tables->list[tables->count++] = slab_rows(show, "slab_objects", slab->objects, slab->object_count, options->row_lines);
	tables->list[tables->count++] = slab_sums(slab);
}

static void add_pages(struct tables *tables, const struct kmem_show *show, const struct kmem_pages *pages)
{
	if (show->options->wanted.callers)
		tables->list[tables->count++] = page_rows(show, pages, true);
	if (show->options->wanted.rows)
		tables->list[tables->count++] = page_rows(show, pages, false);
	tables->list[tables->count++] = page_sums(pages);
	tables->list[tables->count++] = page_orders(pages);
}

struct error *kmem_write_tables(const struct kmem_show *show, const struct kmem *kmem)
{
	struct tables tables = {0};
	struct document document = {0};
	if (kmem->slab)
		add_slab(&tables, show, kmem->slab);
	if (kmem->pages)
		add_pages(&tables, show, kmem->pages);
	for (size_t i = 0; i < tables.count; i++)
		document_add(&document, (struct result){RESULT_TABLE, .table = tables.list[i]});
	const struct view_options view = {.header = true, .separator = show->options->separator};
	struct sink out = sink_to_file(stdout);
	struct error *error = view_write(view_find(show->options->format), &document, &view, &out);
	document_deinit(&document);
	for (size_t i = 0; i < tables.count; i++)
		table_destroy(tables.list[i]);
	return error;
}
