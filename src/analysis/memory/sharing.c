/* Samples → lines → places. Lines and places are found by a hash of what makes them differ; equal hashes are compared. */
#include "analysis/memory/sharing.h"

#include "analysis/script/sample_text.h"
#include "base/mem.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Numbers beyond these are a broken recording's. */
enum { CPUS_MAX = 1 << 13, NODES_MAX = 1 << 10 };

/* ---- sets ---- */

static void set_add(struct shared_lines *sharing, struct sharing_set *set, size_t index)
{
	if (index / 64 >= set->count) {
		size_t count = index / 64 + 1;
		uint64_t *words = arena_alloc(&sharing->arena, count * sizeof(*words));
		memset(words, 0, count * sizeof(*words));
		if (set->count)
			memcpy(words, set->words, set->count * sizeof(*words));
		*set = (struct sharing_set){words, count};
	}
	set->words[index / 64] |= 1ull << index % 64;
}

size_t sharing_node_of_cpu(const struct shared_lines *sharing, size_t cpu)
{
	return cpu < sharing->cpu_count ? sharing->cpu_nodes[cpu] : 0;
}

unsigned int sharing_set_size(const struct sharing_set *set, const struct shared_lines *sharing, size_t node)
{
	unsigned int size = 0;
	for (size_t i = 0; i < set->count * 64; i++)
		size += sharing_set_has(set, i) && (!sharing || sharing_node_of_cpu(sharing, i) == node);
	return size;
}

/* ---- the machine ---- */

static void take_node(struct shared_lines *sharing, const struct feature_node *node)
{
	int *cpus;
	size_t count;
	if (node->node >= NODES_MAX || !node->cpus || !number_parse_list(node->cpus, &cpus, &count))
		return;
	size_t needed = count && cpus[count - 1] < CPUS_MAX ? (size_t)cpus[count - 1] + 1 : 0; /* in order */
	if (needed > sharing->cpu_count) {
		sharing->cpu_nodes = mem_resize(sharing->cpu_nodes, needed * sizeof(*sharing->cpu_nodes));
		memset(sharing->cpu_nodes + sharing->cpu_count, 0, (needed - sharing->cpu_count) * sizeof(*sharing->cpu_nodes));
		sharing->cpu_count = needed;
	}
	for (size_t i = 0; i < count && needed; i++)
		sharing->cpu_nodes[cpus[i]] = node->node;
	free(cpus);
}

void sharing_init(struct shared_lines *sharing, const struct sharing_options *options, const struct session *session,
		  struct resolver *resolver)
{
	*sharing = (struct shared_lines){.options = *options, .resolver = resolver, .session = session};
	const struct features *features = &session->reader->features;
	for (size_t i = 0; i < features->numa_nodes.len; i++)
		take_node(sharing, &features->numa_nodes.data[i]);
}

void sharing_deinit(struct shared_lines *sharing)
{
	for (size_t i = 0; i < sharing->lines.len; i++) {
		vec_deinit(&sharing->lines.data[i]->places);
		map64_deinit(&sharing->lines.data[i]->index);
	}
	vec_deinit(&sharing->lines);
	map64_deinit(&sharing->index);
	free(sharing->cpu_nodes);
	for (size_t i = 0; i < sharing->trees.len; i++)
		calltree_destroy(sharing->trees.data[i]);
	vec_deinit(&sharing->trees);
	stack_deinit(&sharing->stack);
	intern_deinit(&sharing->labels);
	arena_deinit(&sharing->arena);
}

/* The node that has a physical address; false when it isn't known. */
static bool memory_node(const struct shared_lines *sharing, uint64_t physical, uint64_t *ret)
{
	const struct features *features = &sharing->session->reader->features;
	if (!features->memory_block_size)
		return false;
	uint64_t block = physical / features->memory_block_size;
	for (size_t i = 0; i < features->memory_nodes.len; i++) {
		const struct feature_mem_node *node = &features->memory_nodes.data[i];
		if (block < node->bits && (node->bitmap[block / 64] >> block % 64 & 1) && node->node < NODES_MAX) {
			*ret = node->node;
			return true;
		}
	}
	return false;
}

static void memory_add(struct shared_lines *sharing, struct sharing_memory *memory, uint64_t physical)
{
	uint64_t node;
	if (!physical) {
		memory->unknown = true;
		return;
	}
	if (!memory_node(sharing, physical, &node))
		return;
	set_add(sharing, &memory->nodes, node);
	memory->changes += memory->physical != physical;
	memory->physical = physical;
}

