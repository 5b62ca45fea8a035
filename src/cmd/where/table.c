/* The answer as tables: what each thread did, and the reasons. Machine formats have nanoseconds, people get milliseconds. */
#include "cmd/where/where.h"

#include "analysis/lock/types.h"
#include "base/text.h"
#include "view/view.h"

#include <stdio.h>

enum { ROWS_FOR_PEOPLE = 25 };

/* Programs are told which table a row is of. */
static void say_which(struct table *table)
{
	table->subject_id = "table";
	table->subject = table->id;
}

/* Columns of time that hold nothing but zeros are left out for people. */
static void find_kinds(const struct where_answer *answer, bool for_people, bool ret[WHERE_KINDS])
{
	for (unsigned int kind = WHERE_QUEUE; kind < WHERE_KINDS; kind++) {
		uint64_t sum = 0;
		for (size_t i = 0; i < answer->sums->threads.len; i++) {
			const struct where_thread_sums *sums = &answer->sums->threads.data[i];
			if (!sums->is_idle || answer->command->all_threads)
				sum += sums->ns[kind];
		}
		ret[kind] = !for_people || sum / 50000; /* what is shown as 0.1 ms */
	}
}

static void add_time_column(struct table *table, const char *id, const char *title, bool for_people)
{
	vec_push(&table->columns, (struct column){.id = id,
						  .title = title,
						  .kind = for_people ? COLUMN_REAL : COLUMN_NANOSECONDS,
						  .align = ALIGN_RIGHT,
						  .decimals = 1});
}

static union cell time_cell(uint64_t ns, bool for_people)
{
	return for_people ? (union cell){.real = (double)ns / 1e6} : (union cell){.integer = ns};
}

static void add_thread(struct table *table, const struct where_thread_sums *sums, const bool *kinds, bool for_people)
{
	union cell cells[WHERE_KINDS + 6];
	size_t count = 0;
	cells[count++] = time_cell(sums->wall, for_people);
	cells[count++] = time_cell(sums->user_ns, for_people);
	cells[count++] = time_cell(sums->ns[WHERE_CPU] - sums->user_ns, for_people);
	for (unsigned int kind = WHERE_QUEUE; kind < WHERE_KINDS; kind++)
		if (kinds[kind])
			cells[count++] = time_cell(sums->ns[kind], for_people);
	cells[count++] = (union cell){.integer = sums->waits};
	cells[count++] = (union cell){.integer = sums->thread->task.tid};
	cells[count++] = (union cell){.text = untrusted_raw(sums->comm)};
	table_add_row(table, cells);
}

static bool is_cut(const struct where_answer *answer, bool for_people)
{
	return for_people && !answer->command->all_threads;
}

struct table *where_threads_table(const struct where_answer *answer, bool for_people)
{
	bool kinds[WHERE_KINDS];
	struct table *table = table_create_columns("threads", NULL, 0);
	if (!for_people)
		say_which(table);
	find_kinds(answer, for_people, kinds);
	add_time_column(table, "wall", for_people ? "ms" : "Wall", for_people);
	add_time_column(table, "user", "CPU user", for_people);
	add_time_column(table, "kernel", "CPU kernel", for_people);
	for (unsigned int kind = WHERE_QUEUE; kind < WHERE_KINDS; kind++)
		if (kinds[kind])
			add_time_column(table, where_kind_id(kind), where_kind_title(kind), for_people);
	vec_push(&table->columns, (struct column){.id = "waits", .title = "Waits", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT});
	vec_push(&table->columns, (struct column){.id = "tid", .title = "TID", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT});
	vec_push(&table->columns, (struct column){.id = "comm", .title = "Thread", .kind = COLUMN_TEXT});
	for (size_t i = 0; i < answer->sums->threads.len && !(is_cut(answer, for_people) && i == ROWS_FOR_PEOPLE); i++) {
		const struct where_thread_sums *sums = &answer->sums->threads.data[i];
		if (!for_people || !sums->is_idle || answer->command->all_threads)
			add_thread(table, sums, kinds, for_people);
	}
	return table;
}

size_t where_threads_beyond(const struct where_answer *answer)
{
	size_t busy = 0;
	while (busy < answer->sums->threads.len && !answer->sums->threads.data[busy].is_idle)
		busy++;
	return is_cut(answer, true) && busy > ROWS_FOR_PEOPLE ? busy - ROWS_FOR_PEOPLE : 0;
}

/* ---- reasons ---- */

static const char *devices_of(struct table *table, const struct where_answer *answer, const struct where_reason *reason)
{
	struct strbuf text = {0};
	if (reason->device || reason->below)
		where_add_devices(&text, answer, reason);
	const char *copy = arena_strdup(&table->arena, strbuf_str(&text));
	strbuf_deinit(&text);
	return copy;
}

