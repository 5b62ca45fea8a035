// SPDX-License-Identifier: Dual MIT/GPL
/* Calls that took long: the time is noted where one begins, and looked at where it ends. Only what took longer than the threshold is told
 * of, so that waiting for it costs two programs a call and nothing else. Of calls within a call of the same thread the newest is looked at.
 * The time is kept with the thread (task storage): however many there are, the one that waits longest isn't forgotten.
 *
 * The programs return 1: with 0 nobody else would have samples of these events. */
#include "bpf/latency/slow_calls_shared.h"
#include "bpf/pids.bpf.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct slow_calls_config config;

uint64_t missed; /* slow calls for which the ring had no room, calls that could not be noted */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, uint64_t); /* 0 = it is in none */
} begun SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} ring SEC(".maps");

static __always_inline int note(void)
{
	uint64_t *since = bpf_task_storage_get(&begun, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (since)
		*since = bpf_ktime_get_ns();
	else
		__sync_fetch_and_add(&missed, 1);
	return 1;
}

static __always_inline int judge(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t *since = bpf_task_storage_get(&begun, task, NULL, 0);
	struct slow_call call = {.end = bpf_ktime_get_ns()};

	if (!since || !*since)
		return 1; /* it began before we were there */
	call.begin = *since;
	*since = 0;
	if (call.end - call.begin < config.threshold_ns)
		return 1;
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