/* ---- lines ---- */

/* Where no file tells what a process shares with others, memory is its own. */
static bool is_private(const struct map *map)
{
	return !(map->flags & MAP_SHARED) && !map->major && !map->minor && !map->inode && !map->inode_generation;
}

/* Everything by which lines differ, and nothing else. */
static struct sharing_line line_of(const struct shared_lines *sharing, const struct frame *data, const struct thread *thread)
{
	uint64_t mask = ~(uint64_t)(sharing->options.line_size - 1);
	const struct map *map = data->map;
	bool by_file = map && map->dso->kind != DSO_ANON;
	return (struct sharing_line){
		.address = data->ip & mask,
		.place_address = (by_file ? data->dso_addr : data->ip) & mask,
		.map = map,
		.pid = map && thread && data->cpumode == CPUMODE_USER && is_private(map) ? thread->pid : 0,
		.cpumode = data->cpumode,
	};
}

static const struct dso *file_of(const struct sharing_line *line)
{
	return line->map ? line->map->dso : NULL;
}

static struct sharing_line *find_line(struct shared_lines *sharing, const struct sharing_line *wanted)
{
	const uint64_t words[] = {wanted->place_address, (uintptr_t)file_of(wanted), (uint64_t)wanted->pid << 8 | wanted->cpumode};
	uint64_t *slot = map64_insert(&sharing->index, hash_words(words, sizeof(words) / sizeof(*words), 0).lo, NULL);
	for (struct sharing_line *line = (struct sharing_line *)(uintptr_t)*slot; line; line = line->next_same_hash)
		if (line->place_address == wanted->place_address && file_of(line) == file_of(wanted) && line->pid == wanted->pid &&
		    line->cpumode == wanted->cpumode)
			return line;
	struct sharing_line *line = arena_copy(&sharing->arena, wanted, sizeof(*wanted));
	line->next_same_hash = (struct sharing_line *)(uintptr_t)*slot;
	*slot = (uintptr_t)line;
	vec_push(&sharing->lines, line);
	return line;
}

/* ---- places ---- */

/* What tells places apart, as words: the offset, then the keys. */
static size_t place_words(const struct shared_lines *sharing, const struct sharing_place *place, uint64_t *words)
{
	size_t count = 0;
	words[count++] = place->offset;
	for (size_t i = 0; i < sharing->options.key_count; i++)
		switch (sharing->options.keys[i]) {
		case SHARING_PID:
			words[count++] = place->thread->pid;
			break;
		case SHARING_TID:
			words[count++] = place->thread->tid;
			break;
		case SHARING_CODE:
			words[count++] = place->code.ip;
			break;
		default:
			words[count++] = place->code.map ? (uintptr_t)place->code.map->dso : 0;
		}
	return count;
}

static struct sharing_place *find_place(struct shared_lines *sharing, struct sharing_line *line, const struct sharing_place *wanted)
{
	uint64_t words[SHARING_KEYS + 1], others[SHARING_KEYS + 1];
	size_t count = place_words(sharing, wanted, words);
	uint64_t *slot = map64_insert(&line->index, hash_words(words, count, 0).lo, NULL);
	for (struct sharing_place *place = (struct sharing_place *)(uintptr_t)*slot; place; place = place->next_same_hash) {
		place_words(sharing, place, others);
		if (!memcmp(words, others, count * sizeof(*words)))
			return place;
	}
	struct sharing_place *place = arena_copy(&sharing->arena, wanted, sizeof(*wanted));
	place->next_same_hash = (struct sharing_place *)(uintptr_t)*slot;
	*slot = (uintptr_t)place;
	vec_push(&line->places, place);
	return place;
}

/* A sample's cost counts as that of the most expensive thing that it was. */
static void add_cost(struct sharing_place *place, const struct access_counts *counts, uint64_t weight)
{
	static const enum access_count kinds[SHARING_COSTS] = {ACCESS_REMOTE_HITM, ACCESS_LOCAL_HITM, ACCESS_REMOTE_PEER, ACCESS_LOCAL_PEER,
							       ACCESS_LOADS};
	for (size_t i = 0; i < SHARING_COSTS; i++) {
		struct sharing_mean *mean = &place->costs[i];
		if (!counts->of[kinds[i]])
			continue;
		mean->mean += ((double)weight - mean->mean) / (double)++mean->count;
		return;
	}
}

