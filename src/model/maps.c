/* Address spaces, asked at a time.
 *
 * Problem: at any time of the recording, which map covers an address? Maps are only ever added; a new one hides what it covers; a fork
 * makes a copy that goes its own way. There may be thousands of maps in one process, and hostile files have forks of forks without end.
 *
 * Idea: a balanced (AVL) tree of disjoint pieces, ordered by address, of which every state is kept. A change copies the path from the root
 * to where it happens and shares all the rest; a version is a time and a root. So a lookup is a binary search over versions and a walk down
 * one tree, a fork copies one pointer, and no chain of parents is ever followed.
 *
 *	versions of a process:   t=0      t=17     t=20           the child's:  t=18 (fork)
 *	                          │        │        │                            │
 *	                          A        A'───────┼───────────────────────────►A'      A' shares all but one path with A
 *
 * Nodes made for the newest version are changed in place as long as time stands still and nobody else has got the root: the thousands of
 * maps that a recording starts with (all at time 0) cost no copies. `edit` marks them.
 *
 * Not done here: what is mapped (dso.c), and by whom (thread.c).
 */
#include "base/search.h"
#include "model/model_internal.h"

#include <string.h>

struct maps_node {
	uint64_t start, end; /* the visible part of the map */
	const struct map *map;
	struct maps_node *left, *right;
	uint32_t edit;
	uint32_t height;
};

struct maps *maps_create(struct machine *machine)
{
	struct maps *maps = arena_zalloc(&machine->arena, sizeof(*maps));
	maps->machine = machine;
	return maps;
}

/* ---- asking ---- */

/* Who asks has what is noted made: the answers are what they would have been before. */
static void settle(const struct maps *maps)
{
	if (maps->waits)
		maps_settle((struct maps *)maps);
}

static const struct maps_version *made_version_at(const struct maps *maps, uint64_t time)
{
	if (!maps->count)
		return NULL;
	const struct maps_version *versions = maps->versions;
	uint32_t last = maps->count - 1;
	if (versions[last].time <= time) /* most often */
		return &versions[last];
	size_t after = partition_point(i, last, versions[i].time <= time);
	return after ? &versions[after - 1] : NULL;
}

static const struct maps_version *version_at(const struct maps *maps, uint64_t time)
{
	if (!maps)
		return NULL;
	settle(maps);
	return made_version_at(maps, time);
}

const struct map *maps_find(const struct maps *maps, uint64_t addr, uint64_t time)
{
	const struct maps_version *version = version_at(maps, time);
	const struct maps_node *node = version ? version->root : NULL;
	while (node) {
		if (addr < node->start)
			node = node->left;
		else if (addr >= node->end)
			node = node->right;
		else
			return node->map;
	}
	return NULL;
}

const struct map *maps_next(const struct maps *maps, uint64_t addr)
{
	settle(maps);
	const struct maps_node *node = maps->count ? maps->versions[maps->count - 1].root : NULL, *next = NULL;
	while (node) {
		if (node->start > addr)
			next = node;
		node = node->start > addr ? node->left : node->right;
	}
	return next ? next->map : NULL;
}

uint64_t maps_epoch(const struct maps *maps, uint64_t time)
{
	const struct maps_version *version = version_at(maps, time);
	return version ? version->epoch : 0;
}

struct maps_state maps_state_at(const struct maps *maps, uint64_t time)
{
	const struct maps_version *version = version_at(maps, time);
	if (!version)
		return (struct maps_state){.last = maps && maps->count ? maps->versions[0].time - 1 : UINT64_MAX};
	bool newest = version == &maps->versions[maps->count - 1];
	return (struct maps_state){
		.epoch = version->epoch, .from = version->time, .last = newest ? UINT64_MAX : version[1].time - 1, .root = version->root};
}

const struct map *maps_state_find(const struct maps_state *state, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct maps_node *node = state->root;
	uint64_t start = 0, end = UINT64_MAX;
	while (node) {
		if (addr < node->start) {
			end = node->start;
			node = node->left;
		} else if (addr >= node->end) {
			start = node->end;
			node = node->right;
		} else {
			start = node->start;
			end = node->end;
			break;
		}
	}
	*ret_start = start;
	*ret_end = end;
	return node ? node->map : NULL;
}

void maps_visit(const struct maps *maps, uint64_t time, maps_visitor visit, void *context)
{
	const struct maps_version *version = version_at(maps, time);
	const struct maps_node *node = version ? version->root : NULL;
	const struct maps_node *stack[64]; /* an AVL tree of 2^44 nodes is no higher */
	size_t depth = 0;
	while (node || depth) {
		while (node) {
			stack[depth++] = node;
			node = node->left;
		}
		node = stack[--depth];
		if (!visit(node->map, node->start, node->end, context))
			return;
		node = node->right;
	}
}

/* ---- the tree ---- */

static uint32_t height(const struct maps_node *node)
{
	return node ? node->height : 0;
}

static struct maps_node *node_create(struct maps *maps, uint64_t start, uint64_t end, const struct map *map)
{
	struct maps_node *node = arena_alloc(&maps->machine->arena, sizeof(*node));
	*node = (struct maps_node){.start = start, .end = end, .map = map, .edit = maps->edit, .height = 1};
	return node;
}

