/* The tables of a recording, and what is in their columns. Addresses are numbers: printf('%x', address) shows them as people want them.
 */
#include "view/sql/sql_internal.h"

#include "base/buildid.h"

#include <string.h>

static void put_text(const struct sql_place *place, sqlite3_context *out, const char *raw)
{
	if (raw)
		sqlite()->result_text(out, sql_text(place->sql, raw), -1, SQLITE_STATIC);
}

static void put_number(sqlite3_context *out, uint64_t number)
{
	sqlite()->result_int64(out, (sqlite3_int64)number);
}

static void put_id(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->number);
}

/* ---- samples ---- */

static const struct samples_row *row_of(const struct sql_place *place)
{
	return &place->samples->rows.data[place->number];
}

static const struct samples_thread *thread_of(const struct sql_place *place)
{
	return samples_row_thread(place->samples, row_of(place));
}

static void put_time(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, row_of(place)->time);
}

static void put_event(const struct sql_place *place, sqlite3_context *out)
{
	put_text(place, out, place->samples->events.data[row_of(place)->event].name);
}

static void put_comm(const struct sql_place *place, sqlite3_context *out)
{
	put_text(place, out, place->samples->actors.data[row_of(place)->actor].comm);
}

static void put_pid(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, thread_of(place)->pid);
}

static void put_tid(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, thread_of(place)->tid);
}

static void put_cpu(const struct sql_place *place, sqlite3_context *out)
{
	if (row_of(place)->cpu != SAMPLES_NONE)
		put_number(out, row_of(place)->cpu);
}

static void put_period(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, row_of(place)->period);
}

static void put_stack(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, row_of(place)->stack);
}

static void put_event_id(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, row_of(place)->event);
}

static void put_actor_id(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, row_of(place)->actor);
}

static void put_frame_id(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, row_of(place)->frame);
}

/* ---- frames: of a sample, a stack, a level of a stack, or by themselves ---- */

static void put_symbol_of(const struct sql_place *place, sqlite3_context *out, uint32_t frame)
{
	sqlite()->result_text(out, place->sql->functions[place->samples->frames.data[frame].function], -1, SQLITE_STATIC);
}

static void put_dso_of(const struct sql_place *place, sqlite3_context *out, uint32_t frame)
{
	uint32_t file = place->samples->functions.data[place->samples->frames.data[frame].function].file;
	if (file != SAMPLES_NONE)
		put_text(place, out, place->samples->files.data[file].name);
}

static void put_source_of(const struct sql_place *place, sqlite3_context *out, uint32_t frame)
{
	put_text(place, out, place->samples->frames.data[frame].source_file);
}

static void put_line_of(const struct sql_place *place, sqlite3_context *out, uint32_t frame)
{
	if (place->samples->frames.data[frame].line)
		put_number(out, place->samples->frames.data[frame].line);
}

static void put_address_of(const struct sql_place *place, sqlite3_context *out, uint32_t frame)
{
	put_number(out, place->samples->frames.data[frame].address);
}

static void put_inlined_of(const struct sql_place *place, sqlite3_context *out, uint32_t frame)
{
	put_number(out, place->samples->frames.data[frame].inlined);
}

#define OF_A_FRAME(what, frame)                                                         \
	static void what##_symbol(const struct sql_place *place, sqlite3_context *out)  \
	{                                                                               \
		put_symbol_of(place, out, frame);                                       \
	}                                                                               \
	static void what##_dso(const struct sql_place *place, sqlite3_context *out)     \
	{                                                                               \
		put_dso_of(place, out, frame);                                          \
	}                                                                               \
	static void what##_source(const struct sql_place *place, sqlite3_context *out)  \
	{                                                                               \
		put_source_of(place, out, frame);                                       \
	}                                                                               \
	static void what##_line(const struct sql_place *place, sqlite3_context *out)    \
	{                                                                               \
		put_line_of(place, out, frame);                                         \
	}                                                                               \
	static void what##_address(const struct sql_place *place, sqlite3_context *out) \
	{                                                                               \
		put_address_of(place, out, frame);                                      \
	}
