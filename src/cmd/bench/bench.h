/* perf bench: what its benchmarks share. Each is a command of its own ("bench sched pipe") in the list of a collection ("bench sched");
 * bench.c finds them all through `bench_collections`.
 *
 * A benchmark tells its results twice: as text for people, in the words and places that the kernel's tool has, and as figures, which
 * --json writes.
 *
 *	bench_begin("sched/pipe", &options.common);
 *	…
 *	bench_time(elapsed_ns, options.loops);
 *	bench_end();
 */
#pragma once

#include "analysis/counting/statistics.h"
#include "app/command.h"
#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_TIMES = 10 }; /* runs of benchmarks that repeat themselves, without -r */

/* What each benchmark takes: --json behind its name as well as before the collection's. */
struct bench_common {
	bool json;
};
extern const struct option bench_common_group[];
#define BENCH_COMMON(type) OPTION_GROUP(bench_common_group, type, common)

/* -r, else BENCH_TIMES. */
unsigned int bench_times(void);

/* "# Running 'NAME' benchmark:". */
void bench_begin(const char *name, const struct bench_common *common);
void bench_end(void);
/* Text of the default format alone; of the default and the simple format; of the simple one alone; and a figure for --json. Figures of one
 * benchmark have different names. */
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void bench_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void bench_simple(const char *format, ...) __attribute__((format(printf, 1, 2)));
void bench_figure(const char *unit, double value, const char *name, ...) __attribute__((format(printf, 3, 4)));
/* The total time, and with operations the time of each and how many fit in a second. In the simple format: the seconds. */
void bench_total(uint64_t elapsed_ns);
void bench_time(uint64_t elapsed_ns, uint64_t operations);

/* An error when the value of an option is 0: at least 1 is expected. */
struct error *bench_check_positive(const char *option, uint64_t value);

/* Threads of a benchmark that are bound to one CPU after the other, of those that this process may use. */
struct bench_cpus {
	int *cpus; /* owned */
	size_t count;
};
void bench_cpus_init(struct bench_cpus *cpus);
void bench_cpus_deinit(struct bench_cpus *cpus);
/* Runs `start(argument)` in a new thread on CPU number `index` of them, counted around. */
struct error *bench_start(const struct bench_cpus *cpus, size_t index, void *(*start)(void *), void *argument, pthread_t *ret_thread);

/* Collections, in the order of `perf bench all`; each has benchmarks as its subcommands. Ends with NULL. */
extern const struct command bench_sched, bench_syscall, bench_mem, bench_numa, bench_futex, bench_epoll, bench_internals, bench_breakpoint,
	bench_uprobe;
/* Benchmarks that stand in another file than the list of their collection. */
extern const struct command bench_sched_messaging, bench_futex_wake, bench_futex_wake_parallel, bench_futex_requeue, bench_internals_inject;
/* run() of all collections: without a word it lists the benchmarks, with "all" it runs them. */
struct error *bench_run_collection(const struct command *collection, int argc, char **argv, int *ret_status);
#define BENCH_COLLECTION(word, text, benchmarks)                                            \
	static struct error *run_collection(int argc, char **argv, int *ret_status)         \
	{                                                                                   \
		return bench_run_collection(&bench_##word, argc, argv, ret_status);         \
	}                                                                                   \
	static const char *const collection_usage[] = {"BENCHMARK [OPTIONS]", "all", NULL}; \
	const struct command bench_##word = {                                               \
		"bench " #word, text, collection_usage, NULL, run_collection, .subcommands = (benchmarks), .own_options = true}
/* A benchmark's command. */
#define BENCH(word, name, text, table, run)                                                                     \
	{                                                                                                       \
		"bench " #word " " name, text, bench_usage, table, run, .own_options = true, .whole_word = true \
	}
extern const char *const bench_usage[];
