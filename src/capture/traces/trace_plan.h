/* Hardware traces (AUX areas) in a recording: what the options and events of `perf record` ask for, and what that needs of the
 * other events.
 *
 * One event traces, or one of each PMU of the same kind (arm_spe_0, arm_spe_1), and leads its group. There are three ways:
 *
 *	all of it	what comes is written; where it comes too fast something is missing, and the AUX record says so
 *	snapshots	(-S) the area is overwritten; what it holds is written when somebody asks, or at the end
 *	in samples	(--aux-sample) the area is overwritten; the kernel puts its newest bytes into each sample of the
 *			group's other events */
#pragma once

#include "base/error.h"
#include "capture/sampling.h"
#include "event/catalog.h"
#include "event/trace_pmus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of trace in a sample at most: a record has 16 bits for its size. */
enum { TRACE_SAMPLE_DEFAULT = 4096, TRACE_SAMPLE_MAX = 0xfff8 };

struct trace_plan {
	/* By options: */
	bool snapshots;		 /* -S */
	bool snapshot_at_end;	 /* -Se */
	uint64_t snapshot_bytes; /* of the newest trace; 0 = all of the area */
	uint32_t sample_bytes;	 /* --aux-sample; 0 = only events that say so themselves */
	size_t pages;		 /* of each area, a power of two; 0 = 4 MB, or 128 KB for who isn't root */

	/* By trace_plan_make(): */
	enum trace_kind kind; /* TRACE_NONE: there is no trace, and nothing below */
	bool in_samples;
	bool by_cpu;		   /* areas are of CPUs, not of threads */
	unsigned int switches;	   /* who runs is told by: 0 = nothing, 2 = SWITCH records of the threads that are measured, 3 = of CPUs */
	const struct event *event; /* the first one that traces */
	struct pmu_list *pmus;	   /* the catalog's */
	struct pmu *pmu;	   /* of `event`, loaded */
};

/* Whether the event traces. */
bool trace_plan_traces(const struct event *event);
/* Looks at the events, completes them, and says in `sampling` what they need of the others. Before sampling_configure(); the catalog lives
 * as long as the plan. An error says what can't be had together. */
struct error *trace_plan_make(struct trace_plan *plan, struct event_list *events, struct event_catalog *catalog, struct sampling *sampling);
/* The areas are overwritten. */
static inline bool trace_plan_overwrites(const struct trace_plan *plan)
{
	return plan->snapshots || plan->in_samples;
}
