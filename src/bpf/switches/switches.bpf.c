// SPDX-License-Identifier: Dual MIT/GPL
/* Each switch between threads in 72 bytes: who leaves and with which stack, who comes and what has woken it up. They lie in rings that the
 * reader has mapped. Stacks have numbers, of which samples tell: a stack with the program's part copied, when it is met first and now and
 * then again; when there are too many of these, only its part in the kernel.
 *
 *	sched_waking ──► threads ─┐
 *	sched_switch ─────────────┴─► rings
 *		     └─ new stack ──► samples `whole`, `parts`
 *
 * A number stands for a part in the kernel, a place in the program and a place on its stack: whoever comes there in another way has the
 * number until it is told of again. Who has lost the CPU has not called the kernel, or is anywhere in it: its kernel's part is not part of
 * the number, since it says nothing of a reason to wait. */
#include "bpf/kernel_types.bpf.h"
#include "bpf/sched_events.bpf.h"
#include "bpf/switches/switches_shared.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { OLD_NS = 100000000, WINDOW_NS = 100000000, COMPAT = 2 };

const volatile uint32_t copies_most; /* on each CPU in WINDOW_NS */
const volatile uint32_t ring_size;   /* switches of a CPU: a power of two */

uint32_t running;
uint64_t missed; /* switches from threads for which there was no room */

enum thread_state { THREAD_ASLEEP, THREAD_RUNNABLE, THREAD_ON };

struct thread {
	struct bpf_waking waking;
	uint64_t state;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 17);
	__type(key, uint32_t);
	__type(value, struct thread);
} threads SEC(".maps");

/* Stacks that were told of, by number, and when. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 15);
	__type(key, uint64_t);
	__type(value, uint64_t);
} told SEC(".maps");

struct walk {
	uint64_t window;
	uint32_t copies, unused; /* in the window */
	uint64_t space;		 /* of addresses */
	struct bpf_switch_stack stack;
};

#include "bpf/walks.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct bpf_switch);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* CPUs */
	__type(key, uint32_t);
	__type(value, struct switches_ends);
} ends SEC(".maps");

/* Where samples go: counters of each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint32_t));
} whole SEC(".maps"), parts SEC(".maps");

static __always_inline struct thread *thread_of(uint32_t tid)
{
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid), fresh = {};

	if (thread)
		return thread;
	bpf_map_update_elem(&threads, &tid, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&threads, &tid);
}

/* ---- stacks ---- */

static __always_inline uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

/* Where the program is, and what it asks the kernel for. Returns a hash of what its part of the stack is known by. */
static __always_inline uint64_t take_program(struct walk *walk, struct bpf_switch *record)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	volatile uint64_t *space = &walk->space; /* as a number: the verifier allows no arithmetic with pointers */

	record->ip = record->argument = 0;
	if (!task->mm || !regs)
		return 0;
#if defined(__TARGET_ARCH_x86)
	record->ip = regs->ip;
	record->argument = task->thread_info.status & COMPAT ? regs->bx : regs->di;
#elif defined(__TARGET_ARCH_arm64)
	record->ip = regs->pc;
	record->argument = regs->orig_x0;
#endif
	*space = (uint64_t)task->mm;
	return mix(mix(*space, record->ip), regs->sp);
}

/* The part in the kernel: its number. The count is read again at each step: from the end of a loop over a number in a register the verifier
 * goes on once for each number that it can be. */
static __always_inline uint64_t take_kernel_stack(void *event, struct bpf_switch_stack *stack)
{
	volatile uint32_t *count = &stack->count;
	long got = bpf_get_stack(event, stack->kernel, sizeof(stack->kernel), 0);
	uint64_t hash = 0;

	*count = got > 0 ? (uint32_t)got / sizeof(*stack->kernel) : 0;
	for (uint32_t i = 0; i < SWITCHES_KERNEL_FRAMES && i < *count; i++)
		hash = mix(hash, stack->kernel[i]);
	return hash | 1;
}

static __always_inline bool was_told(uint64_t number, uint64_t now)
{
	const uint64_t *when = bpf_map_lookup_elem(&told, &number);

	return when && now - *when < OLD_NS;
}

static __always_inline bool may_copy(struct walk *walk, uint64_t now)
{
	if (now - walk->window > WINDOW_NS) {
		walk->window = now;
		walk->copies = 0;
	}
	return walk->copies++ < copies_most;
}

static __always_inline bool tell_of_whole(void *event, struct walk *walk, struct bpf_switch *record)
{
	struct bpf_switch_stack *stack = &walk->stack;

	stack->number = record->stack;
	stack->ip = record->ip;
	stack->count = 0;
	if (bpf_perf_event_output(event, &whole, BPF_F_CURRENT_CPU, stack, offsetof(struct bpf_switch_stack, kernel)))
		return false;
	bpf_map_update_elem(&told, &record->stack, &record->time, BPF_ANY);
	return true;
}