/* The node itself when it may be changed, else a copy that may. */
static struct maps_node *node_edit(struct maps *maps, struct maps_node *node)
{
	if (node->edit == maps->edit)
		return node;
	struct maps_node *copy = arena_copy(&maps->machine->arena, node, sizeof(*node));
	copy->edit = maps->edit;
	return copy;
}

static struct maps_node *node_link(struct maps_node *node, struct maps_node *left, struct maps_node *right)
{
	uint32_t l = height(left), r = height(right);
	node->left = left;
	node->right = right;
	node->height = 1 + (l > r ? l : r);
	return node;
}

/* `node`, which may be changed, over two trees whose heights differ by at most 2. */
static struct maps_node *node_balance(struct maps *maps, struct maps_node *node, struct maps_node *left, struct maps_node *right)
{
	if (height(left) > height(right) + 1) {
		left = node_edit(maps, left);
		if (height(left->left) >= height(left->right)) {
			node_link(node, left->right, right);
			return node_link(left, left->left, node);
		}
		struct maps_node *top = node_edit(maps, left->right);
		node_link(left, left->left, top->left);
		node_link(node, top->right, right);
		return node_link(top, left, node);
	}
	if (height(right) > height(left) + 1) {
		right = node_edit(maps, right);
		if (height(right->right) >= height(right->left)) {
			node_link(node, left, right->left);
			return node_link(right, node, right->right);
		}
		struct maps_node *top = node_edit(maps, right->left);
		node_link(right, top->right, right->right);
		node_link(node, left, top->left);
		return node_link(top, node, right);
	}
	return node_link(node, left, right);
}

/* One tree of `left`, `node` (which may be changed) and `right`, in this order, of any heights. As deep a recursion as their heights
 * differ. */
static struct maps_node *tree_join(struct maps *maps, struct maps_node *left, struct maps_node *node, struct maps_node *right)
{
	if (height(left) > height(right) + 1) {
		left = node_edit(maps, left);
		return node_balance(maps, left, left->left, tree_join(maps, left->right, node, right));
	}
	if (height(right) > height(left) + 1) {
		right = node_edit(maps, right);
		return node_balance(maps, right, tree_join(maps, left, node, right->left), right->right);
	}
	return node_link(node, left, right);
}

/* Takes the lowest node out of `tree`, which isn't empty. */
static struct maps_node *tree_take_lowest(struct maps *maps, struct maps_node *tree, struct maps_node **ret_lowest)
{
	if (!tree->left) {
		*ret_lowest = tree;
		return tree->right;
	}
	tree = node_edit(maps, tree);
	return node_balance(maps, tree, tree_take_lowest(maps, tree->left, ret_lowest), tree->right);
}

static struct maps_node *tree_concatenate(struct maps *maps, struct maps_node *left, struct maps_node *right)
{
	if (!right)
		return left;
	struct maps_node *middle;
	right = tree_take_lowest(maps, right, &middle);
	return tree_join(maps, left, node_edit(maps, middle), right);
}

/* What lies below `addr` and what doesn't; a piece that `addr` is in the middle of is cut in two. */
static void tree_split(struct maps *maps, struct maps_node *tree, uint64_t addr, struct maps_node **ret_left, struct maps_node **ret_right)
{
	if (!tree) {
		*ret_left = *ret_right = NULL;
		return;
	}
	struct maps_node *left = tree->left, *right = tree->right, *part;
	if (addr <= tree->start) {
		tree_split(maps, left, addr, ret_left, &part);
		*ret_right = tree_join(maps, part, node_edit(maps, tree), right);
	} else if (addr >= tree->end) {
		tree_split(maps, right, addr, &part, ret_right);
		*ret_left = tree_join(maps, left, node_edit(maps, tree), part);
	} else {
		struct maps_node *low = node_create(maps, tree->start, addr, tree->map);
		struct maps_node *high = node_create(maps, addr, tree->end, tree->map);
		*ret_left = tree_join(maps, left, low, NULL);
		*ret_right = tree_join(maps, NULL, high, right);
	}
}

static bool tree_touches(const struct maps_node *tree, uint64_t start, uint64_t end)
{
	while (tree && (end <= tree->start || start >= tree->end))
		tree = end <= tree->start ? tree->left : tree->right;
	return tree != NULL;
}

/* Puts `fresh` where nothing is: the usual case, which copies one path only. */
static struct maps_node *tree_add(struct maps *maps, struct maps_node *tree, struct maps_node *fresh)
{
	if (!tree)
		return fresh;
	tree = node_edit(maps, tree);
	if (fresh->start < tree->start)
		return node_balance(maps, tree, tree_add(maps, tree->left, fresh), tree->right);
	return node_balance(maps, tree, tree->left, tree_add(maps, tree->right, fresh));
}

/* ---- changing ---- */

