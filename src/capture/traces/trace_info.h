/* What a recording tells of its hardware trace: records AUXTRACE_INFO and TIME_CONV. */
#pragma once

#include "capture/synth/synth.h"
#include "capture/traces/trace_plan.h"

#include <linux/perf_event.h>

/* Adds both. `page` is that of a ring of the event that traces: how the clock of the trace becomes the kernel's time. */
void trace_info_add(const struct trace_plan *plan, const struct perf_event_mmap_page *page, struct synth *synth);
