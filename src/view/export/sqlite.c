/* A database of SQLite, made of the tables of perf sql: what these refer to by number is stored so, and views have the columns that perf
 * sql has, so that statements work in both. It is put together in memory, since it can only be written as a whole.
 */
#include "view/export/streaming.h"
#include "view/sql/sql.h"
#include "view/sql/sqlite_library.h"
#include "view/view.h"

static const char *const statements[] = {
	"PRAGMA journal_mode = OFF",
	"CREATE TABLE events (id INTEGER PRIMARY KEY, name TEXT, samples INTEGER, period INTEGER, unit TEXT)",
	"INSERT INTO events SELECT id, name, samples, period, unit FROM recorded_events",
	"CREATE TABLE threads (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, comm TEXT, process TEXT, start INTEGER, \"end\" INTEGER)",
	"INSERT INTO threads SELECT id, pid, tid, comm, process, start, \"end\" FROM recorded_threads",
	"CREATE TABLE actors (id INTEGER PRIMARY KEY, thread INTEGER, comm TEXT)",
	"INSERT INTO actors SELECT id, thread, comm FROM recorded_actors",
	"CREATE TABLE maps (id INTEGER PRIMARY KEY, dso TEXT, start INTEGER, \"end\" INTEGER, \"offset\" INTEGER, build_id TEXT)",
	"INSERT INTO maps SELECT id, dso, start, \"end\", \"offset\", build_id FROM recorded_maps",
	"CREATE TABLE places (id INTEGER PRIMARY KEY, symbol TEXT, dso TEXT, address INTEGER, source TEXT, line INTEGER, inlined INTEGER)",
	"INSERT INTO places SELECT id, symbol, dso, address, source, line, inlined FROM recorded_places",
	"CREATE TABLE stack_nodes (id INTEGER PRIMARY KEY, parent INTEGER, depth INTEGER, place_id INTEGER)",
	"INSERT INTO stack_nodes SELECT id, parent, depth, place_id FROM recorded_stacks",
	"CREATE TABLE sample_rows (id INTEGER PRIMARY KEY, time INTEGER, event_id INTEGER, actor_id INTEGER, cpu INTEGER, period INTEGER, "
	"place_id INTEGER, stack INTEGER)",
	"INSERT INTO sample_rows SELECT id, time, event_id, actor_id, cpu, period, place_id, stack FROM recorded_samples",
	"CREATE VIEW samples AS SELECT r.id, r.time, e.name AS event, a.comm, t.pid, t.tid, r.cpu, r.period, p.address, p.symbol, p.dso, p.source, "
	"p.line, r.stack, r.event_id, r.actor_id, r.place_id FROM sample_rows r JOIN events e ON e.id = r.event_id "
	"JOIN actors a ON a.id = r.actor_id JOIN threads t ON t.id = a.thread JOIN places p ON p.id = r.place_id",
	"CREATE VIEW frames AS WITH RECURSIVE up(stack, level, node) AS (SELECT id, 0, id FROM stack_nodes UNION ALL SELECT stack, level + 1, "
	"parent FROM up JOIN stack_nodes ON id = node WHERE parent <> 0) SELECT up.stack, up.level, p.symbol, p.dso, p.address, p.source, p.line, "
	"p.inlined FROM up JOIN stack_nodes n ON n.id = up.node JOIN places p ON p.id = n.place_id",
	"CREATE VIEW stacks AS SELECT n.id, n.parent, n.depth, p.symbol, p.dso, (SELECT group_concat(symbol, ';') FROM (SELECT symbol FROM frames "
	"WHERE stack = n.id ORDER BY level DESC)) AS text, n.place_id FROM stack_nodes n JOIN places p ON p.id = n.place_id",
};

static struct error *load(void *context, unsigned int detail, const struct samples **ret)
{
	(void)detail;
	*ret = context;
	return NULL;
}

static struct error *execute(const struct sql *sql, const char *statement)
{
	return sqlite()->exec(sql_database(sql), statement, NULL, NULL, NULL) == SQLITE_OK ? NULL : sql_error(sql, statement);
}

static struct error *execute_format(const struct sql *sql, const char *format, const char *first, const char *second)
{
	struct strbuf names[2] = {0};
	sql_add_name(&names[0], first);
	sql_add_name(&names[1], second);
	char *statement = sqlite()->mprintf(format, strbuf_str(&names[0]), strbuf_str(&names[1]));
	struct error *error = execute(sql, statement);
	sqlite()->free(statement);
	strbuf_deinit(&names[0]);
	strbuf_deinit(&names[1]);
	return error;
}

/* Each tracepoint as a table of its own, called as the event is. */
static struct error *copy_tracepoints(const struct sql *sql, const struct samples *samples)
{
	struct error *error = NULL;
	for (size_t i = 0; i < samples->events.len && !error; i++) {
		const struct samples_event *event = &samples->events.data[i];
		if (sql_has_table(event))
			error = execute_format(sql, "CREATE TABLE IF NOT EXISTS main.%s AS SELECT * FROM %s", event->name, event->name);
	}
	return error;
}

/* After all tables: a name that is taken stays what it is. */
static struct error *name_tracepoints(const struct sql *sql, const struct samples *samples)
{
	struct error *error = NULL;
	for (size_t i = 0; i < samples->events.len && !error; i++) {
		const struct samples_event *event = &samples->events.data[i];
		const char *name = sql_short_name(event->name);
		if (name && sql_has_table(event))
			error = execute_format(sql, "CREATE VIEW IF NOT EXISTS main.%s AS SELECT * FROM %s", name, event->name);
	}
	return error;
}

static struct error *write_database(const struct sql *sql, const struct sink *out)
{
	sqlite3_int64 size = 0;
	unsigned char *data = sqlite()->serialize(sql_database(sql), "main", &size, SQLITE_SERIALIZE_NOCOPY);
	if (!data)
		return sql_error(sql, "database");
	sink_write(out, data, (size_t)size);
	int failed = sink_flush(out);
	return failed ? error_system(failed, "database") : NULL;
}

static struct error *show_samples(const struct samples *samples, const struct view_options *options, const struct sink *out)
{
	const struct sql_source source = {
		.description = samples, .load = load, .context = (void *)(uintptr_t)samples, .prefix = "recorded_"};
	struct sql *sql;
	struct error *error = sql_open(&source, &sql);
	if (error)
		return error;
	sqlite3_int64 most = INT64_MAX;
	sqlite()->file_control(sql_database(sql), "main", SQLITE_FCNTL_SIZE_LIMIT, &most);
	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements) && !error; i++)
		error = execute(sql, statements[i]);
	if (!error)
		error = copy_tracepoints(sql, samples);
	if (!error)
		error = name_tracepoints(sql, samples);
	if (!error)
		error = write_database(sql, out);
	sql_close(sql);
	return error;
}

const struct view_ops view_sqlite = {
	.name = "sqlite",
	.summary = "a database of SQLite, with the tables of perf sql",
	.samples = show_samples,
	.detail = SAMPLES_APART | SAMPLES_STACKS | SAMPLES_ADDRESSES,
	.binary = true,
};
