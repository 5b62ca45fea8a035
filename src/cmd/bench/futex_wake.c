/* perf bench futex wake, wake-parallel, requeue: how long it takes until all who block at a futex are awake again, or have moved to another
 * one. Each is repeated, with new threads. */
#include "cmd/bench/futex.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Two futexes: threads block at the first; requeue moves them to the second. */
static uint32_t first_futex, second_futex;

struct sleepers {
	const struct futex_options *options;
	struct futex_crowd crowd;
};

static void *block(void *argument)
{
	struct sleepers *sleepers = argument;
	atomic_fetch_add(&sleepers->crowd.ready, 1);
	while (futex_call(&first_futex, FUTEX_WAIT, sleepers->options->shared, 0, 0, NULL, 0) && errno == EINTR)
		;
	return NULL;
}

static void *block_pi(void *argument)
{
	struct sleepers *sleepers = argument;
	bool shared = sleepers->options->shared;
	long result;
	atomic_fetch_add(&sleepers->crowd.ready, 1);
	do
		result = futex_call(&first_futex, FUTEX_WAIT_REQUEUE_PI, shared, 0, 0, &second_futex, 0);
	while (result && (errno == EINTR || errno == EAGAIN));
	if (!result)
		futex_call(&second_futex, FUTEX_UNLOCK_PI, shared, 0, 0, NULL, 0);
	return NULL;
}

static struct error *start_sleepers(struct sleepers *sleepers, const struct futex_options *options, void *(*start)(void *))
{
	struct error *error = NULL;
	*sleepers = (struct sleepers){.options = options};
	futex_crowd_init(&sleepers->crowd, options->threads);
	for (size_t i = 0; i < options->threads && !error; i++)
		error = futex_crowd_add(&sleepers->crowd, start, sleepers);
	if (!error)
		futex_crowd_wait_ready(&sleepers->crowd);
	return error;
}

static uint64_t wake(bool shared, uint32_t *word, uint64_t most)
{
	long woken = futex_call(word, FUTEX_WAKE, shared, (uint32_t)most, 0, NULL, 0);
	return woken > 0 ? (uint64_t)woken : 0;
}

static void end_sleepers(struct sleepers *sleepers)
{
	futex_crowd_join(&sleepers->crowd);
	futex_crowd_deinit(&sleepers->crowd);
}

static double ms_since(uint64_t begin_ns)
{
	return (double)(clock_now_ns(CLOCK_MONOTONIC) - begin_ns) / 1e6;
}

static void add_figures(const struct statistics *mean)
{
	bench_figure("ms", mean->mean, "time");
	bench_figure("%", statistics_relative(mean), "standard error");
	bench_end();
}

/* ---- wake ---- */

static const struct option wake_table[] = {
	OPTION_U64('w', "nwakes", struct futex_options, wakes, "N", "threads to wake by one call (default 1)"),
	FUTEX_ROWS,
};

static struct error *run_wake(int argc, char **argv, int *ret_status)
{
	struct futex_options options = {.wakes = 1};
	struct statistics times = {0}, counts = {0};
	struct error *error = futex_begin(wake_table, argc, argv, &options);
	if (!error)
		error = bench_check_positive("--nwakes", options.wakes);
	if (error)
		return error;
	bench_begin("futex/wake", &options.common);
	bench_print("Run summary [PID %d]: blocking on %" PRIu64 " threads (at [%s] futex %p), waking up %" PRIu64 " at a time.\n\n",
		    getpid(), options.threads, options.shared ? "shared" : "private", (void *)&first_futex, options.wakes);
	for (unsigned int run = 1; run <= bench_times(); run++) {
		struct sleepers sleepers;
		uint64_t woken = 0;
		error = start_sleepers(&sleepers, &options, block);
		if (error)
			return error;
		uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
		while (woken < options.threads)
			woken += wake(options.shared, &first_futex, options.wakes);
		double ms = ms_since(begin);
		end_sleepers(&sleepers);
		statistics_add(&times, ms);
		statistics_add(&counts, (double)woken);
		if (!options.silent)
			bench_print("[Run %u]: Wokeup %" PRIu64 " of %" PRIu64 " threads in %.4f ms\n", run, woken, options.threads, ms);
	}
	bench_print("Wokeup %.0f of %" PRIu64 " threads in %.4f ms (+-%.2f%%)\n", counts.mean, options.threads, times.mean,
		    statistics_relative(&times));
	add_figures(&times);
	return NULL;
}

