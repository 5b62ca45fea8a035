/* Tracing by the kernel's tracepoints: a recording, or the stream of a recorder that runs meanwhile, as calls and events. Their strings come from `trace->strings`, if
 * that is there: no sample has them. */
#pragma once

#include "cmd/trace.h"

/* Shows what is in the recording `path` (- for standard input) on the printer and in the sums of `trace`. `live`: it is a stream that ends with the trace. */
struct error *trace_replay(struct trace *trace, const char *path, bool live);
