/* Allocations of the slab allocator by call site and by object.
 *
 * An object is known by its address, also after it was freed: another allocation there adds to its row. A free counts as ping-pong
 * when it happens on another CPU than the allocation, or when the object isn't allocated. Frees of objects that were allocated before the
 * recording began are left out. */
#include "analysis/kmem/kmem_internal.h"

#include "base/hash.h"
#include "base/id_table.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum { NO_CPU = -2, NO_NODE = -1 }; /* samples without a CPU have -1 */

/* A line of the cache: each event looks at one object, mostly at one that no other event has looked at lately. */
struct object {
	struct kmem_slab_row row;
	uint64_t latest;   /* bytes of its latest allocation */
	uint32_t caller;   /* … and the index of its row by call site */
	int32_t allocated; /* the CPU where it was allocated, or NO_CPU */
};
_Static_assert(sizeof(struct object) == 64, "an object is a line of the cache");

/* Few call sites make most allocations. */
enum { RECENT_SITES = 64, LEAST_OBJECTS = 1 << 12 };

struct recent_site {
	uint64_t call_site;
	uint32_t next; /* index of its row plus one; 0 = unused */
};

struct slab_tracker {
	struct kmem_slab *result;
	VEC(struct kmem_slab_row) callers;
	struct object *objects; /* by index: on lines of the cache */
	size_t object_count, object_room;
	struct id_table by_address; /* index of objects */
	struct map64 by_site;	    /* index */
	struct map64 nodes;	    /* of CPUs */
	const struct features *features;
	struct recent_site recent[RECENT_SITES];
};

static void add_node(struct map64 *nodes, const struct feature_node *node)
{
	int *cpus;
	size_t count;
	if (!node->cpus || !number_parse_list(node->cpus, &cpus, &count))
		return;
	for (size_t i = 0; i < count; i++)
		*map64_insert(nodes, (uint64_t)cpus[i], NULL) = node->node;
	free(cpus);
}

struct slab_tracker *slab_tracker_create(struct session *session)
{
	struct slab_tracker *tracker = mem_zalloc(sizeof(*tracker));
	tracker->result = mem_zalloc(sizeof(*tracker->result));
	tracker->features = &session->reader->features;
	return tracker;
}

/* At the first sample: a stream has told of its machine by then. */
static void find_nodes(struct slab_tracker *tracker)
{
	for (size_t i = 0; i < tracker->features->numa_nodes.len; i++)
		add_node(&tracker->nodes, &tracker->features->numa_nodes.data[i]);
}

void slab_tracker_destroy(struct slab_tracker *tracker)
{
	if (!tracker)
		return;
	vec_deinit(&tracker->callers);
	free(tracker->objects);
	id_table_deinit(&tracker->by_address);
	map64_deinit(&tracker->by_site);
	map64_deinit(&tracker->nodes);
	kmem_slab_destroy(tracker->result);
	free(tracker);
}

static uint32_t get_caller(struct slab_tracker *tracker, uint64_t call_site)
{
	bool is_new;
	struct recent_site *recent = &tracker->recent[(call_site ^ call_site >> 6) % RECENT_SITES];
	if (recent->next && recent->call_site == call_site)
		return recent->next - 1;
	uint64_t *index = map64_insert(&tracker->by_site, call_site, &is_new);
	if (is_new) {
		*index = tracker->callers.len;
		vec_push(&tracker->callers, (struct kmem_slab_row){.call_site = call_site});
	}
	*recent = (struct recent_site){.call_site = call_site, .next = (uint32_t)*index + 1};
	return (uint32_t)*index;
}

static inline uint32_t address_hash(uint64_t address)
{
	return (uint32_t)hash_u64(address);
}

/* NULL when nothing was allocated there. */
static inline struct object *known_object(const struct slab_tracker *tracker, uint64_t address, uint32_t hash)
{
	struct id_probe probe;
	uint32_t id = id_table_first(&tracker->by_address, hash, &probe);
	while (id != ID_NONE && tracker->objects[id].row.object != address)
		id = id_table_next(&tracker->by_address, &probe);
	return id == ID_NONE ? NULL : &tracker->objects[id];
}

static void grow_objects(struct slab_tracker *tracker)
{
	size_t room = vec_grown(tracker->object_room, LEAST_OBJECTS);
	struct object *objects = mem_alloc_table(room, sizeof(*objects));
	if (tracker->object_count)
		memcpy(objects, tracker->objects, tracker->object_count * sizeof(*objects));
	free(tracker->objects);
	tracker->objects = objects;
	tracker->object_room = room;
}

