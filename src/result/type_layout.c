/* Layouts of types, and as tables. */
#include "result/type_layout.h"

#include "base/mem.h"
#include "result/table.h"

#include <stdlib.h>

struct type_layout *type_layout_create(void)
{
	return mem_zalloc(sizeof(struct type_layout));
}

void type_layout_destroy(struct type_layout *layout)
{
	if (!layout)
		return;
	vec_deinit(&layout->fields);
	arena_deinit(&layout->arena);
	free(layout);
}

double type_layout_percent(const struct type_layout *layout, const struct annotation_value *value, size_t event)
{
	return annotation_share(&layout->events[event], value, layout->global, layout->hits);
}

enum { TYPE, FILE_NAME, OFFSET, SIZE, FIELD, FIELD_TYPE, FIXED_COLUMNS };

static void add_columns(struct table *table, const struct type_layout *layout)
{
	static const struct column fixed[FIXED_COLUMNS] = {
		[TYPE] = {.id = "type", .title = "Type"},
		[FILE_NAME] = {.id = "dso", .title = "Shared Object"},
		[OFFSET] = {.id = "offset", .title = "Offset", .kind = COLUMN_COUNT},
		[SIZE] = {.id = "size", .title = "Size", .kind = COLUMN_BYTES},
		[FIELD] = {.id = "field", .title = "Field"},
		[FIELD_TYPE] = {.id = "field_type", .title = "Field Type"},
	};
	for (size_t i = 0; i < FIXED_COLUMNS; i++)
		vec_push(&table->columns, fixed[i]);
	annotation_add_columns(table, layout->events, layout->event_count);
}

static void add_row(struct table *table, const struct type_layout *layout, size_t index)
{
	const struct type_field *field = &layout->fields.data[index];
	union cell *cells = arena_zalloc(&table->arena, table->columns.len * sizeof(*cells));
	cells[TYPE].text = layout->type;
	cells[FILE_NAME].text = layout->dso;
	cells[OFFSET].integer = field->offset;
	cells[SIZE].integer = field->size;
	cells[FIELD].text = field->path;
	cells[FIELD_TYPE].text = field->type;
	for (size_t event = 0; event < layout->event_count; event++) {
		const struct annotation_value *value = type_layout_value(layout, index, event);
		annotation_value_cells(value, type_layout_percent(layout, value, event),
				       cells + FIXED_COLUMNS + event * ANNOTATION_VALUE_COLUMNS);
	}
	vec_push(&table->rows, (struct row){.cells = cells});
}

struct table *type_layout_table(const struct type_layout *layout)
{
	struct table *table = table_create();
	table->id = "types";
	table->subject_id = "event";
	table->subject = arena_strdup(&table->arena, layout->events_name);
	add_columns(table, layout);
	for (size_t i = 0; i < layout->fields.len; i++)
		add_row(table, layout, i);
	return table;
}
