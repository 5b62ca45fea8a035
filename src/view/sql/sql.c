/* A database in memory whose tables are ours, and what a statement may do there.
 */
#include "view/sql/sql.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "view/sql/sql_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *sql_text(const struct sql *sql, const char *raw)
{
	struct string_table *texts = (struct string_table *)&sql->texts;
	uint32_t number = string_table_lasting(texts, raw); /* which may move the list */
	return texts->list.data[number];
}

/* ---- loading ---- */

static void forget(struct sql *sql)
{
	string_table_deinit(&sql->texts);
	free(sql->functions);
	sql->texts = (struct string_table){0};
	sql->functions = NULL;
	sql->samples = NULL;
}

struct error *sql_load(struct sql *sql)
{
	if (sql->samples && !(sql->wanted & ~sql->detail))
		return NULL;
	unsigned int detail = sql->detail | sql->wanted;
	forget(sql);
	struct error *error = sql->source.load(sql->source.context, detail, &sql->samples);
	if (error)
		return error;
	sql->detail = detail;
	const struct samples *samples = sql->samples;
	sql->functions = mem_alloc_array(samples->functions.len + 1, sizeof(*sql->functions));
	for (size_t i = 0; i < samples->functions.len; i++)
		sql->functions[i] = sql_text(sql, samples->functions.data[i].name);
	return NULL;
}

/* ---- tables ---- */

void sql_add_name(struct strbuf *out, const char *name)
{
	struct strbuf safe = {0};
	text_add_safe(&safe, name, strlen(name));
	strbuf_add_char(out, '"');
	for (size_t i = 0; i < safe.len; i++)
		strbuf_add_chars(out, safe.data[i], safe.data[i] == '"' ? 2 : 1);
	strbuf_add_char(out, '"');
	strbuf_deinit(&safe);
}

static void declare_columns(const struct sql_table *table, struct strbuf *out)
{
	for (size_t i = 0; table->columns[i].name; i++)
		strbuf_printf(out, "%s\"%s\" %s%s", i ? ", " : "", table->columns[i].name, table->columns[i].type,
			      table->columns[i].hidden ? " HIDDEN" : "");
}

/* Under a name of its own where a column has the name already; names that differ in case only are one to SQLite. */
static void declare_field(const struct samples_event *event, size_t number, const struct sql_table *table, struct strbuf *out)
{
	struct strbuf name = {0};
	bool taken = false;
	strbuf_add_str(&name, event->fields[number].name);
	for (size_t i = 0; table->columns[i].name; i++)
		taken |= !strcasecmp(table->columns[i].name, strbuf_str(&name));
	for (size_t i = 0; i < number; i++)
		taken |= !strcasecmp(event->fields[i].name, strbuf_str(&name));
	if (taken)
		strbuf_printf(&name, "_%zu", number);
	strbuf_add_str(out, ", ");
	sql_add_name(out, strbuf_str(&name));
	strbuf_add_str(out, event->fields[number].text ? " TEXT" : " INTEGER");
	strbuf_deinit(&name);
}

/* SQLite asks for a table's columns when it is first named, by a statement of the kind that sql_confine() forbids. */
static struct error *connect_table(struct sql *sql, const char *name)
{
	struct strbuf text = {0};
	sqlite3_stmt *statement = NULL;
	strbuf_add_str(&text, "SELECT 1 FROM ");
	sql_add_name(&text, name);
	bool failed = sqlite()->prepare_v2(sql->database, strbuf_str(&text), -1, &statement, NULL) != SQLITE_OK;
	sqlite()->finalize(statement);
	strbuf_deinit(&text);
	sql->wanted = 0;
	return failed ? sql_error(sql, name) : NULL;
}

static struct error *add_module(struct sql *sql, const struct sql_table *table, const char *name, uint32_t number)
{
	struct sql_module *module = mem_zalloc(sizeof(*module));
	*module = (struct sql_module){.sql = sql, .table = table, .event = number, .name = text_safe_copy(name)};
	strbuf_add_str(&module->declaration, "CREATE TABLE ");
	sql_add_name(&module->declaration, name);
	strbuf_add_str(&module->declaration, " (");
	declare_columns(table, &module->declaration);
	const struct samples_event *event = table->kind == SQL_TRACEPOINT ? &sql->source.description->events.data[number] : NULL;
	for (size_t i = 0; event && i < event->field_count; i++)
		declare_field(event, i, table, &module->declaration);
	strbuf_add_str(&module->declaration, ")");
	vec_push(&sql->modules, module);
	if (sqlite()->create_module(sql->database, module->name, &sql_module_methods, module) != SQLITE_OK)
		return sql_error(sql, name);
	return connect_table(sql, module->name);
}

