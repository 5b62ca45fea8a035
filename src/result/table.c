/* Tables: storage only. */
#include "result/table.h"

#include "base/mem.h"

#include <stdlib.h>

struct table *table_create(void)
{
	return mem_zalloc(sizeof(struct table));
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
