/* Allocations of a process that weren't freed, by stack: a BPF program at the functions of the C library, or of another allocator.
 *
 *	bpf_leaks_open(&config, &leaks);
 *	bpf_leaks_start(leaks, pid, "/lib/x86_64-linux-gnu/libc.so.6", "libc.so.6");
 *	…
 *	bpf_leaks_each(leaks, take, context);
 *	bpf_leaks_close(leaks); */
#pragma once

#include "base/error.h"
#include "bpf/leaks_shared.h"

#include <sys/types.h>

struct bpf_leaks;

struct error *bpf_leaks_open(const struct leaks_config *config, struct bpf_leaks **ret);
/* NULL is fine. */
void bpf_leaks_close(struct bpf_leaks *leaks);
/* Watches all threads of the process, from now on and after it has executed a program, in the functions of a file; those that it hasn't are
 * left out, but malloc and free. `name` is what messages call the file. */
struct error *bpf_leaks_start(struct bpf_leaks *leaks, pid_t pid, const char *path, const char *name);
/* Calls `take` for each allocation that is noted, in no order that means anything; meanwhile they may come and go. */
void bpf_leaks_each(const struct bpf_leaks *leaks, void (*take)(void *context, const struct leaks_allocation *allocation), void *context);
/* … for each stack with its sums. */
void bpf_leaks_each_stack(const struct bpf_leaks *leaks, void (*take)(void *context, int64_t stack, const struct leaks_sums *sums),
			  void *context);
/* The addresses of a stack, innermost first; returns how many of LEAKS_FRAMES are filled, 0 for an unknown stack. */
size_t bpf_leaks_stack(const struct bpf_leaks *leaks, int64_t stack, uint64_t frames[LEAKS_FRAMES]);
/* Allocations that could not be noted: there were too many. */
uint64_t bpf_leaks_missed(const struct bpf_leaks *leaks);
