// SPDX-License-Identifier: Dual MIT/GPL
/* System calls, seen where they enter and leave the kernel.
 *
 * The entry notes time and arguments in the thread's storage; the exit copies what pointers point to and sends one record for the whole
 * call, or adds the call to its sum. Memory is read at the exit because pages that the program has not touched yet are there only then (a
 * BPF program cannot wait for a page). What the call itself changes is read at the entry and sent in a record of its own. So is the entry
 * of a call that sleeps, at the moment when it goes to sleep: who looks sees what the thread waits for.
 *
 *	sys_enter ──► thread storage ──► sys_exit ──► call record ──► ring
 *	                   │                    └──► sums
 *	                   └─► sched_switch ──► record of the entry
 *
 * File descriptors get the id of their file; what path an id means is sent before it is first used. */
#include "bpf/syscalls/syscalls_files.bpf.h"
#include "bpf/syscalls/syscalls_memory.bpf.h"
#include "bpf/syscalls/syscalls_sums.bpf.h"
#include "bpf/syscalls/syscalls_who.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum {
	TS_COMPAT = 2,	    /* arch/x86/include/asm/thread_info.h: a 32-bit call */
	TIF_32BIT_BIT = 22, /* arch/arm64/include/asm/thread_info.h */
};

/* ---- a call ---- */

enum moment { MOMENT_ENTRY, MOMENT_SLEEP, MOMENT_EXIT };

/* When a call sleeps, what was sent at its entry isn't looked at again: an execve that sleeps late has another address space by then. */
static __always_inline bool is_wanted(uint8_t when, enum moment moment, int64_t result)
{
	if (moment == MOMENT_EXIT)
		return when == SYSCALL_AT_EXIT || when == SYSCALL_AT_BOTH || (when == SYSCALL_AT_EXIT_GOOD && result >= 0);
	if (moment == MOMENT_SLEEP)
		return when == SYSCALL_AT_EXIT;
	return when == SYSCALL_AT_ENTRY || when == SYSCALL_AT_BOTH;
}

/* Does the call have something that must be seen at its entry? */
static __always_inline bool begins_with_memory(const struct syscall_plan *plan, const struct thread *thread)
{
	if (plan->never_exits || plan->replaces)
		return true;
	for (uint32_t i = 0; i < SYSCALLS_ARGS && i < plan->arguments; i++)
		if (plan->argument[i].when >= SYSCALL_AT_ENTRY && thread->arguments[i])
			return true;
	return false;
}

static __always_inline void send_call(struct thread *thread, const struct syscall_plan *plan, enum moment moment, uint64_t duration,
				      int64_t result, uint64_t result_file)
{
	struct scratch *scratch = get_scratch();
	uint32_t at = 0;

	if (!scratch)
		return;
	struct syscall_record *record = &scratch->record;
	record->duration = duration;
	record->result = result;
	__builtin_memcpy(record->arguments, thread->arguments, sizeof(record->arguments));
	record->files[0] = thread->files[0];
	record->files[1] = thread->files[1];
	record->files[2] = result_file;
	record->lost = lost;
	record->number = thread->number;
	record->flags = (thread->compat ? SYSCALL_COMPAT : 0) | (moment == MOMENT_EXIT ? 0 : SYSCALL_ENTERED) |
			(moment == MOMENT_SLEEP ? SYSCALL_SLEEPS : 0);
	for (uint32_t i = 0; i < SYSCALLS_ARGS && i < plan->arguments; i++)
		if (plan->argument[i].copy && is_wanted(plan->argument[i].when, moment, result))
			at = add_argument(at, i, moment == MOMENT_EXIT ? SYSCALL_PIECE_EXIT : SYSCALL_PIECE_ENTRY,
					  moment == MOMENT_EXIT ? result : INT64_MAX);
	at &= SCRATCH_MASK; /* so that the verifier knows */
	record->pieces = at;
	fill_header(&record->thread, thread, SYSCALLS_RECORD_CALL, sizeof(*record) + at, thread->entered);
	send(scratch, sizeof(*record) + at);
}

/* ---- where it happens ---- */

