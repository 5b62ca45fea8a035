/* Call graphs under the rows of a text table. */
#pragma once

#include "base/strbuf.h"
#include "result/calltree.h"
#include "result/table.h"

/* The graph of one row, and an empty line when anything was drawn. */
void stdio_add_graph(const struct table_graph *graph, const struct row *row, struct strbuf *out);
