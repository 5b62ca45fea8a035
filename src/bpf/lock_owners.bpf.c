// SPDX-License-Identifier: Dual MIT/GPL
/* Who holds the locks that others wait for: a wait is noted when it begins, with the lock's owner at that moment, and its time is added to
 * the owner's sums when it ends. A mutex announces its waiting again when it goes to sleep after having spun: the first note counts.
 *
 * The lowest bits of an owner are flags (kernel/locking/mutex.h, kernel/locking/rwsem.c). */
#include "bpf/lock_owners_shared.h"
#include "bpf/pids.bpf.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { WAIT_SPINS = 1 << 0, WAIT_READS = 1 << 1, WAIT_WRITES = 1 << 2, WAIT_RT = 1 << 3, WAIT_PERCPU = 1 << 4, WAIT_MUTEX = 1 << 5 };
enum { OWNER_FLAGS = 7, OWNER_IS_READER = 1, MAX_TRIES = 8 };

const volatile struct lock_owners_config config;

uint32_t running;
uint64_t missed; /* waits for which there was no room */

struct wait_key {
	uint64_t lock;
	uint64_t thread;
};

struct wait {
	uint64_t since;
	uint64_t owner; /* key of `owners` */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LOCK_OWNERS_MOST);
	__type(key, struct wait_key);
	__type(value, struct wait);
} waits SEC(".maps");

/* By number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LOCK_OWNERS_MOST);
	__type(key, uint64_t);
	__type(value, struct lock_owner_sums);
} owners SEC(".maps");

static __always_inline struct task_struct *owner_of(void *lock, unsigned int flags)
{
	uint64_t owner = 0;

	if (flags & WAIT_MUTEX) {
		if (bpf_core_field_exists(struct mutex, owner)) /* not with PREEMPT_RT */
			owner = BPF_CORE_READ((struct mutex *)lock, owner.counter);
	} else if ((flags & (WAIT_READS | WAIT_WRITES)) && !(flags & (WAIT_SPINS | WAIT_RT | WAIT_PERCPU))) {
		if (bpf_core_field_exists(struct rw_semaphore, owner))
			owner = BPF_CORE_READ((struct rw_semaphore *)lock, owner.counter);
		if (owner & OWNER_IS_READER)
			owner = 0;
	}
	return (struct task_struct *)(owner & ~(uint64_t)OWNER_FLAGS);
}

static __always_inline struct lock_owner_sums *sums_of(uint64_t number, struct task_struct *owner)
{
	struct lock_owner_sums *sums = bpf_map_lookup_elem(&owners, &number), fresh = {.min = UINT64_MAX};

	if (sums)
		return sums;
	if (owner)
		BPF_CORE_READ_INTO(&fresh.name, owner, comm);
	bpf_map_update_elem(&owners, &number, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&owners, &number);
}

SEC("tp_btf/contention_begin")
int BPF_PROG(begin, void *lock, unsigned int flags)
{
	struct wait_key key = {(uint64_t)lock, bpf_get_current_pid_tgid()};
	struct task_struct *owner;
	struct lock_owner_sums *sums;
	struct wait wait;

	if (!running || !config.wanted[flags & (LOCK_OWNERS_FLAGS - 1)])
		return 0;
	if (!(uint32_t)key.thread)
		key.thread = (uint64_t)bpf_get_smp_processor_id() << 32; /* each CPU's idle task has the number 0 */
	if (bpf_map_lookup_elem(&waits, &key))
		return 0;
	owner = owner_of(lock, flags);
	wait.since = bpf_ktime_get_ns();
	wait.owner = owner ? visible_pid_of(owner) : 0;
	sums = sums_of(wait.owner, wait.owner ? owner : NULL);
	if (!sums || bpf_map_update_elem(&waits, &key, &wait, BPF_ANY)) {
		__sync_fetch_and_add(&missed, 1);
		return 0;
	}
	__sync_fetch_and_add(&sums->contended, 1);
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(end, void *lock, int result)
{
	struct wait_key key = {(uint64_t)lock, bpf_get_current_pid_tgid()};
	struct lock_owner_sums *sums;
	struct wait *wait;
	uint64_t waited, before;

	if (!(uint32_t)key.thread)
		key.thread = (uint64_t)bpf_get_smp_processor_id() << 32;
	wait = bpf_map_lookup_elem(&waits, &key);
	if (!wait)
		return 0;
	waited = bpf_ktime_get_ns() - wait->since;
	sums = bpf_map_lookup_elem(&owners, &wait->owner);
	bpf_map_delete_elem(&waits, &key);
	if (!sums)
		return 0;
	__sync_fetch_and_add(&sums->ended, 1);
	__sync_fetch_and_add(&sums->total, waited);
	for (int i = 0; i < MAX_TRIES && (before = sums->max) < waited; i++)
		__sync_val_compare_and_swap(&sums->max, before, waited);
	for (int i = 0; i < MAX_TRIES && (before = sums->min) > waited; i++)
		__sync_val_compare_and_swap(&sums->min, before, waited);
	return 0;
}
