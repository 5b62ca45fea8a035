/* The AUX areas of a recording, one beside each ring of counters that trace: from there to the recording, as AUXTRACE records.
 *
 * Of a full trace what has come is taken with each pass over the rings, behind the ring's records, which tell of it (AUX). Areas that are
 * overwritten are read by trace_areas_take_snapshot() only. */
#pragma once

#include "base/error.h"
#include "capture/traces/trace_plan.h"
#include "kernel/counter.h"
#include "kernel/ring_set.h"
#include "perfdata/writer.h"

struct trace_areas;

/* Maps an area beside each ring whose first counters trace. All arguments live as long as the areas; rings are closed after them. */
struct error *trace_areas_open(const struct trace_plan *plan, const struct ring_set *rings, const struct counter_target *target,
			       struct trace_areas **ret);
/* What has been traced beside the ring goes to the writer; adds to *bytes how much it was. Nothing of areas that are overwritten. */
struct error *trace_areas_take(struct trace_areas *areas, size_t ring, struct writer *writer, uint64_t *bytes);
/* Counters have been switched on or off. Where an area was full, the kernel has stopped them: only what is on goes on again. */
void trace_areas_switched(struct trace_areas *areas, bool on);
/* Snapshots (-S): stops tracing, as long as the areas are read, and goes on. */
void trace_areas_stop(struct trace_areas *areas);
void trace_areas_go_on(struct trace_areas *areas);
struct error *trace_areas_take_snapshot(struct trace_areas *areas, struct writer *writer, uint64_t *bytes);
/* The page of a ring that has an area; NULL: there is none. */
const struct perf_event_mmap_page *trace_areas_page(const struct trace_areas *areas);
/* NULL is fine. Before the rings are closed. */
void trace_areas_close(struct trace_areas *areas);