static bool has_module(const struct sql *sql, const char *name)
{
	for (size_t i = 0; i < sql->modules.len; i++)
		if (!strcasecmp(sql->modules.data[i]->name, name))
			return true;
	return false;
}

static bool is_reserved(const char *name)
{
	return !strncasecmp(name, "sqlite_", strlen("sqlite_"));
}

bool sql_has_table(const struct samples_event *event)
{
	return event->field_count && !is_reserved(event->name);
}

const char *sql_short_name(const char *event)
{
	const char *colon = strchr(event, ':');
	return colon && !is_reserved(colon + 1) ? colon + 1 : NULL;
}

/* Tracepoints by their names, "sched:sched_switch", and by the part behind the colon where nothing else is called so. Several events of one
 * tracepoint have one table. */
static struct error *add_tracepoints(struct sql *sql)
{
	struct error *error = NULL;
	for (uint32_t i = 0; i < sql->source.description->events.len && !error; i++) {
		const struct samples_event *event = &sql->source.description->events.data[i];
		cleanup_free char *name = text_safe_copy(event->name);
		if (!sql_has_table(event) || has_module(sql, name))
			continue;
		error = add_module(sql, &sql_tracepoint_table, name, i);
		const char *short_name = sql_short_name(name);
		if (!error && short_name && !has_module(sql, short_name))
			error = add_module(sql, &sql_tracepoint_table, short_name, i);
	}
	return error;
}

static struct error *add_tables(struct sql *sql)
{
	struct error *error = NULL;
	for (const struct sql_table *table = sql_tables; table->name && !error; table++) {
		cleanup_free char *name = mem_printf("%s%s", sql->source.prefix, table->name);
		error = add_module(sql, table, name, 0);
	}
	return error ? error : add_tracepoints(sql);
}

struct error *sql_open(const struct sql_source *source, struct sql **ret)
{
	struct error *error = sqlite_load();
	if (error)
		return error;
	struct sql *sql = mem_zalloc(sizeof(*sql));
	sql->source = *source;
	if (sqlite()->open_v2("file:recording?vfs=memdb", &sql->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI,
			      NULL))
		error = sql_error(sql, "SQLite");
	if (!error)
		error = add_tables(sql);
	if (error) {
		sql_close(sql);
		return error;
	}
	*ret = sql;
	return NULL;
}

void sql_close(struct sql *sql)
{
	if (!sql)
		return;
	sqlite()->close(sql->database);
	for (size_t i = 0; i < sql->modules.len; i++) {
		free(sql->modules.data[i]->name);
		strbuf_deinit(&sql->modules.data[i]->declaration);
		free(sql->modules.data[i]);
	}
	vec_deinit(&sql->modules);
	forget(sql);
	free(sql);
}

struct sqlite3 *sql_database(const struct sql *sql)
{
	return sql->database;
}

struct error *sql_error(const struct sql *sql, const char *text)
{
	struct strbuf message = {0};
	const char *what = sqlite()->errmsg(sql->database);
	text_add_safe(&message, text, strlen(text));
	strbuf_add_str(&message, ": ");
	text_add_safe(&message, what, strlen(what));
	struct error *error = error_new("%s", strbuf_str(&message));
	strbuf_deinit(&message);
	return error;
}

/* ---- what is allowed ---- */

static int authorize(void *context, int action, const char *first, const char *second, const char *database, const char *trigger)
{
	(void)context;
	(void)first;
	(void)database;
	(void)trigger;
	if (action == SQLITE_FUNCTION)
		return second && !strcasecmp(second, "load_extension") ? SQLITE_DENY : SQLITE_OK;
	return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE ? SQLITE_OK : SQLITE_DENY;
}

void sql_confine(struct sql *sql)
{
	sqlite()->db_config(sql->database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite()->db_config(sql->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite()->set_authorizer(sql->database, authorize, NULL);
}

bool sql_add_schema(const struct sql *sql, const char *table, struct strbuf *out)
{
	bool found = false;
	for (size_t i = 0; i < sql->modules.len; i++) {
		const struct sql_module *module = sql->modules.data[i];
		if (table && strcasecmp(table, module->name) != 0)
			continue;
		strbuf_printf(out, "%s;\n", strbuf_str(&module->declaration));
		found = true;
	}
	return found;
}

void sql_add_tables(const struct sql *sql, struct strbuf *out)
{
	for (size_t i = 0; i < sql->modules.len; i++)
		strbuf_printf(out, "%s\n", sql->modules.data[i]->name);
}

bool sql_is_complete(const char *text)
{
	return sqlite()->complete(text);
}
