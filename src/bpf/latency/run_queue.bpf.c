// SPDX-License-Identifier: Dual MIT/GPL
/* How long threads wait for a CPU: from the wake-up, or from losing the CPU while they could go on, until they run. Events tell of the
 * thread that comes only its number. Where the sums depend on whose thread it is, a delay is added when the thread leaves the CPU again:
 * then it is the one that runs. */
#include "bpf/latency/run_queue_shared.h"
#include "bpf/sched_tracepoints.bpf.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { UNIT_NS = 1000, MAX_TRIES = 8, TASK_DEAD = 0x80, PLACES = 1 << 16 };

const volatile struct run_queue_config config;

uint32_t running;
uint64_t missed; /* delays for which there was no room */
uint64_t unseen; /* delays of whose beginning or end the kernel did not tell */

/* Threads have a place by the lowest bits of their number, which is found in no time; who finds it taken by another one is in the map. */
struct place {
	uint32_t tid, unused; /* 0 = free, and all else is 0 */
	struct run_queue_thread thread;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PLACES);
	__type(key, uint32_t);
	__type(value, struct place);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct run_queue_thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint64_t);
	__type(value, struct run_queue_sums);
} sums SEC(".maps");

/* Those of CPUs, where no more is asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* CPUs */
	__type(key, uint32_t);
	__type(value, struct run_queue_sums);
} cpu_sums SEC(".maps");

/* Sums that are empty: too large for the stack of a program. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct run_queue_sums);
} nothing SEC(".maps");

static __always_inline struct place *place_of(uint32_t tid)
{
	uint32_t index = tid & (PLACES - 1);

	return bpf_map_lookup_elem(&places, &index);
}

static __always_inline struct run_queue_thread *find_thread(uint32_t tid)
{
	struct place *place = place_of(tid);

	return place && place->tid == tid ? &place->thread : bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline void forget_thread(uint32_t tid)
{
	struct place *place = place_of(tid);

	if (!place || place->tid != tid) {
		bpf_map_delete_elem(&threads, &tid);
		return;
	}
	place->thread = (struct run_queue_thread){};
	__sync_val_compare_and_swap(&place->tid, tid, 0);
}

static __always_inline struct run_queue_thread *thread_of(uint32_t tid)
{
	struct run_queue_thread *thread = find_thread(tid), fresh = {};
	struct place *place = place_of(tid);

	if (thread)
		return thread;
	if (place && !__sync_val_compare_and_swap(&place->tid, 0, tid))
		return &place->thread;
	if (bpf_map_update_elem(&threads, &tid, &fresh, BPF_NOEXIST))
		__sync_fetch_and_add(&missed, 1);
	return bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline struct run_queue_sums *sums_of(uint64_t key)
{
	struct run_queue_sums *found = bpf_map_lookup_elem(&sums, &key), *empty;
	uint32_t zero = 0;

	if (found)
		return found;
	empty = bpf_map_lookup_elem(&nothing, &zero);
	if (empty)
		bpf_map_update_elem(&sums, &key, empty, BPF_NOEXIST);
	found = bpf_map_lookup_elem(&sums, &key);
	if (!found)
		__sync_fetch_and_add(&missed, 1);
	return found;
}

/* The place of the highest bit that is set, from 1 on; 0 = none is. */
static __always_inline uint32_t bits_of(uint64_t value)
{
	uint32_t bits = 0;

	for (uint32_t step = 32; step; step /= 2)
		if (value >> step) {
			value >>= step;
			bits += step;
		}
	return value ? bits + 1 : 0;
}

static __always_inline uint32_t bucket_of(uint64_t delay)
{
	uint32_t bucket = bits_of(delay / UNIT_NS);

	return bucket < RUN_QUEUE_BUCKETS ? bucket : RUN_QUEUE_BUCKETS - 1;
}

static __always_inline void add_delay(struct run_queue_sums *into, uint64_t delay)
{
	uint32_t bucket = bucket_of(delay);
	uint64_t before;

	__sync_fetch_and_add(&into->counts[bucket], 1);
	__sync_fetch_and_add(&into->count, 1);
	__sync_fetch_and_add(&into->total, delay);
	for (int i = 0; i < MAX_TRIES && (before = into->max) < delay; i++)
		__sync_val_compare_and_swap(&into->max, before, delay);
	for (int i = 0; i < MAX_TRIES && (!(before = into->min) || before > delay); i++)
		__sync_val_compare_and_swap(&into->min, before, delay ? delay : 1);
}

/* Whether a delay can be added when it ends: to what is this CPU's alone. */
static __always_inline bool is_anonymous(void)
{
	return !config.by_target && (config.by == RUN_QUEUE_BY_NOTHING || config.by == RUN_QUEUE_BY_CPU);
}

static __always_inline void add_anonymous(uint64_t delay)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct run_queue_sums *into = bpf_map_lookup_elem(&cpu_sums, &cpu);

	if (!into)
		return;
	into->counts[bucket_of(delay)]++;
	into->count++;
	into->total += delay;
	if (into->max < delay)
		into->max = delay;
	if (!into->min || into->min > delay)
		into->min = delay ? delay : 1;
}

/* The thread that leaves. */
struct leaving {
	uint64_t time; /* ns */
	uint32_t tid;
	bool goes_on, has_ended;
};

