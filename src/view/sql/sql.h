/* A recording as tables of SQLite, which are asked where they are: nothing is copied into a database.
 *
 *	sql_open() ──► statements on sql_database() ──► sql_close()
 *
 * What a statement needs of the recording follows from the columns that it uses: `load` is called when the first row is asked for, and
 * again when a later statement needs more. */
#pragma once

#include "base/error.h"
#include "base/sink.h"
#include "result/samples.h"

#include <stdbool.h>

struct sqlite3; /* of sqlite3.h */

struct sql_source {
	const struct samples *description; /* events; rows aren't looked at. Must live as long */
	/* Samples with these details (enum samples_detail), the caller's; those that were given before aren't used any more. */
	struct error *(*load)(void *context, unsigned int detail, const struct samples **ret);
	void *context;
	const char *prefix; /* of the tables' names: "" */
};

struct sql;
struct error *sql_open(const struct sql_source *source, struct sql **ret);
void sql_close(struct sql *sql);
/* To prepare statements for. */
struct sqlite3 *sql_database(const struct sql *sql);
/* From now on only what reads is allowed: no table is made or changed, no file attached, no extension loaded, no setting changed. */
void sql_confine(struct sql *sql);
/* What went wrong in the last call of SQLite, about `text`. */
struct error *sql_error(const struct sql *sql, const char *text);

/* Whether an event's samples have a table: it is a tracepoint, and SQLite doesn't keep names as its own for itself. */
bool sql_has_table(const struct samples_event *event);
/* The other name of that table, unless something else is called so: what is behind the colon. NULL = SQLite keeps it for itself. */
const char *sql_short_name(const char *event);
/* Adds a name between the quotes that names have in statements. */
void sql_add_name(struct strbuf *out, const char *name);
/* Adds the definitions of the tables: all, or the one of that name; false when there is none. */
bool sql_add_schema(const struct sql *sql, const char *table, struct strbuf *out);
/* Adds the names of the tables, one a line. */
void sql_add_tables(const struct sql *sql, struct strbuf *out);
/* Whether a text ends with a whole statement. */
bool sql_is_complete(const char *text);