static void add_to_node(struct shared_lines *sharing, struct sharing_place *place, size_t node, const struct access_counts *counts)
{
	struct sharing_node **at = &place->nodes;
	while (*at && (*at)->node < node)
		at = &(*at)->next;
	if (!*at || (*at)->node != node) {
		struct sharing_node *added = arena_zalloc(&sharing->arena, sizeof(*added));
		*added = (struct sharing_node){.next = *at, .node = node};
		*at = added;
	}
	static const enum access_count kept[] = {ACCESS_LOCAL_HITM, ACCESS_REMOTE_HITM, ACCESS_LOCAL_PEER, ACCESS_REMOTE_PEER,
						 ACCESS_STORES};
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		(*at)->counts.of[kept[i]] += counts->of[kept[i]];
}

void sharing_add(struct shared_lines *sharing, const struct event *event, const struct sample *sample, uint64_t model_time)
{
	struct thread *thread = session_sample_thread(sharing->session->machine, sample, model_time);
	struct frame data;
	struct access_counts counts;
	struct sharing_place wanted = {.thread = thread, .thread_time = model_time, .order = sharing->samples++};
	sample_resolve(sharing->resolver, thread, sample->cpumode, sample->ip, model_time, &wanted.code);
	sample_resolve_data(sharing->resolver, thread, sample->cpumode, sample->addr, model_time, &data);
	access_counts_of(sample_data_source(&event->attr, sample), sample->addr, data.map && wanted.code.map, &counts);
	access_counts_add(&sharing->total, &counts);

	const struct sharing_line line_wanted = line_of(sharing, &data, thread);
	struct sharing_line *line = find_line(sharing, &line_wanted);
	access_counts_add(&line->counts, &counts);
	line->period += sample->period;
	memory_add(sharing, &line->memory, sample->phys_addr);

	wanted.offset = sample->addr & (sharing->options.line_size - 1);
	struct sharing_place *place = find_place(sharing, line, &wanted);
	access_counts_add(&place->counts, &counts);
	place->period += sample->period;
	if (sharing->options.calls)
		sharing_calls_add(sharing, place, event, sample, model_time);
	memory_add(sharing, &place->memory, sample->phys_addr);
	add_cost(place, &counts, sample->weight);
	add_to_node(sharing, place, sharing_node_of_cpu(sharing, sample->cpu), &counts);
	if (sample->cpu < CPUS_MAX)
		set_add(sharing, &place->cpus, sample->cpu);
}

/* ---- order ---- */

