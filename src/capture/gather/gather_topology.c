/* CPUs, caches and memory of this machine, as /sys/devices/system describes them. */
#include "capture/gather/gather_internal.h"

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "kernel/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct text_list {
	VEC(const char *) texts;
};

static bool has_text(const struct text_list *list, const char *text)
{
	for (size_t i = 0; i < list->texts.len; i++)
		if (!strcmp(list->texts.data[i], text))
			return true;
	return false;
}

/* Adds the list of CPUs in cpuN/topology/FILE, or in the file of its older name, unless it is known. */
static void add_siblings(struct features *features, const char *root, uint32_t cpu, const char *file, const char *older,
			 struct text_list *list)
{
	const char *text = gather_line(features, root, "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, file);

	if (!text && older)
		text = gather_line(features, root, "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, older);
	if (text && !has_text(list, text))
		vec_push(&list->texts, text);
}

static const char **finish_texts(struct features *features, struct text_list *list)
{
	vec_push(&list->texts, NULL);
	const char **copy = arena_copy(&features->arena, list->texts.data, list->texts.len * sizeof(char *));
	vec_deinit(&list->texts);
	return copy;
}

void gather_cpu_topology(struct features *features, const char *root, uint32_t cpus)
{
	struct text_list packages = {0}, dies = {0}, cores = {0};

	const struct arch *arch = features->arch ? arch_find(features->arch) : NULL;
	features->has_dies = arch && arch->notes_dies;
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		struct feature_cpu ids = {
			.core_id = (int32_t)gather_number(root, -1, "/sys/devices/system/cpu/cpu%u/topology/core_id", cpu),
			.socket_id = (int32_t)gather_number(root, -1, "/sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu),
			.die_id = (int32_t)gather_number(root, -1, "/sys/devices/system/cpu/cpu%u/topology/die_id", cpu),
		};
		vec_push(&features->cpus, ids);
		add_siblings(features, root, cpu, "package_cpus_list", "core_siblings_list", &packages);
		add_siblings(features, root, cpu, "core_cpus_list", "thread_siblings_list", &cores);
		if (features->has_dies)
			add_siblings(features, root, cpu, "die_cpus_list", NULL, &dies);
	}
	if (packages.texts.len || cores.texts.len)
		features_set(features, FEATURE_CPU_TOPOLOGY);
	features->has_dies &= dies.texts.len > 0;
	features->core_siblings = finish_texts(features, &packages);
	features->thread_siblings = finish_texts(features, &cores);
	features->die_siblings = finish_texts(features, &dies);
}

#define CACHE_DIR "/sys/devices/system/cpu/cpu%u/cache/index%u"

static bool is_same_cache(const struct feature_cache *a, const struct feature_cache *b)
{
	return a->level == b->level && !strcmp(a->type, b->type) && !strcmp(a->map, b->map);
}

/* The cache cpuN/cache/indexM unless it is known from another CPU that shares it. False when there is none. */
static bool add_cache(struct features *features, const char *root, uint32_t cpu, uint32_t index)
{
	int64_t level = gather_number(root, -1, CACHE_DIR "/level", cpu, index);
	const char *map = gather_line(features, root, CACHE_DIR "/shared_cpu_list", cpu, index);
	const char *type = gather_line(features, root, CACHE_DIR "/type", cpu, index);

	if (level < 0)
		return false;
	struct feature_cache cache = {.level = (uint32_t)level, .map = map ? map : "N/A", .type = type ? type : "N/A"};
	for (size_t i = 0; i < features->caches.len; i++)
		if (is_same_cache(&features->caches.data[i], &cache))
			return true;
	cache.line_size = (uint32_t)gather_number(root, 0, CACHE_DIR "/coherency_line_size", cpu, index);
	cache.sets = (uint32_t)gather_number(root, 0, CACHE_DIR "/number_of_sets", cpu, index);
	cache.ways = (uint32_t)gather_number(root, 0, CACHE_DIR "/ways_of_associativity", cpu, index);
	cache.size = gather_line(features, root, CACHE_DIR "/size", cpu, index);
	if (!cache.size)
		cache.size = "N/A";
	vec_push(&features->caches, cache);
	return true;
}

static int compare_caches(const void *a, const void *b)
{
	const struct feature_cache *left = a, *right = b;

	return (left->level > right->level) - (left->level < right->level);
}

void gather_caches(struct features *features, const char *root, uint32_t cpus)
{
	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		for (uint32_t index = 0; index < 16 && add_cache(features, root, cpu, index); index++)
			;
	if (!features->caches.len)
		return;
	qsort(features->caches.data, features->caches.len, sizeof(*features->caches.data), compare_caches);
	features_set(features, FEATURE_CACHE);
}

/* The kB behind "KEY:" in nodeN/meminfo. */
static uint64_t node_memory(const char *meminfo, const char *key)
{
	const char *found = strstr(meminfo, key);

	return found ? strtoull(found + strlen(key), NULL, 10) : 0;
}

void gather_numa(struct features *features, const char *root)
{
	const char *online = gather_line(features, root, "/sys/devices/system/node/online");
	int *nodes;
	size_t count;

	if (!online || !number_parse_list(online, &nodes, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		cleanup_free char *path = mem_printf("%s/sys/devices/system/node/node%d/meminfo", root, nodes[i]);
		const char *cpus = gather_line(features, root, "/sys/devices/system/node/node%d/cpulist", nodes[i]);
		struct strbuf meminfo = {0};
		proc_read_file(AT_FDCWD, path, &meminfo);
		struct feature_node node = {
			.node = (uint32_t)nodes[i],
			.mem_total_kb = node_memory(strbuf_str(&meminfo), "MemTotal:"),
			.mem_free_kb = node_memory(strbuf_str(&meminfo), "MemFree:"),
			.cpus = cpus ? cpus : "",
		};
		vec_push(&features->numa_nodes, node);
		strbuf_deinit(&meminfo);
	}
	free(nodes);
	features_set(features, FEATURE_NUMA_TOPOLOGY);
}

/* The memory blocks of one node: directories memoryN in it. A bitmap of their numbers. */
static void add_memory_node(struct features *features, const char *path, uint64_t number)
{
	struct feature_mem_node node = {.node = number};
	VEC(uint64_t) words = {0};
	DIR *dir = opendir(path);

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		uint64_t block;
		if (!str_starts_with(entry->d_name, "memory") || !number_parse_u64(entry->d_name + 6, &block) || block > UINT32_MAX)
			continue;
		while (words.len <= block / 64)
			vec_push(&words, 0);
		words.data[block / 64] |= 1ull << block % 64;
		if (block >= node.bits)
			node.bits = block + 1;
	}
	if (dir)
		closedir(dir);
	node.bitmap = arena_copy(&features->arena, words.data, words.len * sizeof(uint64_t));
	vec_deinit(&words);
	vec_push(&features->memory_nodes, node);
}

static int compare_nodes(const void *a, const void *b)
{
	const struct feature_mem_node *left = a, *right = b;

	return (left->node > right->node) - (left->node < right->node);
}

void gather_memory(struct features *features, const char *root)
{
	const char *block_size = gather_line(features, root, "/sys/devices/system/memory/block_size_bytes");
	cleanup_free char *path = mem_printf("%s/sys/devices/system/node", root);
	DIR *dir;

	if (!block_size || !number_parse_hex(block_size, &features->memory_block_size) || !(dir = opendir(path)))
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		uint64_t number;
		if (!str_starts_with(entry->d_name, "node") || !number_parse_u64(entry->d_name + 4, &number))
			continue;
		cleanup_free char *node = mem_printf("%s/%s", path, entry->d_name);
		add_memory_node(features, node, number);
	}
	closedir(dir);
	if (!features->memory_nodes.len)
		return;
	qsort(features->memory_nodes.data, features->memory_nodes.len, sizeof(*features->memory_nodes.data), compare_nodes);
	features_set(features, FEATURE_MEM_TOPOLOGY);
}