const struct command bench_futex_wake = BENCH(futex, "wake", "Waking threads that block at a futex", wake_table, run_wake);

/* ---- wake-parallel ---- */

static const struct option parallel_table[] = {
	OPTION_U64('w', "nwakers", struct futex_options, wakers, "N", "threads that wake (default: as many as block)"),
	FUTEX_ROWS,
};

struct waker {
	const struct futex_options *options;
	pthread_barrier_t *begin;
	double ms;
};

static void *wake_share(void *argument)
{
	struct waker *waker = argument;
	uint64_t share = waker->options->threads / waker->options->wakers, woken = 0;
	pthread_barrier_wait(waker->begin);
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
	while (woken < share)
		woken += wake(waker->options->shared, &first_futex, share - woken);
	waker->ms = ms_since(begin);
	return NULL;
}

/* The mean of what the wakers of one run took. */
static struct error *wake_in_parallel(const struct futex_options *options, struct statistics *mean)
{
	struct sleepers sleepers;
	struct futex_crowd wakers;
	pthread_barrier_t begin;
	struct error *error = start_sleepers(&sleepers, options, block);
	if (error)
		return error;
	struct waker *each = mem_zalloc_array(options->wakers, sizeof(*each));
	futex_crowd_init(&wakers, options->wakers);
	pthread_barrier_init(&begin, NULL, (unsigned int)options->wakers);
	for (size_t i = 0; i < options->wakers && !error; i++) {
		each[i] = (struct waker){options, &begin, 0};
		error = futex_crowd_add(&wakers, wake_share, &each[i]);
	}
	if (error)
		return error; /* those that wait at the barrier end with the process */
	futex_crowd_join(&wakers);
	futex_crowd_deinit(&wakers);
	end_sleepers(&sleepers);
	pthread_barrier_destroy(&begin);
	for (size_t i = 0; i < options->wakers; i++)
		statistics_add(mean, each[i].ms);
	free(each);
	return NULL;
}

static struct error *run_wake_parallel(int argc, char **argv, int *ret_status)
{
	struct futex_options options = {0};
	struct statistics all = {0};
	struct error *error = futex_begin(parallel_table, argc, argv, &options);
	if (error)
		return error;
	if (!options.wakers)
		options.wakers = options.threads;
	if (options.wakers > options.threads || options.threads % options.wakers)
		return error_new_kind(ERROR_USAGE,
				      "--nwakers: expected a number that divides the %" PRIu64 " threads that block (--threads)",
				      options.threads);
	bench_begin("futex/wake-parallel", &options.common);
	uint64_t share = options.threads / options.wakers;
	bench_print("Run summary [PID %d]: blocking on %" PRIu64 " threads (at [%s] futex %p), %" PRIu64 " threads waking up %" PRIu64
		    " at a time.\n\n",
		    getpid(), options.threads, options.shared ? "shared" : "private", (void *)&first_futex, options.wakers, share);
	for (unsigned int run = 1; run <= bench_times(); run++) {
		struct statistics mean = {0};
		error = wake_in_parallel(&options, &mean);
		if (error)
			return error;
		statistics_add(&all, mean.mean);
		if (!options.silent)
			bench_print("[Run %u]: Avg per-thread latency (waking %" PRIu64 "/%" PRIu64 " threads) in %.4f ms (+-%.2f%%)\n",
				    run, share, options.threads, mean.mean, statistics_relative(&mean));
	}
	bench_print("Avg per-thread latency (waking %" PRIu64 "/%" PRIu64 " threads) in %.4f ms (+-%.2f%%)\n", share, options.threads,
		    all.mean, statistics_relative(&all));
	add_figures(&all);
	return NULL;
}

