// SPDX-License-Identifier: Dual MIT/GPL
/* How long a function of the kernel takes: the time is noted in the task's storage when it begins (fentry), and added when it ends (fexit).
 * Calls that begin while others of the same task go on (recursion, interrupts) have notes of their own. */
#include "bpf/chosen_cpus.bpf.h"
#include "bpf/latency/function_latency_shared.h"
#include "bpf/pids.bpf.h"
#include "bpf/targets.bpf.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { NESTED = 8 };

const volatile struct function_latency_config config;

uint32_t running;
uint64_t missed; /* calls within more calls than there is room for, or without memory */

struct calls {
	uint64_t begun[NESTED];
	uint32_t depth;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct calls);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct function_latency_sums);
} sums SEC(".maps");

static __always_inline bool is_wanted(struct task_struct *task)
{
	uint32_t tid;

	if (!running || (config.on_cpus && !on_chosen_cpu()))
		return false;
	if (!config.by_task)
		return true;
	tid = visible_pid(task);
	return bpf_map_lookup_elem(&targets, &tid) != NULL;
}

/* Where the programs are attached is said when they are loaded. */
SEC("fentry")
int begin(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct calls *calls;

	if (!is_wanted(task))
		return 0;
	calls = bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!calls || calls->depth >= NESTED) {
		__sync_fetch_and_add(&missed, 1);
		return 0;
	}
	calls->begun[calls->depth & (NESTED - 1)] = bpf_ktime_get_ns();
	calls->depth++;
	return 0;
}

static __always_inline uint32_t bucket_of(uint64_t value)
{
	uint32_t bucket = 0;

	for (uint32_t i = 0; i < FUNCTION_LATENCY_BUCKETS - 1; i++)
		bucket += value >> i != 0;
	return bucket;
}

SEC("fexit")
int end(void *context)
{
	uint64_t now = bpf_ktime_get_ns(), ns;
	uint32_t zero = 0, bucket;
	struct calls *calls = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), NULL, 0);
	struct function_latency_sums *sum = bpf_map_lookup_elem(&sums, &zero);

	if (!calls || !calls->depth || !sum)
		return 0; /* it began before we were there, or isn't wanted */
	calls->depth--;
	ns = now - calls->begun[calls->depth & (NESTED - 1)];
	bucket = bucket_of(config.in_ns ? ns : ns / 1000);
	if (bucket < FUNCTION_LATENCY_BUCKETS)
		sum->counts[bucket]++;
	if (!sum->calls || ns < sum->shortest_ns)
		sum->shortest_ns = ns;
	if (ns > sum->longest_ns)
		sum->longest_ns = ns;
	sum->total_ns += ns;
	sum->calls++;
	return 0;
}
