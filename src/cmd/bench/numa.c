/* perf bench numa mem: processes of threads that work on memory which all share, which a process shares and which a thread has for
 * itself; bound to CPUs and nodes, or left to the kernel. Tells how much they get done, and whether each process' threads come
 * together on one node. */
#include "cmd/bench/numa.h"

#include "base/clock.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MB = 1 << 20, HUGE_PAGE = 2 << 20, CHUNK_WORDS = 1024 };

/* ---- what a thread does ---- */

/* Words are read, written, or both, from the front or the back; or filled with zeros. */
static uint64_t touch(const struct numa_options *options, uint64_t *words, size_t count, bool backwards, uint64_t value)
{
	if (options->zero_only) {
		memset(words, 0, count * sizeof(*words));
		__asm__ volatile("" : : "r"(words) : "memory");
		return value;
	}
	const bool reads = options->reads, writes = options->writes;
	for (size_t i = 0; i < count; i++) {
		uint64_t *word = &words[backwards ? count - 1 - i : i];
		if (reads)
			value += *(volatile uint64_t *)word;
		if (writes)
			*(volatile uint64_t *)word = value;
	}
	return value;
}

/* A linear feedback shift register of 32 bits: all numbers but 0, each once. */
static uint32_t next_random(uint32_t seed)
{
	return seed >> 1 ^ (-(seed & 1u) & 0xa3000000u);
}

/* What changes with each chunk; the thread tells of it once a round, since others read and write beside that. */
struct numa_progress {
	uint64_t bytes, loops, value;
	uint32_t seed;
};

/* Once over the memory, each thread from another place on. */
static uint64_t work_on(const struct numa_options *options, void *memory, size_t bytes, size_t part, size_t parts,
			struct numa_progress *progress)
{
	size_t words = bytes / sizeof(uint64_t), first = words / parts * part;
	uint64_t value = progress->value;
	if (!bytes)
		return value;
	progress->bytes += bytes;
	if (options->random_walk) {
		size_t chunks = words / CHUNK_WORDS ? words / CHUNK_WORDS : 1, length = words < CHUNK_WORDS ? words : CHUNK_WORDS;
		for (size_t i = 0; i < chunks; i++) {
			progress->seed = next_random(progress->seed);
			bool backwards = options->backwards && progress->seed & 1;
			value = touch(options, (uint64_t *)memory + progress->seed % chunks * CHUNK_WORDS, length, backwards, value);
		}
		return value;
	}
	bool backwards = options->backwards && progress->loops & 1;
	value = touch(options, (uint64_t *)memory + first, words - first, backwards, value);
	return touch(options, memory, first, backwards, value);
}

/* The first thread runs where it isn't, for a moment, so that the kernel must find the best place for it again. */
static void perturb(const struct numa_shared *shared, uint64_t *last_ns)
{
	uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
	if (!shared->options->perturb_s || now_ns - *last_ns < shared->options->perturb_s * 1000000000)
		return;
	cpu_set_t old, other;
	*last_ns = now_ns;
	sched_getaffinity(0, sizeof(old), &old);
	other = old;
	CPU_CLR(sched_getcpu(), &other);
	if (!sched_setaffinity(0, sizeof(other), &other)) /* refused when there is no other CPU */
		sched_setaffinity(0, sizeof(old), &old);
}

static bool goes_on(const struct numa_shared *shared, const struct numa_progress *progress)
{
	const struct numa_options *options = shared->options;
	return !atomic_load_explicit(&shared->stop, memory_order_relaxed) && (!options->loops || progress->loops < options->loops);
}

