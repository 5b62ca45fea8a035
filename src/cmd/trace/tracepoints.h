/* perf trace by the kernel's events: live, and `perf trace record`. */
#pragma once

#include "cmd/trace/trace.h"

/* Shows what `trace` asks for as it happens. *ret_status: the workload's. */
struct error *trace_by_tracepoints(struct trace *trace, char **command, int *ret_status);
/* perf trace record: `words` are the options and the command of `perf record`. */
struct error *trace_record(struct trace *trace, char **words, int *ret_status);
