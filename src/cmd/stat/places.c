/* Which place each CPU or thread belongs to, and what places are called: "S0-D0-C1" is core 1 on die 0 of socket 0. */
#include "cmd/stat/stat.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/number.h"
#include "kernel/hardware/topology.h"
#include "perfdata/features/features.h"

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

/* What a recording says of the CPUs of its machine. */
static void recorded_topology(const struct features *features, int cpu, struct cpu_topology *ret)
{
	*ret = (struct cpu_topology){.socket = -1, .die = -1, .cluster = -1, .core = -1, .node = -1};
	if (cpu >= 0 && (size_t)cpu < features->cpus.len) {
		const struct feature_cpu *ids = &features->cpus.data[cpu];
		ret->socket = ids->socket_id;
		ret->die = ids->die_id;
		ret->core = ids->core_id;
	}
	for (size_t i = 0; i < features->numa_nodes.len; i++) {
		int *cpus;
		size_t count;
		if (!number_parse_list(features->numa_nodes.data[i].cpus, &cpus, &count))
			continue;
		for (size_t c = 0; c < count; c++)
			if (cpus[c] == cpu)
				ret->node = (int)features->numa_nodes.data[i].node;
		free(cpus);
	}
}

/* The place of a CPU, by numbers that also sort it. */
static struct place place_of(struct arena *arena, enum stat_per per, int cpu, int cache_level, const struct features *recorded)
{
	struct cpu_topology topology;
	struct place place = {{0}};
	int level = 0, first = cpu;

	if (recorded)
		recorded_topology(recorded, cpu, &topology);
	else
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
static void choose_by_topology(struct stat_run *run, enum stat_per per, const struct features *recorded, const char *const **ret_labels,
			       const unsigned int **ret_places, size_t *ret_count)
{
	struct arena *arena = &run->place_arena;
	size_t count = run->cpu_count;
	struct place *of_cpu = arena_alloc(arena, count * sizeof(*of_cpu)), *sorted = arena_alloc(arena, count * sizeof(*sorted));
	const char **labels = arena_alloc(arena, count * sizeof(*labels));
	unsigned int *indexes = arena_alloc(arena, count * sizeof(*indexes));
	size_t unique = 0;

	for (size_t i = 0; i < count; i++)
		of_cpu[i] = sorted[i] = place_of(arena, per, run->cpus[i], run->options.display.cache_level, recorded);
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
	*ret_labels = labels;
	*ret_places = indexes;
	*ret_count = unique;
}

/* Where an event counts for a whole package or core, CPUs are told apart by that. */
static void choose_shared(struct stat_run *run, const struct features *recorded)
{
	const char *const *labels;
	const unsigned int *cores;
	size_t count;
	bool packages = false, percore = false;

	for (size_t i = 0; i < run->events->events.len; i++) {
		packages |= run->events->events.data[i]->per_package;
		percore |= run->events->events.data[i]->percore;
	}
	if (packages)
		choose_by_topology(run, STAT_PER_DIE, recorded, &labels, &run->places.cpu_packages, &count);
	if (!percore || run->options.display.per != STAT_PER_CPU)
		return;
	choose_by_topology(run, STAT_PER_CORE, recorded, &labels, &cores, &count);
	unsigned int *first = arena_alloc(&run->place_arena, run->cpu_count * sizeof(*first));
	const char **core_labels = arena_alloc(&run->place_arena, run->cpu_count * sizeof(*core_labels));
	for (size_t i = 0; i < run->cpu_count; i++) {
		size_t same = 0;
		while (cores[same] != cores[i])
			same++;
		first[i] = (unsigned int)same;
		core_labels[i] = labels[cores[i]];
	}
	run->places.cpu_cores = first;
	run->places.core_labels = core_labels;
}

static const char *thread_label(struct stat_run *run, size_t index)
{
	struct arena *arena = &run->place_arena;
	pid_t thread = run->threads.data[index];
	char path[64], comm[256];

	if (index < run->thread_names.len)
		return arena_printf(arena, "%s-%d", run->thread_names.data[index], thread);
	snprintf(path, sizeof(path), "/proc/%d/comm", thread);
	if (!proc_read_line(path, comm, sizeof(comm)))
		return arena_printf(arena, "?-%d", thread);
	return arena_printf(arena, "%s-%d", comm, thread);
}

static void choose_threads_or_cpus(struct stat_run *run, bool threads)
{
	size_t count = threads ? run->threads.len : run->cpu_count;
	const char **labels = arena_alloc(&run->place_arena, count * sizeof(*labels));

	for (size_t i = 0; i < count; i++)
		labels[i] = threads ? thread_label(run, i) : arena_printf(&run->place_arena, "CPU%d", run->cpus[i]);
	run->places.by = threads ? COUNTS_BY_THREAD : COUNTS_BY_CPU;
	run->places.count = count;
	run->places.labels = labels;
}

/* Whether a CPU that is measured has a cache of the level that was asked for. */
static bool has_cache(const struct stat_run *run)
{
	int level, first;

	for (size_t i = 0; i < run->cpu_count; i++)
		if (topology_cache("", run->cpus[i], run->options.display.cache_level, &level, &first))
			return true;
	return !run->options.display.cache_level;
}

struct error *stat_choose_places(struct stat_run *run, const struct features *recorded)
{
	enum stat_per per = run->options.display.per;

	run->places = (struct counts_places){.by = COUNTS_GLOBAL, .count = 1};
	if (recorded && (per == STAT_PER_CLUSTER || per == STAT_PER_CACHE))
		return error_new_kind(ERROR_USAGE, "recordings do not contain clusters and shared caches; use --per-core or --per-die");
	if (per == STAT_PER_CACHE && !has_cache(run))
		return error_new("--per-cache=L%d: no CPU has such a cache; lscpu -C lists them", run->options.display.cache_level);
	if (run->cpu_count && run->cpus[0] >= 0)
		choose_shared(run, recorded);
	if (per == STAT_PER_ALL)
		return NULL;
	run->places.kind = &kinds[per];
	if (per == STAT_PER_THREAD || per == STAT_PER_CPU) {
		choose_threads_or_cpus(run, per == STAT_PER_THREAD);
		return NULL;
	}
	choose_by_topology(run, per, recorded, &run->places.labels, &run->places.cpu_places, &run->places.count);
	run->places.by = COUNTS_BY_PLACE;
	return NULL;
}
