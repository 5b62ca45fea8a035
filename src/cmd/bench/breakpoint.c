/* perf bench breakpoint: what hardware breakpoints cost threads that start and end with them, and what switching one on and off costs. */
#include "cmd/bench/bench.h"

#include "base/clock.h"
#include "base/mem.h"
#include "kernel/perf_open.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct breakpoint_options {
	struct bench_common common;
	uint64_t breakpoints, parallel, threads; /* of thread */
	uint64_t passive, active;		 /* of enable */
};

static struct error *check_threads(const char *option, uint64_t threads)
{
	return threads > 1 << 15 ? error_new_kind(ERROR_USAGE, "%s: expected at most 32768", option) : NULL;
}

/* A breakpoint on our own `word`, which all threads inherit, on. */
static struct error *open_breakpoint(const uint64_t *word, int *ret)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.bp_addr = (uintptr_t)word,
		.bp_type = HW_BREAKPOINT_RW,
		.bp_len = HW_BREAKPOINT_LEN_1,
	};
	*ret = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (*ret >= 0)
		return NULL;
	int failed = -*ret;
	return failed == ENOSPC ? error_new_kind(ERROR_UNSUPPORTED, "the CPU has no more breakpoints; use fewer")
				: error_new_kind(ERROR_UNSUPPORTED, "this machine cannot set breakpoints here: %s", strerror(failed));
}

/* ---- thread ---- */

static void *end_at_once(void *argument)
{
	return argument;
}

/* Those that start threads share the runs. */
struct starters {
	const struct breakpoint_options *options;
	atomic_uint begun;
};

static void *start_threads(void *argument)
{
	struct starters *starters = argument;
	const struct breakpoint_options *options = starters->options;
	pthread_t *threads = mem_alloc_array(options->threads, sizeof(*threads));
	while (atomic_fetch_add(&starters->begun, 1) < bench_times()) {
		uint64_t started = 0;
		while (started < options->threads && !pthread_create(&threads[started], NULL, end_at_once, NULL))
			started++;
		for (uint64_t i = 0; i < started; i++)
			pthread_join(threads[i], NULL);
	}
	free(threads);
	return NULL;
}

static const struct option thread_table[] = {
	OPTION_U64('b', "breakpoints", struct breakpoint_options, breakpoints, "N", "breakpoints that all threads inherit (default 1)"),
	OPTION_U64('p', "parallelism", struct breakpoint_options, parallel, "N", "threads that start others (default 1)"),
	OPTION_U64('t', "threads", struct breakpoint_options, threads, "N", "threads to start at a time (default 1)"),
	BENCH_COMMON(struct breakpoint_options),
	OPTION_END,
};

static struct error *start_in_parallel(const struct breakpoint_options *options, uint64_t *ret_elapsed_ns)
{
	struct starters starters = {.options = options};
	pthread_t *parallel = mem_alloc_array(options->parallel, sizeof(*parallel));
	struct error *error = NULL;
	uint64_t started = 0, begin = clock_now_ns(CLOCK_MONOTONIC);
	for (; started < options->parallel && !error; started++) {
		int failed = pthread_create(&parallel[started], NULL, start_threads, &starters);
		if (failed) {
			error = error_system(failed, "cannot start thread %" PRIu64, started + 1);
			break;
		}
	}
	for (uint64_t i = 0; i < started; i++)
		pthread_join(parallel[i], NULL);
	*ret_elapsed_ns = clock_now_ns(CLOCK_MONOTONIC) - begin;
	free(parallel);
	return error;
}