const struct command bench_futex_wake_parallel =
	BENCH(futex, "wake-parallel", "Several threads that wake others at the same time", parallel_table, run_wake_parallel);

/* ---- requeue ---- */

static const struct option requeue_table[] = {
	OPTION_U64('q', "nrequeue", struct futex_options, requeue, "N", "threads to move by one call (default 1)"),
	OPTION_FLAG('B', "broadcast", struct futex_options, broadcast, "move all threads by one call"),
	OPTION_FLAG('p', "pi", struct futex_options, pi, "to a futex that hands on priorities"),
	FUTEX_ROWS,
};

struct moved {
	uint64_t woken, requeued;
	double ms;
};

/* Without PI none is woken by it: all are, afterwards, at the second futex. With PI the first gets the lock, and hands it on when it is
 * awake; a call's result counts both. */
static struct error *requeue(const struct futex_options *options, struct moved *moved)
{
	struct sleepers sleepers;
	struct error *error = start_sleepers(&sleepers, options, options->pi ? block_pi : block);
	if (error)
		return error;
	int operation = options->pi ? FUTEX_CMP_REQUEUE_PI : FUTEX_CMP_REQUEUE;
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
	while (moved->woken + moved->requeued < options->threads) {
		long result = futex_call(&first_futex, operation, options->shared, options->pi ? 1 : 0, options->requeue, &second_futex, 0);
		if (result < 0 && errno != EAGAIN && errno != EINTR)
			return error_system(errno, "this kernel cannot move waiters %s",
					    options->pi ? "to a lock that hands on priorities" : "between futexes");
		if (result > 0 && options->pi && !moved->woken) {
			moved->woken = 1;
			result--;
		}
		moved->requeued += result > 0 ? (uint64_t)result : 0;
	}
	moved->ms = ms_since(begin);
	for (uint64_t woken = 0; !options->pi && woken < moved->requeued;)
		woken += wake(options->shared, &second_futex, moved->requeued);
	end_sleepers(&sleepers);
	return NULL;
}

static struct error *run_requeue(int argc, char **argv, int *ret_status)
{
	struct futex_options options = {.requeue = 1};
	struct statistics times = {0}, counts = {0};
	struct error *error = futex_begin(requeue_table, argc, argv, &options);
	if (!error)
		error = bench_check_positive("--nrequeue", options.requeue);
	if (error)
		return error;
	if (options.broadcast || options.requeue > options.threads)
		options.requeue = options.threads;
	bench_begin("futex/requeue", &options.common);
	bench_print("Run summary [PID %d]: Requeuing %" PRIu64 " threads (from [%s] %p to %s%p), %" PRIu64 " at a time.\n\n", getpid(),
		    options.threads, options.shared ? "shared" : "private", (void *)&first_futex, options.pi ? "PI " : "",
		    (void *)&second_futex, options.requeue);
	for (unsigned int run = 1; run <= bench_times(); run++) {
		struct moved moved = {0};
		first_futex = second_futex = 0;
		error = requeue(&options, &moved);
		if (error)
			return error;
		statistics_add(&times, moved.ms);
		statistics_add(&counts, (double)(moved.woken + moved.requeued));
		if (options.silent)
			continue;
		if (options.pi)
			bench_print("[Run %u]: Awoke and Requeued (%" PRIu64 "+%" PRIu64 ") of %" PRIu64 " threads in %.4f ms\n", run,
				    moved.woken, moved.requeued, options.threads, moved.ms);
		else
			bench_print("[Run %u]: Requeued %" PRIu64 " of %" PRIu64 " threads in %.4f ms\n", run, moved.requeued,
				    options.threads, moved.ms);
	}
	bench_print("Requeued %.0f of %" PRIu64 " threads in %.4f ms (+-%.2f%%)\n", counts.mean, options.threads, times.mean,
		    statistics_relative(&times));
	add_figures(&times);
	return NULL;
}

const struct command bench_futex_requeue =
	BENCH(futex, "requeue", "Moving threads that block from one futex to another", requeue_table, run_requeue);
