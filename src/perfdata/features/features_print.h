/* The head of a recording as text: what `perf report --header`, `--header-only` and `perf script --header` print. */
#pragma once

#include "base/strbuf.h"
#include "perfdata/reader.h"

#include <stdbool.h>

/* Adds the whole block of "# " lines, "# ========" at both ends. `full` (-I): topology, caches and memory too, else a line says that they
 * are there. Names are made safe for terminals. */
void features_print(const struct reader *reader, bool full, struct strbuf *out);
/* The facts alone, without the block's two ends and what says where the data lie. */
void features_print_facts(const struct reader *reader, bool full, struct strbuf *out);
