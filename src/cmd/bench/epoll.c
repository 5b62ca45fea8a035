/* perf bench epoll: waiting for many descriptors, and adding, changing and removing them. Each thread has event descriptors of its own. */
#include "cmd/bench/bench.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST_LEVELS = 4 };

struct epoll_options {
	struct bench_common common;
	uint64_t threads; /* 0 = one for each CPU, without the writer's */
	uint64_t descriptors, runtime_s, nested;
	bool random, no_affinity, verbose;
	bool multi, nonblocking, edge, oneshot; /* of wait */
};

struct crowd;

struct worker {
	struct crowd *crowd;
	int epoll; /* where its descriptors are */
	int *descriptors;
	uint64_t waits, adds, changes, removals;
	pthread_t thread;
	unsigned int seed;
};

struct crowd {
	const struct epoll_options *options;
	struct worker *workers;
	size_t started;
	int shared; /* the epoll descriptor of all, or -1 */
	_Atomic bool stop;
	pthread_barrier_t begin;
	struct bench_cpus cpus;
	uint64_t rounds; /* of the writer */
};

static uint32_t watched(const struct epoll_options *options)
{
	return EPOLLIN | (options->edge ? EPOLLET : 0) | (options->oneshot ? EPOLLONESHOT : 0);
}

static bool stops(const struct crowd *crowd)
{
	return atomic_load_explicit(&crowd->stop, memory_order_relaxed);
}

/* ---- wait ---- */

static void *wait_for_events(void *argument)
{
	struct worker *worker = argument;
	const struct epoll_options *options = worker->crowd->options;
	struct epoll_event event;
	uint64_t value;
	pthread_barrier_wait(&worker->crowd->begin);
	while (!stops(worker->crowd)) {
		if (epoll_wait(worker->epoll, &event, 1, options->nonblocking ? 0 : -1) != 1)
			continue;
		ssize_t got;
		do
			got = read(event.data.fd, &value, sizeof(value));
		while (got < 0 && errno == EAGAIN && !options->oneshot && !stops(worker->crowd));
		if (options->oneshot) { /* watched again */
			event.events = watched(options);
			epoll_ctl(worker->epoll, EPOLL_CTL_MOD, event.data.fd, &event);
		}
		worker->waits++;
	}
	return NULL;
}