static struct object *get_object(struct slab_tracker *tracker, uint64_t address)
{
	uint32_t hash = address_hash(address);
	struct object *object = known_object(tracker, address, hash);
	if (object)
		return object;
	if (tracker->object_count == tracker->object_room)
		grow_objects(tracker);
	id_table_insert(&tracker->by_address, hash, (uint32_t)tracker->object_count);
	object = &tracker->objects[tracker->object_count++];
	*object = (struct object){.row = {.object = address}};
	return object;
}

static void add(struct kmem_slab_row *row, uint64_t requested, uint64_t allocated)
{
	row->hits++;
	row->requested += requested;
	row->allocated += allocated;
}

void slab_on_alloc(void *context, const struct tracker_event *event)
{
	struct slab_tracker *tracker = ((struct kmem_trackers *)context)->slab;
	if (!tracker)
		return;
	struct kmem_slab *result = tracker->result;
	if (!result->allocations)
		find_nodes(tracker);
	uint64_t call_site = event->values[0], requested = event->values[2], allocated = event->values[3];
	uint32_t caller = get_caller(tracker, call_site);
	struct object *object = get_object(tracker, event->values[1]);
	add(&tracker->callers.data[caller], requested, allocated);
	add(&object->row, requested, allocated);
	object->row.call_site = call_site;
	object->caller = caller;
	object->latest = allocated;
	object->allocated = (int32_t)event->cpu;
	result->requested += requested;
	result->allocated += allocated;
	result->allocations++;
	if (!event->fields[4] || (int32_t)event->values[4] == NO_NODE)
		return;
	const uint64_t *node = map64_find(&tracker->nodes, event->cpu);
	result->cross_node += node && *node != event->values[4];
}

void slab_on_free(void *context, const struct tracker_event *event)
{
	struct slab_tracker *tracker = ((struct kmem_trackers *)context)->slab;
	struct object *object = tracker ? known_object(tracker, event->values[0], address_hash(event->values[0])) : NULL;
	if (!object)
		return;
	tracker->result->freed += object->latest;
	if (object->allocated != (int32_t)event->cpu) {
		object->row.ping_pong++;
		tracker->callers.data[object->caller].ping_pong++;
	}
	object->allocated = NO_CPU;
}

/* ---- rows ---- */

#define COMPARE(name, member)                                    \
	static int compare_##name(const void *a, const void *b)  \
	{                                                        \
		const struct kmem_slab_row *one = a, *other = b; \
		return kmem_greater(one->member, other->member); \
	}

COMPARE(object, object)
COMPARE(call_site, call_site)
COMPARE(bytes, allocated)
COMPARE(hits, hits)
COMPARE(ping_pong, ping_pong)

static int compare_fragmentation(const void *a, const void *b)
{
	const struct kmem_slab_row *one = a, *other = b;
	double x = kmem_fragmentation(one->requested, one->allocated), y = kmem_fragmentation(other->requested, other->allocated);
	return (x < y) - (x > y);
}

static int compare_addresses(const void *a, const void *b)
{
	const struct kmem_slab_row *one = a, *other = b;
	return one->object != other->object ? kmem_greater(other->object, one->object) : kmem_greater(other->call_site, one->call_site);
}

const struct kmem_sort_key slab_sort_keys[] = {
	{"ptr", compare_object},
	{"callsite", compare_call_site},
	{"bytes", compare_bytes},
	{"hit", compare_hits},
	{"pingpong", compare_ping_pong},
	{"frag", compare_fragmentation},
	{0},
};
const char slab_sort_default[] = "frag,hit,bytes";

static void sort_rows(struct kmem_slab_row *rows, size_t count, const char *keys)
{
	kmem_sort_rows(rows, count, sizeof(*rows), slab_sort_keys, keys ? keys : slab_sort_default, compare_addresses);
}

struct kmem_slab *slab_tracker_finish(struct slab_tracker *tracker, const struct kmem_options *options)
{
	struct kmem_slab *result = tracker->result;
	tracker->result = NULL;
	result->caller_count = options->callers ? tracker->callers.len : 0;
	result->object_count = options->rows ? tracker->object_count : 0;
	result->callers = mem_alloc_array(result->caller_count + 1, sizeof(*result->callers));
	result->objects = mem_alloc_array(result->object_count + 1, sizeof(*result->objects));
	for (size_t i = 0; i < result->caller_count; i++)
		result->callers[i] = tracker->callers.data[i];
	for (size_t i = 0; i < result->object_count; i++)
		result->objects[i] = tracker->objects[i].row;
	sort_rows(result->callers, result->caller_count, options->slab_sort.callers);
	sort_rows(result->objects, result->object_count, options->slab_sort.rows);
	return result;
}

void kmem_slab_destroy(struct kmem_slab *slab)
{
	if (!slab)
		return;
	free(slab->callers);
	free(slab->objects);
	free(slab);
}