static struct error *run_thread(int argc, char **argv, int *ret_status)
{
	enum { MOST_BREAKPOINTS = 64 };
	struct breakpoint_options options = {.breakpoints = 1, .parallel = 1, .threads = 1};
	uint64_t words[MOST_BREAKPOINTS] = {0}, elapsed_ns = 0;
	int descriptors[MOST_BREAKPOINTS];
	size_t opened = 0;
	struct error *error = options_parse_alone(thread_table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--threads", options.threads);
	if (!error)
		error = bench_check_positive("--parallelism", options.parallel);
	if (!error)
		error = check_threads("--threads", options.threads);
	if (!error)
		error = check_threads("--parallelism", options.parallel);
	if (!error && options.breakpoints > MOST_BREAKPOINTS)
		error = error_new_kind(ERROR_USAGE, "--breakpoints: expected at most %d", MOST_BREAKPOINTS);
	while (!error && opened < options.breakpoints) {
		error = open_breakpoint(&words[opened], &descriptors[opened]);
		opened += !error;
	}
	if (!error) {
		bench_begin("breakpoint/thread", &options.common);
		error = start_in_parallel(&options, &elapsed_ns);
	}
	for (size_t i = 0; i < opened; i++)
		close(descriptors[i]);
	if (error)
		return error;
	bench_say("# Created/joined %u threads with %" PRIu64 " breakpoints and %" PRIu64 " parallelism\n", bench_times(),
		  options.breakpoints, options.parallel);
	bench_total(elapsed_ns);
	double us = (double)elapsed_ns / 1e3 / bench_times() / (double)options.threads;
	bench_say("\n %14lf usecs/op\n %14lf usecs/op/cpu\n", us, us * (double)options.parallel);
	bench_figure("us", us, "time per operation");
	bench_figure("us", us * (double)options.parallel, "time per operation and CPU");
	bench_end();
	return NULL;
}

/* ---- enable ---- */

struct company {
	_Atomic bool stop;
	pthread_t *threads;
	size_t count;
	pthread_mutex_t mutex;
	pthread_cond_t stopped;
};

static void *spin(void *argument)
{
	struct company *company = argument;
	while (!atomic_load_explicit(&company->stop, memory_order_relaxed))
		;
	return NULL;
}

static void *sleep_until_stopped(void *argument)
{
	struct company *company = argument;
	pthread_mutex_lock(&company->mutex);
	while (!atomic_load(&company->stop))
		pthread_cond_wait(&company->stopped, &company->mutex);
	pthread_mutex_unlock(&company->mutex);
	return NULL;
}

static struct error *gather(struct company *company, uint64_t count, void *(*start)(void *))
{
	for (uint64_t i = 0; i < count; i++) {
		int failed = pthread_create(&company->threads[company->count], NULL, start, company);
		if (failed)
			return error_system(failed, "cannot start thread %zu", company->count + 1);
		company->count++;
	}
	return NULL;
}

static void dismiss(struct company *company)
{
	pthread_mutex_lock(&company->mutex);
	atomic_store(&company->stop, true);
	pthread_cond_broadcast(&company->stopped);
	pthread_mutex_unlock(&company->mutex);
	for (size_t i = 0; i < company->count; i++)
		pthread_join(company->threads[i], NULL);
	free(company->threads);
}

static const struct option enable_table[] = {
	OPTION_U64('p', "passive", struct breakpoint_options, passive, "N", "threads that sleep (default 0)"),
	OPTION_U64('a', "active", struct breakpoint_options, active, "N", "threads that run (default 0)"),
	BENCH_COMMON(struct breakpoint_options),
	OPTION_END,
};

static struct error *run_enable(int argc, char **argv, int *ret_status)
{
	struct breakpoint_options options = {0};
	struct company company = {.mutex = PTHREAD_MUTEX_INITIALIZER, .stopped = PTHREAD_COND_INITIALIZER};
	const uint64_t word = 0;
	int fd = -1;
	struct error *error = options_parse_alone(enable_table, argc, argv, &options, "");
	if (!error)
		error = check_threads("--passive", options.passive);
	if (!error)
		error = check_threads("--active", options.active);
	if (!error)
		error = open_breakpoint(&word, &fd);
	if (error)
		return error;
	bench_begin("breakpoint/enable", &options.common);
	company.threads = mem_alloc_array(options.passive + options.active + 1, sizeof(*company.threads));
	error = gather(&company, options.passive, sleep_until_stopped);
	if (!error)
		error = gather(&company, options.active, spin);
	if (!error && company.count)
		usleep(10000); /* until they run or sleep */
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
	for (unsigned int i = 0; i < bench_times() && !error; i++)
		if (ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
			error = error_system(errno, "switching the breakpoint off and on");
	uint64_t elapsed_ns = clock_now_ns(CLOCK_MONOTONIC) - begin;
	dismiss(&company);
	close(fd);
	if (error)
		return error;
	bench_say("# Enabled/disabled breakpoint %u time with %" PRIu64 " passive and %" PRIu64 " active threads\n", bench_times(),
		  options.passive, options.active);
	bench_total(elapsed_ns);
	bench_say("\n %14lf usecs/op\n", (double)elapsed_ns / 1e3 / bench_times());
	bench_figure("us", (double)elapsed_ns / 1e3 / bench_times(), "time per operation");
	bench_end();
	return NULL;
}

static const struct command thread_command =
	BENCH(breakpoint, "thread", "Threads that start and end with breakpoints", thread_table, run_thread);
static const struct command enable_command = BENCH(breakpoint, "enable", "Switching a breakpoint on and off", enable_table, run_enable);
static const struct command *const benchmarks[] = {&thread_command, &enable_command, NULL};
BENCH_COLLECTION(breakpoint, "Breakpoints", benchmarks);
