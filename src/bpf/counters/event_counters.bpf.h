/* The counters of events, by event × possible CPU, and how they stood when what is counted began. */
#pragma once

#include "bpf/counters/event_counters_shared.h"
#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} counters SEC(".maps");

/* By event. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVENT_COUNTERS_MOST);
	__type(key, uint32_t);
	__type(value, struct bpf_perf_event_value);
} notes SEC(".maps");

/* What has been counted since the note. */
static __always_inline void add_counted(struct bpf_perf_event_value *sum, const struct bpf_perf_event_value *note,
					const struct bpf_perf_event_value *now)
{
	sum->counter += now->counter - note->counter;
	sum->enabled += now->enabled - note->enabled;
	sum->running += now->running - note->running;
}
