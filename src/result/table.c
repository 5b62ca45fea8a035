/* Tables: storage only. */
#include "result/table.h"

#include "base/mem.h"
#include "result/calltree.h"

#include <stdlib.h>

void row_scratch_init(struct row_scratch *scratch, const struct table *table)
{
	scratch->columns = table->columns.len;
	scratch->tree = NULL;
	scratch->shallow = false;
	scratch->cells = mem_zalloc_array(scratch->columns + 1, sizeof(*scratch->cells));
	scratch->texts = mem_zalloc_array(scratch->columns + 1, sizeof(*scratch->texts));
}

void row_scratch_deinit(struct row_scratch *scratch)
{
	for (size_t i = 0; i < scratch->columns; i++)
		strbuf_deinit(&scratch->texts[i]);
	calltree_destroy(scratch->tree);
	free(scratch->cells);
	free(scratch->texts);
	*scratch = (struct row_scratch){0};
}

void row_scratch_set_tree(struct row_scratch *scratch, struct calltree *tree)
{
	calltree_destroy(scratch->tree);
	scratch->tree = tree;
}

struct table *table_create(void)
{
	return mem_zalloc(sizeof(struct table));
}

struct table *table_create_columns(const char *id, const struct column *columns, size_t count)
{
	struct table *table = table_create();
	table->id = id;
	for (size_t i = 0; i < count; i++)
		vec_push(&table->columns, columns[i]);
	return table;
}

void table_add_row(struct table *table, const union cell *cells)
{
	vec_push(&table->rows, (struct row){.cells = arena_copy(&table->arena, cells, table->columns.len * sizeof(*cells))});
}

void table_destroy(struct table *table)
{
	if (!table)
		return;
	vec_deinit(&table->columns);
	vec_deinit(&table->rows);
	vec_deinit(&table->header);
	vec_deinit(&table->footer);
	arena_deinit(&table->arena);
	free(table);
}
