/* Tracing by the kernel's tracepoints: a recording, or a live source, as calls and events. Their strings come from `trace->strings`, if
 * that is there: no sample has them. */
#pragma once

#include "cmd/trace/trace.h"

struct reader;

/* Shows what is in the recording `path` (- for standard input), or what comes from `reader` (capture/live.h), which it takes over, on the
 * printer and in the sums of `trace`. Returns when it ends, or --max-events were shown. */
struct error *trace_replay(struct trace *trace, const char *path, struct reader *reader);
