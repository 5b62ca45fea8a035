/* How long threads sleep, by the stack with which they left the CPU. The stack is taken when they leave, and told of if it hasn't been
 * before: from then on it has a number. When they come back, a long wait goes to the ring, and a short one is added to what the thread has
 * waited there before. Two maps of sums take turns: the reader empties the one that is at rest.
 *
 * User stacks are found by frame pointers, which needs no type information of the kernel; with OFF_CPU_WALKS by call frame information
 * (user_walk.bpf.h). Either way struct walk, of which `walks` has one for each CPU, has `head`, a struct bpf_off_cpu_stack, and directly
 * behind it what take_user_stack() has found. */
#pragma once

#include "bpf/off_cpu/off_cpu_shared.h"

#ifdef OFF_CPU_WALKS
#define WALK_HEAD struct bpf_off_cpu_stack
#include "bpf/user_walk.bpf.h"
#endif

#include "bpf/chosen_cpus.bpf.h"
#include "bpf/sched_tracepoints.bpf.h"

#include <bpf/bpf_helpers.h>

const volatile struct off_cpu_config config;

uint32_t period;  /* of measuring: odd ones */
uint32_t turn;	  /* which map of sums is filled: the lowest bit */
uint64_t missed;  /* waits for which there was no room */
uint64_t unseen;  /* waits of whose end the kernel did not tell */
uint32_t forgets; /* stacks that were told of were forgotten, maybe also such as threads waited with last */

