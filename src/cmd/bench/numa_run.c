/* perf bench numa mem: its options, its processes and what they got done. */
#include "cmd/bench/numa.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define N struct numa_options
static const struct option table[] = {
	OPTION_HEADING("Tasks"),
	OPTION_U64('p', "nr_proc", N, processes, "N", "processes (default 1)"),
	OPTION_U64('t', "nr_threads", N, threads, "N", "threads of each process (default 1)"),
	OPTION_STRING('C', "cpus", N, cpus, "LIST", "bind the first tasks to these CPUs, such as 0,1,0-3"),
	OPTION_STRING('M', "memnodes", N, nodes, "LIST", "bind the memory of the first tasks to these nodes"),
	OPTION_U64('l', "nr_loops", N, loops, "N", "end after so many rounds (default: when the time is over)"),
	OPTION_U64('s', "nr_secs", N, seconds, "SECONDS", "end after so many seconds (default 5)"),
	OPTION_U64('u', "usleep", N, sleep_us, "US", "sleep after each round"),
	OPTION_FLAG('S', "serialize-startup", N, serialize, "start one task after the other"),
	OPTION_U64('x', "perturb_secs", N, perturb_s, "SECONDS", "move the first task to another CPU every SECONDS"),

	OPTION_HEADING("Memory"),
	OPTION_U64('G', "mb_global", N, global_mb, "MB", "memory that all processes share (default 1)"),
	OPTION_U64('P', "mb_proc", N, process_mb, "MB", "memory that a process' threads share (default 0)"),
	OPTION_U64('L', "mb_proc_locked", N, locked_mb, "MB", "memory of a process that one thread at a time works on"),
	OPTION_U64('T', "mb_thread", N, thread_mb, "MB", "memory of each thread"),
	OPTION_INT('H', "thp", N, huge_pages, "N", "above 0: with huge pages, below: without"),
	OPTION_FLAG('0', "init_cpu0", N, first_cpu, "touch new memory on CPU 0"),
	OPTION_FLAG('I', "init_random", N, random_first, "fill new memory with random numbers"),
	OPTION_FLAG('z', "init_zero", N, zero_first, "fill new memory with zeros"),

	OPTION_HEADING("Access"),
	OPTION_FLAG('R', "data_reads", N, reads, "read (default)"),
	OPTION_FLAG('W', "data_writes", N, writes, "write (default)"),
	OPTION_FLAG('B', "data_backwards", N, backwards, "backwards as well (default)"),
	OPTION_FLAG('Z', "data_zero_memset", N, zero_only, "fill with zeros by memset(3), nothing else"),
	OPTION_FLAG('r', "data_rand_walk", N, random_walk, "in random order (default)"),

	OPTION_HEADING("Results"),
	OPTION_FLAG('c', "show_convergence", N, show_convergence, "tell when the threads of each process run on one node"),
	OPTION_FLAG('m', "measure_convergence", N, measure_convergence, "end when they do, and tell how long that took"),
	OPTION_FLAG('d', "show_details", N, details, "tell the processes"),
	OPTION_FLAG('q', "quiet", N, quiet, "the results alone"),
	OPTION_FLAG('a', "all", N, all, "a series of typical cases"),
	BENCH_COMMON(N),
	OPTION_END,
};

static const N defaults = {.processes = 1,
			   .threads = 1,
			   .global_mb = 1,
			   .seconds = 5,
			   .reads = true,
			   .writes = true,
			   .backwards = true,
			   .random_walk = true,
			   .label = ""};

/* ---- processes ---- */