/* The version that a change at `time` goes into: the newest one when it is of that time, else a new one that starts as that. */
static struct maps_version *version_for_change(struct maps *maps, uint64_t time)
{
	struct machine *machine = maps->machine;
	struct maps_version *newest = maps->count ? &maps->versions[maps->count - 1] : NULL;
	if (!newest || newest->time != time) {
		if (maps->count == maps->capacity) {
			uint32_t capacity = maps->capacity ? maps->capacity * 2 : 2;
			struct maps_version *grown = arena_alloc(&machine->arena, capacity * sizeof(*grown));
			if (maps->count)
				memcpy(grown, maps->versions, maps->count * sizeof(*grown));
			maps->versions = grown;
			maps->capacity = capacity;
		}
		maps->versions[maps->count] = newest ? maps->versions[maps->count - 1] : (struct maps_version){0};
		newest = &maps->versions[maps->count++];
		newest->time = time;
		maps->edit = 0;
	}
	if (!maps->edit)
		maps->edit = ++machine->private->edits;
	newest->epoch = ++machine_host(machine)->private->epochs;
	return newest;
}

void maps_insert(struct maps *maps, const struct map *map)
{
	settle(maps);
	if (map->start >= map->end)
		return;
	struct maps_version *version = version_for_change(maps, map->time);
	struct maps_node *tree = (struct maps_node *)version->root, *left, *right, *hidden;
	struct maps_node *fresh = node_create(maps, map->start, map->end, map);
	if (!tree_touches(tree, map->start, map->end)) {
		version->root = tree_add(maps, tree, fresh);
		return;
	}
	tree_split(maps, tree, map->start, &left, &right);
	tree_split(maps, right, map->end, &hidden, &right);
	version->root = tree_join(maps, left, fresh, right);
}

void maps_remove(struct maps *maps, uint64_t start, uint64_t end, uint64_t time)
{
	settle(maps);
	if (start >= end || !maps->count)
		return;
	struct maps_version *version = version_for_change(maps, time);
	struct maps_node *left, *right, *hidden;
	tree_split(maps, (struct maps_node *)version->root, start, &left, &right);
	tree_split(maps, right, end, &hidden, &right);
	version->root = tree_concatenate(maps, left, right);
}

void maps_inherit(struct maps *child, struct maps *parent, uint64_t time)
{
	if (child->waits)
		return;
	if (parent->waits && !child->count)
		maps_note_fork(parent, child, time);
	else
		maps_inherit_now(child, parent, time);
}

void maps_inherit_now(struct maps *child, struct maps *parent, uint64_t time)
{
	if (!parent->count || child->count)
		return;
	const struct maps_version *newest = &parent->versions[parent->count - 1];
	parent->edit = 0; /* its tree is shared from now on */
	struct maps_version *version = version_for_change(child, time);
	version->root = newest->root;
	version->epoch = newest->epoch;
}

/* ---- the next epoch ---- */

const struct map *machine_carry_map(struct carrying *carrying, const struct map *map)
{
	bool is_new;
	uint64_t *slot = map64_insert(&carrying->moved, (uintptr_t)map, &is_new);
	if (is_new) {
		*slot = (uintptr_t)arena_copy(&carrying->machine->arena, map, sizeof(*map));
		map->dso->generation = carrying->machine->generation + 1;
	}
	return (const struct map *)(uintptr_t)*slot;
}

/* As deep a recursion as the tree is high. */
static struct maps_node *node_carry(struct carrying *carrying, const struct maps_node *node)
{
	bool is_new;
	if (!node)
		return NULL;
	uint64_t *slot = map64_insert(&carrying->moved, (uintptr_t)node, &is_new);
	if (!is_new)
		return (struct maps_node *)(uintptr_t)*slot;
	struct maps_node *copy = arena_copy(&carrying->machine->arena, node, sizeof(*node));
	*slot = (uintptr_t)copy;
	copy->edit = 0;
	copy->map = machine_carry_map(carrying, node->map);
	copy->left = node_carry(carrying, node->left);
	copy->right = node_carry(carrying, node->right);
	return copy;
}

/* Caches know an address space by the number: what they have of it points to the epoch before. */
static uint64_t epoch_carry(struct carrying *carrying, uint64_t epoch)
{
	bool is_new;
	uint64_t *slot = map64_insert(&carrying->epochs, epoch, &is_new);
	if (is_new)
		*slot = ++carrying->machine->private->epochs;
	return *slot;
}

struct maps *maps_carry(struct carrying *carrying, const struct maps *from)
{
	struct maps *maps = maps_create(carrying->machine);
	const struct maps_version *first = made_version_at(from, carrying->since);
	size_t skipped = first ? (size_t)(first - from->versions) : 0;
	maps->count = maps->capacity = from->count - (uint32_t)skipped;
	maps_carry_notes(maps, from);
	if (!maps->count)
		return maps;
	maps->versions = arena_copy(&carrying->machine->arena, from->versions + skipped, maps->count * sizeof(*maps->versions));
	for (uint32_t i = 0; i < maps->count; i++) {
		struct maps_version *version = &maps->versions[i];
		version->epoch = epoch_carry(carrying, version->epoch);
		version->root = node_carry(carrying, version->root);
	}
	return maps;
}
