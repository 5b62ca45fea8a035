/* Profile: the tree of stacks as of a flame graph, without what is too light for the page; then each entry is added to the cell (node,
 * slice) where its stack ends, and to lanes. */
#include "analysis/profile/profile.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MOST = 200, CELLS_PER_NODE = 4 };
#define NO_CPU UINT32_MAX

struct adding {
	struct profile_page *profile;
	struct profile_event *event;
	struct fold *fold;
	struct fold_calltree_places places;
	struct map64 frame_numbers, cells, threads;
};

void profile_words(const struct session *session, const struct fold_sample *sample, uint64_t *words)
{
	uint64_t length = (session->last_time - session->first_time) / (PROFILE_SLICES * PROFILE_PARTS) + 1;
	uint64_t time = sample->sample->time;
	uint64_t part = time > session->first_time ? (time - session->first_time) / length : 0;
	words[0] = part < PROFILE_SLICES * PROFILE_PARTS ? part : PROFILE_SLICES * PROFILE_PARTS - 1;
	words[1] = sample->event->attr.sample_type & PERF_SAMPLE_CPU ? sample->sample->cpu : NO_CPU;
}

/* ---- frames and nodes ---- */

static uint32_t frame_number(struct adding *adding, const char *label, const char *module, uint8_t kind)
{
	bool is_new;
	uint64_t who = hash_combine(hash_combine((uintptr_t)label, (uintptr_t)module), kind);
	uint64_t *number = map64_insert(&adding->frame_numbers, who, &is_new);
	if (is_new) {
		*number = adding->event->frames.len;
		vec_push(&adding->event->frames, (struct profile_frame){label, module ? module : "", kind});
	}
	return (uint32_t)*number;
}

static void add_nodes(struct adding *adding)
{
	struct profile_event *event = adding->event;
	const struct fold_calltree_places *places = &adding->places;
	vec_push(&event->nodes, (struct profile_node){0, frame_number(adding, "all", NULL, FRAME_OTHER)});
	for (size_t i = 1; i < places->nodes.len; i++) {
		const struct calltree_node *node = places->nodes.data[i];
		vec_push(&event->nodes,
			 (struct profile_node){places->parents.data[i], frame_number(adding, node->label, node->module, node->kind)});
	}
}

/* ---- weights ---- */

static void add_cell(struct adding *adding, uint32_t node, uint32_t slice, uint64_t weight)
{
	bool is_new;
	uint64_t *cell = map64_insert(&adding->cells, (uint64_t)node << 32 | slice, &is_new);
	if (is_new) {
		*cell = adding->event->cells.len;
		vec_push(&adding->event->cells, (struct profile_cell){.node = node, .slice = slice});
	}
	adding->event->cells.data[*cell].weight += weight;
}

static uint64_t *lane_weights(struct adding *adding)
{
	return arena_zalloc(&adding->profile->arena, PROFILE_SLICES * sizeof(uint64_t));
}

static void add_to_thread(struct adding *adding, const struct fold_actor *actor, uint32_t slice, uint64_t weight)
{
	bool is_new;
	uint64_t *lane = map64_insert(&adding->threads, (uintptr_t)actor->thread, &is_new);
	if (is_new) {
		*lane = adding->event->threads.len;
		const char *name = arena_printf(&adding->profile->arena, "%s %u/%u", untrusted_raw(actor->comm), actor->thread->pid,
						actor->thread->tid);
		vec_push(&adding->event->threads, (struct profile_lane){.name = name, .weights = lane_weights(adding)});
	}
	adding->event->threads.data[*lane].weights[slice] += weight;
	adding->event->threads.data[*lane].total += weight;
}

static void add_to_cpu(struct adding *adding, uint64_t cpu, uint32_t slice, uint64_t weight)
{
	enum { CPUS_MOST = 4096 };
	if (cpu >= CPUS_MOST)
		return;
	while (adding->event->cpus.len <= cpu) {
		const char *name = arena_printf(&adding->profile->arena, "CPU %zu", adding->event->cpus.len);
		vec_push(&adding->event->cpus, (struct profile_lane){.name = name, .weights = lane_weights(adding)});
	}
	adding->event->cpus.data[cpu].weights[slice] += weight;
	adding->event->cpus.data[cpu].total += weight;
}