OF_A_FRAME(row, row_of(place)->frame)
OF_A_FRAME(level, place->samples->stacks.data[place->stack].frame)
OF_A_FRAME(place, (uint32_t)place->number)

static void level_inlined(const struct sql_place *place, sqlite3_context *out)
{
	put_inlined_of(place, out, place->samples->stacks.data[place->stack].frame);
}

static void place_inlined(const struct sql_place *place, sqlite3_context *out)
{
	put_inlined_of(place, out, (uint32_t)place->number);
}

static void level_stack(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->number);
}

static void level_level(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->level);
}

/* ---- stacks ---- */

static void stack_parent(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->samples->stacks.data[place->number].parent);
}

static void stack_depth(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->samples->stacks.data[place->number].depth);
}

static void stack_place(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->samples->stacks.data[place->number].frame);
}

static void stack_text(const struct sql_place *place, sqlite3_context *out)
{
	samples_path path = {0};
	struct strbuf text = {0};
	samples_stack_path(place->samples, (uint32_t)place->number, &path);
	for (size_t i = 0; i < path.len; i++) {
		strbuf_add_str(&text, i ? ";" : "");
		strbuf_add_str(&text, place->sql->functions[place->samples->frames.data[path.data[i]].function]);
	}
	sqlite()->result_text64(out, strbuf_str(&text), text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	strbuf_deinit(&text);
	vec_deinit(&path);
}

/* ---- what they refer to ---- */

static void event_name(const struct sql_place *place, sqlite3_context *out)
{
	put_text(place, out, place->samples->events.data[place->number].name);
}

static void event_samples(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->samples->events.data[place->number].samples);
}

static void event_period(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->samples->events.data[place->number].period);
}

static void event_unit(const struct sql_place *place, sqlite3_context *out)
{
	sqlite()->result_text(out, place->samples->events.data[place->number].nanoseconds ? "ns" : "count", -1, SQLITE_STATIC);
}

static void thread_pid(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->samples->threads.data[place->number].pid);
}

static void thread_tid(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->samples->threads.data[place->number].tid);
}

static void thread_comm(const struct sql_place *place, sqlite3_context *out)
{
	put_text(place, out, place->samples->threads.data[place->number].name);
}

static void thread_process(const struct sql_place *place, sqlite3_context *out)
{
	put_text(place, out, place->samples->threads.data[place->number].process);
}

static void thread_start(const struct sql_place *place, sqlite3_context *out)
{
	if (place->samples->threads.data[place->number].start)
		put_number(out, place->samples->threads.data[place->number].start);
}

static void thread_end(const struct sql_place *place, sqlite3_context *out)
{
	if (place->samples->threads.data[place->number].end != UINT64_MAX)
		put_number(out, place->samples->threads.data[place->number].end);
}

static void actor_comm(const struct sql_place *place, sqlite3_context *out)
{
	put_text(place, out, place->samples->actors.data[place->number].comm);
}

static void actor_thread(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->samples->actors.data[place->number].thread);
}

static void map_dso(const struct sql_place *place, sqlite3_context *out)
{
	put_text(place, out, place->samples->files.data[place->samples->mappings.data[place->number].file].name);
}

static void map_build_id(const struct sql_place *place, sqlite3_context *out)
{
	char text[41];
	const struct samples_file *file = &place->samples->files.data[place->samples->mappings.data[place->number].file];
	if (file->build_id.size)
		sqlite()->result_text(out, buildid_format(&file->build_id, text), -1, SQLITE_TRANSIENT);
}

static void map_start(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->samples->mappings.data[place->number].start);
}

static void map_end(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->samples->mappings.data[place->number].end);
}

static void map_offset(const struct sql_place *place, sqlite3_context *out)
{
	put_number(out, place->samples->mappings.data[place->number].offset);
}

/* ---- what rows are grouped by ---- */

static uint32_t event_thing(const struct samples *samples, const struct samples_row *row)
{
	(void)samples;
	return row->event;
}

static size_t event_things(const struct samples *samples)
{
	return samples->events.len;
}

