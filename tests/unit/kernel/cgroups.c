/* Control groups by expressions. */
#include "kernel/cgroups.h"

#include "base/strbuf.h"
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void found(void **state)
{
	static tree_file tree[] = {{"tasks", ""},
				   {"user.slice/tasks", ""},
				   {"user.slice/user-0.slice/tasks", ""},
				   {"system/a/tasks", ""},
				   {"system/b/tasks", ""}};
	char root[] = "/tmp/test-cgroups-XXXXXX";
	static const char *const cases[][2] = {
		{"user", "user.slice user.slice/user-0.slice "},
		{"^user\\.slice$", "user.slice "},
		{"^system/(a|b)$", "system/a system/b "},
		{".", "system system/a system/b user.slice user.slice/user-0.slice "},
		{"tasks", ""},
	};
	struct strbuf path = {0};

	tree_make(root, tree, sizeof(tree) / sizeof(tree[0]));
	strbuf_printf(&path, "%s/", root);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cgroups_names names = {0};
		struct strbuf out = {0};
		assert_null(cgroups_find_below(strbuf_str(&path), cases[i][0], &names));
		for (size_t j = 0; j < names.names.len; j++)
			strbuf_printf(&out, "%s ", names.names.data[j]);
		assert_string_equal(strbuf_str(&out), cases[i][1]);
		strbuf_deinit(&out);
		cgroups_names_deinit(&names);
	}
	struct cgroups_names names = {0};
	struct error *error = cgroups_find_below(strbuf_str(&path), "(", &names);
	assert_int_equal(error_kind(error), ERROR_USAGE);
	error_free(error);
	strbuf_deinit(&path);
	assert_int_equal(tree_remove(root), 0);
}

int kernel_cgroups_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(found)};

	return cmocka_run_group_tests_name("kernel/cgroups", tests, NULL, NULL);
}
