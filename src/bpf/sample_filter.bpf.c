// SPDX-License-Identifier: Dual MIT/GPL
/* Which samples of an event are kept: the kernel asks this program for each, when it is ready to be written. */
#include "bpf/kernel_types.bpf.h"
#include "bpf/sample_filter_shared.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct sample_filter_config config;

uint64_t dropped;

/* For the pinned program: filters of users who may load none, by the id of the event. Whoever is killed leaves his there: ids are never
 * used again, and what no sample has asked for in the longest time makes room for new ones. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SAMPLE_FILTER_PINNED_MAX);
	__type(key, uint64_t);
	__type(value, struct sample_filter_entry);
} filters SEC(".maps");

/* Since Linux 6.2. */
extern void *bpf_cast_to_kern_ctx(void *context) __ksym;

static __always_inline uint64_t snoop(uint64_t source)
{
	return (source >> PERF_MEM_SNOOP_SHIFT & 0x1f) | (source >> PERF_MEM_SNOOPX_SHIFT & 3) << 5;
}

static __always_inline uint64_t read_field(const struct perf_sample_data *data, uint32_t field)
{
	switch (field) {
	case SAMPLE_FILTER_IP:
		return data->ip;
	case SAMPLE_FILTER_ID:
		return data->id;
	case SAMPLE_FILTER_TID:
		return data->tid_entry.tid;
	case SAMPLE_FILTER_PID:
		return data->tid_entry.pid;
	case SAMPLE_FILTER_CPU:
		return bpf_get_smp_processor_id();
	case SAMPLE_FILTER_TIME:
		return data->time;
	case SAMPLE_FILTER_ADDR:
		return data->addr;
	case SAMPLE_FILTER_PERIOD:
		return data->period;
	case SAMPLE_FILTER_TRANSACTION:
		return data->txn;
	case SAMPLE_FILTER_WEIGHT:
		return data->weight.full;
	case SAMPLE_FILTER_PHYS_ADDR:
		return data->phys_addr;
	case SAMPLE_FILTER_CODE_PAGE_SIZE:
		return data->code_page_size;
	case SAMPLE_FILTER_DATA_PAGE_SIZE:
		return data->data_page_size;
	case SAMPLE_FILTER_DATA_SOURCE:
		return data->data_src.val;
	case SAMPLE_FILTER_SNOOP:
		return snoop(data->data_src.val);
	case SAMPLE_FILTER_UID:
		return (uint32_t)bpf_get_current_uid_gid();
	case SAMPLE_FILTER_GID:
		return bpf_get_current_uid_gid() >> 32;
	default:
		return 0;
	}
}

static __always_inline bool compare(uint64_t left, uint32_t operator_, uint64_t right)
{
	switch (operator_) {
	case SAMPLE_FILTER_EQUAL:
		return left == right;
	case SAMPLE_FILTER_UNEQUAL:
		return left != right;
	case SAMPLE_FILTER_GREATER:
		return left > right;
	case SAMPLE_FILTER_GREATER_EQUAL:
		return left >= right;
	case SAMPLE_FILTER_LESS:
		return left < right;
	case SAMPLE_FILTER_LESS_EQUAL:
		return left <= right;
	default:
		return left & right;
	}
}

static __always_inline bool passes(const struct perf_sample_data *data, const volatile struct sample_filter_config *wanted)
{
	bool any = false;

	for (uint32_t i = 0; i < SAMPLE_FILTER_TERMS_MAX && i < wanted->count; i++) {
		const volatile struct sample_filter_term *term = &wanted->terms[i];
		any |= compare(read_field(data, term->field) >> (term->shift & 63) & term->mask, term->operator_, term->value);
		if (term->or_next)
			continue;
		if (!any)
			return false;
		any = false;
	}
	return true;
}

SEC("perf_event")
int keep_sample(struct bpf_perf_event_data *context)
{
	const struct bpf_perf_event_data_kern *kernel = bpf_cast_to_kern_ctx(context);

	if (passes(kernel->data, &config))
		return 1;
	__sync_fetch_and_add(&dropped, 1);
	return 0;
}

/* Events of children that were forked have ids of their own; filters know those of the first one. */
SEC("perf_event")
int keep_by_event(struct bpf_perf_event_data *context)
{
	const struct bpf_perf_event_data_kern *kernel = bpf_cast_to_kern_ctx(context);
	const struct perf_event *parent = kernel->event->parent;
	uint64_t id = parent ? parent->id : kernel->event->id;
	struct sample_filter_entry *entry = bpf_map_lookup_elem(&filters, &id);

	if (!entry || passes(kernel->data, &entry->config))
		return 1;
	__sync_fetch_and_add(&entry->dropped, 1);
	return 0;
}