static void *share(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_SHARED, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* In a child. */
static void run_process(struct numa_shared *shared, size_t number)
{
	const N *options = shared->options;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct numa_process process = {.shared = shared, .mutex = &mutex};
	size_t first = number * options->threads;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	process.memory = numa_allocate(options, options->process_mb << 20, false);
	process.locked = numa_allocate(options, options->locked_mb << 20, false);
	for (size_t i = 0; i < options->threads; i++) {
		struct numa_thread *thread = &shared->threads[first + i];
		thread->process = &process;
		thread->number = first + i;
		if (pthread_create(&thread->thread, NULL, numa_work, thread))
			_exit(1);
		while (options->serialize && atomic_load(&shared->ready) <= first + i)
			usleep(100);
	}
	for (size_t i = 0; i < options->threads; i++)
		pthread_join(shared->threads[first + i].thread, NULL);
	_exit(0);
}

static struct error *start_processes(struct numa_shared *shared, pid_t *pids)
{
	const N *options = shared->options;
	for (size_t i = 0; i < options->processes; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			return error_system(errno, "cannot start process %zu", i + 1);
		if (!pids[i])
			run_process(shared, i);
		if (options->details)
			bench_print(" # process %2zu: PID %d\n", i, pids[i]);
		while (options->serialize && atomic_load(&shared->ready) < (i + 1) * options->threads && !waitpid(pids[i], NULL, WNOHANG))
			usleep(100);
	}
	return NULL;
}

/* False when a process has ended too early. */
static bool wait_until_ready(struct numa_shared *shared, const pid_t *pids)
{
	while (atomic_load(&shared->ready) < shared->options->processes * shared->options->threads) {
		usleep(100);
		for (size_t i = 0; i < shared->options->processes; i++)
			if (waitpid(pids[i], NULL, WNOHANG))
				return false;
	}
	return true;
}

/* Until all have ended by themselves or the time is over. The time until the threads of each process were together, or 0. */
static uint64_t watch(struct numa_shared *shared, pid_t *pids, uint64_t begin_ns)
{
	const N *options = shared->options;
	uint64_t end_ns = begin_ns + options->seconds * 1000000000, converged_ns = 0, now_ns;
	size_t left = options->processes;
	while (left && (now_ns = clock_now_ns(CLOCK_MONOTONIC)) < end_ns) {
		usleep(1000);
		if (!converged_ns && (options->show_convergence || options->measure_convergence) && numa_has_converged(shared))
			converged_ns = now_ns - begin_ns;
		if (converged_ns && options->measure_convergence)
			break;
		for (size_t i = 0; i < options->processes; i++)
			if (pids[i] > 0 && waitpid(pids[i], NULL, WNOHANG) == pids[i]) {
				pids[i] = 0;
				left--;
			}
	}
	atomic_store(&shared->stop, true);
	for (size_t i = 0; i < options->processes; i++)
		if (pids[i] > 0)
			waitpid(pids[i], NULL, 0);
	return converged_ns;
}

/* ---- results ---- */

static void tell(const N *options, double value, const char *unit, const char *short_name, const char *long_text)
{
	char columns[16];
	snprintf(columns, sizeof(columns), "%s,", unit);
	if (options->quiet)
		bench_print(" %14.3f %s\n", value, long_text);
	else
		bench_print(" main, %40.3f, %-15s %s\n", value, columns, short_name);
	bench_figure(unit, value, "%s%s", options->label, short_name);
}

static void tell_results(const struct numa_shared *shared, uint64_t elapsed_ns, uint64_t converged_ns)
{
	const N *options = shared->options;
	size_t count = options->processes * options->threads;
	uint64_t shortest_ns = UINT64_MAX, total_ns = 0;
	double bytes = 0, longest = (double)elapsed_ns / 1e9;
	for (size_t i = 0; i < count; i++) {
		const struct numa_thread *thread = &shared->threads[i];
		shortest_ns = thread->runtime_ns < shortest_ns ? thread->runtime_ns : shortest_ns;
		total_ns += thread->runtime_ns;
		bytes += (double)thread->bytes;
	}
	double average = (double)total_ns / 1e9 / (double)count, shortest = (double)shortest_ns / 1e9, gb = bytes / 1e9;
	if (options->measure_convergence && !converged_ns)
		bench_print(" # the threads have not come together on one node in this time\n");
	else if (options->measure_convergence)
		tell(options, (double)converged_ns / 1e9, "secs", "NUMA-convergence-latency", "secs latency to NUMA-converge");
	tell(options, longest, "secs", "runtime-max/thread", "secs slowest (max) thread-runtime");
	tell(options, shortest, "secs", "runtime-min/thread", "secs fastest (min) thread-runtime");
	tell(options, average, "secs", "runtime-avg/thread", "secs average thread-runtime");
	tell(options, longest > 0 ? (longest - shortest) / longest * 50 : 0, "%", "spread-runtime/thread",
	     "% difference between max/avg runtime");
	tell(options, gb / (double)count, "GB", "data/thread", "GB data processed, per thread");
	tell(options, gb, "GB", "data-total", "GB data processed, total");
	tell(options, bytes > 0 ? longest * 1e9 / (bytes / (double)count) : 0, "nsecs", "runtime/byte/thread", "nsecs/byte/thread runtime");
	tell(options, gb / (double)count / longest, "GB/sec", "thread-speed", "GB/sec/thread speed");
	tell(options, gb / longest, "GB/sec", "total-speed", "GB/sec total speed");
}

static void tell_tasks(const struct numa_shared *shared)
{
	const N *options = shared->options;
	size_t count = options->processes * options->threads;
	long long loops = options->loops ? (long long)options->loops : -1;
	struct bench_cpus cpus;
	if (options->quiet)
		return;
	bench_cpus_init(&cpus);
	bench_print("\n ###\n # %zu %s will execute (on %zu CPUs):\n", count, count == 1 ? "task" : "tasks", cpus.count);
	bench_cpus_deinit(&cpus);
	bench_print(" #      %5lldx %5" PRIu64 "MB global  shared mem operations\n", loops, options->global_mb);
	bench_print(" #      %5lldx %5" PRIu64 "MB process shared mem operations\n", loops, options->process_mb);
	bench_print(" #      %5lldx %5" PRIu64 "MB thread  local  mem operations\n ###\n\n", loops, options->thread_mb);
}

/* ---- */

/* In the order of the list, which may name a place more than once. */
static struct error *parse_places(const char *option, const char *text, uint32_t most, int *places, size_t *ret_count)
{
	cleanup_free char *copy = text ? mem_strdup(text) : NULL;
	char *rest = copy, *item;
	size_t count = 0;
	while ((item = strsep(&rest, ","))) {
		char *to = strchr(item, '-');
		uint32_t first, last;
		if (to)
			*to++ = '\0';
		if (!number_parse_u32(item, &first) || !number_parse_u32(to ? to : item, &last) || last < first)
			return error_new_kind(ERROR_USAGE, "%s %s: expected a list such as 0,1,4-7", option, text);
		if (last >= most)
			return error_new_kind(ERROR_USAGE, "%s: %u is too large, at most %u", option, last, most - 1);
		for (uint32_t place = first; place <= last && count < NUMA_MOST_TASKS; place++)
			places[count++] = (int)place;
	}
	*ret_count = count;
	return NULL;
}

static struct error *check(const N *options)
{
	uint64_t most_mb = (uint64_t)1 << 30;
	struct error *error = bench_check_positive("--nr_proc", options->processes);
	if (!error)
		error = bench_check_positive("--nr_threads", options->threads);
	if (!error && (options->processes > NUMA_MOST_TASKS || options->threads > NUMA_MOST_TASKS ||
		       options->processes * options->threads > NUMA_MOST_TASKS))
		error = error_new_kind(ERROR_USAGE, "too many tasks: expected at most %d", NUMA_MOST_TASKS);
	if (!error &&
	    (options->global_mb > most_mb || options->process_mb > most_mb || options->locked_mb > most_mb || options->thread_mb > most_mb))
		error = error_new_kind(ERROR_USAGE, "too much memory: expected at most %" PRIu64 " MB", most_mb);
	if (!error && !(options->global_mb + options->process_mb + options->locked_mb + options->thread_mb))
		error = error_new_kind(ERROR_USAGE, "there is no memory to work on: give -G, -P, -L or -T");
	return error;
}

static struct error *measure(const N *options)
{
	struct numa_shared *shared = share(sizeof(*shared));
	size_t count = options->processes * options->threads;
	pid_t *pids = mem_zalloc_array(options->processes, sizeof(*pids));
	struct numa_thread *threads = share(count * sizeof(*threads));
	struct error *error = shared && threads ? NULL : error_system(errno, "cannot map memory that processes share");
	if (!error) {
		shared->options = options;
		shared->threads = threads;
		error = parse_places("--cpus", options->cpus, CPU_SETSIZE, shared->cpus, &shared->cpu_count);
	}
	if (!error)
		error = parse_places("--memnodes", options->nodes, NUMA_MOST_NODES, shared->nodes, &shared->node_count);
	if (!error) {
		tell_tasks(shared);
		shared->global = numa_allocate(options, options->global_mb << 20, true);
		error = start_processes(shared, pids);
	}
	if (!error && !wait_until_ready(shared, pids))
		error = error_new("a process has ended early: is there enough memory (-G, -P, -L, -T)?");
	uint64_t begin_ns = clock_now_ns(CLOCK_MONOTONIC);
	if (!error) {
		atomic_store(&shared->begin, true);
		uint64_t converged_ns = watch(shared, pids, begin_ns);
		tell_results(shared, clock_now_ns(CLOCK_MONOTONIC) - begin_ns, converged_ns);
	}
	for (size_t i = 0; error && i < options->processes; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	if (shared) {
		if (shared->global)
			munmap(shared->global, options->global_mb << 20);
		munmap(shared, sizeof(*shared));
	}
	if (threads)
		munmap(threads, count * sizeof(*threads));
	free(pids);
	return error;
}

/* -a: from one task to as many as there are CPUs, each in one process and in processes of their own. */
static struct error *measure_all(const N *options)
{
	struct bench_cpus cpus;
	struct error *error = NULL;
	bench_cpus_init(&cpus);
	for (uint64_t tasks = 1; tasks <= cpus.count && !error; tasks *= 2)
		for (int processes = tasks == 1; processes < 2 && !error; processes++) {
			N each = *options;
			each.processes = processes ? tasks : 1;
			each.threads = processes ? 1 : tasks;
			if (each.process_mb + each.thread_mb + each.locked_mb == 0)
				each.process_mb = 512;
			char label[64];
			snprintf(label, sizeof(label), "%" PRIu64 "x%" PRIu64 ", ", each.processes, each.threads);
			each.label = label;
			bench_print("\n # %" PRIu64 " processes of %" PRIu64 " threads\n", each.processes, each.threads);
			error = measure(&each);
		}
	bench_cpus_deinit(&cpus);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	N options = defaults;
	struct error *error = options_parse_alone(table, argc, argv, &options, "");
	if (!error)
		error = check(&options);
	if (error)
		return error;
	bench_begin("numa/mem", &options.common);
	error = options.all ? measure_all(&options) : measure(&options);
	if (!error)
		bench_end();
	return error;
}

static const struct command mem_command = BENCH(numa, "mem", "Tasks that work on shared and own memory", table, run);
static const struct command *const benchmarks[] = {&mem_command, NULL};
BENCH_COLLECTION(numa, "NUMA: memory and tasks on nodes", benchmarks);