static int compare_texts(const struct sql *sql, const char *a, const char *b)
{
	return strcmp(a ? sql_text(sql, a) : "", b ? sql_text(sql, b) : "");
}

static int compare_events(const struct sql *sql, uint32_t a, uint32_t b)
{
	return compare_texts(sql, sql->samples->events.data[a].name, sql->samples->events.data[b].name);
}

static uint32_t actor_thing(const struct samples *samples, const struct samples_row *row)
{
	(void)samples;
	return row->actor;
}

static size_t actor_things(const struct samples *samples)
{
	return samples->actors.len;
}

static int compare_comms(const struct sql *sql, uint32_t a, uint32_t b)
{
	return compare_texts(sql, sql->samples->actors.data[a].comm, sql->samples->actors.data[b].comm);
}

static int compare_pids(const struct sql *sql, uint32_t a, uint32_t b)
{
	uint32_t x = sql->samples->threads.data[sql->samples->actors.data[a].thread].pid;
	uint32_t y = sql->samples->threads.data[sql->samples->actors.data[b].thread].pid;
	return (x > y) - (x < y);
}

static int compare_tids(const struct sql *sql, uint32_t a, uint32_t b)
{
	uint32_t x = sql->samples->threads.data[sql->samples->actors.data[a].thread].tid;
	uint32_t y = sql->samples->threads.data[sql->samples->actors.data[b].thread].tid;
	return (x > y) - (x < y);
}

static uint32_t function_thing(const struct samples *samples, const struct samples_row *row)
{
	return samples->frames.data[row->frame].function;
}

static size_t function_things(const struct samples *samples)
{
	return samples->functions.len;
}

static int compare_symbols(const struct sql *sql, uint32_t a, uint32_t b)
{
	return strcmp(sql->functions[a], sql->functions[b]);
}

static const char *file_of(const struct sql *sql, uint32_t function)
{
	uint32_t file = sql->samples->functions.data[function].file;
	return file == SAMPLES_NONE ? NULL : sql->samples->files.data[file].name;
}

/* Those without a file come first, as NULLs do. */
static int compare_dsos(const struct sql *sql, uint32_t a, uint32_t b)
{
	const char *x = file_of(sql, a), *y = file_of(sql, b);
	return x && y ? compare_texts(sql, x, y) : (x != NULL) - (y != NULL);
}

/* ---- tables ---- */

enum { APART = SAMPLES_APART, STACKS = SAMPLES_STACKS, ADDRESSES = SAMPLES_ADDRESSES };

static const struct sql_column sample_columns[] = {
	{"id", "INTEGER", APART, put_id},
	{"time", "INTEGER", APART, put_time},
	{"event", "TEXT", 0, put_event, event_thing, event_things, compare_events},
	{"comm", "TEXT", 0, put_comm, actor_thing, actor_things, compare_comms},
	{"pid", "INTEGER", 0, put_pid, actor_thing, actor_things, compare_pids},
	{"tid", "INTEGER", 0, put_tid, actor_thing, actor_things, compare_tids},
	{"cpu", "INTEGER", APART, put_cpu},
	{"period", "INTEGER", APART, put_period},
	{"address", "INTEGER", ADDRESSES, row_address},
	{"symbol", "TEXT", 0, row_symbol, function_thing, function_things, compare_symbols},
	{"dso", "TEXT", 0, row_dso, function_thing, function_things, compare_dsos},
	{"source", "TEXT", ADDRESSES, row_source},
	{"line", "INTEGER", ADDRESSES, row_line},
	{"stack", "INTEGER", STACKS, put_stack},
	{"event_id", "INTEGER", 0, put_event_id, .hidden = true},
	{"actor_id", "INTEGER", 0, put_actor_id, .hidden = true},
	{"place_id", "INTEGER", 0, put_frame_id, .hidden = true},
	{0},
};

