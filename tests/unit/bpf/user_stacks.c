/* What the BPF program that walks stacks is told of files, on the running kernel. Skipped where BPF programs cannot be loaded. */
#include "bpf/user_stacks.h"
#include "bpf/support.h"
#include "kernel/perf_open.h"
#include "kernel/ring.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* The file of our own code, of which nobody is told to call any. */
static void add_own_code(struct bpf_user_stacks *stacks)
{
	const uintptr_t here = (uintptr_t)add_own_code;
	unsigned long start = 0, end = 0, offset = 0;
	struct user_stacks_file file;
	struct user_stacks_code code;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	assert_non_null(maps);
	while ((here < start || here >= end) && fgets(line, sizeof(line), maps))
		assert_int_equal(sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset), 3);
	fclose(maps);
	const struct user_stacks_row row = {.start = (uint32_t)offset, .base = USER_STACKS_END};
	assert_true(bpf_user_stacks_identify(stacks, (const void *)here, &file));
	assert_int_equal(bpf_user_stacks_add(stacks, &file, offset, offset + end - start, NULL, &code), USER_STACKS_ADDED);
	assert_int_equal(bpf_user_stacks_fill(stacks, &code, &row, 1, offset, offset + end - start), USER_STACKS_ADDED);
}

static int open_counter(uint64_t config, pid_t pid, int cpu)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = config, .sample_period = 1, .sample_type = PERF_SAMPLE_RAW};
	int fd = perf_open_raw(&attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* How many bytes of stacks there are when the page was touched, which takes a sample. Who asks for rows is heard by nobody. */
static size_t touch(const struct ring *ring, volatile char *page)
{
	*page = 1;
	return ring_pending(ring);
}

/* Though it is the same address space, in which nothing has changed. */
static void what_was_forgotten_is_asked_for_again(void **state)
{
	struct bpf_user_stacks *stacks = open_stacks(64 << 20);
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring ring = {0};
	cpu_set_t before, one;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	int cpu = sched_getcpu();
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	madvise(pages, 3 * page, MADV_NOHUGEPAGE);
	int output = open_counter(PERF_COUNT_SW_BPF_OUTPUT, -1, cpu), faults = open_counter(PERF_COUNT_SW_PAGE_FAULTS, 0, -1);
	assert_int_equal(ring_open(&ring, output, cpu, 64, false), 0);
	assert_null(bpf_user_stacks_direct(stacks, USER_STACKS_CHAINS, cpu, output));
	bpf_user_stacks_limit(stacks, 1 << 20);
	add_own_code(stacks);
	assert_null(bpf_user_stacks_attach(stacks, USER_STACKS_OF_SAMPLES, faults));
	size_t first = touch(&ring, pages);
	assert_true(first > 0);
	bpf_user_stacks_clear(stacks);
	assert_int_equal(touch(&ring, pages + page), first);
	add_own_code(stacks);
	assert_true(touch(&ring, pages + 2 * page) > first);
	ring_close(&ring);
	close(faults);
	close(output);
	munmap(pages, 3 * page);
	sched_setaffinity(0, sizeof(before), &before);
	bpf_user_stacks_close(stacks);
}

int bpf_user_stacks_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(more_files_than_there_is_room_for),
					   cmocka_unit_test(more_rows_than_there_is_room_for),
					   cmocka_unit_test(what_was_forgotten_is_asked_for_again)};
	return cmocka_run_group_tests_name("bpf/user_stacks", tests, NULL, NULL);
}
