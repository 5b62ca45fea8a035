/* Strings for calls that the kernel's tracepoints tell of: the BPF program runs beside the recorder, and what it has copied is joined with the samples by
 * thread and time. Both clocks are CLOCK_MONOTONIC. */
#pragma once

#include "cmd/trace.h"

struct trace_strings;

/* Starts the program for what `trace` follows; `recorder` is the process that will start the command. */
struct error *trace_strings_open(struct trace *trace, pid_t recorder, struct trace_strings **ret);
void trace_strings_close(struct trace_strings *strings);

/* Fills memory and names of files of a call that was seen from `call->time` (0: not seen, it is filled, too) to `end`; false when the program has nothing about it (yet). What is filled is
 * valid until the next call of this. */
bool trace_strings_fill(struct trace_strings *strings, struct call *call, uint64_t end);
/* The same of a call that goes on: what it began with. */
bool trace_strings_fill_entry(struct trace_strings *strings, struct call *call);
