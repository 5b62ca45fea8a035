/* Call graphs under the rows of a text table. */
#pragma once

#include "base/strbuf.h"
#include "result/calltree.h"
#include "result/table.h"

/* The escape sequence that a percentage begins with; NULL where it is too small for a colour. */
const char *stdio_color(double percent);
#define STDIO_COLOR_END "\033[m"
/* The graph of one row, and an empty line when anything was drawn. */
void stdio_add_graph(const struct table_graph *graph, const struct row *row, bool color, struct strbuf *out);
