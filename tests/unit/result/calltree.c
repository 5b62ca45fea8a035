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

int result_calltree_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(paths_share), cmocka_unit_test(wide_nodes)};
	return cmocka_run_group_tests_name("result/calltree", tests, NULL, NULL);
}