static void *write_events(void *argument)
{
	struct crowd *crowd = argument;
	const struct epoll_options *options = crowd->options;
	const uint64_t one = 1;
	const struct timespec pause = {.tv_nsec = 500}; /* those that wait shall not have to share their CPU with us */
	unsigned int seed = 1;
	pthread_barrier_wait(&crowd->begin);
	for (; !stops(crowd); crowd->rounds++) {
		for (size_t i = 0; i < options->threads; i++)
			for (size_t j = 0; j < options->descriptors && !stops(crowd); j++) {
				size_t at = options->random ? (size_t)rand_r(&seed) % options->descriptors : j;
				if (write(crowd->workers[i].descriptors[at], &one, sizeof(one)) < 0 && errno != EAGAIN)
					return NULL;
			}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* ---- ctl ---- */

static void control(struct worker *worker, int operation, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	if (epoll_ctl(worker->epoll, operation, fd, &event))
		return; /* a random one that is there already, or isn't */
	worker->adds += operation == EPOLL_CTL_ADD;
	worker->changes += operation == EPOLL_CTL_MOD;
	worker->removals += operation == EPOLL_CTL_DEL;
}

static void *change_interest(void *argument)
{
	static const int operations[] = {EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL};
	struct worker *worker = argument;
	const struct epoll_options *options = worker->crowd->options;
	const struct timespec pause = {.tv_nsec = 250};
	pthread_barrier_wait(&worker->crowd->begin);
	while (!stops(worker->crowd)) {
		if (options->random)
			control(worker, operations[(unsigned int)rand_r(&worker->seed) % 3],
				worker->descriptors[(size_t)rand_r(&worker->seed) % options->descriptors]);
		for (size_t i = 0; i < options->descriptors && !options->random; i++)
			for (size_t j = 0; j < 3; j++)
				control(worker, operations[j], worker->descriptors[i]);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* ---- both ---- */

static struct error *parse(const struct option *table, int argc, char **argv, unsigned int reserved, struct epoll_options *options)
{
	struct bench_cpus cpus;
	*options = (struct epoll_options){.descriptors = 64, .runtime_s = 8};
	struct error *error = options_parse_alone(table, argc, argv, options, "");
	if (!error)
		error = bench_check_positive("--nfds", options->descriptors);
	if (!error)
		error = bench_check_positive("--runtime", options->runtime_s);
	if (!error && (options->threads > 1 << 16 || options->descriptors > 1 << 20))
		error = error_new_kind(
			ERROR_USAGE, "too many threads or descriptors: expected at most 65536 threads (-t) with 1048576 descriptors (-f)");
	if (!error && options->nested > MOST_LEVELS)
		error = error_new_kind(ERROR_USAGE, "--nested: expected at most %d levels, as the kernel allows", MOST_LEVELS);
	bench_cpus_init(&cpus);
	if (!options->threads)
		options->threads = cpus.count > reserved ? cpus.count - reserved : 1;
	bench_cpus_deinit(&cpus);
	return error;
}

/* As many descriptors as are needed, where we may have them. */
static struct error *raise_limit(const struct epoll_options *options)
{
	struct rlimit limit;
	rlim_t needed = options->threads * (options->descriptors + 1) + MOST_LEVELS + 64;
	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= needed)
		return NULL;
	limit.rlim_cur = needed;
	if (limit.rlim_max < needed)
		limit.rlim_max = needed;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return error_system(errno, "cannot open %" PRIu64 " descriptors; use fewer threads (-t) or descriptors (-f)",
				    (uint64_t)needed);
	return NULL;
}

/* A new epoll descriptor that others watch, level above level: what comes to it is told to all of them. */
static struct error *open_epoll(const struct epoll_options *options, int *ret)
{
	int inner = *ret = epoll_create1(EPOLL_CLOEXEC);
	for (uint64_t level = 0; level < options->nested && inner >= 0; level++) {
		int outer = epoll_create1(EPOLL_CLOEXEC); /* stays open until we end */
		struct epoll_event event = {.events = EPOLLIN, .data.fd = inner};
		inner = outer >= 0 && !epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event) ? outer : -1;
	}
	return inner >= 0 ? NULL : error_system(errno, "cannot make epoll descriptors");
}

static struct error *start(struct crowd *crowd, size_t index, bool registered, void *(*work)(void *))
{
	const struct epoll_options *options = crowd->options;
	struct worker *worker = &crowd->workers[index];
	*worker = (struct worker){.crowd = crowd, .seed = (unsigned int)index + 1, .epoll = crowd->shared};
	struct error *error = worker->epoll < 0 ? open_epoll(options, &worker->epoll) : NULL;
	if (error)
		return error;
	worker->descriptors = mem_alloc_array(options->descriptors, sizeof(int));
	for (size_t i = 0; i < options->descriptors; i++) {
		worker->descriptors[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		struct epoll_event event = {.events = watched(options), .data.fd = worker->descriptors[i]};
		if (worker->descriptors[i] < 0 || (registered && epoll_ctl(worker->epoll, EPOLL_CTL_ADD, worker->descriptors[i], &event)))
			return error_system(errno, "cannot watch descriptor %zu of thread %zu", i + 1, index + 1);
	}
	if (options->no_affinity) {
		int result = pthread_create(&worker->thread, NULL, work, worker);
		return result ? error_system(result, "cannot start thread %zu", index + 1) : NULL;
	}
	return bench_start(&crowd->cpus, index, work, worker, &worker->thread);
}

/* Those that wait for something notice it when something comes. */
static void join_all(struct crowd *crowd)
{
	const struct epoll_options *options = crowd->options;
	const struct timespec pause = {.tv_nsec = 1000000};
	const uint64_t one = 1;
	for (size_t i = 0; i < options->threads; i++)
		while (pthread_tryjoin_np(crowd->workers[i].thread, NULL) == EBUSY) {
			for (size_t j = 0; j < options->threads; j++)
				for (size_t k = 0; k < options->descriptors; k++)
					if (write(crowd->workers[j].descriptors[k], &one, sizeof(one)) < 0)
						break;
			nanosleep(&pause, NULL);
		}
}

static void rest_and_stop(struct crowd *crowd, double *ret_seconds)
{
	pthread_barrier_wait(&crowd->begin);
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
	struct timespec time = {.tv_sec = (time_t)crowd->options->runtime_s};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL); /* a signal ends it early */
	atomic_store(&crowd->stop, true);
	*ret_seconds = (double)(clock_now_ns(CLOCK_MONOTONIC) - begin) / 1e9;
	join_all(crowd);
}

static void deinit(struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->options->threads; i++) {
		struct worker *worker = &crowd->workers[i];
		for (size_t j = 0; j < crowd->options->descriptors; j++)
			close(worker->descriptors[j]);
		free(worker->descriptors);
		if (worker->epoll != crowd->shared)
			close(worker->epoll);
	}
	if (crowd->shared >= 0)
		close(crowd->shared);
	free(crowd->workers);
	bench_cpus_deinit(&crowd->cpus);
	pthread_barrier_destroy(&crowd->begin);
}

static void print_descriptors(const struct worker *worker, size_t index)
{
	bench_print("[thread %2zu] fdmap: %p ... %p ", index, (void *)worker->descriptors,
		    (void *)&worker->descriptors[worker->crowd->options->descriptors - 1]);
}

#define EPOLL_ROWS                                                                                                             \
	OPTION_U64('t', "threads", struct epoll_options, threads, "N", "threads (default: one for each CPU)"),                 \
		OPTION_U64('r', "runtime", struct epoll_options, runtime_s, "SECONDS", "how long (default 8)"),                \
		OPTION_U64('f', "nfds", struct epoll_options, descriptors, "N", "descriptors of each thread (default 64)"),    \
		OPTION_U64('N', "nested", struct epoll_options, nested, "LEVELS", "epoll descriptors that watch one another"), \
		OPTION_FLAG('n', "noaffinity", struct epoll_options, no_affinity, "do not bind threads to CPUs"),              \
		OPTION_FLAG('R', "randomize", struct epoll_options, random, "descriptors in random order"),                    \
		OPTION_FLAG('v', "verbose", struct epoll_options, verbose, "tell what is done"), BENCH_COMMON(struct epoll_options)

static const struct option wait_table[] = {
	EPOLL_ROWS,
	OPTION_FLAG('m', "multiq", struct epoll_options, multi, "an epoll descriptor for each thread"),
	OPTION_FLAG('B', "nonblocking", struct epoll_options, nonblocking, "epoll_wait(2) without waiting"),
	OPTION_FLAG('S', "oneshot", struct epoll_options, oneshot, "with EPOLLONESHOT"),
	OPTION_FLAG('E', "edge", struct epoll_options, edge, "with EPOLLET: edge-triggered"),
	OPTION_END,
};

static struct error *start_all(struct crowd *crowd, bool registered, void *(*work)(void *))
{
	struct error *error = raise_limit(crowd->options);
	crowd->workers = mem_zalloc_array(crowd->options->threads, sizeof(*crowd->workers));
	bench_cpus_init(&crowd->cpus);
	for (size_t i = 0; i < crowd->options->threads && !error; i++)
		error = start(crowd, i, registered, work);
	return error; /* those that wait at the barrier end with the process */
}

static struct error *run_wait(int argc, char **argv, int *ret_status)
{
	struct epoll_options options;
	struct crowd crowd = {.options = &options, .shared = -1};
	struct statistics mean = {0};
	pthread_t writer;
	double seconds = 0;
	struct error *error = parse(wait_table, argc, argv, 1, &options);
	if (error)
		return error;
	error = options.multi ? NULL : open_epoll(&options, &crowd.shared);
	if (error)
		return error;
	bench_begin("epoll/wait", &options.common);
	if (options.verbose)
		bench_print("Using %s queue model\nNesting level(s): %" PRIu64 "\n", options.multi ? "multi" : "single", options.nested);
	bench_print("Run summary [PID %d]: %" PRIu64 " threads monitoring%s on %" PRIu64 " file-descriptors for %" PRIu64 " secs.\n\n",
		    getpid(), options.threads, options.edge ? " with EPOLLET" : "", options.descriptors, options.runtime_s);
	pthread_barrier_init(&crowd.begin, NULL, (unsigned int)options.threads + 2);
	error = start_all(&crowd, true, wait_for_events);
	int failed = error ? 0 : pthread_create(&writer, NULL, write_events, &crowd); /* on any CPU */
	if (failed)
		error = error_system(failed, "cannot start the thread that writes");
	if (error)
		return error;
	rest_and_stop(&crowd, &seconds);
	pthread_join(writer, NULL);
	if (options.verbose)
		bench_print("writer: %" PRIu64 " rounds\n", crowd.rounds);
	for (size_t i = 0; i < options.threads; i++) {
		double rate = (double)crowd.workers[i].waits / seconds;
		statistics_add(&mean, rate);
		print_descriptors(&crowd.workers[i], i);
		bench_print("[ %ld ops/sec ]\n", (long)rate);
	}
	bench_print("\nAveraged %ld operations/sec (+- %.2f%%), total secs = %d\n", (long)mean.mean, statistics_relative(&mean),
		    (int)(seconds + 0.5));
	bench_figure("1/s", mean.mean, "operations per second");
	bench_figure("%", statistics_relative(&mean), "standard error");
	bench_end();
	deinit(&crowd);
	return NULL;
}

static const struct option ctl_table[] = {EPOLL_ROWS, OPTION_END};

static struct error *run_ctl(int argc, char **argv, int *ret_status)
{
	static const char *const names[] = {"ADD", "MOD", "DEL"};
	struct epoll_options options;
	struct crowd crowd = {.options = &options, .shared = -1};
	struct statistics means[3] = {0};
	double seconds = 0;
	struct error *error = parse(ctl_table, argc, argv, 0, &options);
	if (error)
		return error;
	bench_begin("epoll/ctl", &options.common);
	bench_print("Run summary [PID %d]: %" PRIu64 " threads doing epoll_ctl ops %" PRIu64 " file-descriptors for %" PRIu64 " secs.\n\n",
		    getpid(), options.threads, options.descriptors, options.runtime_s);
	error = open_epoll(&options, &crowd.shared);
	if (error)
		return error;
	pthread_barrier_init(&crowd.begin, NULL, (unsigned int)options.threads + 1);
	error = start_all(&crowd, false, change_interest);
	if (error)
		return error;
	rest_and_stop(&crowd, &seconds);
	for (size_t i = 0; i < options.threads; i++) {
		const struct worker *worker = &crowd.workers[i];
		const uint64_t counts[] = {worker->adds, worker->changes, worker->removals};
		for (int j = 0; j < 3; j++)
			statistics_add(&means[j], (double)counts[j] / seconds);
		print_descriptors(worker, i);
		bench_print("[ add: %ld ops; mod: %ld ops; del: %ld ops ]\n", (long)((double)counts[0] / seconds),
			    (long)((double)counts[1] / seconds), (long)((double)counts[2] / seconds));
	}
	bench_print("\n");
	for (int j = 0; j < 3; j++) {
		bench_print("Averaged %ld %s operations (+- %.2f%%)\n", (long)means[j].mean, names[j], statistics_relative(&means[j]));
		bench_figure("1/s", means[j].mean, "%s operations per second", names[j]);
	}
	bench_end();
	deinit(&crowd);
	return NULL;
}

static const struct command wait_command = BENCH(epoll, "wait", "Threads that wait for events of many descriptors", wait_table, run_wait);
static const struct command ctl_command = BENCH(epoll, "ctl", "Adding, changing and removing descriptors", ctl_table, run_ctl);
static const struct command *const benchmarks[] = {&wait_command, &ctl_command, NULL};
BENCH_COLLECTION(epoll, "epoll: waiting for many descriptors", benchmarks);
