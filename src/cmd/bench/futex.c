/* perf bench futex: what futexes of the kernel cost: looking them up, waking waiters, moving them to another futex, and locks that hand on
 * priorities. Here: what the benchmarks share, and those that work for a time and count. */
#include "cmd/bench/futex.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- shared ---- */

enum { MOST_THREADS = 1 << 16 };

struct error *futex_begin(const struct option *table, int argc, char **argv, struct futex_options *options)
{
	struct error *error = options_parse_alone(table, argc, argv, options, "");
	if (error)
		return error;
	if (options->lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE))
		return error_system(errno, "--mlockall: cannot keep memory resident; raise the limit (ulimit -l)");
	if (!options->threads) {
		struct bench_cpus cpus;
		bench_cpus_init(&cpus);
		options->threads = cpus.count;
		bench_cpus_deinit(&cpus);
	}
	if (options->threads > MOST_THREADS)
		return error_new_kind(ERROR_USAGE, "--threads: expected at most %d", MOST_THREADS);
	return NULL;
}

void futex_crowd_init(struct futex_crowd *crowd, size_t most)
{
	*crowd = (struct futex_crowd){.threads = mem_alloc_array(most, sizeof(*crowd->threads))};
	bench_cpus_init(&crowd->cpus);
}

struct error *futex_crowd_add(struct futex_crowd *crowd, void *(*start)(void *), void *argument)
{
	struct error *error = bench_start(&crowd->cpus, crowd->count, start, argument, &crowd->threads[crowd->count]);
	if (!error)
		crowd->count++;
	return error;
}

void futex_crowd_wait_ready(const struct futex_crowd *crowd)
{
	while (atomic_load(&crowd->ready) < crowd->count)
		sched_yield();
	usleep(100000);
}

void futex_crowd_join(struct futex_crowd *crowd)
{
	for (size_t i = 0; i < crowd->count; i++)
		pthread_join(crowd->threads[i], NULL);
	crowd->count = 0;
}

void futex_crowd_deinit(struct futex_crowd *crowd)
{
	free(crowd->threads);
	bench_cpus_deinit(&crowd->cpus);
}

/* ---- for a time ---- */

struct timed;

struct worker {
	struct timed *timed;
	uint32_t *futexes; /* its own `count` of them; or one of all */
	uint64_t operations;
};

struct timed {
	const struct futex_options *options;
	struct futex_crowd crowd;
	struct worker *workers;
	uint64_t count; /* futexes of a worker */
	_Atomic bool stop;
	pthread_barrier_t begin;
};

/* The value is another one: the kernel looks the futex up and comes back. Workers lie beside each other, so each counts where no other
 * one's line of the cache is. */
static void *look_up(void *argument)
{
	struct worker *worker = argument;
	struct timed *timed = worker->timed;
	uint32_t *futexes = worker->futexes;
	uint64_t operations = 0, count = timed->count;
	bool shared = timed->options->shared;
	pthread_barrier_wait(&timed->begin);
	do {
		for (uint64_t i = 0; i < count; i++, operations++)
			futex_call(&futexes[i], FUTEX_WAIT, shared, 1234, 0, NULL, 0);
	} while (!atomic_load_explicit(&timed->stop, memory_order_relaxed));
	worker->operations = operations;
	return NULL;
}

static void *lock_pi(void *argument)
{
	struct worker *worker = argument;
	struct timed *timed = worker->timed;
	bool shared = timed->options->shared;
	uint64_t operations = 0;
	pthread_barrier_wait(&timed->begin);
	while (!atomic_load_explicit(&timed->stop, memory_order_relaxed)) {
		while (futex_call(worker->futexes, FUTEX_LOCK_PI, shared, 0, 0, NULL, 0) && !atomic_load(&timed->stop))
			;
		usleep(1);
		futex_call(worker->futexes, FUTEX_UNLOCK_PI, shared, 0, 0, NULL, 0);
		operations++;
	}
	worker->operations = operations;
	return NULL;
}

/* Starts all, lets them work, ends them. The seconds that it took. */
static struct error *work(struct timed *timed, void *(*start)(void *), double *ret_seconds)
{
	struct error *error = NULL;
	size_t threads = (size_t)timed->options->threads;
	futex_crowd_init(&timed->crowd, threads);
	pthread_barrier_init(&timed->begin, NULL, (unsigned int)threads + 1);
	for (size_t i = 0; i < threads && !error; i++)
		error = futex_crowd_add(&timed->crowd, start, &timed->workers[i]);
	if (error)
		return error; /* those that wait at the barrier end with the process */
	pthread_barrier_wait(&timed->begin);
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
	struct timespec time = {.tv_sec = (time_t)timed->options->runtime_s};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL); /* a signal ends it early */
	atomic_store(&timed->stop, true);
	*ret_seconds = (double)(clock_now_ns(CLOCK_MONOTONIC) - begin) / 1e9;
	futex_crowd_join(&timed->crowd);
	futex_crowd_deinit(&timed->crowd);
	pthread_barrier_destroy(&timed->begin);
	return NULL;
}

