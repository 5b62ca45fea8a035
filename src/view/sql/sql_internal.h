/* Tables of the recording: which there are, and how their cells are found. Within view/sql. */
#pragma once

#include "base/strbuf.h"
#include "view/export/string_table.h"
#include "view/sql/sql.h"
#include "view/sql/sqlite_library.h"

struct sql_table;

/* Where a cursor is. */
struct sql_place {
	const struct sql *sql;
	const struct samples *samples;
	uint32_t event; /* of a tracepoint's table */
	size_t number;	/* of the row in its array; frames: the stack */
	uint32_t stack; /* frames: the stack that the frame is the innermost of */
	uint32_t level; /* frames: from the innermost on */
};

struct sql_column {
	const char *name, *type;
	unsigned int detail; /* what it needs of the samples, besides what its table needs */
	void (*put)(const struct sql_place *place, sqlite3_context *out);
	/* May be NULL. What rows are the same by: a number below *ret_count. With `compare` the numbers are ordered as the column is. */
	uint32_t (*thing)(const struct samples *samples, const struct samples_row *row);
	size_t (*things)(const struct samples *samples);
	int (*compare)(const struct sql *sql, uint32_t a, uint32_t b);
	bool hidden; /* not in "select *" */
};

enum sql_kind { SQL_ROWS, SQL_TRACEPOINT, SQL_STACKS, SQL_FRAMES, SQL_ELEMENTS };

struct sql_table {
	const char *name;
	enum sql_kind kind;
	unsigned int detail;
	const struct sql_column *columns;		/* ends with a name of NULL; the first one is a number that rows are found by */
	size_t (*count)(const struct samples *samples); /* SQL_ELEMENTS */
};

extern const struct sql_table sql_tables[]; /* ends with a name of NULL */

extern const struct sql_table sql_tracepoint_table;

/* A table that SQLite knows, by its name or another one. */
struct sql_module {
	struct sql *sql;
	const struct sql_table *table;
	uint32_t event; /* of a tracepoint: the first of that name */
	char *name;
	struct strbuf declaration;
};

struct sql {
	sqlite3 *database;
	struct sql_source source;
	const struct samples *samples; /* NULL = not loaded */
	unsigned int detail;	       /* of `samples` */
	unsigned int wanted;	       /* by the statements that were prepared */
	struct string_table texts;     /* of the samples, made harmless */
	const char **functions;	       /* by number: their names, of `texts` */
	VEC(struct sql_module *) modules;
};

/* A text of the samples as it is shown. */
const char *sql_text(const struct sql *sql, const char *raw);
/* Loads what is wanted, if it isn't there. */
struct error *sql_load(struct sql *sql);
/* The columns of a table that is no tracepoint's, and the first ones of those. */
size_t sql_column_count(const struct sql_table *table);
extern const sqlite3_module sql_module_methods;
