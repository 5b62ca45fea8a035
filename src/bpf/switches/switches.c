/* Loads switches.bpf.c, and reads its rings (switches.h). What is in them is copied soon, to make room, and given out in order. */
#include "bpf/switches/switches.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "bpf/support.h"
#include "bpf/tracepoints.h"
#include "switches.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Copies: on each CPU in a tenth of a second. Rings: switches, of a CPU and of all; a CPU makes half a million of them a second. */
enum { COPIES_MOST = 200, RING_MOST = 1 << 17, RINGS_MOST = 1 << 20, RING_LEAST = 1 << 12 };

/* Each so many switches the rings are emptied, however old they are. */
enum { LOOK_EVERY = 4096 };

/* At most between a switch's time and its place in the ring: a virtual CPU may be stopped there. */
enum { UNDER_WAY_NS = 50000000 };

/* Switches of a CPU that were taken out of its ring. */
struct taken {
	VEC(struct bpf_switch) switches;
	size_t at; /* the next one */
};

struct bpf_switches {
	struct switches_bpf *skeleton;
	size_t cpus, ring_size;
	struct bpf_switch *rings;
	struct switches_ends *ends;
	struct taken *taken;
	uint64_t taken_until; /* all that is older was taken */
	uint64_t given;	      /* so many */
};

static const char *const program = "the BPF program that reports switches between threads (tracepoint sched:sched_switch)";

static void size_rings(struct bpf_switches *switches)
{
	struct switches_bpf *skeleton = switches->skeleton;
	switches->cpus = (size_t)libbpf_num_possible_cpus();
	switches->ring_size = RING_MOST;
	while (switches->ring_size > RING_LEAST && switches->ring_size * switches->cpus > RINGS_MOST)
		switches->ring_size /= 2;
	skeleton->rodata->ring_size = (uint32_t)switches->ring_size;
	skeleton->rodata->copies_most = COPIES_MOST;
	bpf_map__set_max_entries(skeleton->maps.walks, (uint32_t)switches->cpus);
	bpf_map__set_max_entries(skeleton->maps.ends, (uint32_t)switches->cpus);
	bpf_map__set_max_entries(skeleton->maps.rings, (uint32_t)(switches->cpus * switches->ring_size));
}

static size_t pages_of(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (size + page - 1) & ~(page - 1);
}

static size_t rings_bytes(const struct bpf_switches *switches)
{
	return pages_of(switches->cpus * switches->ring_size * sizeof(*switches->rings));
}

static size_t ends_bytes(const struct bpf_switches *switches)
{
	return pages_of(switches->cpus * sizeof(*switches->ends));
}

static struct error *map_memory(const struct bpf_map *map, size_t size, void **ret)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (memory == MAP_FAILED)
		return error_system(errno, "the memory of %s cannot be mapped", program);
	*ret = memory;
	return NULL;
}

static struct error *load(struct bpf_switches *switches)
{
	struct switches_bpf *skeleton = switches->skeleton;
	size_rings(switches);
	int failure = switches_bpf__load(skeleton);
	if (!failure)
		failure = switches_bpf__attach(skeleton);
	if (failure)
		return bpf_support_explain(failure, program);
	struct error *error = map_memory(skeleton->maps.rings, rings_bytes(switches), (void **)&switches->rings);
	if (!error)
		error = map_memory(skeleton->maps.ends, ends_bytes(switches), (void **)&switches->ends);
	switches->taken = mem_zalloc(switches->cpus * sizeof(*switches->taken));
	return error;
}

/* Threads have other numbers in other pid namespaces, which the events would tell. */
static struct error *check_namespace(void)
{
	enum { INITIAL = 0xeffffffc }; /* PROC_PID_INIT_INO of linux/proc_ns.h */
	uint64_t device, inode;
	struct error *error = bpf_pid_namespace(&device, &inode);
	if (!error && inode != (uint32_t)INITIAL)
		error = error_new_kind(ERROR_UNSUPPORTED, "this is a container with its own numbers of processes");
	return error;
}

struct error *bpf_switches_open(struct bpf_switches **ret)
{
	struct error *error = bpf_support_begin();
	if (!error)
		error = bpf_tracepoints_check();
	if (!error)
		error = check_namespace();
	if (error)
		return error;
	struct bpf_switches *switches = mem_zalloc(sizeof(*switches));
	switches->skeleton = switches_bpf__open();
	error = switches->skeleton ? load(switches) : bpf_support_explain(-errno, program);
	if (error)
		bpf_switches_close(switches);
	else
		*ret = switches;
	return error;
}

