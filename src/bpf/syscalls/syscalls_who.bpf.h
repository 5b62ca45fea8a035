/* Who is traced, and what it is called. */
#pragma once

#include "bpf/chosen_cpus.bpf.h"
#include "bpf/pids.bpf.h"
#include "bpf/syscalls/syscalls_state.bpf.h"

/* By process or thread id: enum syscalls_target. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, uint32_t);
	__type(value, uint32_t);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} cgroups SEC(".maps");

static __always_inline void note_ids(struct thread *thread, struct task_struct *task)
{
	thread->tid = visible_pid(task);
	thread->pid = level ? visible_pid(task->group_leader) : (uint32_t)task->tgid;
}

static __always_inline void fill_header(struct thread_record *record, const struct thread *thread, uint32_t type, uint32_t size,
					uint64_t time)
{
	record->header.type = type;
	record->header.size = size;
	record->time = time;
	record->pid = thread->pid;
	record->tid = thread->tid;
}

/* Tells the thread's name when it has a new one. */
static __always_inline void tell_name(struct thread *thread, struct task_struct *task)
{
	struct name_record record = {};
	const uint64_t *old = (const uint64_t *)thread->name;

	__builtin_memcpy(record.name, task->comm, sizeof(record.name));
	const uint64_t *new = (const uint64_t *)record.name;
	if (old[0] == new[0] && old[1] == new[1])
		return;
	__builtin_memcpy(thread->name, record.name, sizeof(record.name));
	fill_header(&record.thread, thread, SYSCALLS_RECORD_NAME, sizeof(record), bpf_ktime_get_ns());
	send(&record, sizeof(record));
}

/* Is a task that has no storage yet one to trace? */
static __always_inline bool is_target(struct task_struct *task, uint8_t *ret_waits_for)
{
	uint32_t pid = visible_pid(task->group_leader), tid = visible_pid(task), zero = 0;
	uint32_t *process = bpf_map_lookup_elem(&targets, &pid), *thread = bpf_map_lookup_elem(&targets, &tid);

	if (process && *process == SYSCALLS_TARGET_NEVER)
		return false;
	if (config.in_cgroup && bpf_current_task_under_cgroup(&cgroups, zero) != 1)
		return false;
	if (config.by_user)
		return task->cred->uid.val == config.user;
	if (config.system_wide)
		return true;
	if (process && *process == SYSCALLS_TARGET_CHILDREN)
		*ret_waits_for = WAITS_FOR_CHILDREN;
	else if (process && *process == SYSCALLS_TARGET_COMMAND)
		*ret_waits_for = WAITS_FOR_EXEC;
	return (process && *process != SYSCALLS_TARGET_THREAD) || (thread && *thread == SYSCALLS_TARGET_THREAD);
}

static __always_inline struct thread *adopt(struct task_struct *task)
{
	uint8_t waits_for = WAITS_FOR_NOTHING;
	struct thread *thread;

	if (!is_target(task, &waits_for))
		return NULL;
	thread = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		__sync_fetch_and_add(&lost, 1);
		return NULL;
	}
	thread->waits_for = waits_for;
	note_ids(thread, task);
	return thread;
}