static __always_inline bool is_compat(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return task->thread_info.status & TS_COMPAT;
#else
	return task->thread_info.flags >> TIF_32BIT_BIT & 1;
#endif
}

static __always_inline void note_arguments(struct thread *thread, struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	if (thread->compat) {
		thread->arguments[0] = (uint32_t)regs->bx;
		thread->arguments[1] = (uint32_t)regs->cx;
		thread->arguments[2] = (uint32_t)regs->dx;
		thread->arguments[3] = (uint32_t)regs->si;
		thread->arguments[4] = (uint32_t)regs->di;
		thread->arguments[5] = (uint32_t)regs->bp;
		return;
	}
	thread->arguments[0] = regs->di;
	thread->arguments[1] = regs->si;
	thread->arguments[2] = regs->dx;
	thread->arguments[3] = regs->r10;
	thread->arguments[4] = regs->r8;
	thread->arguments[5] = regs->r9;
#else
	thread->arguments[0] = regs->orig_x0;
	for (int i = 1; i < SYSCALLS_ARGS; i++)
		thread->arguments[i] = regs->regs[i];
#endif
}

static __always_inline void note_files(struct thread *thread, struct task_struct *task, const struct syscall_plan *plan)
{
	thread->files[0] = thread->files[1] = 0;
	if (plan->files[0])
		thread->files[0] = file_id(thread, task, thread->arguments[(plan->files[0] - 1) & ARGUMENT_MASK]);
	if (plan->files[1])
		thread->files[1] = file_id(thread, task, thread->arguments[(plan->files[1] - 1) & ARGUMENT_MASK]);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(enter_call, struct pt_regs *regs, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool compat = is_compat(task);
	uint32_t index = ((uint32_t)number & (SYSCALLS_NATIVE - 1)) + (compat ? SYSCALLS_NATIVE : 0);
	const struct syscall_plan *plan = bpf_map_lookup_elem(&calls, &index);
	struct thread *thread;

	if (!plan || !plan->selected || (unsigned long)number >= SYSCALLS_NATIVE)
		return 0;
	if (config.on_cpus && !on_chosen_cpu())
		return 0;
	thread = bpf_task_storage_get(&threads, task, NULL, 0);
	if (!thread && !(thread = adopt(task)))
		return 0;
	if (((thread->waits_for || paused) && !plan->replaces) || thread->waits_for == WAITS_FOR_CHILDREN)
		return 0;
	if (!thread->tid)
		note_ids(thread, task);
	thread->number = index;
	thread->compat = compat;
	thread->told = 0;
	tell_name(thread, task);
	if (config.calls) {
		note_arguments(thread, regs);
		if (config.files)
			note_files(thread, task, plan);
	}
	thread->in_call = 1;
	thread->entered = bpf_ktime_get_ns();
	if (config.calls && plan->selected == SYSCALL_SELECTED && plan->at_entry && !paused &&
	    !((config.failures || config.shortest) && plan->never_exits) && begins_with_memory(plan, thread))
		send_call(thread, plan, MOMENT_ENTRY, 0, 0, 0);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(exit_call, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);
	const struct syscall_plan *plan;
	uint32_t number;
	uint64_t duration, file = 0;

	if (!thread || !thread->in_call)
		return 0;
	duration = bpf_ktime_get_ns() - thread->entered;
	thread->in_call = 0;
	number = thread->number;
	plan = bpf_map_lookup_elem(&calls, &number);
	if (!plan)
		return 0;
	if (plan->replaces && !result) {
		thread->waits_for = WAITS_FOR_NOTHING;
		if (config.sums)
			empty_slots(thread); /* by its old number */
		note_ids(thread, task);
		tell_name(thread, task);
	}
	if (thread->waits_for || paused || plan->selected != SYSCALL_SELECTED || duration < config.shortest ||
	    (config.failures && (result >= 0 || result < -LARGEST_ERRNO)))
		return 0;
	if (config.sums)
		add_to_sum(thread, duration, result);
	if (!config.calls)
		return 0;
	if (config.files && plan->returns_file && result >= 0)
		file = file_id(thread, task, result);
	send_call(thread, plan, MOMENT_EXIT, duration, result, file);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(leave_cpu, bool preempted, struct task_struct *task)
{
	struct thread *thread;
	const struct syscall_plan *plan;
	uint32_t number;

	if (preempted || paused)
		return 0;
	thread = bpf_task_storage_get(&threads, task, NULL, 0);
	if (!thread || !thread->in_call || thread->told || thread->waits_for)
		return 0;
	number = thread->number;
	plan = bpf_map_lookup_elem(&calls, &number);
	if (!plan || plan->never_exits || plan->selected != SYSCALL_SELECTED)
		return 0;
	thread->told = 1;
	send_call(thread, plan, MOMENT_SLEEP, 0, 0, 0);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(begin_thread, struct task_struct *parent, struct task_struct *child)
{
	struct thread *thread = bpf_task_storage_get(&threads, parent, NULL, 0), *new;
	struct fork_record record = {};

	if (!thread && config.commands) /* who starts commands need not have made a call that is wanted */
		thread = adopt(parent);
	bool command = thread && thread->waits_for == WAITS_FOR_CHILDREN;
	uint32_t tid, value = command ? SYSCALLS_TARGET_COMMAND : SYSCALLS_TARGET_THREAD;

	if (!thread || thread->waits_for == WAITS_FOR_EXEC || (!config.inherit && !thread->waits_for))
		return 0;
	new = bpf_task_storage_get(&threads, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!new) { /* no memory just now: it is found by its first call */
		tid = visible_pid(child);
		bpf_map_update_elem(&targets, &tid, &value, BPF_ANY);
		return 0;
	}
	note_ids(new, child);
	if (command) {
		new->waits_for = WAITS_FOR_EXEC;
		return 0;
	}
	__builtin_memcpy(new->name, thread->name, sizeof(new->name));
	fill_header(&record.thread, new, SYSCALLS_RECORD_FORK, sizeof(record), bpf_ktime_get_ns());
	record.parent_pid = thread->pid;
	record.parent_tid = thread->tid;
	send(&record, sizeof(record));
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(end_thread, struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);
	struct exit_record record = {};

	if (!thread || thread->waits_for)
		return 0;
	record.status = task->exit_code;
	fill_header(&record.thread, thread, SYSCALLS_RECORD_EXIT, sizeof(record), bpf_ktime_get_ns());
	thread->in_call = 0;
	if (config.sums)
		empty_slots(thread);
	send(&record, sizeof(record));
	return 0;
}

static __always_inline void send_signal(const struct thread *thread, int number, const void *info)
{
	struct signal_record record = {.number = number};

	if (paused || thread->waits_for)
		return;
	fill_header(&record.thread, thread, SYSCALLS_RECORD_SIGNAL, sizeof(record), bpf_ktime_get_ns());
	if ((unsigned long)info >= SMALL_NUMBERS) /* include/linux/sched/signal.h: SEND_SIG_NOINFO, SEND_SIG_PRIV */
		bpf_probe_read_kernel(record.info, sizeof(record.info), info);
	send(&record, sizeof(record));
}

/* What a thread handles, or dies of. SIGKILL is no event of its own: the other threads of a process that ends get it, too. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(deliver_signal, int number, const void *info)
{
	enum { KILL = 9 };
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);

	if (number != KILL && (thread || (thread = adopt(task))))
		send_signal(thread, number, info);
	return 0;
}

/* What is ignored is never delivered: it is seen when it is sent. */
SEC("tp_btf/signal_generate")
int BPF_PROG(generate_signal, int number, const void *info, struct task_struct *task, int group, int outcome)
{
	enum { IGNORED = 1 }; /* include/trace/events/signal.h */
	struct thread *thread = outcome == IGNORED ? bpf_task_storage_get(&threads, task, NULL, 0) : NULL;

	if (thread)
		send_signal(thread, number, info);
	return 0;
}

/* Run once at the end, for the threads that go on. */
SEC("iter/task")
int finish_sums(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct thread *thread = task ? bpf_task_storage_get(&threads, task, NULL, 0) : NULL;

	if (thread)
		empty_slots(thread);
	return 0;
}