static void add_entry(struct adding *adding, size_t number)
{
	const struct fold_entry *entry = &adding->fold->entries[number];
	const uint64_t *words = adding->fold->extras + (size_t)fold_extra(adding->fold, entry) * PROFILE_WORDS;
	uint32_t slice = (uint32_t)(words[0] / PROFILE_PARTS);
	add_cell(adding, adding->places.by_entry[number], slice, entry->period);
	adding->event->parts[words[0]] += entry->period;
	adding->event->samples += entry->count;
	adding->event->period += entry->period;
	add_to_thread(adding, &adding->fold->actors[entry->actor], slice, entry->period);
	add_to_cpu(adding, words[1], slice, entry->period);
}

/* ---- limits ---- */

static int by_node(const void *a, const void *b)
{
	const struct profile_cell *x = a, *y = b;
	return x->node != y->node ? (x->node < y->node ? -1 : 1) : (x->slice > y->slice) - (x->slice < y->slice);
}

static int by_total(const void *a, const void *b)
{
	const struct profile_lane *x = a, *y = b;
	return x->total != y->total ? (x->total < y->total ? 1 : -1) : strcmp(x->name, y->name);
}

/* Sorts the cells, and adds up those that are one. */
static void merge_cells(struct profile_event *event)
{
	size_t kept = 0;
	if (event->cells.len)
		qsort(event->cells.data, event->cells.len, sizeof(*event->cells.data), by_node);
	for (size_t i = 0; i < event->cells.len; i++) {
		const struct profile_cell cell = event->cells.data[i];
		struct profile_cell *last = kept ? &event->cells.data[kept - 1] : NULL;
		if (last && last->node == cell.node && last->slice == cell.slice)
			last->weight += cell.weight;
		else
			event->cells.data[kept++] = cell;
	}
	event->cells.len = kept;
}

/* Neighbouring slices become one, as far as cells go, until there are few enough. */
static void drop_cells(struct profile_event *event, size_t most)
{
	for (uint32_t width = 2; event->cells.len > most && width < PROFILE_SLICES; width *= 2) {
		for (size_t i = 0; i < event->cells.len; i++)
			event->cells.data[i].slice -= event->cells.data[i].slice % width;
		merge_cells(event);
	}
}

static void finish(struct adding *adding, size_t most)
{
	struct profile_event *event = adding->event;
	merge_cells(event);
	drop_cells(event, most * CELLS_PER_NODE);
	if (event->threads.len)
		qsort(event->threads.data, event->threads.len, sizeof(*event->threads.data), by_total);
	if (event->threads.len > THREADS_MOST) {
		event->other_threads = event->threads.len - THREADS_MOST;
		event->threads.len = THREADS_MOST;
	}
}

void profile_add_event(struct profile_page *profile, struct fold *fold, const struct event *event, size_t most)
{
	struct adding adding = {.profile = profile, .fold = fold, .event = vec_add(&profile->events)};
	const struct fold_calltree_options options = {.event = (int)event->index,
						      .by_comm = true,
						      .raw_roots = true,
						      .by_file = true,
						      .most = most,
						      .deepest = UINT32_MAX,
						      .places = &adding.places};
	struct calltree *tree = fold_calltree(fold, &options);
	*adding.event = (struct profile_event){.name = event->name, .least = tree->least};
	adding.event->parts = arena_zalloc(&profile->arena, PROFILE_SLICES * PROFILE_PARTS * sizeof(uint64_t));
	profile->slices = PROFILE_SLICES;
	profile->parts = PROFILE_PARTS;
	add_nodes(&adding);
	for (size_t i = 0; i < fold->entry_count; i++)
		if (fold->entries[i].event == event->index)
			add_entry(&adding, i);
	finish(&adding, most);
	calltree_destroy(tree);
	fold_calltree_places_deinit(&adding.places);
	map64_deinit(&adding.frame_numbers);
	map64_deinit(&adding.cells);
	map64_deinit(&adding.threads);
}
