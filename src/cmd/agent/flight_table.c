/* What differs from the hour before. A row is a process, what it did with its time (it ran, or for what it waited), the program's own
 * function and the function where it was: milliseconds of it in each second.
 *
 * In front stand the rows of whoever the trigger names: during the call that took too long they are what it was spent with. Then those that
 * had more time now than in any slice of the hour before; of these a thread's waits for something to do come last. */
#include "cmd/agent/flight_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 60, LEAST_SLICES = 6 };
static const double least_ms = 1;

struct flight_row {
	uint64_t hash;
	enum where_kind kind;
	const char *comm, *function, *in;
	double value_ms;	  /* in all */
	double late_ms, asked_ms; /* within calls that took too long; of processes that a cause names */
	double now, before, most; /* ms in each second */
	bool unusual;
};

struct differing {
	VEC(struct flight_row) list;
	struct map64 by_hash; /* place + 1 */
	struct flight_span span;
	const struct flight_causes *causes;
};

/* A wait ends at its time, a sample of the clock is a moment; what lies within the span. */
static double within_ms(const struct flight_entry *entry, struct flight_span span)
{
	uint64_t begin = entry->kind == WHERE_CPU || entry->time < entry->value_ns ? entry->time : entry->time - entry->value_ns;
	uint64_t end = entry->time < span.to ? entry->time : span.to;
	if (begin > span.to || entry->time < span.from)
		return 0;
	if (entry->kind == WHERE_CPU)
		return (double)entry->value_ns / 1e6;
	begin = begin > span.from ? begin : span.from;
	return end > begin ? (double)(end - begin) / 1e6 : 0;
}

static bool is_suspect(const struct flight_entry *entry, const struct flight_cause *cause)
{
	return cause->pid && entry->pid == cause->pid && (!cause->tid || entry->tid == cause->tid);
}

static void add_entry(struct differing *rows, const struct flight_entry *entry)
{
	double ms = within_ms(entry, rows->span);
	bool is_new;
	if (ms <= 0)
		return;
	uint64_t *place = map64_insert(&rows->by_hash, entry->row, &is_new);
	if (is_new) {
		const char *comm = flight_entry_texts(entry), *function = comm + strlen(comm) + 1;
		vec_push(&rows->list, (struct flight_row){.hash = entry->row,
							  .kind = entry->kind,
							  .comm = comm,
							  .function = function,
							  .in = function + strlen(function) + 1});
		*place = rows->list.len;
	}
	struct flight_row *row = &rows->list.data[*place - 1];
	row->value_ms += ms;
	for (size_t i = 0; i < rows->causes->count; i++) {
		const struct flight_cause *cause = &rows->causes->list[i];
		if (!is_suspect(entry, cause))
			continue;
		if (cause->begin)
			row->late_ms += within_ms(entry, (struct flight_span){cause->begin, cause->time});
		else
			row->asked_ms += ms;
	}
}

/* A thread that does so may just have nothing to do. */
static bool is_idle(enum where_kind kind)
{
	return kind == WHERE_TIMER || kind == WHERE_POLL || kind == WHERE_SIGNAL || kind == WHERE_CHILD || kind == WHERE_STOPPED;
}

static void compare(struct differing *rows, const struct flight_history *history)
{
	double seconds = (double)(rows->span.to - rows->span.from) / 1e9;
	size_t slices;
	flight_history_ns(history, rows->span.from, &slices);
	for (size_t i = 0; i < rows->list.len; i++) {
		struct flight_row *row = &rows->list.data[i];
		const struct flight_before before = flight_history_of(history, row->hash, rows->span.from);
		row->now = row->value_ms / seconds;
		row->before = before.average / 1e6;
		row->most = before.most / 1e6;
		row->unusual = slices >= LEAST_SLICES && row->now > row->most && row->now > 2 * row->before + least_ms;
	}
}

/* The smaller, the further in front. A call is late whatever it waits for. */
static int class_of(const struct flight_row *row)
{
	bool idle = is_idle(row->kind);
	if (row->late_ms > 0)
		return 0;
	if (row->asked_ms > 0)
		return 1 + idle;
	return row->unusual ? 3 + idle : 5;
}

static int first_in_front(const void *a, const void *b)
{
	const struct flight_row *x = a, *y = b;
	int class = class_of(x), other = class_of(y);
	double more = class ? x->now - x->before : x->late_ms, other_more = other ? y->now - y->before : y->late_ms;
	if (class != other)
		return class < other ? -1 : 1;
	if (more != other_more)
		return more > other_more ? -1 : 1;
	int functions = strcmp(x->function, y->function);
	return functions ? functions : strcmp(x->comm, y->comm);
}

static void add_row(struct table *table, const struct flight_row *row)
{
	const char *remark = row->unusual ? "more than in the hour before" : NULL;
	if (row->late_ms > 0)
		remark = arena_printf(&table->arena, "%.1f ms of the call", row->late_ms);
	else if (row->asked_ms > 0)
		remark = "of who asks";
	const union cell cells[] = {
		{.real = row->now - row->before},
		{.real = row->now},
		{.real = row->before},
		{.real = row->most},
		{.text = where_kind_title(row->kind)},
		{.text = arena_strdup(&table->arena, row->comm)},
		{.text = arena_strdup(&table->arena, row->function)},
		{.text = arena_strdup(&table->arena, row->in)},
		{.text = remark},
	};
	table_add_row(table, cells);
}

struct table *flight_table(const struct flight_ring *ring, const struct flight_history *history, struct flight_span span,
			   const struct flight_causes *causes)
{
	static const struct column columns[] = {
		{.id = "change", .title = "Change", .kind = COLUMN_REAL, .align = ALIGN_RIGHT, .decimals = 1},
		{.id = "now", .title = "Now", .kind = COLUMN_REAL, .align = ALIGN_RIGHT, .decimals = 1},
		{.id = "before", .title = "Before", .kind = COLUMN_REAL, .align = ALIGN_RIGHT, .decimals = 1},
		{.id = "most", .title = "Most before", .kind = COLUMN_REAL, .align = ALIGN_RIGHT, .decimals = 1},
		{.id = "what", .title = "What"},
		{.id = "process", .title = "Process"},
		{.id = "function", .title = "Function"},
		{.id = "in", .title = "In"},
		{.id = "remark", .title = "Remark"},
	};
	struct differing rows = {.span = span, .causes = causes};
	struct flight_cursor cursor = {0};
	for (const struct flight_entry *entry; (entry = flight_ring_next(ring, &cursor));)
		if (entry->value_ns)
			add_entry(&rows, entry);
	compare(&rows, history);
	if (rows.list.len)
		qsort(rows.list.data, rows.list.len, sizeof(*rows.list.data), first_in_front);
	struct table *table = table_create_columns("flight", columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < rows.list.len && i < ROWS_MOST; i++)
		add_row(table, &rows.list.data[i]);
	vec_deinit(&rows.list);
	map64_deinit(&rows.by_hash);
	return table;
}
