/* Waits weigh what they last. The time that a thread ran is divided among the samples that the clock took of it. */
#include "analysis/where/wall.h"

#include "base/search.h"

#include <string.h>

struct wall {
	struct where_timeline *timeline;
	struct calltree *tree;
	struct calltree_node *thread; /* whose time is added */
	uint64_t ran_ns;
};

static const char *intern(struct wall *wall, const char *text)
{
	return intern_string(&wall->timeline->places.strings, text);
}

static struct calltree_node *add_user(struct wall *wall, const struct where_place *place)
{
	struct calltree_node *node = wall->thread;
	for (size_t i = place->frame_count; i > place->kernel_count; i--)
		node = calltree_child(wall->tree, node, place->frames[i - 1], FRAME_USER);
	return node;
}

static struct calltree_node *add_kernel(struct wall *wall, struct calltree_node *node, const struct where_place *place, uint8_t kind)
{
	for (size_t i = place->kernel_count; i > 0; i--)
		node = calltree_child(wall->tree, node, place->frames[i - 1], kind);
	return node;
}

static void add_wait(struct wall *wall, const struct where_piece *piece)
{
	const struct where_place *place = piece->wait->place;
	char label[60] = "waits: ";
	struct calltree_node *node = place ? add_user(wall, place) : wall->thread;
	strcat(label, piece->kind == WHERE_QUEUE ? "for a CPU" : where_kind_id(piece->kind));
	node = calltree_child(wall->tree, node, intern(wall, label), FRAME_WAITING);
	if (place && piece->kind != WHERE_QUEUE)
		node = add_kernel(wall, node, place, FRAME_WAITING);
	calltree_weigh(node, piece->end - piece->begin);
}

static void add(void *context, const struct where_piece *piece)
{
	struct wall *wall = context;
	if (piece->kind == WHERE_CPU)
		wall->ran_ns += piece->end - piece->begin;
	else
		add_wait(wall, piece);
}

static void add_samples(struct wall *wall, const struct where_thread *thread)
{
	const struct where_timeline *timeline = wall->timeline;
	size_t from = partition_point(i, thread->samples.len, thread->samples.data[i].time < timeline->begin);
	size_t to = partition_point(i, thread->samples.len, thread->samples.data[i].time <= timeline->end);
	uint64_t left = wall->ran_ns;
	for (size_t i = from; i < to; i++) {
		const struct where_place *place = thread->samples.data[i].place;
		uint64_t ns = left / (to - i);
		calltree_weigh(add_kernel(wall, add_user(wall, place), place, FRAME_KERNEL), ns);
		left -= ns;
	}
	if (left)
		calltree_weigh(calltree_child(wall->tree, wall->thread, intern(wall, "[ran too shortly to be sampled]"), FRAME_OTHER),
			       left);
}

struct calltree *where_wall_tree(struct where_timeline *timeline, const struct where_sums *sums, bool idle)
{
	struct wall wall = {.timeline = timeline, .tree = calltree_create()};
	for (size_t i = 0; i < sums->threads.len; i++) {
		const struct where_thread_sums *one = &sums->threads.data[i];
		if (one->is_idle && !idle)
			continue;
		wall.ran_ns = 0;
		wall.thread = calltree_child(wall.tree, &wall.tree->root, intern(&wall, untrusted_raw(one->comm)), FRAME_OTHER);
		where_thread_pieces(one->thread, timeline->begin, timeline->end, add, &wall);
		if (wall.ran_ns)
			add_samples(&wall, one->thread);
	}
	calltree_sort(&wall.tree->root, calltree_by_label);
	return wall.tree;
}
