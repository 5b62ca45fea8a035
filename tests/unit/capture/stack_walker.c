/* What is said of files whose unwind rules the kernel has no room for, and how long files are read before events are enabled. */
#include "capture/stacks/stack_walker.h"

#include "bpf/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

static bool says_with(enum user_stacks_added added, uint64_t memory, const char *more, const char *part)
{
	struct strbuf text = {0};
	stack_walker_explain(added, "/usr/lib/lib\x1b.so", memory, more, &text);
	bool found = strstr(strbuf_str(&text), part);
	assert_null(strchr(strbuf_str(&text), '\x1b'));
	strbuf_deinit(&text);
	return found;
}

static bool says(enum user_stacks_added added, uint64_t memory, const char *part)
{
	return says_with(added, memory, NULL, part);
}

static void only_what_helps_is_advised(void **state)
{
	assert_true(says(USER_STACKS_NO_ROOM, 1 << 20,
			 "no room for more than 1.0 MB of unwind rules, such as of /usr/lib/lib\\x1b.so: its stacks"));
	assert_true(says(USER_STACKS_NO_ROOM, 1 << 20, "--unwind-memory, up to 200 MB"));
	assert_false(says(USER_STACKS_NO_ROOM, USER_STACKS_MEMORY, "--unwind-memory"));
	assert_true(says(USER_STACKS_TOO_MANY, 1 << 20, "rules of more than 8192 files, such as /usr/lib"));
	assert_false(says(USER_STACKS_TOO_MANY, 1 << 20, "--unwind-memory"));
	assert_true(says_with(USER_STACKS_NO_ROOM, 1 << 20, "a larger --memory", "rules: a larger --memory"));
	assert_false(says_with(USER_STACKS_NO_ROOM, 1 << 20, "a larger --memory", "--unwind-memory"));
	assert_false(says_with(USER_STACKS_NO_ROOM, USER_STACKS_MEMORY, "a larger --memory", "--memory"));
}

static struct stack_walker *open_walker(const struct sampling *sampling)
{
	struct stack_walker *walker = NULL;
	struct error *error = bpf_support_check();
	if (!error)
		error = stack_walker_open_rows(sampling, &walker);
	if (error) {
		print_message("%s\n", error_message(error));
		error_free(error);
		skip();
	}
	return walker;
}

/* When time is over nothing more is read; what was read isn't read again. */
static void until_time_is_over(void **state)
{
	const struct symbol_options options = {0};
	struct stack_walker *walker = open_walker(&(struct sampling){0});
	struct stat status;
	struct machine *machine = machine_create();
	struct resolver *resolver = resolver_create(machine, &options);
	char *own = realpath("/proc/self/exe", NULL);
	assert_int_equal(stat(own, &status), 0);
	const struct map_description map = {
		.name = own, .prot = PROT_EXEC, .major = major(status.st_dev), .minor = minor(status.st_dev), .inode = status.st_ino};
	struct dso *dso = machine_file(machine, &map);
	struct stack_walker_ahead ahead = {.dsos = &dso, .count = 1, .wholly = 1};
	uint64_t memory = stack_walker_memory(walker);
	assert_int_equal(stack_walker_read_ahead(walker, resolver, &ahead), 0);
	ahead.until_ns = UINT64_MAX;
	assert_int_equal(stack_walker_read_ahead(walker, resolver, &ahead), 1);
	assert_true(stack_walker_memory(walker) > memory);
	assert_int_equal(stack_walker_read_ahead(walker, resolver, &ahead), 0);
	stack_walker_close(walker);
	resolver_destroy(resolver);
	machine_destroy(machine);
	free(own);
}

/* What runs for days reads what stacks have met, and nothing that they might. */
static void nothing_ahead(void **state)
{
	static char small[4096]; /* this program can be too large for it, with sanitizers */
	const struct symbol_options options = {0};
	struct stat status;
	assert_non_null(realpath("/bin/sh", small));
	assert_int_equal(stat(small, &status), 0);
	for (int lazy = 0; lazy < 2; lazy++) {
		struct stack_walker *walker = open_walker(&(struct sampling){.unwind_lazily = lazy});
		struct machine *machine = machine_create();
		struct resolver *resolver = resolver_create(machine, &options);
		const struct map_description map = {.name = small,
						    .prot = PROT_EXEC,
						    .major = major(status.st_dev),
						    .minor = minor(status.st_dev),
						    .inode = status.st_ino};
		assert_int_equal(stack_walker_is_lazy(walker), lazy);
		stack_walker_expect(walker, machine_file(machine, &map));
		assert_int_equal(stack_walker_learn(walker, resolver), !lazy);
		stack_walker_close(walker);
		resolver_destroy(resolver);
		machine_destroy(machine);
	}
}