static struct table *reasons_table(const struct where_answer *answer)
{
	static const struct column columns[] = {
		{"share", "Share", COLUMN_PERCENT, ALIGN_RIGHT, .decimals = 2},
		{"time", "Time", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"kind", "Kind", COLUMN_TEXT},
		{"comm", "Thread", COLUMN_TEXT},
		{"threads", "Threads", COLUMN_COUNT, ALIGN_RIGHT},
		{"count", "Times", COLUMN_COUNT, ALIGN_RIGHT},
		{"longest", "Longest", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"syscall", "System call", COLUMN_TEXT},
		{"function", "Function", COLUMN_TEXT},
		{"devices", "Devices", COLUMN_TEXT},
		{"who", "By", COLUMN_TEXT},
		{"waiting_kind", "Waited for in", COLUMN_TEXT},
		{"waiting_comm", "Waited for by", COLUMN_TEXT},
		{"lock", "Kind of lock", COLUMN_TEXT},
		{"object", "Lock or file", COLUMN_TEXT},
		{"waiting_lock", "Waited for at a", COLUMN_TEXT},
		{"waiting_object", "Waited for at", COLUMN_TEXT},
		{"page_faults", "For page faults", COLUMN_NANOSECONDS, ALIGN_RIGHT},
	};
	enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
	struct table *table = table_create_columns("reasons", columns, COLUMNS);
	say_which(table);
	for (size_t i = 0; i < answer->reasons->all.len; i++) {
		const struct where_reason *reason = &answer->reasons->all.data[i];
		const struct where_detail *place = reason->places.len ? reason->places.data : NULL;
		const struct where_detail *waited = reason->waited_objects.len ? reason->waited_objects.data : NULL;
		const union cell cells[COLUMNS] = {
			{.real = 100.0 * (double)reason->ns / (double)answer->reasons->total_ns},
			{.integer = reason->ns},
			{.text = where_kind_id(reason->kind)},
			{.text = untrusted_raw(reason->comm)},
			{.integer = reason->threads},
			{.integer = reason->count},
			{.integer = reason->longest},
			{.text = place ? place->syscall : NULL},
			{.text = place ? place->function : NULL},
			{.text = devices_of(table, answer, reason)},
			{.text = reason->who.len ? untrusted_raw(reason->who.data[0].comm) : NULL},
			{.text = reason->waiter_comm ? where_kind_id(reason->waited) : NULL},
			{.text = reason->waiter_comm ? untrusted_raw(reason->waiter_comm) : NULL},
			{.text = reason->lock ? lock_type_family(reason->lock) : NULL},
			{.text = reason->objects.len ? reason->objects.data[0].object : NULL},
			{.text = waited && waited->lock ? lock_type_family(waited->lock) : NULL},
			{.text = waited ? waited->object : NULL},
			{.integer = reason->samples
					    ? (uint64_t)((double)reason->ns * (double)reason->fault_samples / (double)reason->samples)
					    : 0},
		};
		table_add_row(table, cells);
	}
	return table;
}

/* Only where limits of CPU time held somebody back. */
static struct table *limits_table(const struct where_answer *answer)
{
	static const struct column columns[] = {
		{"group", "Control group", COLUMN_TEXT},
		{"cpus", "CPUs", COLUMN_REAL, ALIGN_RIGHT, .decimals = 4},
		{"times", "Times held back", COLUMN_COUNT, ALIGN_RIGHT},
		{"held", "Time held back", COLUMN_NANOSECONDS, ALIGN_RIGHT},
	};
	enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
	struct table *table = table_create_columns("limits", columns, COLUMNS);
	say_which(table);
	for (size_t i = 0; i < answer->limits->all.len; i++) {
		const struct where_limit *limit = &answer->limits->all.data[i];
		table_add_row(table, (union cell[COLUMNS]){{.text = arena_strdup(&table->arena, limit->last.group)},
							   {.real = limit->last.cpus},
							   {.integer = limit->last.throttled - limit->first.throttled},
							   {.integer = limit->last.throttled_ns - limit->first.throttled_ns}});
	}
	return table;
}

struct error *where_write(const struct where_answer *answer)
{
	struct table *limits = answer->limits->all.len ? limits_table(answer) : NULL;
	struct table *reasons = reasons_table(answer), *threads = where_threads_table(answer, false);
	const struct view_options view = {.header = true};
	struct sink out = sink_to_file(stdout);
	struct document document = {0};
	document_add(&document, (struct result){RESULT_TABLE, .table = reasons});
	document_add(&document, (struct result){RESULT_TABLE, .table = threads});
	if (limits)
		document_add(&document, (struct result){RESULT_TABLE, .table = limits});
	struct error *error = view_write(view_find(answer->command->format), &document, &view, &out);
	document_deinit(&document);
	table_destroy(reasons);
	table_destroy(threads);
	table_destroy(limits);
	return error;
}
