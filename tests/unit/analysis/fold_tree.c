/* All stacks as one tree: the same as when each is added on its own, and with a limit the heavy part of that. */
#include "analysis/report/fold_internal.h"
#include "analysis/sequence_sort.h"
#include "result/calltree_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PIECES = 400, ENTRIES = 6000, FRAMES_MOST = 30, SYMBOLS = 12 };

struct stacks {
	struct fold fold;
	struct fold_private private;
	struct fold_frame frames[SYMBOLS];
	struct symbol symbols[SYMBOLS];
	uint32_t frame_ids[PIECES * FRAMES_MOST];
	struct fold_piece pieces[PIECES];
	struct fold_entry entries[ENTRIES];
};

static uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

/* Few names, of which some functions share one, in the kernel's piece and in the user's: stacks are alike across the border of pieces. */
static struct stacks *make_stacks(void)
{
	static const char *const names[] = {"main", "run", "read", "copy", "parse", "free"};
	struct stacks *stacks = mem_zalloc(sizeof(*stacks));
	uint64_t seed = 11;
	uint32_t frames = 0;
	for (uint32_t i = 0; i < SYMBOLS; i++) {
		stacks->symbols[i].name = names[i % 6];
		stacks->frames[i] = (struct fold_frame){.symbol = &stacks->symbols[i], .cpumode = i % 2 ? CPUMODE_USER : CPUMODE_KERNEL};
	}
	for (uint32_t i = 0; i < PIECES; i++) {
		uint32_t count = draw(&seed, i % 8 ? 6 : FRAMES_MOST);
		stacks->pieces[i] = (struct fold_piece){.frames = frames, .frame_count = count & INT32_MAX, .kernel = i % 2};
		while (count--)
			stacks->frame_ids[frames++] = draw(&seed, SYMBOLS);
	}
	for (uint32_t i = 0; i < ENTRIES; i++) {
		struct fold_entry *entry = &stacks->entries[i];
		*entry = (struct fold_entry){
			.leaf = draw(&seed, SYMBOLS), .count = 1 + draw(&seed, 5), .period = draw(&seed, 1000), .event = i % 7 == 0};
		entry->inner = draw(&seed, 2) ? draw(&seed, PIECES / 2) * 2 + 1 : FOLD_NONE;
		entry->outer = draw(&seed, 9) ? draw(&seed, PIECES / 2) * 2 : FOLD_NONE;
	}
	stacks->private.options.jobs = 2;
	stacks->fold = (struct fold){.entries = stacks->entries,
				     .entry_count = ENTRIES,
				     .pieces = stacks->pieces,
				     .piece_count = PIECES,
				     .frame_ids = stacks->frame_ids,
				     .frames = stacks->frames,
				     .frame_count = SYMBOLS,
				     .private = &stacks->private};
	return stacks;
}

static void free_stacks(struct stacks *stacks)
{
	intern_deinit(&stacks->private.names);
	free(stacks->private.frame_names);
	free(stacks);
}

static struct calltree *one_by_one(struct fold *fold, const struct fold_calltree_options *options)
{
	struct calltree *tree = calltree_create();
	for (size_t i = 0; i < fold->entry_count; i++) {
		const struct fold_entry *entry = &fold->entries[i];
		uint64_t weight = options->count ? entry->count : entry->period;
		uint32_t depth = fold_depth(fold, entry);
		struct calltree_node *node = &tree->root;
		if (entry->event != options->event)
			continue;
		for (uint32_t at = 0;; at++) {
			node->total += weight;
			node->total_count += entry->count;
			if (at == depth)
				break;
			uint32_t frame = fold_frame_id(fold, entry, options->reverse ? at : depth - 1 - at);
			node = calltree_child(tree, node, fold_frame_name(fold, frame), (uint8_t)fold_frame_kind(fold, frame));
		}
		node->self += weight;
		node->self_count += entry->count;
	}
	calltree_sort(&tree->root, calltree_by_label);
	return tree;
}

/* `made` is `all` without what is lighter than made's limit. Returns how many nodes that are. */
static size_t check_node(const struct calltree_node *made, const struct calltree_node *all, uint64_t least)
{
	size_t nodes = 1;
	uint64_t left = made->total, left_count = made->total_count;
	const struct calltree_node *child = made->children;
	assert_true(made->label == all->label && made->kind == all->kind && made->total == all->total &&
		    made->total_count == all->total_count);
	for (const struct calltree_node *other = all->children; other; other = other->sibling) {
		if (other->total < least)
			continue;
		assert_non_null(child);
		assert_ptr_equal(child->parent, made);
		nodes += check_node(child, other, least);
		left -= child->total;
		left_count -= child->total_count;
		child = child->sibling;
	}
	assert_null(child);
	assert_true(made->self == left && made->self_count == left_count);
	return nodes;
}

static void trees_are_the_same(void **state)
{
	struct stacks *stacks = make_stacks();
	for (int reverse = 0; reverse < 2; reverse++) {
		const struct fold_calltree_options options = {.reverse = reverse, .count = reverse};
		struct calltree *made = fold_calltree(&stacks->fold, &options), *all = one_by_one(&stacks->fold, &options);
		assert_int_equal(check_node(&made->root, &all->root, 0), all->nodes + 1);
		assert_true(made->nodes == all->nodes && !made->least);
		calltree_destroy(made);
		calltree_destroy(all);
	}
	free_stacks(stacks);
}

