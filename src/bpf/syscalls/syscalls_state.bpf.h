/* What the parts of the program for system calls share: its configuration, the ring, and what is known of each thread. */
#pragma once

#include "bpf/kernel_types.bpf.h"
#include "bpf/syscalls/syscalls_shared.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum { LARGEST_ERRNO = 4095, SEEN_FILES = 4, ARGUMENT_MASK = 7, SUM_SLOTS = 8 };

const volatile struct syscalls_config config;

uint64_t lost;	   /* records without room in the ring */
uint64_t unsummed; /* calls without room in the sums */
uint32_t woken;	   /* the reader is on its way: it sets this back */
uint32_t paused;   /* nothing is traced for now */

/* A thread that is known, but not traced (yet). */
enum waits_for { WAITS_FOR_NOTHING, WAITS_FOR_EXEC, WAITS_FOR_CHILDREN };

/* The sum of a thread's calls of one kind that isn't in the map `sums` yet: to look up a hash for each call would be a quarter of what
 * tracing it costs. */
struct sum_slot {
	struct syscall_sum sum; /* no calls: the slot is free */
	uint64_t cgroup;
	uint32_t number;
	uint32_t unused;
};

/* What is known of a traced thread. */
struct thread {
	uint64_t entered;		       /* when its call began */
	uint64_t arguments[ARGUMENT_MASK + 1]; /* more than there are, so that a masked index is always inside */
	uint64_t files[2];
	uint64_t seen[SEEN_FILES]; /* files that were told lately */
	char name[16];
	uint32_t pid, tid;
	uint16_t number;
	uint8_t in_call;
	uint8_t compat;
	uint8_t told;	   /* the entry has been sent */
	uint8_t waits_for; /* enum waits_for */
	uint8_t next_seen;
	uint8_t unused;
	struct sum_slot slots[SUM_SLOTS]; /* by the calls' numbers */
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SYSCALLS_NUMBERS);
	__type(key, uint32_t);
	__type(value, struct syscall_plan);
} calls SEC(".maps");

/* Wakes the reader once when much waits: each further wake-up would be an interrupt for nothing. */
static __always_inline void send(void *record, uint64_t size)
{
	uint64_t flags = BPF_RB_NO_WAKEUP;

	if (!woken && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= config.wake_bytes) {
		woken = 1;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	if (bpf_ringbuf_output(&ring, record, size, flags))
		__sync_fetch_and_add(&lost, 1);
}
