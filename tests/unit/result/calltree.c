/* Call trees: paths share their beginnings, weights add up, siblings are sorted. */
#include "result/calltree.h"

#include "paths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int by_label(const struct calltree_node *a, const struct calltree_node *b)
{
	return strcmp(a->label, b->label);
}

static void paths_share(void **state)
{
	static const char a[] = "a", b[] = "b", c[] = "c";
	struct calltree *tree = calltree_create();
	calltree_add_path(tree, (const char *const[]){a, c}, 2, 5, 1);
	calltree_add_path(tree, (const char *const[]){a, b}, 2, 7, 2);
	calltree_add_path(tree, (const char *const[]){a}, 1, 1, 1);
	calltree_add_path(tree, (const char *const[]){a, b, a}, 3, 2, 1);
	calltree_sort(&tree->root, by_label);
	assert_int_equal(tree->nodes, 4);
	assert_int_equal(tree->root.total, 15);
	const struct calltree_node *node = tree->root.children;
	assert_string_equal(node->label, "a");
	assert_null(node->sibling);
	assert_int_equal(node->total, 15);
	assert_int_equal(node->self, 1);
	assert_string_equal(node->children->label, "b");
	assert_int_equal(node->children->total, 9);
	assert_int_equal(node->children->self, 7);
	assert_int_equal(node->children->total_count, 3);
	assert_string_equal(node->children->sibling->label, "c");
	calltree_destroy(tree);
}

/* Labels are told apart by address: many children of one node are found again. */
static void wide_nodes(void **state)
{
	static char labels[5000][8];
	struct calltree *tree = calltree_create();
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 5000; i++) {
			snprintf(labels[i], sizeof(labels[i]), "%d", 4999 - i);
			calltree_add_path(tree, (const char *const[]){labels[i]}, 1, 1, 1);
		}
	assert_int_equal(tree->nodes, 5000);
	calltree_sort(&tree->root, by_label);
	const struct calltree_node *last = NULL;
	for (const struct calltree_node *node = tree->root.children; node; last = node, node = node->sibling) {
		assert_int_equal(node->self, 3);
		assert_true(!last || strcmp(last->label, node->label) < 0);
	}
	calltree_destroy(tree);
	calltree_destroy(NULL);
}

/* a;f;f;f;g, a;f;f;h, a;f;g;f and a;f: runs of f are one node, which has what ended in any of them; f below g is another one. */
static void recursion_is_folded(void **state)
{
	static const char a[] = "a", f[] = "f", g[] = "g", h[] = "h";
	struct calltree *tree = calltree_create();
	calltree_add_path(tree, (const char *const[]){a, f, f, f, g}, 5, 10, 1);
	calltree_add_path(tree, (const char *const[]){a, f, f, h}, 4, 7, 1);
	calltree_add_path(tree, (const char *const[]){a, f, g, f}, 4, 3, 2);
	calltree_add_path(tree, (const char *const[]){a, f}, 2, 1, 1);
	struct calltree *folded = calltree_fold_recursion(tree);
	calltree_destroy(tree);
	calltree_sort(&folded->root, calltree_by_weight);
	assert_int_equal(folded->nodes, 5);
	assert_int_equal(folded->root.total, 21);
	const struct calltree_node *at = folded->root.children;
	assert_ptr_equal(at->label, a);
	assert_int_equal(at->total, 21);
	assert_int_equal(at->repeats, 1);
	at = at->children;
	assert_ptr_equal(at->label, f);
	assert_null(at->sibling);
	assert_int_equal(at->repeats, 3);
	assert_int_equal(at->total, 21);
	assert_int_equal(at->self, 1);
	assert_int_equal(at->total_count, 5);
	at = at->children;
	assert_ptr_equal(at->label, g);
	assert_int_equal(at->total, 13);
	assert_int_equal(at->self, 10);
	assert_ptr_equal(at->children->label, f);
	assert_int_equal(at->children->self, 3);
	assert_int_equal(at->children->repeats, 1);
	assert_ptr_equal(at->sibling->label, h);
	assert_int_equal(at->sibling->total, 7);
	calltree_destroy(folded);
}

/* As deep as a text may make it. */
static void a_deep_recursion_is_folded(void **state)
{
	enum { DEPTH = 300000 };
	static const char f[] = "f";
	struct calltree *tree = calltree_create();
	struct calltree_node *node = &tree->root;
	for (int i = 0; i < DEPTH; i++)
		node = calltree_child(tree, node, f, FRAME_USER);
	calltree_weigh(node, 1);
	struct calltree *folded = calltree_fold_recursion(tree);
	assert_int_equal(folded->nodes, 1);
	assert_int_equal(folded->root.children->repeats, DEPTH);
	assert_int_equal(folded->root.children->self, 1);
	calltree_destroy(folded);
	calltree_destroy(tree);
}

int result_calltree_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(paths_share), cmocka_unit_test(wide_nodes),
					   cmocka_unit_test(recursion_is_folded), cmocka_unit_test(a_deep_recursion_is_folded)};
	return cmocka_run_group_tests_name("result/calltree", tests, NULL, NULL);
}
