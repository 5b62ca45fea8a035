/* Who holds the locks of the kernel that others wait for: mutexes, and semaphores of readers and writers that a writer holds. They tell
 * their owner; other locks don't.
 *
 *	bpf_lock_owners_open(&config, 0, &owners);
 *	bpf_lock_owners_start(owners);
 *	bpf_lock_owners_switch(owners, true);
 *	…
 *	bpf_lock_owners_read(owners, take, context);
 *	bpf_lock_owners_close(owners); */
#pragma once

#include "base/error.h"
#include "bpf/lock_owners_shared.h"

#include <stdbool.h>
#include <stdint.h>

struct bpf_lock_owners;

/* `most`: waits at a time, and owners, that there is room for; 0 = LOCK_OWNERS_MOST. */
struct error *bpf_lock_owners_open(const struct lock_owners_config *config, uint32_t most, struct bpf_lock_owners **ret);
/* NULL is fine. */
void bpf_lock_owners_close(struct bpf_lock_owners *owners);
/* Of all CPUs. */
struct error *bpf_lock_owners_start(struct bpf_lock_owners *owners);
/* Waits that begin while it is off aren't counted; at first it is. */
void bpf_lock_owners_switch(struct bpf_lock_owners *owners, bool on);
/* Ends counting, and calls `take` for each owner, in no order that means anything. `tid` is the thread's number in our pid namespace; 0
 * stands for all waits whose lock didn't tell its owner, and for threads of other namespaces. */
void bpf_lock_owners_read(struct bpf_lock_owners *owners, void (*take)(void *context, uint32_t tid, const struct lock_owner_sums *sums),
			  void *context);
/* Waits that could not be noted: there were too many at a time, or too many owners. */
uint64_t bpf_lock_owners_missed(const struct bpf_lock_owners *owners);