struct sums_key {
	uint64_t stack;
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

/* Stacks that were told of. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, uint64_t);
	__type(value, uint8_t);
} told SEC(".maps");

/* Of the thread that runs, which is met for the first time; NULL for those that aren't measured. */
static __always_inline struct bpf_off_cpu_wait *begin_waits(uint32_t tid)
{
	struct bpf_off_cpu_wait wait = {.kind = OFF_CPU_WAIT};
	struct bpf_pidns_info ids;

	if (bpf_get_ns_current_pid_tgid(config.namespace_device, config.namespace, &ids, sizeof(ids)))
		return NULL;
	if (config.by_target && !is_target(tid, &ids))
		return NULL;
	wait.pid = ids.tgid;
	wait.tid = ids.pid;
	if (bpf_map_update_elem(&waits, &tid, &wait, BPF_NOEXIST)) {
		__sync_fetch_and_add(&missed, 1);
		return NULL;
	}
	return bpf_map_lookup_elem(&waits, &tid);
}

/* ---- stacks ---- */

static __always_inline uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

/* The count is read again at each step: from the end of a loop over a number in a register the verifier goes on once for each number that
 * it can be. */
static __always_inline uint64_t hash_addresses(uint64_t hash, const uint64_t *addresses, const volatile uint32_t *count, uint32_t most)
{
	for (uint32_t i = 0; i < most && i < *count; i++)
		hash = mix(hash, addresses[i]);
	return hash;
}

/* How many the kernel has found. */
static __always_inline uint32_t take_addresses(void *event, uint64_t *addresses, uint32_t size, uint64_t flags)
{
	long got = bpf_get_stack(event, addresses, size, flags);

	return got > 0 ? (uint32_t)got / sizeof(*addresses) : 0;
}

#ifdef OFF_CPU_WALKS
const volatile uint64_t room; /* how many bytes may lie in the ring when there is to be another copy */

/* While rules aren't known yet, who switches ten thousand times a second would fill all of the ring with copies of one stack. So a thread
 * has few copies in each eighth of a second where only the last third of the room is left. */
enum { OFTEN = 8, EIGHTH_BITS = 27, COUNT_BITS = 8, COUNT_MOST = (1 << COUNT_BITS) - 1 };

static __always_inline uint64_t room_for(const struct bpf_off_cpu_wait *wait, uint64_t now)
{
	uint32_t eighth = (uint32_t)(now >> EIGHTH_BITS) << COUNT_BITS;

	return wait->copies - eighth >= OFTEN && wait->copies - eighth <= COUNT_MOST ? room / 3 * 2 : room;
}

static __always_inline void count_copy(struct bpf_off_cpu_wait *wait, uint64_t now)
{
	uint32_t eighth = (uint32_t)(now >> EIGHTH_BITS) << COUNT_BITS;

	if (wait->copies - eighth < COUNT_MOST)
		wait->copies++;
	else if (wait->copies - eighth != COUNT_MOST)
		wait->copies = eighth + 1;
}

/* bpf_loop()'s: one code of Python. */
static long tell_of_code(uint32_t index, struct walk **at)
{
	struct walk *walk = *at;
	uint64_t size = describe_code(walk, index) + sizeof(walk->code_kind) + sizeof(walk->code_padding);

	walk->code_kind = OFF_CPU_PYTHON;
	if (size <= sizeof(walk->code_kind) + sizeof(walk->code_padding) + sizeof(walk->code_word) + sizeof(walk->code_record) &&
	    bpf_ringbuf_output(&ring, &walk->code_kind, size, BPF_RB_NO_WAKEUP))
		forget_code(walk, index);
	return 0;
}

/* Bytes of what was found, for the ring. A copy for want of rows wakes up who gives them. */
static __always_inline uint64_t take_user_stack(void *event, struct walk *walk, struct bpf_off_cpu_wait *wait, uint64_t *flags)
{
	enum user_stacks_kind kind;
	uint64_t size;

	if (!walk_begin(walk, NULL))
		return 0;
	kind = walk_go(walk);
	if (walk->codes)
		bpf_loop(walk->codes, tell_of_code, &walk, 0);
	if (kind != USER_STACKS_STACK || bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > room_for(wait, walk->head.time)) {
		size = walk->count & (2 * USER_STACKS_DEPTH - 1);
		walk->head.user = USER_STACKS_HEAD(kind == USER_STACKS_STACK ? USER_STACKS_LEFT : kind, size);
		return size * sizeof(uint64_t);
	}
	count_copy(wait, walk->head.time);
	size = make_copy(walk);
	walk->head.user = USER_STACKS_HEAD(kind, size);
	if (walk->file.inode)
		*flags = BPF_RB_FORCE_WAKEUP;
	return size + sizeof(walk->copy);
}

struct hashing {
	const struct walk *walk;
	uint64_t hash;
};

/* bpf_loop()'s: one address. */
static long hash_address(uint32_t index, struct hashing *hashing)
{
	hashing->hash = mix(hashing->hash, hashing->walk->chain[index & (USER_STACKS_DEPTH - 1)]);
	return 0;
}

static __always_inline uint64_t hash_chain(const struct walk *walk, uint64_t hash)
{
	struct hashing hashing = {.walk = walk, .hash = hash};

	bpf_loop(user_stacks_count(walk->head.user), hash_address, &hashing, 0);
	return hashing.hash;
}
#else
struct walk {
	struct bpf_off_cpu_stack head;
	uint64_t chain[OFF_CPU_USER_FRAMES];
};

#include "bpf/walks.bpf.h"

static __always_inline uint64_t take_user_stack(void *event, struct walk *walk, struct bpf_off_cpu_wait *wait, uint64_t *flags)
{
	uint32_t count = take_addresses(event, walk->chain, sizeof(walk->chain), BPF_F_USER_STACK);

	walk->head.user = USER_STACKS_HEAD(USER_STACKS_CHAIN, count);
	return count * sizeof(*walk->chain);
}

static __always_inline uint64_t hash_chain(const struct walk *walk, uint64_t hash)
{
	for (uint32_t i = 0; i < OFF_CPU_USER_FRAMES && i < user_stacks_count(walk->head.user); i++)
		hash = mix(hash, walk->chain[i]);
	return hash;
}
#endif

/* Copies are alike never, and what a chain that ends early lacks is of its process. */
static __always_inline uint64_t number_of(const struct walk *walk)
{
	const struct bpf_off_cpu_stack *stack = &walk->head;
	enum user_stacks_kind kind = user_stacks_kind(stack->user);
	uint64_t hash = hash_addresses(mix(stack->kernel, stack->user), stack->kernel_stack, &stack->kernel, OFF_CPU_KERNEL_FRAMES);

	if (kind == USER_STACKS_STACK)
		hash = mix(mix(hash, stack->time), stack->tid);
	else if (kind != USER_STACKS_CHAIN)
		hash = mix(hash, stack->pid);
	return (kind == USER_STACKS_STACK ? hash : hash_chain(walk, hash)) | 1;
}

/* The reader is woken up when much waits, not each time. */
static __always_inline uint64_t wakeup(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= config.wake_bytes ? BPF_RB_FORCE_WAKEUP : (uint64_t)BPF_RB_NO_WAKEUP;
}

/* The number of the stack with which the thread leaves; 0 = there is no room to tell of it. What it waited with last was told of,
 * as long as nothing was forgotten. */
static __always_inline uint64_t tell_of_stack(struct sched_switch_event *event, struct bpf_off_cpu_wait *wait, uint64_t now)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct walk *walk = bpf_map_lookup_elem(&walks, &cpu);
	struct bpf_off_cpu_stack *stack;
	uint64_t size = 0, number, flags = 0;
	uint8_t one = 1;