void *numa_work(void *argument)
{
	struct numa_thread *thread = argument;
	const struct numa_process *process = thread->process;
	struct numa_shared *shared = process->shared;
	const struct numa_options *options = shared->options;
	size_t number = thread->number, all = (size_t)(options->processes * options->threads);
	void *own = numa_allocate(options, options->thread_mb * MB, false);
	numa_bind_thread(shared, number);
	atomic_fetch_add(&shared->ready, 1);
	while (!atomic_load(&shared->begin))
		sched_yield();
	uint64_t begin_ns = clock_now_ns(CLOCK_MONOTONIC), last_ns = begin_ns;
	struct numa_progress progress = {.seed = (uint32_t)number + 1};
	while (goes_on(shared, &progress)) {
		progress.value = work_on(options, shared->global, options->global_mb * MB, number, all, &progress);
		progress.value =
			work_on(options, process->memory, options->process_mb * MB, number % options->threads, options->threads, &progress);
		pthread_mutex_lock(process->mutex);
		progress.value = work_on(options, process->locked, options->locked_mb * MB, 0, 1, &progress);
		pthread_mutex_unlock(process->mutex);
		progress.value = work_on(options, own, options->thread_mb * MB, 0, 1, &progress);
		progress.loops++;
		thread->bytes = progress.bytes;
		thread->loops = progress.loops;
		thread->cpu = sched_getcpu();
		thread->runtime_ns = clock_now_ns(CLOCK_MONOTONIC) - begin_ns;
		if (!number)
			perturb(shared, &last_ns);
		if (options->sleep_us)
			usleep((useconds_t)options->sleep_us);
	}
	thread->runtime_ns = clock_now_ns(CLOCK_MONOTONIC) - begin_ns;
	return NULL;
}

/* ---- memory ---- */

/* Where a huge page begins, as large mappings do on newer kernels: what is too much before and behind it goes back. NULL: there is none. */
static char *map_huge_aligned(size_t bytes, int sharing)
{
	char *memory = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | sharing, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	size_t before = -(uintptr_t)memory % HUGE_PAGE;
	if (before)
		munmap(memory, before);
	munmap(memory + before + bytes, HUGE_PAGE - before);
	return memory + before;
}

void *numa_allocate(const struct numa_options *options, size_t bytes, bool shared)
{
	cpu_set_t old, first;
	if (!bytes)
		return NULL;
	char *memory = map_huge_aligned(bytes, shared ? MAP_SHARED : MAP_PRIVATE);
	if (!memory) {
		fprintf(stderr, "perf: there is no memory for %zu MB\n", bytes / MB);
		_exit(1);
	}
	if (options->huge_pages)
		madvise(memory, bytes, options->huge_pages > 0 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	if (options->first_cpu) {
		sched_getaffinity(0, sizeof(old), &old);
		CPU_ZERO(&first);
		CPU_SET(0, &first);
		sched_setaffinity(0, sizeof(first), &first);
	}
	if (options->zero_first || options->random_first)
		for (size_t i = 0; i < bytes; i += sizeof(uint32_t))
			*(uint32_t *)(memory + i) = options->random_first ? (uint32_t)i * 2654435761u : 0;
	if (options->first_cpu)
		sched_setaffinity(0, sizeof(old), &old);
	return memory;
}

/* ---- places ---- */

void numa_bind_thread(const struct numa_shared *shared, size_t number)
{
	cpu_set_t set;
	if (number < shared->cpu_count) {
		CPU_ZERO(&set);
		CPU_SET(shared->cpus[number], &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	if (number < shared->node_count) {
		unsigned long nodes = 1ul << shared->nodes[number];
		syscall(SYS_set_mempolicy, MPOL_BIND, &nodes, sizeof(nodes) * 8);
	}
}

static int node_of(int cpu)
{
	char path[80];
	for (int node = 0; node < NUMA_MOST_NODES; node++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/node%d", cpu, node);
		if (!access(path, F_OK))
			return node;
	}
	return 0;
}

/* All threads of each process on one node. */
bool numa_has_converged(const struct numa_shared *shared)
{
	const struct numa_options *options = shared->options;
	for (uint64_t process = 0; process < options->processes; process++) {
		int common = -1;
		for (uint64_t i = 0; i < options->threads; i++) {
			const struct numa_thread *thread = &shared->threads[process * options->threads + i];
			int node = thread->loops ? node_of(thread->cpu) : -1;
			if (node < 0 || (common >= 0 && node != common))
				return false;
			common = node;
		}
	}
	return true;
}
