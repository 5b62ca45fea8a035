/* Where stacks end. */
#include "kernel/stack_tops.h"

#include "base/strbuf.h"
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const uint64_t MS = 1000000;

#define STAT(entry) "7 (a) b)) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 100 8192 100 18446744073709551615 1 2 " entry " 0 0 0\n"

static tree_file tree[] = {
	{"proc/7/maps", "00400000-00401000 r-xp 00000000 08:01 99 /bin/a [stack]x\n"
			"00600000-00700000 rw-p 00000000 00:00 0 \n"
			"00700000-00701000 ---p 00000000 00:00 0 \n"
			"00701000-00800000 rw-p 00000000 00:00 0 \n"
			"00800000-00900000 r--p 00000000 08:01 99 /lib/libc.so\n"
			"7ff000000000-7ff000020000 rw-p 00000000 00:00 0          [stack]\n"},
	{"proc/7/stat", STAT("140668768976896")}, /* 0x7ff000018000 */
};

static void write_file(const char *root, const char *path, const char *text)
{
	struct strbuf name = {0};
	strbuf_printf(&name, "%s/%s", root, path);
	FILE *file = fopen(strbuf_str(&name), "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	strbuf_deinit(&name);
}

static void check(struct stack_tops *tops, pid_t pid, uint64_t pointer, uint64_t now, uint64_t end, uint64_t entry)
{
	struct stack_top top = stack_tops_find(tops, pid, pointer, now);
	assert_int_equal(top.end, end);
	assert_int_equal(top.entry, entry);
}

static void found(void **state)
{
	char root[] = "/tmp/test-stack-tops-XXXXXX";
	tree_make(root, tree, sizeof(tree) / sizeof(tree[0]));
	struct stack_tops *tops = stack_tops_create(root);

	check(tops, 7, 0x601000, 1, 0x700000, 0);
	check(tops, 7, 0x701000, 1, 0x800000, 0);
	check(tops, 7, 0x700010, 1, 0, 0); /* the guard page */
	check(tops, 7, 0x800010, 1, 0, 0); /* not writable: no stack */
	check(tops, 7, 0x7ff000001000, 1, 0x7ff000020000, 0x7ff000018000);
	check(tops, 7, 0x7fefffff0000, 1, 0x7ff000020000, 0x7ff000018000); /* it has grown since */
	check(tops, 7, 0x7ff000019000, 1, 0x7ff000020000, 0);		   /* above the program's beginning: not on its stack */
	check(tops, 7, 0x7fe000000000, 1, 0, 0);
	check(tops, 8, 0x601000, 1, 0, 0);
	stack_tops_destroy(tops);
	assert_int_equal(tree_remove(root), 0);
}

static void looks_again(void **state)
{
	char root[] = "/tmp/test-stack-tops-XXXXXX";
	tree_make(root, tree, sizeof(tree) / sizeof(tree[0]));
	struct stack_tops *tops = stack_tops_create(root);

	check(tops, 7, 0x601000, 1, 0x700000, 0);
	write_file(root, "proc/7/maps", "00600000-00680000 rw-p 00000000 00:00 0 \n00a00000-00b00000 rw-p 00000000 00:00 0 \n");
	check(tops, 7, 0x601000, 500 * MS, 0x700000, 0);
	check(tops, 7, 0xa01000, 5 * MS, 0, 0); /* just looked */
	check(tops, 7, 0xa01000, 20 * MS, 0xb00000, 0);
	check(tops, 7, 0x601000, 21 * MS, 0x680000, 0);
	write_file(root, "proc/7/maps", "00600000-00690000 rw-p 00000000 00:00 0 \n");
	check(tops, 7, 0x601000, 900 * MS, 0x680000, 0);
	check(tops, 7, 0x601000, 1100 * MS, 0x690000, 0);
	/* Another program: at once. */
	write_file(root, "proc/7/maps", "00600000-006a0000 rw-p 00000000 00:00 0 \n");
	stack_tops_forget(tops, 7);
	check(tops, 7, 0x601000, 1101 * MS, 0x6a0000, 0);
	/* It has ended: what was known of it stays. */
	write_file(root, "proc/7/maps", "");
	check(tops, 7, 0x601000, 5000 * MS, 0x6a0000, 0);
	stack_tops_destroy(tops);
	assert_int_equal(tree_remove(root), 0);
}

int kernel_stack_tops_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(found), cmocka_unit_test(looks_again)};

	return cmocka_run_group_tests_name("kernel/stack_tops", tests, NULL, NULL);
}
