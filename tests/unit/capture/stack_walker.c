/* What is said of files whose unwind rules the kernel has no room for. */
#include "capture/stacks/stack_walker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool says(enum user_stacks_added added, uint64_t memory, const char *part)
{
	struct strbuf text = {0};
	stack_walker_explain(added, "/usr/lib/lib\x1b.so", memory, &text);
	bool found = strstr(strbuf_str(&text), part);
	assert_null(strchr(strbuf_str(&text), '\x1b'));
	strbuf_deinit(&text);
	return found;
}

static void only_what_helps_is_advised(void **state)
{
	assert_true(says(USER_STACKS_NO_ROOM, 1 << 20,
			 "no room for more than 1.0 MB of unwind rules, such as of /usr/lib/lib\\x1b.so: its stacks"));
	assert_true(says(USER_STACKS_NO_ROOM, 1 << 20, "--unwind-memory, up to 200 MB"));
	assert_false(says(USER_STACKS_NO_ROOM, USER_STACKS_MEMORY, "--unwind-memory"));
	assert_true(says(USER_STACKS_TOO_MANY, 1 << 20, "rules of more than 8192 files, such as /usr/lib"));
	assert_false(says(USER_STACKS_TOO_MANY, 1 << 20, "--unwind-memory"));
}

int capture_stack_walker_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(only_what_helps_is_advised)};
	return cmocka_run_group_tests_name("capture/stack_walker", tests, NULL, NULL);
}