static __always_inline void tell_of_part(void *event, struct walk *walk, struct bpf_switch *record, uint64_t number)
{
	struct bpf_switch_stack *stack = &walk->stack;

	record->stack = stack->number = number;
	stack->ip = 0;
	if (was_told(number, record->time))
		return;
	if (bpf_perf_event_output(event, &parts, BPF_F_CURRENT_CPU, stack, sizeof(*stack)))
		record->stack = 0;
	else
		bpf_map_update_elem(&told, &number, &record->time, BPF_ANY);
}

static __always_inline void take_stack(void *event, struct walk *walk, struct bpf_switch *record)
{
	uint64_t program = take_program(walk, record), kernel = 0;

	if (record->what == SWITCHES_SLEEPS)
		kernel = take_kernel_stack(event, &walk->stack);
	record->stack = mix(program, kernel) | 1;
	if (was_told(record->stack, record->time))
		return;
	if (!may_copy(walk, record->time) || !tell_of_whole(event, walk, record))
		tell_of_part(event, walk, record, take_kernel_stack(event, &walk->stack));
	record->took = bpf_ktime_get_ns() - record->time;
}

/* ---- threads ---- */

/* The CPU's next place in its ring; NULL: it is full. */
static __always_inline struct bpf_switch *reserve(uint32_t cpu, struct switches_ends *end)
{
	uint32_t place = cpu * ring_size + (end->written & (ring_size - 1));

	if (end->written - end->read < ring_size)
		return bpf_map_lookup_elem(&rings, &place);
	end->lost++;
	return NULL;
}

/* An exchange, since it is ordered behind all that is in the record: an addition whose result nobody wants is not, on arm64. */
static __always_inline void publish(struct switches_ends *end)
{
	__sync_lock_test_and_set(&end->written, end->written + 1);
}

static __always_inline void tell_of_waking(const struct sched_switch_event *event, const struct thread *thread, uint32_t cpu,
					   struct switches_ends *end)
{
	struct bpf_switch *record = reserve(cpu, end);

	if (!record)
		return;
	*record =
		(struct bpf_switch){.time = thread->waking.time, .what = SWITCHES_WOKEN, .next = event->prev_pid, .waking = thread->waking};
	publish(end);
}

static __always_inline void leave(const struct sched_switch_event *event, bool goes_on, uint32_t cpu, struct switches_ends *end)
{
	uint32_t tid = event->prev_pid;
	struct thread *thread = thread_of(tid);

	if (!thread) {
		__sync_fetch_and_add(&missed, 1);
		return;
	}
	if (thread->waking.time)
		tell_of_waking(event, thread, cpu, end);
	thread->waking.time = 0;
	thread->state = goes_on ? THREAD_RUNNABLE : THREAD_ASLEEP;
	if (event->prev_state & SCHED_ENDED)
		bpf_map_delete_elem(&threads, &tid);
}

static __always_inline void arrive(uint32_t tid, struct bpf_switch *record)
{
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);

	record->waking.time = 0;
	if (!thread)
		return;
	record->waking = thread->waking;
	thread->waking.time = 0;
	thread->state = THREAD_ON;
}

SEC("tp/sched/sched_switch")
int switch_threads(struct sched_switch_event *event)
{
	bool goes_on = !event->prev_state || event->prev_state & SCHED_PREEMPTED;
	uint32_t cpu = bpf_get_smp_processor_id();
	struct switches_ends *end = running ? bpf_map_lookup_elem(&ends, &cpu) : NULL;
	struct walk *walk = bpf_map_lookup_elem(&walks, &cpu);
	struct bpf_switch *record;

	if (!end || !walk)
		return 1;
	if (event->prev_pid)
		leave(event, goes_on, cpu, end);
	record = reserve(cpu, end);
	if (!record)
		return 1;
	record->time = bpf_ktime_get_ns();
	record->took = 0;
	record->what = goes_on ? SWITCHES_GOES_ON : SWITCHES_SLEEPS;
	record->previous = event->prev_pid;
	record->next = event->next_pid;
	record->stack = record->argument = record->ip = 0;
	if (event->prev_pid)
		take_stack(event, walk, record);
	arrive(event->next_pid, record);
	publish(end);
	return 1;
}

/* The first wake-up of a thread that sleeps tells what has ended its wait. */
SEC("tp/sched/sched_waking")
int wake_thread(struct sched_wakeup_event *event)
{
	struct thread *thread = running ? thread_of(event->pid) : NULL;
	uint64_t waker = bpf_get_current_pid_tgid();

	if (!thread || thread->state != THREAD_ASLEEP || thread->waking.time)
		return 1;
	thread->waking.pid = waker >> 32;
	thread->waking.tid = (uint32_t)waker;
	thread->waking.time = bpf_ktime_get_ns();
	return 1;
}
