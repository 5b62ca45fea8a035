/* What the BPF program that walks stacks is told of files, on the running kernel. Skipped where BPF programs cannot be loaded. */
#include "bpf/user_stacks.h"
#include "bpf/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct bpf_user_stacks *open_stacks(uint64_t memory)
{
	const struct user_stacks_options options = {.kinds = USER_STACKS_OF_SAMPLES, .depth = 100, .memory = memory};
	struct bpf_user_stacks *stacks = NULL;
	struct error *error = bpf_support_check();
	if (!error)
		error = bpf_user_stacks_open(&options, &stacks);
	if (error) {
		print_message("%s\n", error_message(error));
		error_free(error);
		skip();
	}
	return stacks;
}

static enum user_stacks_added add(struct bpf_user_stacks *stacks, uint64_t inode, uint64_t end)
{
	const struct user_stacks_file file = {.inode = inode, .size = 1};
	struct user_stacks_code code;
	return bpf_user_stacks_add(stacks, &file, 0, end, NULL, &code);
}

static void more_files_than_there_is_room_for(void **state)
{
	struct bpf_user_stacks *stacks = open_stacks(1 << 20);
	size_t added = 0;
	for (uint64_t inode = 2; inode < 2 + USER_STACKS_FILES; inode++)
		added += add(stacks, inode, inode == 2 ? 0x200 : 0) == USER_STACKS_ADDED;
	assert_int_equal(added, USER_STACKS_FILES);
	assert_int_equal(add(stacks, 1000000, 0), USER_STACKS_TOO_MANY);
	assert_int_equal(add(stacks, 1000001, 0x200), USER_STACKS_TOO_MANY);
	assert_int_equal(add(stacks, 2, 0), USER_STACKS_ADDED);
	bpf_user_stacks_clear(stacks);
	assert_int_equal(add(stacks, 1000000, 0x200), USER_STACKS_ADDED);
	bpf_user_stacks_close(stacks);
}

static void more_rows_than_there_is_room_for(void **state)
{
	static const struct user_stacks_row rows[2] = {{.start = 0}, {.start = 0x100}};
	const struct user_stacks_file file = {.inode = 2, .size = 1};
	struct bpf_user_stacks *stacks = open_stacks(100);
	struct user_stacks_code code;
	assert_int_equal(bpf_user_stacks_add(stacks, &file, 0, 0x400, NULL, &code), USER_STACKS_ADDED);
	assert_int_equal(code.blocks, 4);
	assert_int_equal(bpf_user_stacks_fill(stacks, &code, rows, 2, 0, 0x200), USER_STACKS_ADDED);
	assert_int_equal(bpf_user_stacks_fill(stacks, &code, rows, 2, 0x200, 0x400), USER_STACKS_NO_ROOM);
	assert_int_equal(add(stacks, 3, 0), USER_STACKS_ADDED);
	assert_int_equal(add(stacks, 4, 0x10000), USER_STACKS_NO_ROOM);
	uint64_t memory = bpf_user_stacks_memory(stacks);
	for (int i = 0; i < 3; i++) {
		bpf_user_stacks_clear(stacks);
		assert_int_equal(bpf_user_stacks_add(stacks, &file, 0, 0x400, NULL, &code), USER_STACKS_ADDED);
		assert_int_equal(bpf_user_stacks_fill(stacks, &code, rows, 2, 0, 0x200), USER_STACKS_ADDED);
		assert_int_equal(bpf_user_stacks_fill(stacks, &code, rows, 2, 0x200, 0x400), USER_STACKS_NO_ROOM);
	}
	assert_int_equal(bpf_user_stacks_memory(stacks), memory);
	bpf_user_stacks_close(stacks);
}

int bpf_user_stacks_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(more_files_than_there_is_room_for),
					   cmocka_unit_test(more_rows_than_there_is_room_for)};
	return cmocka_run_group_tests_name("bpf/user_stacks", tests, NULL, NULL);
}