static const struct sql_column stack_columns[] = {
	{"id", "INTEGER", 0, put_id},
	{"parent", "INTEGER", 0, stack_parent},
	{"depth", "INTEGER", 0, stack_depth},
	{"symbol", "TEXT", 0, level_symbol},
	{"dso", "TEXT", 0, level_dso},
	{"text", "TEXT", 0, stack_text},
	{"place_id", "INTEGER", 0, stack_place, .hidden = true},
	{0},
};

static const struct sql_column frame_columns[] = {
	{"stack", "INTEGER", 0, level_stack},
	{"level", "INTEGER", 0, level_level},
	{"symbol", "TEXT", 0, level_symbol},
	{"dso", "TEXT", 0, level_dso},
	{"address", "INTEGER", ADDRESSES, level_address},
	{"source", "TEXT", ADDRESSES, level_source},
	{"line", "INTEGER", ADDRESSES, level_line},
	{"inlined", "INTEGER", 0, level_inlined},
	{0},
};

static const struct sql_column place_columns[] = {
	{"id", "INTEGER", 0, put_id},
	{"symbol", "TEXT", 0, place_symbol},
	{"dso", "TEXT", 0, place_dso},
	{"address", "INTEGER", ADDRESSES, place_address},
	{"source", "TEXT", ADDRESSES, place_source},
	{"line", "INTEGER", ADDRESSES, place_line},
	{"inlined", "INTEGER", 0, place_inlined},
	{0},
};

static const struct sql_column event_columns[] = {
	{"id", "INTEGER", 0, put_id},		{"name", "TEXT", 0, event_name}, {"samples", "INTEGER", 0, event_samples},
	{"period", "INTEGER", 0, event_period}, {"unit", "TEXT", 0, event_unit}, {0},
};

static const struct sql_column thread_columns[] = {
	{"id", "INTEGER", 0, put_id},		{"pid", "INTEGER", 0, thread_pid},
	{"tid", "INTEGER", 0, thread_tid},	{"comm", "TEXT", 0, thread_comm},
	{"process", "TEXT", 0, thread_process}, {"start", "INTEGER", 0, thread_start},
	{"end", "INTEGER", 0, thread_end},	{0},
};

static const struct sql_column actor_columns[] = {
	{"id", "INTEGER", 0, put_id},
	{"thread", "INTEGER", 0, actor_thread},
	{"comm", "TEXT", 0, actor_comm},
	{0},
};

static const struct sql_column map_columns[] = {
	{"id", "INTEGER", 0, put_id},
	{"dso", "TEXT", 0, map_dso},
	{"start", "INTEGER", 0, map_start},
	{"end", "INTEGER", 0, map_end},
	{"offset", "INTEGER", 0, map_offset},
	{"build_id", "TEXT", 0, map_build_id},
	{0},
};

/* Its fields follow. */
static const struct sql_column tracepoint_columns[] = {
	{"sample", "INTEGER", 0, put_id},
	{"sample_time", "INTEGER", 0, put_time},
	{0},
};

static size_t thread_count(const struct samples *samples)
{
	return samples->threads.len;
}

static size_t place_count(const struct samples *samples)
{
	return samples->frames.len;
}

static size_t map_count(const struct samples *samples)
{
	return samples->mappings.len;
}

const struct sql_table sql_tables[] = {
	{"samples", SQL_ROWS, 0, sample_columns, NULL},
	{"stacks", SQL_STACKS, STACKS, stack_columns, NULL},
	{"frames", SQL_FRAMES, STACKS, frame_columns, NULL},
	{"events", SQL_ELEMENTS, 0, event_columns, event_things},
	{"threads", SQL_ELEMENTS, 0, thread_columns, thread_count},
	{"actors", SQL_ELEMENTS, 0, actor_columns, actor_things},
	{"maps", SQL_ELEMENTS, ADDRESSES | STACKS, map_columns, map_count},
	{"places", SQL_ELEMENTS, 0, place_columns, place_count},
	{0},
};

const struct sql_table sql_tracepoint_table = {"", SQL_TRACEPOINT, APART, tracepoint_columns, NULL};

size_t sql_column_count(const struct sql_table *table)
{
	size_t count = 0;
	while (table->columns[count].name)
		count++;
	return count;
}
