/* Annotations as tables. */
#include "base/strbuf.h"
#include "result/annotation.h"
#include "result/table.h"

enum { FUNCTION, FILE_NAME, ADDRESS, OFFSET, INSTRUCTION, TARGET, SOURCE, LINE, FIXED_COLUMNS };

static void add_column(struct table *table, const char *id, enum column_kind kind, unsigned int decimals)
{
	vec_push(&table->columns, (struct column){.id = id, .title = id, .kind = kind, .decimals = decimals});
}

void annotation_add_columns(struct table *table, const struct annotation_event *events, size_t count)
{
	static const struct {
		const char *id;
		enum column_kind kind;
	} values[ANNOTATION_VALUE_COLUMNS] = {{"percent", COLUMN_PERCENT}, {"samples", COLUMN_COUNT}, {"period", COLUMN_COUNT}};
	for (size_t event = 0; event < count; event++)
		for (size_t i = 0; i < ANNOTATION_VALUE_COLUMNS; i++) {
			const char *id = values[i].id;
			if (count > 1)
				id = arena_printf(&table->arena, "%s:%s", id, events[event].name);
			add_column(table, id, values[i].kind, 2);
		}
}

void annotation_value_cells(const struct annotation_value *value, double percent, union cell *ret)
{
	ret[0] = (union cell){.real = percent};
	ret[1] = (union cell){.integer = value->samples};
	ret[2] = (union cell){.integer = value->period};
}

enum { IPC, CYCLES, CYCLES_LEAST, CYCLES_MOST, CYCLE_COLUMNS };

/* 0 stands for what isn't known: no block that was measured ends, or is, there. */
static void add_cycle_columns(struct table *table)
{
	static const char *const ids[CYCLE_COLUMNS] = {"ipc", "cycles", "cycles_least", "cycles_most"};
	for (size_t i = 0; i < CYCLE_COLUMNS; i++)
		add_column(table, ids[i], i == IPC ? COLUMN_REAL : COLUMN_COUNT, i == IPC ? 2 : 0);
}

static void cycle_cells(const struct annotation_cycles *cycles, union cell *ret)
{
	ret[IPC].real = cycles->ipc;
	ret[CYCLES].integer = cycles->average;
	ret[CYCLES_LEAST].integer = cycles->least;
	ret[CYCLES_MOST].integer = cycles->most;
}

static void add_columns(struct table *table, const struct annotation *annotation)
{
	static const struct {
		const char *id;
		enum column_kind kind;
	} fixed[FIXED_COLUMNS] = {
		[FUNCTION] = {"function", COLUMN_TEXT},	      [FILE_NAME] = {"dso", COLUMN_TEXT},
		[ADDRESS] = {"address", COLUMN_ADDRESS},      [OFFSET] = {"offset", COLUMN_ADDRESS},
		[INSTRUCTION] = {"instruction", COLUMN_TEXT}, [TARGET] = {"target", COLUMN_TEXT},
		[SOURCE] = {"source", COLUMN_TEXT},	      [LINE] = {"line", COLUMN_COUNT},
	};
	for (size_t i = 0; i < FIXED_COLUMNS; i++)
		add_column(table, fixed[i].id, fixed[i].kind, 0);
	annotation_add_columns(table, annotation->events, annotation->event_count);
	if (annotation->cycles)
		add_cycle_columns(table);
}

static const char *full_name(struct arena *arena, const struct annotation_name *name)
{
	return name->name && name->offset ? arena_printf(arena, "%s+0x%lx", name->name, name->offset) : name->name;
}

static void add_row(struct table *table, const struct annotation *annotation, size_t index)
{
	const struct annotation_line *line = &annotation->lines.data[index];
	union cell *cells = arena_zalloc(&table->arena, table->columns.len * sizeof(*cells));
	const struct annotation_name *name = line->target_name.name ? &line->target_name : &line->reference_name;
	cells[FUNCTION].text = annotation->function;
	cells[FILE_NAME].text = annotation->path;
	cells[ADDRESS].integer = line->address;
	cells[OFFSET].integer = line->address - annotation->start;
	cells[INSTRUCTION].text = arena_printf(&table->arena, "%s%s%s", line->mnemonic, *line->operands ? " " : "", line->operands);
	cells[TARGET].text = full_name(&table->arena, name);
	cells[SOURCE].text = line->file;
	cells[LINE].integer = line->line;
	union cell *value = cells + FIXED_COLUMNS;
	for (size_t event = 0; event < annotation->event_count; event++) {
		const struct annotation_value *of = annotation_value(annotation, index, event);
		annotation_value_cells(of, annotation_percent(annotation, of, event), value);
		value += ANNOTATION_VALUE_COLUMNS;
	}
	if (annotation->cycles)
		cycle_cells(&annotation->cycles[index], value);
	vec_push(&table->rows, (struct row){.cells = cells});
}

struct table *annotation_table(const struct annotation *annotation)
{
	struct table *table = table_create();
	table->id = "annotation";
	table->subject_id = annotation->subject_id;
	table->subject = arena_strdup(&table->arena, annotation->events_name);
	add_columns(table, annotation);
	for (size_t i = 0; i < annotation->lines.len; i++)
		if (annotation->lines.data[i].kind == ANNOTATION_INSTRUCTION)
			add_row(table, annotation, i);
	return table;
}
