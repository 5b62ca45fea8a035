/* futex(2), and what the benchmarks of perf bench futex share. */
#pragma once

#include "cmd/bench/bench.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct futex_options {
	struct bench_common common;
	uint64_t threads; /* 0 = one for each CPU */
	uint64_t futexes, runtime_s, wakes, wakers, requeue;
	bool silent, shared, lock_memory, multi, broadcast, pi;
};

/* Rows of the options that all of them have. */
#define FUTEX_ROWS                                                                                                                     \
	OPTION_U64('t', "threads", struct futex_options, threads, "N", "threads (default: one for each CPU)"),                         \
		OPTION_FLAG('S', "shared", struct futex_options, shared, "futexes that processes may share, instead of private ones"), \
		OPTION_FLAG('m', "mlockall", struct futex_options, lock_memory, "keep all memory resident"),                           \
		OPTION_FLAG('s', "silent", struct futex_options, silent, "the summary alone"), BENCH_COMMON(struct futex_options),     \
		OPTION_END
#define FUTEX_RUNTIME_ROW OPTION_U64('r', "runtime", struct futex_options, runtime_s, "SECONDS", "how long (default 10)")

/* Negative results are in errno, as for system calls. */
static inline long futex_call(uint32_t *word, int operation, bool shared, uint32_t value, uintptr_t timeout_or_count, uint32_t *other,
			      uint32_t value3)
{
	return syscall(SYS_futex, word, operation | (shared ? 0 : FUTEX_PRIVATE_FLAG), value, timeout_or_count, other, value3);
}

/* Threads of a benchmark. */
struct futex_crowd {
	struct bench_cpus cpus;
	pthread_t *threads;
	size_t count;		/* of those that run */
	_Atomic uint32_t ready; /* each counts itself before it begins */
};

/* What all of them begin with: parses, checks, fills in the number of threads. */
struct error *futex_begin(const struct option *table, int argc, char **argv, struct futex_options *options);

void futex_crowd_init(struct futex_crowd *crowd, size_t most);
struct error *futex_crowd_add(struct futex_crowd *crowd, void *(*start)(void *), void *argument);
/* Until each has counted itself and had a tenth of a second to block after that. */
void futex_crowd_wait_ready(const struct futex_crowd *crowd);
/* Waits for their ends. */
void futex_crowd_join(struct futex_crowd *crowd);
void futex_crowd_deinit(struct futex_crowd *crowd);