static void print_average(const struct statistics *mean, bool silent, double seconds)
{
	bench_print("%sAveraged %ld operations/sec (+- %.2f%%), total secs = %d\n", silent ? "" : "\n", (long)mean->mean,
		    statistics_relative(mean), (int)(seconds + 0.5));
	bench_figure("1/s", mean->mean, "operations per second");
	bench_figure("%", statistics_relative(mean), "standard error");
}

static const struct option hash_table[] = {
	FUTEX_RUNTIME_ROW,
	OPTION_U64('f', "futexes", struct futex_options, futexes, "N", "futexes of each thread (default 1024)"),
	FUTEX_ROWS,
};

static struct error *run_hash(int argc, char **argv, int *ret_status)
{
	struct futex_options options = {.runtime_s = 10, .futexes = 1024};
	struct timed timed = {.options = &options};
	struct statistics mean = {0};
	double seconds = 0;
	struct error *error = futex_begin(hash_table, argc, argv, &options);
	if (!error)
		error = bench_check_positive("--futexes", options.futexes);
	if (!error)
		error = bench_check_positive("--runtime", options.runtime_s);
	if (error)
		return error;
	timed.count = options.futexes;
	timed.workers = mem_zalloc_array(options.threads, sizeof(*timed.workers));
	for (size_t i = 0; i < options.threads; i++)
		timed.workers[i] = (struct worker){&timed, mem_zalloc_array(timed.count, sizeof(uint32_t)), 0};
	bench_begin("futex/hash", &options.common);
	bench_print("Run summary [PID %d]: %" PRIu64 " threads, each operating on %" PRIu64 " [%s] futexes for %" PRIu64 " secs.\n\n",
		    getpid(), options.threads, timed.count, options.shared ? "shared" : "private", options.runtime_s);
	error = work(&timed, look_up, &seconds);
	if (error)
		return error;
	for (size_t i = 0; i < options.threads; i++) {
		const struct worker *worker = &timed.workers[i];
		double rate = (double)worker->operations / seconds;
		statistics_add(&mean, rate);
		if (!options.silent)
			bench_print("[thread %2zu] futexes: %p ... %p [ %ld ops/sec ]\n", i, (void *)worker->futexes,
				    (void *)&worker->futexes[timed.count - 1], (long)rate);
		free(worker->futexes);
	}
	print_average(&mean, options.silent, seconds);
	bench_end();
	free(timed.workers);
	return NULL;
}

static const struct command hash = BENCH(futex, "hash", "Looking up futexes in the kernel's hash table", hash_table, run_hash);

static const struct option lock_table[] = {
	FUTEX_RUNTIME_ROW,
	OPTION_FLAG('M', "multi", struct futex_options, multi, "a futex for each thread instead of one for all"),
	FUTEX_ROWS,
};

static struct error *run_lock_pi(int argc, char **argv, int *ret_status)
{
	struct futex_options options = {.runtime_s = 10};
	struct timed timed = {.options = &options};
	struct statistics mean = {0};
	double seconds = 0;
	struct error *error = futex_begin(lock_table, argc, argv, &options);
	if (!error)
		error = bench_check_positive("--runtime", options.runtime_s);
	if (error)
		return error;
	uint32_t *words = mem_zalloc_array(options.threads, sizeof(*words));
	timed.workers = mem_zalloc_array(options.threads, sizeof(*timed.workers));
	for (size_t i = 0; i < options.threads; i++)
		timed.workers[i] = (struct worker){&timed, &words[options.multi ? i : 0], 0};
	bench_begin("futex/lock-pi", &options.common);
	bench_print("Run summary [PID %d]: %" PRIu64 " threads doing pi lock/unlock pairing for %" PRIu64 " secs.\n\n", getpid(),
		    options.threads, options.runtime_s);
	error = work(&timed, lock_pi, &seconds);
	if (error)
		return error;
	for (size_t i = 0; i < options.threads; i++) {
		double rate = (double)timed.workers[i].operations / seconds;
		statistics_add(&mean, rate);
		if (!options.silent)
			bench_print("[thread %3zu] futex: %p [ %ld ops/sec ]\n", i, (void *)timed.workers[i].futexes, (long)rate);
	}
	print_average(&mean, options.silent, seconds);
	bench_end();
	free(timed.workers);
	free(words);
	return NULL;
}

static const struct command lock_pi_command = BENCH(futex, "lock-pi", "Locks that hand on priorities", lock_table, run_lock_pi);

static const struct command *const benchmarks[] = {
	&hash, &bench_futex_wake, &bench_futex_wake_parallel, &bench_futex_requeue, &lock_pi_command, NULL};
BENCH_COLLECTION(futex, "Futexes: looking up, waking, moving waiters, locking", benchmarks);
