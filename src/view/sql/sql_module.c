/* What SQLite asks of a virtual table (https://sqlite.org/vtab.html), for all tables.
 *
 * The planner asks how a statement might be answered (best_index): by the row of a number, in the order of some columns, or by going
 * through all rows. Grouping by names is what people ask for most: SQLite would sort a million texts, where we sort the few names and
 * deal the rows out by their rank. Rows that stand for several samples (without SAMPLES_APART) come as many times.
 */
#include "view/sql/sql_internal.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum plan { PLAN_ALL, PLAN_ONE, PLAN_SORTED };

struct vtab {
	sqlite3_vtab base;
	const struct sql_module *module;
};

struct vtab_cursor {
	sqlite3_vtab_cursor base;
	const struct sql_module *module;
	struct sql_place place;
	uint32_t *order;   /* of rows; NULL = as they are */
	size_t at, end;	   /* of `order`, else of the array */
	uint32_t repeated; /* how often the row has come */
	bool *chosen;	   /* tracepoints: by event */
	samples_fields fields;
	bool has_fields;
};

static const struct sql_table *table_of(const struct vtab_cursor *cursor)
{
	return cursor->module->table;
}

static int connect_table(sqlite3 *database, void *module, int argc, const char *const *argv, sqlite3_vtab **ret, char **ret_error)
{
	const struct sql_module *of = module;
	(void)argc;
	(void)argv;
	(void)ret_error;
	int status = sqlite()->declare_vtab(database, strbuf_str(&of->declaration));
	if (status != SQLITE_OK)
		return status;
	sqlite()->vtab_config(database, SQLITE_VTAB_INNOCUOUS);
	struct vtab *table = mem_zalloc(sizeof(*table));
	table->module = of;
	*ret = &table->base;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

/* ---- plans ---- */

static void note_wanted(const struct sql_module *module, const sqlite3_index_info *info)
{
	const struct sql_table *table = module->table;
	module->sql->wanted |= table->detail;
	for (size_t i = 0; table->kind != SQL_TRACEPOINT && table->columns[i].name; i++)
		if (info->colUsed >> (i < 63 ? i : 63) & 1)
			module->sql->wanted |= table->columns[i].detail;
}

/* The condition that the first column equals something; NULL = there is none. */
static struct sqlite3_index_constraint_usage *find_number(sqlite3_index_info *info)
{
	for (int i = 0; i < info->nConstraint; i++)
		if (info->aConstraint[i].usable && info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
		    info->aConstraint[i].iColumn == 0)
			return &info->aConstraintUsage[i];
	return NULL;
}

/* Whether rows can be dealt out in the order that is asked for. */
static bool can_sort(const struct sql_table *table, const sqlite3_index_info *info)
{
	bool can = table->kind == SQL_ROWS && info->nOrderBy > 0;
	for (int i = 0; i < info->nOrderBy && can; i++)
		can = info->aOrderBy[i].iColumn >= 0 && table->columns[info->aOrderBy[i].iColumn].compare;
	return can;
}

/* The columns of the order as text, "9 -3": the other way round. */
static char *order_text(const sqlite3_index_info *info)
{
	char *text = NULL;
	for (int i = 0; i < info->nOrderBy; i++) {
		char *longer =
			sqlite()->mprintf("%z%s%s%d", text, i ? " " : "", info->aOrderBy[i].desc ? "-" : "", info->aOrderBy[i].iColumn);
		text = longer;
	}
	return text;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const double all = 1e6;
	const struct sql_module *module = ((struct vtab *)base)->module;
	struct sqlite3_index_constraint_usage *number = find_number(info);
	note_wanted(module, info);
	info->idxNum = PLAN_ALL;
	info->estimatedCost = all;
	info->estimatedRows = (sqlite3_int64)all;
	if (number && module->table->kind != SQL_TRACEPOINT) {
		info->idxNum = PLAN_ONE;
		number->argvIndex = 1;
		info->estimatedCost = info->estimatedRows = module->table->kind == SQL_FRAMES ? 30 : 1;
	} else if (can_sort(module->table, info)) {
		info->idxNum = PLAN_SORTED;
		info->idxStr = order_text(info);
		info->needToFreeIdxStr = info->orderByConsumed = 1;
	}
	return SQLITE_OK;
}

/* ---- rows in the order of columns ---- */

struct ranking {
	const struct sql *sql;
	const struct sql_column *column;
};

static int compare_things(const void *a, const void *b, void *context)
{
	const struct ranking *ranking = context;
	return ranking->column->compare(ranking->sql, *(const uint32_t *)a, *(const uint32_t *)b);
}

/* By thing: its place in the column's order, the same for those that are alike. Freed by the caller. */
static uint32_t *rank_things(const struct sql *sql, const struct sql_column *column, size_t count, bool descending)
{
	struct ranking ranking = {sql, column};
	uint32_t *sorted = mem_alloc_array(count + 1, sizeof(*sorted)), *ranks = mem_alloc_array(count + 1, sizeof(*ranks));
	for (size_t i = 0; i < count; i++)
		sorted[i] = (uint32_t)i;
	qsort_r(sorted, count, sizeof(*sorted), compare_things, &ranking);
	uint32_t rank = 0;
	for (size_t i = 0; i < count; i++) {
		if (i && column->compare(sql, sorted[i - 1], sorted[i]))
			rank++;
		ranks[sorted[i]] = rank;
	}
	for (size_t i = 0; i < count && descending; i++)
		ranks[i] = rank - ranks[i];
	free(sorted);
	return ranks;
}

/* Stable, so that sorting by the last column first sorts by all. */
static uint32_t *sort_by(const struct sql *sql, const struct sql_column *column, bool descending, uint32_t *order)
{
	const struct samples *samples = sql->samples;
	size_t things = column->things(samples), rows = samples->rows.len;
	uint32_t *ranks = rank_things(sql, column, things, descending), *starts = mem_zalloc_array(things + 1, sizeof(*starts));
	uint32_t *sorted = mem_alloc_array(rows + 1, sizeof(*sorted));
	for (size_t i = 0; i < rows; i++)
		starts[ranks[column->thing(samples, &samples->rows.data[i])] + 1]++;
	for (size_t i = 0; i < things; i++)
		starts[i + 1] += starts[i];
	for (size_t i = 0; i < rows; i++) {
		uint32_t row = order ? order[i] : (uint32_t)i;
		sorted[starts[ranks[column->thing(samples, &samples->rows.data[row])]]++] = row;
	}
	free(ranks);
	free(starts);
	free(order);
	return sorted;
}

static uint32_t *sort_rows(const struct sql *sql, const struct sql_table *table, const char *columns)
{
	uint32_t *order = NULL;
	for (size_t end = strlen(columns); end > 0;) {
		size_t begin = end;
		while (begin > 0 && columns[begin - 1] != ' ')
			begin--;
		bool descending = columns[begin] == '-';
		order = sort_by(sql, &table->columns[strtoul(columns + begin + descending, NULL, 10)], descending, order);
		end = begin ? begin - 1 : 0;
	}
	return order;
}

/* ---- cursors ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct vtab_cursor *cursor = mem_zalloc(sizeof(*cursor));
	cursor->module = ((struct vtab *)base)->module;
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct vtab_cursor *cursor = (struct vtab_cursor *)base;
	free(cursor->order);
	free(cursor->chosen);
	vec_deinit(&cursor->fields);
	free(cursor);
	return SQLITE_OK;
}

static bool is_at_end(const struct vtab_cursor *cursor)
{
	return cursor->at >= cursor->end;
}

/* Which events are of the tracepoint: several can be, with other filters or CPUs. Without samples of theirs no row need be looked at. */
static void choose_events(struct vtab_cursor *cursor)
{
	const struct samples *samples = cursor->place.samples;
	const char *name = samples->events.data[cursor->module->event].name;
	bool have_rows = false;
	free(cursor->chosen);
	cursor->chosen = mem_zalloc_array(samples->events.len, sizeof(*cursor->chosen));
	for (size_t i = 0; i < samples->events.len; i++) {
		cursor->chosen[i] = !strcmp(samples->events.data[i].name, name);
		have_rows |= cursor->chosen[i] && samples->events.data[i].samples;
	}
	if (!have_rows)
		cursor->end = 0;
}

/* Where `at` is; of tracepoints the next row of theirs. */
static void settle(struct vtab_cursor *cursor)
{
	const struct samples *samples = cursor->place.samples;
	if (table_of(cursor)->kind == SQL_TRACEPOINT)
		while (cursor->at < cursor->end && !cursor->chosen[samples->rows.data[cursor->at].event])
			cursor->at++;
	if (is_at_end(cursor))
		return;
	cursor->place.number = cursor->order ? cursor->order[cursor->at] : cursor->at;
	cursor->place.stack = (uint32_t)cursor->place.number;
	cursor->place.level = 0;
	cursor->has_fields = false;
}

static size_t row_count(const struct sql_table *table, const struct samples *samples)
{
	if (table->kind == SQL_ELEMENTS)
		return table->count(samples);
	return table->kind == SQL_STACKS || table->kind == SQL_FRAMES ? samples->stacks.len : samples->rows.len;
}

static int fail(sqlite3_vtab *table, struct error *error)
{
	sqlite()->free(table->zErrMsg);
	table->zErrMsg = sqlite()->mprintf("%s", error_message(error));
	error_free(error);
	return SQLITE_ERROR;
}

/* The row that is asked for: 3, 3.0 and '3' are the same to a column of numbers. -1: none. */
static sqlite3_int64 number_of(sqlite3_value *value)
{
	int type = sqlite()->value_numeric_type(value);
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return -1;
	sqlite3_int64 number = sqlite()->value_int64(value);
	return type == SQLITE_INTEGER || (double)number == sqlite()->value_double(value) ? number : -1;
}

static int filter(sqlite3_vtab_cursor *base, int plan, const char *columns, int argc, sqlite3_value **argv)
{
	struct vtab_cursor *cursor = (struct vtab_cursor *)base;
	const struct sql_table *table = table_of(cursor);
	struct sql *sql = cursor->module->sql;
	struct error *error = sql_load(sql);
	if (error)
		return fail(base->pVtab, error);
	free(cursor->order);
	cursor->order = plan == PLAN_SORTED ? sort_rows(sql, table, columns) : NULL;
	cursor->place = (struct sql_place){.sql = sql, .samples = sql->samples, .event = cursor->module->event};
	/* Stack 0 is no stack. */
	cursor->at = table->kind == SQL_STACKS || table->kind == SQL_FRAMES;
	cursor->end = row_count(table, sql->samples);
	cursor->repeated = 0;
	if (table->kind == SQL_TRACEPOINT)
		choose_events(cursor);
	if (plan == PLAN_ONE && argc == 1) {
		sqlite3_int64 number = number_of(argv[0]);
		bool found = number >= (sqlite3_int64)cursor->at && number < (sqlite3_int64)cursor->end;
		cursor->at = found ? (size_t)number : 0;
		cursor->end = found ? (size_t)number + 1 : 0;
	}
	settle(cursor);
	return SQLITE_OK;
}

/* Whether the row comes once more, as another frame of its stack or another of its samples. */
static bool goes_on(struct vtab_cursor *cursor)
{
	const struct samples *samples = cursor->place.samples;
	if (table_of(cursor)->kind == SQL_FRAMES) {
		cursor->place.stack = samples->stacks.data[cursor->place.stack].parent;
		cursor->place.level++;
		return cursor->place.stack;
	}
	return table_of(cursor)->kind == SQL_ROWS && ++cursor->repeated < samples->rows.data[cursor->place.number].count;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct vtab_cursor *cursor = (struct vtab_cursor *)base;
	if (goes_on(cursor))
		return SQLITE_OK;
	cursor->repeated = 0;
	cursor->at++;
	settle(cursor);
	return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return is_at_end((struct vtab_cursor *)base);
}

/* ---- cells ---- */

static void put_field(struct vtab_cursor *cursor, size_t number, sqlite3_context *out)
{
	const struct samples *samples = cursor->place.samples;
	if (!cursor->has_fields)
		samples->fields(samples->fields_context, &samples->rows.data[cursor->place.number], &cursor->fields);
	cursor->has_fields = true;
	if (number >= cursor->fields.len)
		return;
	const struct samples_field *field = &cursor->fields.data[number];
	if (!field->text) {
		sqlite()->result_int64(out, (sqlite3_int64)field->number);
		return;
	}
	struct strbuf text = {0};
	text_add_safe(&text, field->text, field->length);
	sqlite()->result_text64(out, strbuf_str(&text), text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	strbuf_deinit(&text);
}

static int put_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
	struct vtab_cursor *cursor = (struct vtab_cursor *)base;
	size_t own = sql_column_count(table_of(cursor));
	if (table_of(cursor)->kind == SQL_TRACEPOINT && (size_t)column >= own)
		put_field(cursor, (size_t)column - own, out);
	else
		table_of(cursor)->columns[column].put(&cursor->place, out);
	return SQLITE_OK;
}

/* The same however the row was found: where conditions are joined by OR, SQLite asks for the rows of each, and knows by this which of them
 * it has seen. */
static int put_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct vtab_cursor *cursor = (struct vtab_cursor *)base;
	uint32_t part = table_of(cursor)->kind == SQL_FRAMES ? cursor->place.level : cursor->repeated;
	*ret = (sqlite3_int64)((uint64_t)cursor->place.number << 32 | part);
	return SQLITE_OK;
}

const sqlite3_module sql_module_methods = {
	.iVersion = 0,
	.xConnect = connect_table,
	.xBestIndex = best_index,
	.xDisconnect = disconnect_table,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next_row,
	.xEof = at_end,
	.xColumn = put_column,
	.xRowid = put_rowid,
};