void bpf_switches_close(struct bpf_switches *switches)
{
	if (!switches)
		return;
	for (size_t i = 0; switches->taken && i < switches->cpus; i++)
		vec_deinit(&switches->taken[i].switches);
	free(switches->taken);
	if (switches->rings)
		munmap(switches->rings, rings_bytes(switches));
	if (switches->ends)
		munmap(switches->ends, ends_bytes(switches));
	switches_bpf__destroy(switches->skeleton);
	free(switches);
}

struct error *bpf_switches_direct(struct bpf_switches *switches, enum switches_output output, int cpu, int counter)
{
	const struct bpf_map *map = output == SWITCHES_WHOLE ? switches->skeleton->maps.whole : switches->skeleton->maps.parts;
	if (bpf_map__update_elem(map, &cpu, sizeof(cpu), &counter, sizeof(counter), 0))
		return error_system(errno, "%s cannot write into the buffer of CPU %d", program, cpu);
	return NULL;
}

void bpf_switches_start(struct bpf_switches *switches)
{
	__atomic_store_n(&switches->skeleton->bss->running, 1, __ATOMIC_RELEASE);
}

/* ---- reading ---- */

static void take_ring(struct bpf_switches *switches, size_t cpu)
{
	struct switches_ends *end = &switches->ends[cpu];
	struct taken *taken = &switches->taken[cpu];
	uint64_t written = __atomic_load_n(&end->written, __ATOMIC_ACQUIRE);
	const struct bpf_switch *ring = switches->rings + cpu * switches->ring_size;
	if (taken->at == taken->switches.len)
		taken->at = taken->switches.len = 0;
	for (uint64_t i = end->read; i != written; i++)
		vec_push(&taken->switches, ring[i & (switches->ring_size - 1)]);
	__atomic_store_n(&end->read, written, __ATOMIC_RELEASE);
}

static void take_rings(struct bpf_switches *switches)
{
	uint64_t now = clock_now_ns(CLOCK_MONOTONIC);
	for (size_t cpu = 0; cpu < switches->cpus; cpu++)
		take_ring(switches, cpu);
	switches->taken_until = now - UNDER_WAY_NS;
}

void bpf_switches_stop(struct bpf_switches *switches)
{
	static const struct timespec under_way = {.tv_nsec = UNDER_WAY_NS};
	__atomic_store_n(&switches->skeleton->bss->running, 0, __ATOMIC_RELEASE);
	nanosleep(&under_way, NULL);
	take_rings(switches);
	switches->taken_until = UINT64_MAX;
}

static uint64_t order_of(const struct bpf_switch *record)
{
	return record->time + record->took;
}

/* The oldest one; NULL when there is none. */
static struct taken *find_first(const struct bpf_switches *switches)
{
	struct taken *first = NULL;
	for (size_t cpu = 0; cpu < switches->cpus; cpu++) {
		struct taken *taken = &switches->taken[cpu];
		if (taken->at < taken->switches.len &&
		    (!first || order_of(&taken->switches.data[taken->at]) < order_of(&first->switches.data[first->at])))
			first = taken;
	}
	return first;
}

bool bpf_switches_next(struct bpf_switches *switches, uint64_t until, struct bpf_switch *ret, uint32_t *ret_cpu)
{
	bool ended = switches->taken_until == UINT64_MAX;
	if (!ended && (until > switches->taken_until || !(switches->given % LOOK_EVERY)))
		take_rings(switches);
	struct taken *first = find_first(switches);
	if (!first || order_of(&first->switches.data[first->at]) >= until)
		return false;
	*ret = first->switches.data[first->at++];
	*ret_cpu = (uint32_t)(first - switches->taken);
	switches->given++;
	return true;
}

uint64_t bpf_switches_lost(const struct bpf_switches *switches)
{
	uint64_t lost = 0;
	for (size_t cpu = 0; cpu < switches->cpus; cpu++)
		lost += __atomic_load_n(&switches->ends[cpu].lost, __ATOMIC_RELAXED);
	return lost + __atomic_load_n(&switches->skeleton->bss->missed, __ATOMIC_RELAXED);
}
