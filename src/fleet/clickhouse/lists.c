/* Lists, each one question to the engine. The columns of its answer are texts and numbers, as the columns of the table say. */
#include "fleet/clickhouse/lists.h"

#include "base/cursor.h"
#include "fleet/clickhouse/row_binary.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { ANSWER_MAX = 1 << 28, COLUMNS_MAX = 8 };

struct list_column {
	const char *id, *title;
	enum column_kind kind; /* COLUMN_TEXT or COLUMN_COUNT */
	bool time;	       /* a number that is shown as a time */
};

struct list {
	const char *name, *select, *behind;
	bool windows; /* is about windows in the period; else about samples that the question means */
	bool all;     /* … about all that there is */
	struct list_column columns[COLUMNS_MAX];
};

static const struct list lists[] = {
	{"hosts",
	 "SELECT host, host_id, toUInt64(max(toUInt32(begin))), toUInt64(count()), toUInt64(sum(stored)), toUInt64(sum(lost)), "
	 "toUInt64(sum(dropped)) FROM (SELECT DISTINCT id, host, host_id, begin, stored, lost, dropped FROM windows",
	 ") GROUP BY host, host_id ORDER BY host, host_id", .windows = true,
	 .columns = {{"host", "Host", COLUMN_TEXT},
		     {"host_id", "Id", COLUMN_TEXT},
		     {"seen", "Last seen", COLUMN_COUNT, .time = true},
		     {"windows", "Windows", COLUMN_COUNT},
		     {"samples", "Samples", COLUMN_COUNT},
		     {"lost", "Lost", COLUMN_COUNT},
		     {"dropped", "Dropped", COLUMN_COUNT}}},
	{"services", "SELECT service, event, toUInt64(uniq(host)), toUInt64(sum(count)), toUInt64(sum(value)) FROM samples",
	 " GROUP BY service, event ORDER BY sum(count) DESC, service, event",
	 .columns = {{"service", "Service", COLUMN_TEXT},
		     {"event", "Event", COLUMN_TEXT},
		     {"hosts", "Hosts", COLUMN_COUNT},
		     {"samples", "Samples", COLUMN_COUNT},
		     {"value", "Value", COLUMN_COUNT}}},
	{"labels",
	 "SELECT n, v, toUInt64(uniq(host)) FROM (SELECT host, names, values FROM (SELECT DISTINCT host, labels AS id FROM samples",
	 ") GLOBAL ANY INNER JOIN (SELECT id, names, values FROM labels) USING id) ARRAY JOIN names AS n, values AS v GROUP BY n, v ORDER BY "
	 "n, v",
	 .columns = {{"name", "Name", COLUMN_TEXT}, {"value", "Value", COLUMN_TEXT}, {"hosts", "Hosts", COLUMN_COUNT}}},
	{"builds",
	 "SELECT build_id, file, toUInt64(uniq(id)), toUInt64(uniqIf(id, address != 0)) FROM (SELECT id, any(build_id) AS build_id, any(file) "
	 "AS file, argMax(if(function = '', address, 0), version) AS address FROM frames GROUP BY id)",
	 " GROUP BY build_id, file ORDER BY file, build_id", .all = true,
	 .columns = {{"build_id", "Build-id", COLUMN_TEXT},
		     {"file", "File", COLUMN_TEXT},
		     {"frames", "Frames", COLUMN_COUNT},
		     {"unnamed", "Without a name", COLUMN_COUNT}}},
};
enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

const char *const fleet_lists[] = {"hosts", "services", "labels", "builds", NULL};

static const struct list *find(const char *name)
{
	for (size_t i = 0; i < LISTS; i++)
		if (!strcmp(lists[i].name, name))
			return &lists[i];
	return NULL;
}

static const char *time_text(struct table *table, uint64_t seconds)
{
	const time_t time = (time_t)seconds;
	struct tm parts;
	char text[32];
	localtime_r(&time, &parts);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
	return arena_strdup(&table->arena, text);
}

static bool read_row(const struct list *list, struct cursor *cursor, struct table *table)
{
	union cell *cells = arena_zalloc(&table->arena, COLUMNS_MAX * sizeof(*cells));
	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].id; i++) {
		const struct list_column *column = &list->columns[i];
		if (column->kind == COLUMN_TEXT) {
			size_t length;
			const char *text = row_text(cursor, &length);
			cells[i].text = arena_strndup(&table->arena, text, length);
			continue;
		}
		uint64_t number = cursor_u64(cursor);
		if (column->time)
			cells[i].text = time_text(table, number);
		else
			cells[i].integer = number;
	}
	if (!cursor->failed)
		table_add_row(table, cells);
	return !cursor->failed;
}

static struct table *make_table(const struct list *list)
{
	struct table *table = table_create();
	table->id = list->name;
	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].id; i++) {
		const struct list_column *column = &list->columns[i];
		bool text = column->kind == COLUMN_TEXT || column->time;
		vec_push(&table->columns, (struct column){.id = column->id,
							  .title = column->title,
							  .kind = text ? COLUMN_TEXT : COLUMN_COUNT,
							  .align = text ? ALIGN_LEFT : ALIGN_RIGHT});
	}
	return table;
}

static struct error *add_question(const struct fleet_question *question, const struct list *list, struct strbuf *sql)
{
	struct fleet_period period;
	struct strbuf where = {0};
	struct error *error = fleet_question_add_where(question, &where, &period);
	if (!error && (list->windows || list->all) && (question->where || (question->labels && *question->labels)))
		error = error_new_kind(ERROR_USAGE, "--where and --label choose samples: of %s there is only a list of all", list->name);
	strbuf_add_str(sql, list->select);
	if (list->windows)
		strbuf_printf(sql, " WHERE begin >= toDateTime(%" PRIu64 ") AND begin < toDateTime(%" PRIu64 ")", period.from, period.to);
	else if (!list->all)
		strbuf_add_str(sql, strbuf_str(&where));
	strbuf_printf(sql, "%s FORMAT RowBinary", list->behind);
	strbuf_deinit(&where);
	return error;
}

struct error *fleet_list(const struct fleet_question *question, const char *name, struct table **ret)
{
	const struct list *list = find(name);
	struct clickhouse *clickhouse = NULL;
	struct strbuf sql = {0}, answer = {0};
	if (!list)
		return error_new_kind(ERROR_USAGE, "unknown list '%s': choose one of hosts, services, labels, builds", name);
	struct error *error = add_question(question, list, &sql);
	error = error ? error : clickhouse_open(question->url, question->http, &clickhouse);
	error = error ? error : clickhouse_ask(clickhouse, strbuf_str(&sql), "&skip_unavailable_shards=1", ANSWER_MAX, &answer);
	if (!error) {
		struct cursor cursor = cursor_init(strbuf_str(&answer), answer.len, false);
		struct table *table = make_table(list);
		while (cursor_left(&cursor) && read_row(list, &cursor, table))
			;
		if (cursor.failed) {
			table_destroy(table);
			error = error_new_kind(ERROR_FORMAT, "the engine's answer is not as it should be");
		} else {
			*ret = table;
		}
	}
	clickhouse_close(clickhouse);
	strbuf_deinit(&sql);
	strbuf_deinit(&answer);
	return error;
}
