/* System calls as a BPF program sees them: who is traced and what is copied is decided here, the records come out of a ring in the order in
 * which the calls ended.
 *
 *	bpf_syscalls_open(&options, &syscalls);
 *	bpf_syscalls_add_target(syscalls, pid, SYSCALLS_TARGET_PROCESS);
 *	bpf_syscalls_start(syscalls);
 *	while (bpf_syscalls_wait(syscalls, 100) …)
 *		while ((record = bpf_syscalls_next(syscalls)))
 *			…
 *	bpf_syscalls_close(syscalls);
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "bpf/syscalls/syscalls_shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct bpf_syscalls;

struct bpf_syscalls_options {
	struct syscalls_config config;	  /* wake_bytes is filled in */
	const struct syscall_plan *plans; /* SYSCALLS_NUMBERS of them */
	size_t ring_bytes;		  /* a power of two, at least a page */
	const int *cpus;		  /* with config.on_cpus */
	size_t cpu_count;
	int cgroup; /* descriptor of its directory, with config.in_cgroup */
};

/* Loads the program; nothing is traced yet. An error says why that isn't possible here. */
struct error *bpf_syscalls_open(const struct bpf_syscalls_options *options, struct bpf_syscalls **ret);
void bpf_syscalls_close(struct bpf_syscalls *syscalls);
/* `id` is a process, or with SYSCALLS_TARGET_THREAD a thread. May be called at any time. */
struct error *bpf_syscalls_add_target(struct bpf_syscalls *syscalls, pid_t id, enum syscalls_target target);
/* From now on calls are traced; bpf_syscalls_stop() ends that, what is in the ring can still be read. */
struct error *bpf_syscalls_start(struct bpf_syscalls *syscalls);
void bpf_syscalls_stop(struct bpf_syscalls *syscalls);
/* Leaves out calls that begin while it is paused; who is traced is followed all the same. */
void bpf_syscalls_pause(struct bpf_syscalls *syscalls, bool pause);

/* The next record, NULL when there is none (yet). Valid until the next call of bpf_syscalls_next(). */
const struct syscalls_record *bpf_syscalls_next(struct bpf_syscalls *syscalls);
/* Becomes readable when much waits in the ring; few records wait until somebody looks. */
int bpf_syscalls_fd(const struct bpf_syscalls *syscalls);
/* Records that found no room in the ring so far; calls that found no room in the sums. */
uint64_t bpf_syscalls_lost(const struct bpf_syscalls *syscalls);
uint64_t bpf_syscalls_unsummed(const struct bpf_syscalls *syscalls);

/* Sums, one after the other: false at the end. *key is where to go on, all zero and `first` at the beginning. `ret_histogram` may be NULL.
 */
bool bpf_syscalls_next_sum(struct bpf_syscalls *syscalls, bool first, struct syscall_sum_key *key, struct syscall_sum *ret,
			   struct syscall_histogram *ret_histogram);
/* Calls that failed, by errno, in the same way. */
bool bpf_syscalls_next_error(struct bpf_syscalls *syscalls, bool first, struct syscall_errno_key *key, uint64_t *ret_count);

/* Whether the program has a map of that name; if not, *ret_names has those that there are, "a, b, c". */
bool bpf_syscalls_has_map(const struct bpf_syscalls *syscalls, const char *name, struct strbuf *ret_names);
/* Adds what is in it, a line for each key: "[KEY] = VALUE", numbers in decimal, structures as bytes. What is all
 * zero is left out. */
void bpf_syscalls_dump_map(const struct bpf_syscalls *syscalls, const char *name, struct strbuf *out);