/* Memory goes with the nodes that are asked for, not with the stacks. */
static void light_nodes_are_left_out(void **state)
{
	struct stacks *stacks = make_stacks();
	/* With many stacks for each node, and with few. */
	for (size_t most = 20, reverse = 0; most <= 2000; most *= 10, reverse = !reverse) {
		const struct fold_calltree_options options = {.most = most, .deepest = 1000, .reverse = reverse, .count = most == 2000};
		struct calltree *made = fold_calltree(&stacks->fold, &options), *all = one_by_one(&stacks->fold, &options);
		assert_true(made->least && made->nodes + 1 <= most && made->nodes < all->nodes);
		assert_int_equal(check_node(&made->root, &all->root, made->least), made->nodes + 1);
		calltree_destroy(made);
		calltree_destroy(all);
	}
	free_stacks(stacks);
}

/* From the root on as long as the tree has nodes for the stack's frames. */
static const struct calltree_node *follow(struct fold *fold, const struct calltree *tree, const struct fold_entry *entry)
{
	const struct calltree_node *node = &tree->root;
	for (uint32_t depth = fold_depth(fold, entry); depth > 0; depth--) {
		uint32_t frame = fold_frame_id(fold, entry, depth - 1);
		const struct calltree_node *child = node->children;
		while (child && (child->label != fold_frame_name(fold, frame) || child->kind != fold_frame_kind(fold, frame)))
			child = child->sibling;
		if (!child)
			break;
		node = child;
	}
	return node;
}

/* Of the whole tree, and of what a limit leaves of it; functions of one name but of the kernel and of users are two. */
static void stacks_end_in_nodes(void **state)
{
	struct stacks *stacks = make_stacks();
	struct fold *fold = &stacks->fold;
	for (size_t most = 0; most <= 2000; most = most ? most * 10 : 20) {
		struct fold_calltree_places places = {0};
		const struct fold_calltree_options options = {.most = most, .deepest = 1000, .by_file = true, .places = &places};
		struct calltree *made = fold_calltree(fold, &options);
		uint64_t *sums = mem_zalloc_array(places.nodes.len, sizeof(*sums));
		assert_int_equal(places.nodes.len, made->nodes + 1);
		for (size_t i = 0; i < fold->entry_count; i++) {
			if (fold->entries[i].event) {
				assert_int_equal(places.by_entry[i], FOLD_NONE);
				continue;
			}
			assert_ptr_equal(places.nodes.data[places.by_entry[i]], follow(fold, made, &fold->entries[i]));
			sums[places.by_entry[i]] += fold->entries[i].period;
		}
		for (size_t i = 0; i < places.nodes.len; i++) {
			assert_int_equal(sums[i], places.nodes.data[i]->self);
			if (i)
				assert_ptr_equal(places.nodes.data[places.parents.data[i]], places.nodes.data[i]->parent);
			assert_true(!i || places.parents.data[i] < i);
		}
		free(sums);
		fold_calltree_places_deinit(&places);
		calltree_destroy(made);
	}
	free_stacks(stacks);
}

struct words {
	uint32_t lengths[20000];
	uint32_t elements[20000][9];
};

static uint64_t word_key(const void *context, uint32_t number, uint32_t depth)
{
	const struct words *words = context;
	uint64_t first = depth < words->lengths[number] ? words->elements[number][depth] + (uint64_t)1 : 0;
	uint64_t second = depth + 1 < words->lengths[number] ? words->elements[number][depth + 1] + (uint64_t)1 : 0;
	return first << 32 | second;
}

static int compare_words(const struct words *words, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < words->lengths[a] && i < words->lengths[b]; i++)
		if (words->elements[a][i] != words->elements[b][i])
			return words->elements[a][i] < words->elements[b][i] ? -1 : 1;
	return (words->lengths[a] > words->lengths[b]) - (words->lengths[a] < words->lengths[b]);
}

/* More than one thread gets a part: the order is that of the elements, and nothing is lost. */
static void sequences_are_in_order(void **state)
{
	enum { COUNT = 20000 };
	struct words *words = mem_zalloc(sizeof(*words));
	uint32_t numbers[COUNT];
	bool seen[COUNT] = {false};
	for (unsigned int different = 1; different < 9; different += 3) {
		uint64_t seed = different;
		for (uint32_t i = 0; i < COUNT; i++) {
			numbers[i] = i;
			seen[i] = false;
			words->lengths[i] = draw(&seed, 10);
			for (uint32_t at = 0; at < words->lengths[i]; at++)
				words->elements[i][at] = draw(&seed, different);
		}
		sequences_sort(&(struct sequences){.key = word_key, .context = words, .jobs = 3}, numbers, COUNT);
		for (uint32_t i = 0; i < COUNT; i++) {
			assert_false(seen[numbers[i]]);
			seen[numbers[i]] = true;
			assert_true(!i || compare_words(words, numbers[i - 1], numbers[i]) <= 0);
		}
	}
	free(words);
}

int analysis_fold_tree_tests(void);
int analysis_fold_tree_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(trees_are_the_same), cmocka_unit_test(light_nodes_are_left_out),
					   cmocka_unit_test(stacks_end_in_nodes), cmocka_unit_test(sequences_are_in_order)};
	return cmocka_run_group_tests_name("analysis/fold_tree", tests, NULL, NULL);
}