	if (!walk)
		return 0;
	stack = &walk->head;
	stack->kind = OFF_CPU_STACK;
	stack->time = now;
	stack->pid = wait->pid;
	stack->tid = wait->tid;
	stack->kernel = 0;
	if (config.kernel_stacks)
		stack->kernel = take_addresses(event, stack->kernel_stack, sizeof(stack->kernel_stack), 0);
	stack->user = USER_STACKS_HEAD(USER_STACKS_CHAIN, 0);
	if (config.user_stacks)
		size = take_user_stack(event, walk, wait, &flags);
	number = number_of(walk);
	if ((number == wait->stack && !forgets) || bpf_map_lookup_elem(&told, &number))
		return number;
	if (!flags)
		flags = wakeup();
	stack->number = number;
	if (size > sizeof(*walk) - offsetof(struct walk, chain) || bpf_ringbuf_output(&ring, stack, sizeof(*stack) + size, flags))
		return 0;
	if (user_stacks_kind(stack->user) != USER_STACKS_STACK)
		bpf_map_update_elem(&told, &number, &one, BPF_ANY);
	return number;
}

/* ---- waits ---- */

/* Of a thread that runs: if its wait has no end, it has come back without a word, since kernels lose switches. Since when it runs nobody
 * knows. */
static __always_inline void end_unseen(struct bpf_off_cpu_wait *wait)
{
	if (!wait || !wait->since || wait->period != period)
		return;
	__sync_fetch_and_add(&unseen, 1);
	wait->since = 0;
}

static __always_inline void leave(struct sched_switch_event *event, uint64_t now)
{
	uint32_t tid = event->prev_pid;
	struct bpf_off_cpu_wait *wait = bpf_map_lookup_elem(&waits, &tid);

	end_unseen(wait);
	/* It may have waited after sched_process_exit, for a file that is closed. */
	if (wait && event->prev_state & SCHED_ENDED)
		bpf_map_delete_elem(&waits, &tid);
	if (!(event->prev_state & SCHED_ASLEEP) || event->prev_state & SCHED_PREEMPTED || (config.on_cpus && !on_chosen_cpu()))
		return;
	if (!wait)
		wait = begin_waits(tid);
	if (!wait)
		return;
	wait->period = period;
	wait->state = (uint32_t)event->prev_state;
	wait->stack = tell_of_stack(event, wait, now);
	wait->since = now;
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

static __always_inline void tell(const struct bpf_off_cpu_wait *wait)
{
	if (bpf_ringbuf_output(&ring, (void *)wait, sizeof(*wait), wakeup()))
		__sync_fetch_and_add(&missed, 1);
}

static __always_inline void come_back(uint32_t tid, uint64_t now)
{
	struct bpf_off_cpu_wait *wait = bpf_map_lookup_elem(&waits, &tid);
	struct sums_key key = {.tid = tid};

	if (!wait || !wait->since || wait->period != period)
		return;
	wait->last = now;
	wait->total = wait->last - wait->since;
	wait->since = 0;
	wait->count = 1;
	wait->cpu = bpf_get_smp_processor_id();
	key.state = wait->state;
	if (wait->total < config.threshold_ns) {
		key.stack = wait->stack;
		if (turn & 1 ? add_to(&odd_sums, &key, wait) : add_to(&even_sums, &key, wait))
			return;
	}
	tell(wait);
}

/* One look at the clock, before the stack is walked: the timer or the peer that is waited for doesn't stop meanwhile, so that without us
 * the thread would be away from here on. */
SEC("tp/sched/sched_switch")
int switch_threads(struct sched_switch_event *event)
{
	uint64_t now;

	if (!(period & 1))
		return 1;
	now = bpf_ktime_get_ns();
	if (event->next_pid)
		come_back(event->next_pid, now);
	if (event->prev_pid)
		leave(event, now);
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

	end_unseen(bpf_map_lookup_elem(&waits, &tid));
	bpf_map_delete_elem(&followed, &tid);
	bpf_map_delete_elem(&waits, &tid);
	return 1;
}
