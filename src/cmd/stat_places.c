/* Which place each CPU or thread belongs to, and what places are called: "S0-D0-C1" is core 1 on die 0 of socket 0. */
#include "cmd/stat.h"

#include "base/arena.h"
#include "base/mem.h"
#include "kernel/topology.h"

#include <stdlib.h>
#include <string.h>

static const struct counting_place_kind kinds[] = {
	[STAT_PER_CPU] = {.key = "cpu", .title = "CPU", .width = 10, .strip = "CPU"},
	[STAT_PER_SOCKET] = {.key = "socket", .title = "socket", .width = 6, .members = true},
	[STAT_PER_DIE] = {.key = "die", .title = "die", .width = 12, .members = true},
	[STAT_PER_CLUSTER] = {.key = "cluster", .title = "cluster", .width = 17, .members = true},
	[STAT_PER_CACHE] = {.key = "cache", .title = "cache", .width = 19, .members = true},
	[STAT_PER_CORE] = {.key = "core", .title = "core", .width = 15, .members = true},
	[STAT_PER_NODE] = {.key = "node", .title = "node", .width = 6, .members = true},
	[STAT_PER_THREAD] = {.key = "thread", .title = "            comm-pid", .width = 25, .right_to_dash = true},
};

struct place {
	int ids[4];
	const char *label;
};

static int known(int id)
{
	return id < 0 ? 0 : id;
}

/* The place of a CPU, by numbers that also sort it. */
static struct place place_of(struct arena *arena, enum stat_per per, int cpu, int cache_level)
{
	struct cpu_topology topology;
	struct place place = {{0}};
	int level = 0, first = cpu;

	topology_of_cpu("", cpu, &topology);
	int socket = known(topology.socket), die = known(topology.die);
	place.ids[0] = socket;
	place.ids[1] = die;
	switch (per) {
	case STAT_PER_SOCKET:
		place.ids[1] = 0;
		place.label = arena_printf(arena, "S%d", socket);
		break;
	case STAT_PER_DIE:
		place.label = arena_printf(arena, "S%d-D%d", socket, die);
		break;
	case STAT_PER_CLUSTER:
		place.ids[2] = known(topology.cluster);
		place.label = arena_printf(arena, "S%d-D%d-CLS%d", socket, die, place.ids[2]);
		break;
	case STAT_PER_CACHE:
		topology_cache("", cpu, cache_level, &level, &first);
		place.ids[2] = level;
		place.ids[3] = first;
		place.label = arena_printf(arena, "S%d-D%d-L%d-ID%d", socket, die, level, first);
		break;
	case STAT_PER_CORE:
		place.ids[2] = known(topology.core);
		place.label = arena_printf(arena, "S%d-D%d-C%d", socket, die, place.ids[2]);
		break;
	default:
		place.ids[0] = known(topology.node);
		place.ids[1] = 0;
		place.label = arena_printf(arena, "N%d", place.ids[0]);
	}
	return place;
}

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	for (size_t i = 0; i < 4; i++)
		if (a->ids[i] != b->ids[i])
			return a->ids[i] < b->ids[i] ? -1 : 1;
	return 0;
}

/* Sorted, each once; and the index of each CPU's. */
static void choose_by_topology(struct stat_run *run)
{
	struct arena *arena = &run->place_arena;
	size_t count = run->cpu_count;
	struct place *of_cpu = arena_alloc(arena, count * sizeof(*of_cpu)), *sorted = arena_alloc(arena, count * sizeof(*sorted));
	const char **labels = arena_alloc(arena, count * sizeof(*labels));
	unsigned int *indexes = arena_alloc(arena, count * sizeof(*indexes));
	size_t unique = 0;

	for (size_t i = 0; i < count; i++)
		of_cpu[i] = sorted[i] = place_of(arena, run->options.per, run->cpus[i], run->options.cache_level);
	qsort(sorted, count, sizeof(*sorted), compare_places);
	for (size_t i = 0; i < count; i++)
		if (!unique || compare_places(&sorted[unique - 1], &sorted[i]))
			sorted[unique++] = sorted[i];
	for (size_t i = 0; i < unique; i++)
		labels[i] = sorted[i].label;
	for (size_t i = 0; i < count; i++) {
		const struct place *found = bsearch(&of_cpu[i], sorted, unique, sizeof(*sorted), compare_places);
		indexes[i] = (unsigned int)(found - sorted);
	}
	run->places.by = COUNTS_BY_PLACE;
	run->places.count = unique;
	run->places.labels = labels;
	run->places.cpu_places = indexes;
}

static const char *thread_label(struct arena *arena, pid_t thread)
{
	char path[64], comm[256];

	snprintf(path, sizeof(path), "/proc/%d/comm", thread);
	if (!proc_read_line(path, comm, sizeof(comm)))
		return arena_printf(arena, "?-%d", thread);
	return arena_printf(arena, "%s-%d", comm, thread);
}

struct error *stat_choose_places(struct stat_run *run)
{
	struct arena *arena = &run->place_arena;
	enum stat_per per = run->options.per;

	arena_deinit(arena);
	run->places = (struct counts_places){.by = COUNTS_GLOBAL, .count = 1};
	if (per == STAT_PER_ALL)
		return NULL;
	run->places.kind = &kinds[per];
	if (per == STAT_PER_THREAD || per == STAT_PER_CPU) {
		size_t count = per == STAT_PER_THREAD ? run->threads.len : run->cpu_count;
		const char **labels = arena_alloc(arena, count * sizeof(*labels));
		for (size_t i = 0; i < count; i++)
			labels[i] = per == STAT_PER_THREAD ? thread_label(arena, run->threads.data[i])
							   : arena_printf(arena, "CPU%d", run->cpus[i]);
		run->places.by = per == STAT_PER_THREAD ? COUNTS_BY_THREAD : COUNTS_BY_CPU;
		run->places.count = count;
		run->places.labels = labels;
		return NULL;
	}
	choose_by_topology(run);
	return NULL;
}
