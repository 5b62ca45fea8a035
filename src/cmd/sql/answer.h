/* The rows that a statement gives, as text. */
#pragma once

#include "base/error.h"
#include "base/sink.h"
#include "view/sql/sql.h"

enum answer_form { ANSWER_TABLE, ANSWER_CSV, ANSWER_JSON };

/* Runs the statements in the text one after the other, and writes the rows of each: as a table, as lines of CSV below the columns'
 * names, or as a JSON object for each row. */
struct error *answer_write(const struct sql *sql, const char *statements, enum answer_form form, const struct sink *out);