/* ---- files that come and go ---- */

struct storm {
	struct stack_walker *walker;
	struct machine *machine;
	struct resolver *resolver;
};

static void carry(void *context, struct carrying *carrying)
{
	stack_walker_carry(((struct storm *)context)->walker, carrying);
}

static const struct map_description *describe(uint32_t number)
{
	static char name[32];
	static struct map_description map;
	snprintf(name, sizeof(name), "/nonexistent/job-%u", number);
	map = (struct map_description){.pid = 100 + number,
				       .tid = 100 + number,
				       .start = 0x10000,
				       .end = 0x11000,
				       .name = name,
				       .prot = PROT_EXEC,
				       .inode = 100 + number};
	return &map;
}

/* A process whose stack was copied for want of its file's rules, which is expected to run as well. */
static void start_job(struct storm *storm, uint32_t number, uint64_t now)
{
	const struct map_description *map = describe(number);
	const struct user_stacks_copy copy = {.file = {.inode = map->inode, .size = 0x1000}};
	machine_add_comm(storm->machine, map->pid, map->tid, "job", true, now);
	machine_add_map(storm->machine, map, now);
	struct dso *dso = machine_file(storm->machine, map);
	stack_walker_note(storm->walker, &copy, dso, 0x10);
	stack_walker_note_code(storm->walker, dso, 0x20);
	stack_walker_expect(storm->walker, dso);
}

/* Each program is another one, and gone before its rules are read; what is asked for then is of no file that has gone. The sanitizer sees
 * whether it is. */
static void files_that_go(void **state)
{
	enum { JOBS = 4000, IN_AN_EPOCH = 400 };
	static const struct symbol_options options = {.buildid_dir = "/nonexistent", .proc = "/nonexistent"};
	struct storm storm = {.walker = open_walker(&(struct sampling){0}), .machine = machine_create()};
	storm.resolver = resolver_create(storm.machine, &options);
	storm.machine->drops_files = true;
	for (uint32_t i = 0; i < JOBS; i++) {
		uint64_t now = 1 + i;
		start_job(&storm, i, now);
		machine_add_exit(storm.machine, 100 + i, now);
		if (i % IN_AN_EPOCH < IN_AN_EPOCH - 1)
			continue;
		machine_forget_but(storm.machine, now + 1, NULL, NULL, &(const struct machine_holder){carry, &storm});
		resolver_forget(storm.resolver);
	}
	assert_in_range(storm.machine->dsos.len, IN_AN_EPOCH, 4 * IN_AN_EPOCH);
	for (int i = 0; i < 3; i++)
		machine_forget_but(storm.machine, JOBS + 10, NULL, NULL, &(const struct machine_holder){carry, &storm});
	assert_false(stack_walker_learn(storm.walker, storm.resolver));
	start_job(&storm, 0, JOBS + 20);
	assert_true(stack_walker_learn(storm.walker, storm.resolver));
	while (stack_walker_learn(storm.walker, storm.resolver))
		;
	stack_walker_close(storm.walker);
	resolver_destroy(storm.resolver);
	machine_destroy(storm.machine);
}

/* When the program has as many files as it takes, nothing is kept of others. */
static void too_many_files(void **state)
{
	static const struct symbol_options options = {.buildid_dir = "/nonexistent", .proc = "/nonexistent"};
	struct storm storm = {.walker = open_walker(&(struct sampling){0}), .machine = machine_create()};
	storm.resolver = resolver_create(storm.machine, &options);
	for (uint32_t i = 0; i <= USER_STACKS_FILES + 1; i++) {
		start_job(&storm, i, 1 + i);
		assert_int_equal(stack_walker_learn(storm.walker, storm.resolver), i <= USER_STACKS_FILES);
		while (stack_walker_learn(storm.walker, storm.resolver))
			;
	}
	stack_walker_close(storm.walker);
	resolver_destroy(storm.resolver);
	machine_destroy(storm.machine);
}

int capture_stack_walker_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(only_what_helps_is_advised), cmocka_unit_test(until_time_is_over),
					   cmocka_unit_test(nothing_ahead), cmocka_unit_test(files_that_go),
					   cmocka_unit_test(too_many_files)};
	return cmocka_run_group_tests_name("capture/stack_walker", tests, NULL, NULL);
}
