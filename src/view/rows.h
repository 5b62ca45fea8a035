/* What table formats for programs have in common: rows of raw values, written as they are made. Within view. */
#pragma once

#include "base/sink.h"
#include "result/table.h"

/* Calls `add` for each row of the table, which adds its text to `out`, and writes that from time to time and in the end. `out`
 * is the caller's and may hold text already, which comes first. `context` is for `add`. */
void rows_write(const struct table *table, struct strbuf *out, const struct sink *output,
		void (*add)(const struct table *table, const struct row *row, const void *context, struct strbuf *out),
		const void *context);
/* A text without the indentation that it has for people; never NULL. Unsafe bytes are still in it. */
const char *rows_text(union cell cell);
/* The raw value of a cell that is no text; reals with two decimals more than people get. What is no number is 0. */
void rows_add_number(const struct column *column, union cell cell, struct strbuf *out);
