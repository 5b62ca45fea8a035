// SPDX-License-Identifier: Dual MIT/GPL
/* Calls that took long: the time is noted where one begins, and looked at where it ends. Only what took longer than the threshold is told
 * of, so that waiting for it costs two programs a call and nothing else. Of calls within a call of the same thread the newest is looked at.
 *
 * The programs return 1: with 0 nobody else would have samples of these events. */
#include "bpf/latency/slow_calls_shared.h"
#include "bpf/pids.bpf.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Threads that are in such a call at a time; a beginning whose end never comes goes when there are more. */
enum { THREADS = 8192 };

const volatile struct slow_calls_config config;

uint64_t missed; /* slow calls for which the ring had no room */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, THREADS);
	__type(key, uint64_t);
	__type(value, uint64_t);
} begun SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} ring SEC(".maps");

static __always_inline int note(void)
{
	uint64_t thread = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();

	bpf_map_update_elem(&begun, &thread, &now, BPF_ANY);
	return 1;
}

static __always_inline int judge(void)
{
	uint64_t thread = bpf_get_current_pid_tgid(), *since = bpf_map_lookup_elem(&begun, &thread);
	struct slow_call call = {.end = bpf_ktime_get_ns()};

	if (!since)
		return 1; /* it began before we were there */
	call.begin = *since;
	bpf_map_delete_elem(&begun, &thread);
	if (call.end - call.begin < config.threshold_ns)
		return 1;
	struct task_struct *task = bpf_get_current_task_btf();
	call.tid = visible_pid_of(task);
	call.pid = visible_pid_of(BPF_CORE_READ(task, group_leader));
	if (bpf_ringbuf_output(&ring, &call, sizeof(call), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&missed, 1);
	return 1;
}

/* The kernel has two kinds of programs for what looks alike in tracefs. */
SEC("tracepoint")
int begin_at_tracepoint(void *context)
{
	return note();
}

SEC("tracepoint")
int end_at_tracepoint(void *context)
{
	return judge();
}

SEC("kprobe")
int begin_at_probe(void *context)
{
	return note();
}

SEC("kprobe")
int end_at_probe(void *context)
{
	return judge();
}
