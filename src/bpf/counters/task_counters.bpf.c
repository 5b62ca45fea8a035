// SPDX-License-Identifier: Dual MIT/GPL
/* Counts of many tasks from one counter for each event and CPU.
 *
 * The counters run all the time. When a followed task gets the CPU its counters are noted, and when it gives the CPU up the difference is
 * added to its cell:
 *
 *	CPU 0   ──other──┤ followed ├──other──┤ followed ├──
 *	               note       add       note       add
 *
 * To read, the loader runs count_here() on every CPU: what runs just now is added up to this moment. */
#include "bpf/counters/event_counters.bpf.h"
#include "bpf/counters/task_counters_shared.h"
#include "bpf/pids.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct counters_config config;

uint32_t running;    /* the counters are enabled */
uint32_t unfollowed; /* new tasks for which there was no memory */
/* Switches to or from followed tasks that weren't told: the kernel leaves some out while others attach to them or detach. */
uint32_t missed;
uint32_t begun; /* every CPU has been looked at: from here on each switch should be told */

struct followed {
	uint32_t target; /* its key there, 0 = somebody's child */
	uint32_t cell;
	uint32_t awaits_exec;
};

/* What happens on a CPU. */
struct here {
	uint32_t counting; /* since the notes */
	uint32_t cell;
	uint32_t busy; /* notes, sums and tasks are being changed where an interrupt may come */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct followed);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct counters_target);
} targets SEC(".maps");

/* By event × cell. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct bpf_perf_event_value);
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct here);
} places SEC(".maps");

static __always_inline struct here *this_place(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&places, &zero);
}

/* One look at all counters: adds what the task before has used, notes where the next one begins. The kernel counts a switch just after its
 * tracepoint: it is the task's that leaves. */
static __always_inline void look(struct here *here, bool next_counts, uint32_t next_cell, bool switches)
{
	uint32_t cpu = bpf_get_smp_processor_id();

	for (uint32_t event = 0; event < EVENT_COUNTERS_MOST && event < config.events; event++) {
		/* A copy: what a pointer points to is no known number to the verifier any more, and the loop would never end. */
		uint32_t at = event, key = event * config.cells + here->cell;
		struct bpf_perf_event_value *note = bpf_map_lookup_elem(&notes, &at), *sum, now = {};
		if (!note || bpf_perf_event_read_value(&counters, event * config.cpus + cpu, &now, sizeof(now)))
			continue;
		if (switches && running && config.switches[event])
			now.counter++;
		sum = here->counting ? bpf_map_lookup_elem(&sums, &key) : NULL;
		if (sum)
			add_counted(sum, note, &now);
		*note = now;
	}
	here->counting = next_counts;
	here->cell = next_cell;
}

static __always_inline struct followed *find(struct task_struct *task)
{
	struct followed *followed = bpf_task_storage_get(&tasks, task, NULL, 0);
	struct counters_target *target;
	uint32_t number;

	if (followed)
		return followed;
	number = visible_pid(task);
	target = bpf_map_lookup_elem(&targets, &number);
	if (!target)
		return NULL;
	followed = bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!followed)
		return NULL;
	followed->target = number;
	followed->cell = target->cell;
	followed->awaits_exec = target->awaits_exec;
	return followed;
}

static __always_inline bool counts(const struct followed *followed)
{
	return followed && !followed->awaits_exec;
}

/* What is counted here must be what the current task does. If it isn't, a switch wasn't told: what others have used since then is not
 * counted. */
static __always_inline void check_told(struct here *here, const struct followed *followed)
{
	bool counted = counts(followed);

	if (counted == !!here->counting && (!counted || followed->cell == here->cell))
		return;
	here->counting = false;
	if (begun)
		__sync_fetch_and_add(&missed, 1);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switch_tasks, bool preempted, struct task_struct *before, struct task_struct *next)
{
	struct here *here = this_place();
	struct followed *followed = find(next);
	bool next_counts = counts(followed);
	uint32_t cell = next_counts ? followed->cell : 0;

	if (!here)
		return 0;
	check_told(here, find(before));
	if (here->counting || next_counts)
		look(here, next_counts, cell, true);
	return 0;
}

/* Outside the scheduler, count_here() could come as an interrupt: it tries again when a program is between enter() and leave(). */
static __always_inline struct here *enter(void)
{
	struct here *here = this_place();

	if (here)
		here->busy = 1;
	barrier();
	return here;
}

static __always_inline void leave(struct here *here)
{
	barrier();
	here->busy = 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(begin_task, struct task_struct *parent, struct task_struct *child)
{
	struct here *here = enter();
	/* The current one: also if this is the first that is told of it. */
	struct followed *followed = config.inherit ? find(parent) : NULL, *new;

	if (!here)
		return 0;
	if (counts(followed)) {
		new = bpf_task_storage_get(&tasks, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (new)
			new->cell = followed->cell;
		else
			__sync_fetch_and_add(&unfollowed, 1);
	}
	leave(here);
	return 0;
}

/* An exec gives the task its new name just after the kernel has switched on counters that wait for one. The name that the command has
 * before is its own choice, no exec. */
SEC("tp_btf/task_rename")
int BPF_PROG(rename_task, struct task_struct *task, const char *name)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct followed *followed = find(current);
	struct here *here;
	char start[10] = {};

	if (!followed || !followed->awaits_exec || task->pid != current->pid)
		return 0;
	bpf_probe_read_kernel_str(start, sizeof(start), name);
	if (start[0] == 'p' && start[4] == '-' && start[5] == 'e' && start[8] == 'c') /* perf-exec */
		return 0;
	here = enter();
	if (!here)
		return 0;
	followed->awaits_exec = 0;
	look(here, true, followed->cell, false);
	leave(here);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(end_task, struct task_struct *task)
{
	struct here *here = enter();
	struct followed *followed = find(task);
	uint32_t target;

	if (!here)
		return 0;
	if (followed) {
		check_told(here, followed);
		target = followed->target;
		look(here, false, 0, false);
		bpf_task_storage_delete(&tasks, task);
		if (target) /* its number may be used again */
			bpf_map_delete_elem(&targets, &target);
	}
	leave(here);
	return 0;
}

/* Run by the loader on each CPU, never attached. 1 = try again. */
SEC("raw_tp")
int count_here(void *context)
{
	struct here *here = this_place();
	struct followed *followed;
	bool counted;

	if (!here || here->busy)
		return 1;
	followed = find(bpf_get_current_task_btf());
	counted = counts(followed);
	check_told(here, followed);
	if (here->counting || counted)
		look(here, counted, counted ? followed->cell : 0, false);
	return 0;
}
