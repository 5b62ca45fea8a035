// SPDX-License-Identifier: Dual MIT/GPL
/* How long threads sleep, by the stack with which they left the CPU. The stack is taken when they leave; when they come back, a long wait
 * goes to the ring, and a short one is added to what the thread has waited there before. Two maps of sums take turns: the reader empties
 * the one that is at rest. */
#include "bpf/chosen_cpus.bpf.h"
#include "bpf/kernel_walks.bpf.h"
#include "bpf/off_cpu_shared.h"
#include "bpf/sched_tracepoints.bpf.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct off_cpu_config config;

_Static_assert((int)WALK_FRAMES == (int)OFF_CPU_KERNEL_FRAMES, "a walk fills a stack");

uint32_t period; /* of measuring: odd ones */
uint32_t turn;	 /* which map of sums is filled: the lowest bit */
uint64_t missed; /* waits for which there was no room */
uint64_t unseen; /* waits of whose end the kernel did not tell */

struct sums_key {
	uint64_t hash; /* of the stack */
	uint32_t tid;
	uint32_t state;
};

/* Each thread's last wait. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct bpf_off_cpu_wait);
} waits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct sums_key);
	__type(value, struct bpf_off_cpu_wait);
} even_sums SEC(".maps"), odd_sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

/* A wait that is empty: too large for the stack of a program. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct bpf_off_cpu_wait);
} nothing SEC(".maps");

static __always_inline struct bpf_off_cpu_wait *wait_of(uint32_t tid)
{
	struct bpf_off_cpu_wait *wait = bpf_map_lookup_elem(&waits, &tid), *empty;
	uint32_t zero = 0;

	if (wait)
		return wait;
	empty = bpf_map_lookup_elem(&nothing, &zero);
	if (!empty || bpf_map_update_elem(&waits, &tid, empty, BPF_NOEXIST)) {
		__sync_fetch_and_add(&missed, 1);
		return NULL;
	}
	return bpf_map_lookup_elem(&waits, &tid);
}

/* How many addresses the program's part of a stack has. */
static __always_inline uint32_t take_user_stack(void *event, uint64_t *words, uint32_t size)
{
	long got = bpf_get_stack(event, words, size, BPF_F_USER_STACK);

	return got > 0 ? (uint32_t)got / sizeof(*words) : 0;
}

static __always_inline void leave(struct sched_switch_event *event)
{
	struct bpf_pidns_info ids;
	uint32_t tid = event->prev_pid;
	struct bpf_off_cpu_wait *wait = bpf_map_lookup_elem(&waits, &tid);

	/* It has come back without a word: kernels lose events of the idle task. Since when it ran nobody knows. */
	if (wait && wait->since && wait->period == period) {
		__sync_fetch_and_add(&unseen, 1);
		wait->since = 0;
	}
	if (!(event->prev_state & SCHED_ASLEEP) || event->prev_state & SCHED_PREEMPTED || (config.on_cpus && !on_chosen_cpu()))
		return;
	if (bpf_get_ns_current_pid_tgid(config.namespace_device, config.namespace, &ids, sizeof(ids)))
		return;
	if (config.by_target && !is_target(event->prev_pid, &ids))
		return;
	if (!wait)
		wait = wait_of(tid);
	if (!wait)
		return;
	wait->pid = ids.tgid;
	wait->tid = ids.pid;
	wait->period = period;
	wait->state = (uint32_t)event->prev_state;
	wait->kernel = 0;
	if (config.kernel_stacks)
		take_kernel_stack(event, wait->kernel_stack, &wait->kernel);
	wait->user = config.user_stacks ? take_user_stack(event, wait->user_stack, sizeof(wait->user_stack)) : 0;
	wait->since = bpf_ktime_get_ns();
}

static __always_inline uint64_t hash_stack(const struct bpf_off_cpu_wait *wait)
{
	uint64_t hash = walk_hash(0, wait->kernel_stack, &wait->kernel, OFF_CPU_KERNEL_FRAMES);

	return walk_hash(hash, wait->user_stack, &wait->user, OFF_CPU_USER_FRAMES);
}

static __always_inline bool add_to(void *sums, const struct sums_key *key, const struct bpf_off_cpu_wait *wait)
{
	struct bpf_off_cpu_wait *sum = bpf_map_lookup_elem(sums, key);

	if (!sum)
		return !bpf_map_update_elem(sums, key, wait, BPF_NOEXIST);
	/* A thread is on one CPU at a time. */
	sum->last = wait->last;
	sum->cpu = wait->cpu;
	sum->total += wait->total;
	sum->count++;
	return true;
}

/* The reader is woken up when much waits, not each time. */
static __always_inline void tell(const struct bpf_off_cpu_wait *wait)
{
	uint64_t flags =
		bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= config.wake_bytes ? BPF_RB_FORCE_WAKEUP : (uint64_t)BPF_RB_NO_WAKEUP;

	if (bpf_ringbuf_output(&ring, (void *)wait, sizeof(*wait), flags))
		__sync_fetch_and_add(&missed, 1);
}

static __always_inline void come_back(uint32_t tid)
{
	struct bpf_off_cpu_wait *wait = bpf_map_lookup_elem(&waits, &tid);
	struct sums_key key = {.tid = tid};

	if (!wait || !wait->since || wait->period != period)
		return;
	wait->last = bpf_ktime_get_ns();
	wait->total = wait->last - wait->since;
	wait->since = 0;
	wait->count = 1;
	wait->cpu = bpf_get_smp_processor_id();
	key.state = wait->state;
	if (wait->total < config.threshold_ns) {
		key.hash = hash_stack(wait);
		if (turn & 1 ? add_to(&odd_sums, &key, wait) : add_to(&even_sums, &key, wait))
			return;
	}
	tell(wait);
}

SEC("tp/sched/sched_switch")
int switch_threads(struct sched_switch_event *event)
{
	if (!(period & 1))
		return 1;
	if (event->next_pid)
		come_back(event->next_pid);
	if (event->prev_pid)
		leave(event);
	return 1;
}

SEC("tp/task/task_newtask")
int begin_thread(struct task_newtask_event *event)
{
	if (config.inherit_late && !period)
		return 1;
	return follow_new_thread(event, config.namespace_device, config.namespace);
}

SEC("tp/sched/sched_process_exit")
int end_thread(void *event)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();

	bpf_map_delete_elem(&followed, &tid);
	bpf_map_delete_elem(&waits, &tid);
	return 1;
}