uint32_t sharing_ranked(enum sharing_rank rank, const struct access_counts *counts)
{
	switch (rank) {
	case SHARING_LOCAL:
		return counts->of[ACCESS_LOCAL_HITM];
	case SHARING_REMOTE:
		return counts->of[ACCESS_REMOTE_HITM];
	case SHARING_PEER:
		return access_peers(counts);
	default:
		return access_hitms(counts);
	}
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* More before less; where local or remote ones count, equals by the others. */
static int compare_ranked(enum sharing_rank rank, const struct access_counts *a, const struct access_counts *b)
{
	static const enum sharing_rank second[] = {[SHARING_TOTAL] = SHARING_TOTAL,
						   [SHARING_LOCAL] = SHARING_REMOTE,
						   [SHARING_REMOTE] = SHARING_LOCAL,
						   [SHARING_PEER] = SHARING_PEER};
	int order = compare_u64(sharing_ranked(rank, b), sharing_ranked(rank, a));
	return order ? order : compare_u64(sharing_ranked(second[rank], b), sharing_ranked(second[rank], a));
}

static int compare_files(const struct dso *a, const struct dso *b)
{
	int order = compare_u64(a->major, b->major);
	order = order ? order : compare_u64(a->minor, b->minor);
	order = order ? order : compare_u64(a->inode, b->inode);
	return order ? order : compare_u64(a->inode_generation, b->inode_generation);
}

/* Files without a device or an inode are alike; at last those that came first. */
static int compare_places_in_memory(const struct sharing_line *a, const struct sharing_line *b)
{
	int order = compare_u64(a->cpumode, b->cpumode);
	order = order ? order : !a->map - !b->map;
	order = order || !a->map ? order : compare_files(a->map->dso, b->map->dso);
	order = order ? order : compare_u64(a->pid, b->pid);
	order = order ? order : compare_u64(a->place_address, b->place_address);
	return order || !a->map ? order : compare_u64(a->map->dso->index, b->map->dso->index);
}

static int compare_lines(const void *left, const void *right, void *context)
{
	const struct sharing_line *a = *(struct sharing_line *const *)left, *b = *(struct sharing_line *const *)right;
	const struct shared_lines *sharing = context;
	enum sharing_rank rank = sharing->options.rank;
	int order = compare_u64(sharing_ranked(rank, &b->counts), sharing_ranked(rank, &a->counts));
	return order ? order : compare_places_in_memory(a, b);
}

static const char *file_name(const struct sharing_place *place)
{
	return place->code.map ? place->code.map->dso->short_name : "";
}

static int compare_by_key(enum sharing_key key, const struct sharing_place *a, const struct sharing_place *b)
{
	switch (key) {
	case SHARING_PID:
		return compare_u64(b->thread->pid, a->thread->pid);
	case SHARING_TID:
		return compare_u64(a->thread->tid, b->thread->tid);
	case SHARING_CODE:
		return compare_u64(a->code.ip, b->code.ip);
	default:
		return strcmp(file_name(a), file_name(b));
	}
}

static int compare_places(const void *left, const void *right, void *context)
{
	const struct sharing_place *a = *(struct sharing_place *const *)left, *b = *(struct sharing_place *const *)right;
	const struct shared_lines *sharing = context;
	int order = compare_u64(a->offset, b->offset);
	order = order ? order : compare_ranked(sharing->options.rank, &a->counts, &b->counts);
	for (size_t i = 0; i < sharing->options.key_count && !order; i++)
		order = compare_by_key(sharing->options.keys[i], a, b);
	return order ? order : compare_u64(a->order, b->order);
}

/* Lines with less than a thousandth of all are noise. */
static bool matters(const struct shared_lines *sharing, const struct sharing_line *line)
{
	enum { THOUSANDTH = 1000 };
	uint64_t part = sharing_ranked(sharing->options.rank, &line->counts), all = sharing_ranked(sharing->options.rank, &sharing->total);
	return sharing->options.all || (all && part * THOUSANDTH >= all);
}

/* Of a line's places those that other cores wait for, or have to wait for. */
static void keep_costly_places(const struct shared_lines *sharing, struct sharing_line *line)
{
	size_t kept = 0;
	for (size_t i = 0; i < line->places.len; i++) {
		struct sharing_place *place = line->places.data[i];
		if (place->counts.of[ACCESS_STORES] || sharing_ranked(sharing->options.rank, &place->counts))
			line->places.data[kept++] = place;
	}
	line->places.len = kept;
}

static void drop_line(struct sharing_line *line)
{
	vec_deinit(&line->places);
	map64_deinit(&line->index);
}

void sharing_finish(struct shared_lines *sharing)
{
	size_t kept = 0;
	for (size_t i = 0; i < sharing->lines.len; i++) {
		struct sharing_line *line = sharing->lines.data[i];
		if (access_hitms(&line->counts) || access_peers(&line->counts)) {
			access_counts_add(&sharing->shared, &line->counts);
			sharing->shared_lines++;
		}
		if (matters(sharing, line))
			sharing->lines.data[kept++] = line;
		else
			drop_line(line);
	}
	sharing->lines.len = kept;
	if (kept)
		qsort_r(sharing->lines.data, kept, sizeof(*sharing->lines.data), compare_lines, sharing);
	for (size_t i = 0; i < kept; i++) {
		struct sharing_line *line = sharing->lines.data[i];
		keep_costly_places(sharing, line);
		qsort_r(line->places.data, line->places.len, sizeof(*line->places.data), compare_places, sharing);
	}
}

/* ---- options ---- */

const char *sharing_key_name(enum sharing_key key)
{
	static const char *const names[SHARING_KEYS] = {"pid", "tid", "iaddr", "dso"};
	return names[key];
}

bool sharing_has_key(const struct sharing_options *options, enum sharing_key key)
{
	for (size_t i = 0; i < options->key_count; i++)
		if (options->keys[i] == key)
			return true;
	return false;
}

struct error *sharing_parse_keys(const char *text, struct sharing_options *options)
{
	options->key_count = 0;
	while (*text) {
		size_t len = strcspn(text, ", ");
		enum sharing_key key = 0;
		while (key < SHARING_KEYS && (strlen(sharing_key_name(key)) != len || strncmp(sharing_key_name(key), text, len) != 0))
			key++;
		bool offset = len == strlen("offset") && !strncmp(text, "offset", len);
		if (len && key == SHARING_KEYS && !offset)
			return error_new_kind(ERROR_USAGE, "-c: invalid key '%.*s': use pid, tid, iaddr or dso", (int)len, text);
		if (len && !offset && !sharing_has_key(options, key))
			options->keys[options->key_count++] = key;
		text += len + (text[len] != 0);
	}
	return NULL;
}