/* Whether the thread that leaves is a target: who is one stays one. */
static __always_inline bool is_own(uint32_t tid, struct run_queue_thread *thread)
{
	struct bpf_pidns_info ids = {};

	if (thread->whose == RUN_QUEUE_UNKNOWN)
		thread->whose =
			!bpf_get_ns_current_pid_tgid(config.namespace_device, config.namespace, &ids, sizeof(ids)) && is_target(tid, &ids)
				? RUN_QUEUE_OWN
				: RUN_QUEUE_OTHERS;
	return thread->whose == RUN_QUEUE_OWN;
}

/* What the thread that leaves had waited before it ran. */
static __always_inline void add_own_delay(uint32_t tid, struct run_queue_thread *thread)
{
	struct bpf_pidns_info ids = {};
	struct run_queue_sums *into;
	uint64_t key = 0;

	if (config.by_target && !is_own(tid, thread))
		return;
	if (config.by == RUN_QUEUE_BY_PROCESS && bpf_get_ns_current_pid_tgid(config.namespace_device, config.namespace, &ids, sizeof(ids)))
		return;
	if (config.by == RUN_QUEUE_BY_CPU)
		key = bpf_get_smp_processor_id();
	else if (config.by == RUN_QUEUE_BY_PROCESS)
		key = ids.tgid;
	else if (config.by == RUN_QUEUE_BY_CGROUP)
		key = bpf_get_current_cgroup_id();
	into = sums_of(key);
	if (!into)
		return;
	if (config.by == RUN_QUEUE_BY_PROCESS && (ids.pid == ids.tgid || !into->count)) /* a command has its parent's name at first */
		bpf_get_current_comm(into->name, sizeof(into->name));
	add_delay(into, thread->delay);
}

static __always_inline void leave(const struct leaving *leaving)
{
	uint32_t tid = leaving->tid;
	struct run_queue_thread *thread = find_thread(tid);
	bool goes_on = leaving->goes_on;

	if (!thread && goes_on)
		thread = thread_of(tid);
	if (!thread)
		return;
	/* It has arrived without a word: kernels lose events of the idle task. Since when it ran nobody knows. */
	if ((thread->queued || thread->unqueued) && (!config.by_target || is_own(tid, thread)))
		__sync_fetch_and_add(&unseen, 1);
	thread->unqueued = false;
	thread->queued = 0;
	thread->running = false;
	if (goes_on)
		thread->queued = leaving->time;
	if (thread->delayed)
		add_own_delay(tid, thread);
	thread->delayed = false;
	if (leaving->has_ended)
		forget_thread(tid);
}

static __always_inline void arrive(uint32_t tid, uint64_t time)
{
	struct run_queue_thread *thread = find_thread(tid);

	if (!thread)
		return;
	thread->running = true;
	thread->unqueued = !thread->queued; /* it was not reported that it left the CPU, or was woken */
	if (!thread->queued)
		return;
	thread->delay = time - thread->queued;
	thread->queued = 0;
	if (is_anonymous())
		add_anonymous(thread->delay);
	else
		thread->delayed = true;
}

static __always_inline int take_switch(const struct leaving *leaving, uint32_t next)
{
	if (leaving->tid)
		leave(leaving);
	if (next)
		arrive(next, leaving->time);
	return 1;
}

SEC("tp/sched/sched_switch")
int switch_threads(struct sched_switch_event *event)
{
	const struct leaving leaving = {.time = bpf_ktime_get_ns(),
					.tid = event->prev_pid,
					.goes_on = !event->prev_state || event->prev_state & SCHED_PREEMPTED,
					.has_ended = event->prev_state & SCHED_ENDED};

	return running ? take_switch(&leaving, event->next_pid) : 1;
}

/* Of a thread that waits already, or has not left the CPU, a wake-up tells nothing. */
static __always_inline int wake(uint32_t tid)
{
	struct run_queue_thread *thread = running ? thread_of(tid) : NULL;

	if (thread && !thread->queued && !thread->running)
		thread->queued = bpf_ktime_get_ns();
	return 1;
}

SEC("tp/sched/sched_wakeup")
int wake_thread(struct sched_wakeup_event *event)
{
	return wake(event->pid);
}

SEC("tp/sched/sched_wakeup_new")
int wake_new_thread(struct sched_wakeup_event *event)
{
	return wake(event->pid);
}

/* ---- the same without events, where it is known what a task_struct looks like: a third less at each switch ---- */

static __always_inline uint32_t tid_of(uint64_t task)
{
	uint32_t tid = 0;

	bpf_probe_read_kernel(&tid, sizeof(tid), (const void *)(task + config.pid_offset));
	return tid;
}

/* preempt, prev, next, prev_state: include/trace/events/sched.h. */
SEC("raw_tp/sched_switch")
int switch_tasks(struct bpf_raw_tracepoint_args *event)
{
	const struct leaving leaving = {.time = bpf_ktime_get_ns(),
					.tid = (uint32_t)bpf_get_current_pid_tgid(),
					.goes_on = event->args[0] || !(uint32_t)event->args[3],
					.has_ended = event->args[3] & TASK_DEAD};

	return running ? take_switch(&leaving, tid_of(event->args[2])) : 1;
}

SEC("raw_tp/sched_wakeup")
int wake_task(struct bpf_raw_tracepoint_args *event)
{
	return wake(tid_of(event->args[0]));
}

SEC("raw_tp/sched_wakeup_new")
int wake_new_task(struct bpf_raw_tracepoint_args *event)
{
	return wake(tid_of(event->args[0]));
}

SEC("tp/task/task_newtask")
int begin_thread(struct task_newtask_event *event)
{
	return follow_new_thread(event, config.namespace_device, config.namespace);
}
