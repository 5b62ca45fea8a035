/* What a thread remembers of rules, where files go and others get their numbers. */
#include "arch/arch.h"
#include "unwind/unwind.h"

#include <inttypes.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

enum { OTHERS = 300 };
#define START UINT64_C(0x100000000)
#define SIZE (UINT64_C(1) << 30)
#define NEVER UINT64_MAX

/* The file that has the function, and where it is there. */
static bool find_function(uintptr_t function, char path[static 4096], uint64_t *ret_place)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start, end, offset;
	bool found = false;
	char line[8192];
	while (!found && maps && fgets(line, sizeof(line), maps)) {
		found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %4095s", &start, &end, &offset, path) == 4 &&
			function >= start && function < end;
	}
	if (maps)
		fclose(maps);
	*ret_place = found ? function - start + offset : 0;
	return found;
}

/* Of a process of its own. */
static const struct dso *map_file(struct machine *machine, uint32_t pid, const char *path)
{
	struct stat status = {.st_ino = pid};
	if (stat(path, &status))
		status.st_ino = pid;
	const struct map_description map = {.pid = pid,
					    .tid = pid,
					    .start = START,
					    .end = START + SIZE,
					    .name = path,
					    .prot = PROT_READ | PROT_EXEC,
					    .major = major(status.st_dev),
					    .minor = minor(status.st_dev),
					    .inode = status.st_ino};
	machine_add_comm(machine, pid, pid, "job", false, pid);
	machine_add_map(machine, &map, pid);
	return maps_find(thread_maps(machine_thread(machine, pid, NEVER)), START, NEVER)->dso;
}

/* At the first instruction of a function, the stack pointer points to where its caller goes on; where a signal's handler returns to, to
 * the registers of whom it interrupted. */
static size_t unwind(struct resolver *resolver, struct unwind_cache **cache, uint32_t pid, uint64_t place, uint64_t *ret_caller)
{
	const struct machine *machine = resolver_machine(resolver);
	const struct arch_frames *frames = &arch_own()->frames;
	unsigned int sp = frames->sample[frames->numbers.sp], ip = frames->ip_sample;
	enum { INTERRUPTED_SP = 20, INTERRUPTED_IP };
	const uint64_t stack[64] = {[0] = 0x1235, [INTERRUPTED_SP] = 0x7100, [INTERRUPTED_IP] = 0x1235}, top = 0x7000, at = START + place,
		       values[] = {sp < ip ? top : at, sp < ip ? at : top};
	uint64_t ips[4] = {0};
	const struct unwind_input input = {.arch = machine->arch,
					   .abi = 2,
					   .mask = UINT64_C(1) << sp | UINT64_C(1) << ip,
					   .registers = values,
					   .stack = stack,
					   .stack_size = sizeof(stack),
					   .maps = thread_maps(machine_thread(machine, pid, NEVER)),
					   .time = NEVER};
	struct unwind_end end;
	size_t count = unwind_user(resolver, cache, &input, ips, 4, &end);
	*ret_caller = ips[1];
	return count;
}

/* A file that isn't there has no rules; the C library, which gets its number, has. */
static void test_numbers_are_used_again(void **state)
{
	const struct symbol_options options = {.buildid_dir = "/nonexistent", .same_machine = true};
	struct unwind_cache *cache = NULL;
	char library[4096], name[32];
	uint64_t place, caller;
	uint32_t pid = 10;
	if (strcmp(arch_own()->name, "x86_64") != 0 || !find_function((uintptr_t)tdelete, library, &place)) {
		print_message("it is about x86-64's C library, as a file\n");
		skip();
	}
	struct machine *machine = machine_create();
	struct resolver *resolver = resolver_create(machine, &options);
	machine->arch = "x86_64";
	machine->drops_files = true;
	for (; pid < 10 + OTHERS; pid++) {
		snprintf(name, sizeof(name), "/nonexistent/job-%u", pid);
		map_file(machine, pid, name);
	}
	unsigned int last = map_file(machine, pid, "/nonexistent/last")->index;
	assert_int_equal(unwind(resolver, &cache, pid, place, &caller), 1);
	for (uint32_t each = 10; each <= pid; each++)
		machine_add_exit(machine, each, 1000);
	resolver_shed(resolver, 0);
	for (uint64_t since = 2000; since < 2002; since++)
		machine_forget(machine, since, NULL, NULL);
	assert_int_equal(machine->drops, 1);
	assert_int_equal(map_file(machine, 5000, library)->index, last);
	assert_int_equal(unwind(resolver, &cache, 5000, place, &caller), 2);
	assert_int_equal(caller, 0x1234);
	unwind_cache_destroy(cache);
	resolver_destroy(resolver);
	machine_destroy(machine);
}

static uintptr_t returns_to;

static void handle(int number)
{
	returns_to = (uintptr_t)__builtin_return_address(0);
}

/* Expressions are in the file, which is unmapped with its tables. No file goes, so that numbers are what they were. */
static void test_tables_are_let_go(void **state)
{
	const struct symbol_options options = {.buildid_dir = "/nonexistent", .same_machine = true};
	struct unwind_cache *cache = NULL;
	char library[4096];
	uint64_t place, caller;
	void (*before)(int) = signal(SIGUSR1, handle);
	raise(SIGUSR1);
	signal(SIGUSR1, before);
	if (strcmp(arch_own()->name, "x86_64") != 0 || !find_function(returns_to, library, &place)) {
		print_message("it is about x86-64's C library, as a file\n");
		skip();
	}
	struct machine *machine = machine_create();
	struct resolver *resolver = resolver_create(machine, &options);
	machine->arch = "x86_64";
	map_file(machine, 10, library);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(unwind(resolver, &cache, 10, place, &caller), 2);
		assert_int_equal(caller, 0x1235);
		assert_int_equal(machine->drops, 0);
		resolver_shed(resolver, 0);
	}
	unwind_cache_destroy(cache);
	resolver_destroy(resolver);
	machine_destroy(machine);
}

int unwind_unwind_cache_tests(void);
int unwind_unwind_cache_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers_are_used_again), cmocka_unit_test(test_tables_are_let_go)};
	return cmocka_run_group_tests_name("unwind/unwind_cache", tests, NULL, NULL);
}
