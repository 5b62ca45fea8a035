/* A distribution as text: a line with a bar for each bucket, as the kernel's `perf ftrace latency` draws them, and one of sums. */
#pragma once

#include "base/strbuf.h"
#include "result/distribution.h"

/* Its unit is a nanosecond or a microsecond. `what` was measured: "calls". No sums where nothing was. */
void distribution_add_text(struct strbuf *out, const struct distribution *distribution, const char *what);
