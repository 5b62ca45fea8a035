/* Attributes as text, the way `perf evlist -v`, `perf report --header` and `perf record -vv` show them. */
#pragma once

#include "base/strbuf.h"
#include "event/attr.h"

/* Adds every field that isn't 0: the first with `first` before it, the others with `other`, name and value joined by `assign`:
 * attr_print(attr, ": ", ", ", ": ", out) gives ": size: 128, config: 0x1, …". */
void attr_print(const struct event_attr *attr, const char *first, const char *other, const char *assign, struct strbuf *out);
