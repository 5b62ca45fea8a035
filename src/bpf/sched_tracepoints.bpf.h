/* Who is measured at the scheduler's tracepoints.
 *
 * Threads have two numbers here: in events the initial pid namespace's, by which a program keeps what it knows of them, and our own, by
 * which they are chosen and told of. */
#pragma once

#include "bpf/sched_events.bpf.h"
#include "bpf/targets.bpf.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>

/* Threads that targets have made, by the events' numbers. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint8_t);
} followed SEC(".maps");

uint64_t unfollowed; /* threads that targets have made and for which there was no room */

/* Whether the thread that runs, whose number in events is `tid`, is a target. */
static __always_inline bool is_target(uint32_t tid, const struct bpf_pidns_info *ids)
{
	return bpf_map_lookup_elem(&targets, &ids->pid) || bpf_map_lookup_elem(&followed, &tid);
}

/* A thread makes another one: the new one is a target if it is one itself. A program at a tracepoint that gives 0 takes the event away
 * from all who record it, whoever they are (trace_call_bpf() of kernel/trace/bpf_trace.c): ours give 1. */
static __always_inline int follow_new_thread(const struct task_newtask_event *event, uint64_t device, uint64_t inode)
{
	uint32_t parent = (uint32_t)bpf_get_current_pid_tgid(), child = event->pid;
	struct bpf_pidns_info ids;
	uint8_t one = 1;

	if (bpf_get_ns_current_pid_tgid(device, inode, &ids, sizeof(ids)) || !is_target(parent, &ids))
		return 1;
	if (bpf_map_update_elem(&followed, &child, &one, BPF_ANY))
		__sync_fetch_and_add(&unfollowed, 1);
	return 1;
}
