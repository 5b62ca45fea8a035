/* How long a function of the kernel takes, added up in the kernel: perf ftrace latency -b.
 *
 *	bpf_function_latency_open("vfs_read", &options, &latency);
 *	bpf_function_latency_add_target(latency, tid);  // with config.by_task
 *	bpf_function_latency_start(latency);
 *	bpf_function_latency_switch(latency, true);
 *	…
 *	bpf_function_latency_read(latency, &sums);
 *	bpf_function_latency_close(latency); */
#pragma once

#include "base/error.h"
#include "bpf/latency/function_latency_shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct bpf_function_latency;

struct bpf_function_latency_options {
	struct function_latency_config config;
	size_t targets;	 /* at most so many are added */
	const int *cpus; /* with config.on_cpus */
	size_t cpu_count;
};

/* The kernel must describe the function's type (BTF), and it must not be inlined everywhere. */
struct error *bpf_function_latency_open(const char *function, const struct bpf_function_latency_options *options,
					struct bpf_function_latency **ret);
/* NULL is fine. */
void bpf_function_latency_close(struct bpf_function_latency *latency);
/* A thread, in our pid namespace. */
struct error *bpf_function_latency_add_target(struct bpf_function_latency *latency, pid_t tid);
struct error *bpf_function_latency_start(struct bpf_function_latency *latency);
/* Calls that begin while it is off aren't measured; at first it is. */
void bpf_function_latency_switch(struct bpf_function_latency *latency, bool on);
/* All CPUs together. */
void bpf_function_latency_read(struct bpf_function_latency *latency, struct function_latency_sums *ret);
/* Calls that could not be measured. */
uint64_t bpf_function_latency_missed(const struct bpf_function_latency *latency);
