/* The names of events that a recording describes by numbers alone, as the kernel's perf calls them. Within perfdata. */
#pragma once

#include "base/strbuf.h"
#include "event/attr.h"

/* "cycles:u", "raw 0x1b1", "L1-dcache-load-misses", "mem:0x1234:rw", … */
void event_name_from_attr(const struct event_attr *attr, struct strbuf *out);
