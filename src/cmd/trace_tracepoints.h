/* perf trace by recording tracepoints: live through a stream between two processes, and `perf trace record`. */
#pragma once

#include "cmd/trace.h"

/* Records what `trace` asks for while another process shows it. *ret_status: the workload's. */
struct error *trace_by_tracepoints(struct trace *trace, char **command, int *ret_status);
/* perf trace record: `words` are the options and the command of `perf record`. */
struct error *trace_record(struct trace *trace, char **words, int *ret_status);
