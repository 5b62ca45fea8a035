/* perf bench numa mem: processes of threads that work on memory. numa.c has the work and the places, numa_run.c options, processes,
 * results. */
#pragma once

#include "cmd/bench/bench.h"

#include <pthread.h>
#include <sys/types.h>

enum { NUMA_MOST_TASKS = 1 << 14, NUMA_MOST_NODES = 64 };

struct numa_options {
	struct bench_common common;
	uint64_t processes, threads;
	uint64_t global_mb, process_mb, locked_mb, thread_mb;
	uint64_t loops, seconds; /* loops 0 = as many as there are seconds for */
	uint64_t sleep_us, perturb_s;
	bool reads, writes, backwards, random_walk, zero_only; /* how memory is accessed */
	bool zero_first, random_first, first_cpu;	       /* how it begins */
	int huge_pages;					       /* above 0: wanted, below: not wanted */
	bool show_convergence, measure_convergence, details, quiet, serialize, all;
	const char *cpus, *nodes;
	const char *label; /* before the names of figures */
};

struct numa_process;

/* In memory that all processes share, written by the thread alone. */
struct numa_thread {
	_Alignas(64) const struct numa_process *process; /* a line of the cache for each */
	size_t number;					 /* among all threads of all processes */
	uint64_t bytes, loops, runtime_ns;
	int cpu;
	pthread_t thread;
};

/* One for all processes, in memory that they share. */
struct numa_shared {
	const struct numa_options *options;
	void *global;
	int cpus[NUMA_MOST_TASKS], nodes[NUMA_MOST_TASKS]; /* of the first threads (-C, -M) */
	size_t cpu_count, node_count;
	struct numa_thread *threads;
	_Atomic uint32_t ready;
	_Atomic bool begin, stop;
};

struct numa_process {
	struct numa_shared *shared;
	void *memory, *locked;
	pthread_mutex_t *mutex;
};

/* A thread's start routine; the argument is its struct numa_thread. */
void *numa_work(void *argument);
/* NULL for 0 bytes. The process ends when there is no memory. */
void *numa_allocate(const struct numa_options *options, size_t bytes, bool shared);
/* Binds the calling thread, by its number, to what -C and -M say. */
void numa_bind_thread(const struct numa_shared *shared, size_t number);
bool numa_has_converged(const struct numa_shared *shared);
