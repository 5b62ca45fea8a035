/* Tracing by the kernel's tracepoints: a recording, or the stream of a recorder that runs meanwhile, as calls and events. No strings: nobody copied them. */
#pragma once

#include "cmd/trace.h"

/* Shows what is in the recording `path` (- for standard input) on the printer and in the sums of `trace`. `live`: it is a stream that ends with the trace. */
struct error *trace_replay(struct trace *trace, const char *path, bool live);
