/* Maps that wait until somebody asks: the answers are those of a machine that is told at once, and what nobody asks for makes nothing. */
#include "base/mem.h"
#include "made_records.h"
#include "model/jitdump.h"
#include "model/model_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { PARENT = 1000, CHILD = 1001, START = 0x10000, SIZE = 0x1000 };
#define LATER UINT64_MAX

/* The same is told to both. */
struct told {
	struct machine *at_once, *waiting;
};

static struct told begin(void)
{
	struct told told = {machine_create(), machine_create()};
	told.waiting->maps_wait = told.waiting->drops_files = told.at_once->drops_files = true;
	return told;
}

static void end(struct told *told)
{
	machine_destroy(told->at_once);
	machine_destroy(told->waiting);
}

static void map_of_thread(struct told *told, uint32_t pid, uint32_t tid, uint64_t start, const char *name, uint64_t time)
{
	const struct map_description description = {
		.pid = pid, .tid = tid, .start = start, .end = start + SIZE, .name = name, .prot = PROT_EXEC, .inode = 7};
	machine_add_map(told->at_once, &description, time);
	machine_add_map(told->waiting, &description, time);
}

static void map(struct told *told, uint32_t pid, uint64_t start, const char *name, uint64_t time)
{
	map_of_thread(told, pid, pid, start, name, time);
}

static void fork_thread(struct told *told, uint32_t pid, uint32_t tid, uint32_t parent, uint64_t time)
{
	machine_add_fork(told->at_once, pid, tid, parent, parent, true, time);
	machine_add_fork(told->waiting, pid, tid, parent, parent, true, time);
}

static void become_child(struct told *told, uint32_t pid, uint32_t parent, uint64_t time)
{
	fork_thread(told, pid, pid, parent, time);
}

static void leave(struct told *told, uint32_t pid, uint64_t time)
{
	machine_add_exit(told->at_once, pid, time);
	machine_add_exit(told->waiting, pid, time);
}

static void forget(struct told *told, uint64_t since)
{
	machine_forget(told->at_once, since, NULL, NULL);
	machine_forget(told->waiting, since, NULL, NULL);
}

static const char *file_of(const struct machine *machine, uint32_t tid, uint64_t address, uint64_t time)
{
	const struct thread *thread = machine_thread(machine, tid, time);
	const struct map *found = thread ? maps_find(thread_maps(thread), address, time) : NULL;
	return found ? found->dso->name : "";
}

/* The file at the address, or "". */
static const char *at(const struct told *told, uint32_t tid, uint64_t address, uint64_t time)
{
	const char *name = file_of(told->waiting, tid, address, time);
	assert_string_equal(name, file_of(told->at_once, tid, address, time));
	return name;
}

static bool waits(const struct told *told, uint32_t pid)
{
	return machine_thread(told->waiting, pid, LATER)->process->maps->waits;
}

static void test_each_time_has_its_maps(void **state)
{
	struct told told = begin();
	become_child(&told, CHILD, PARENT, 10);
	map(&told, CHILD, START, "/first", 20);
	map(&told, CHILD, START, "/second", 40);
	map(&told, CHILD, START + SIZE, "/same-time", 40);
	become_child(&told, CHILD + 1, PARENT, 1000); /* the machine is far ahead of what waits */
	assert_true(waits(&told, CHILD));
	assert_int_equal(told.waiting->dsos.len, 0);
	assert_string_equal(at(&told, CHILD, START, 19), "");
	assert_false(waits(&told, CHILD));
	assert_string_equal(at(&told, CHILD, START, 20), "/first");
	assert_string_equal(at(&told, CHILD, START, 39), "/first");
	assert_string_equal(at(&told, CHILD, START, 40), "/second");
	assert_string_equal(at(&told, CHILD, START + SIZE, 40), "/same-time");
	map(&told, CHILD, START + SIZE, "/third", 1010);
	assert_true(waits(&told, CHILD));
	assert_string_equal(at(&told, CHILD, START + SIZE, 1009), "/same-time");
	assert_string_equal(at(&told, CHILD, START + SIZE, 1010), "/third");
	assert_string_equal(at(&told, CHILD, START, 1010), "/second");
	end(&told);
}

/* A program starts another one: what the child had before it became that is the parent's of then. */
static void test_a_child_has_its_parents_maps(void **state)
{
	struct told told = begin();
	map(&told, PARENT, START, "/parent", 10);
	map(&told, PARENT, START + SIZE, "/library", 10);
	become_child(&told, CHILD, PARENT, 20);
	map(&told, PARENT, START, "/later", 20); /* at the very same time */
	become_child(&told, CHILD + 1, CHILD, 25);
	map(&told, CHILD, START + SIZE, "/child", 40);
	map(&told, CHILD + 1, START + 2 * SIZE, "/grandchild", 50);
	leave(&told, PARENT, 60);
	assert_int_equal(told.waiting->dsos.len, 0);
	assert_string_equal(at(&told, CHILD + 1, START, 24), "");
	assert_string_equal(at(&told, CHILD + 1, START, 25), "/parent");
	assert_string_equal(at(&told, CHILD + 1, START + SIZE, LATER), "/library");
	assert_string_equal(at(&told, CHILD + 1, START + 2 * SIZE, 49), "");
	assert_string_equal(at(&told, CHILD + 1, START + 2 * SIZE, 50), "/grandchild");
	assert_string_equal(at(&told, CHILD, START, 20), "/parent");
	assert_string_equal(at(&told, CHILD, START + SIZE, 39), "/library");
	assert_string_equal(at(&told, CHILD, START + SIZE, 40), "/child");
	assert_string_equal(at(&told, CHILD, START + 2 * SIZE, LATER), "");
	assert_string_equal(at(&told, PARENT, START, 19), "/parent");
	assert_string_equal(at(&told, PARENT, START, 20), "/later");
	end(&told);
}

/* Who has mapped nothing since has its parent's address space: caches know both by one number. */
static void test_a_child_shares_its_parents_state(void **state)
{
	struct told told = begin();
	map(&told, PARENT, START, "/parent", 10);
	become_child(&told, CHILD, PARENT, 20);
	const struct maps *child = thread_maps(machine_thread(told.waiting, CHILD, 30));
	const struct maps *parent = thread_maps(machine_thread(told.waiting, PARENT, 30));
	assert_int_equal(maps_epoch(child, 30), maps_epoch(parent, 30));
	assert_ptr_equal(maps_find(child, START, 30), maps_find(parent, START, 30));
	end(&told);
}

static void test_threads_share_their_process(void **state)
{
	struct told told = begin();
	become_child(&told, CHILD, PARENT, 10);
	fork_thread(&told, CHILD, CHILD + 5, CHILD, 15);
	map_of_thread(&told, CHILD, CHILD + 5, START, "/by-the-thread", 20);
	map(&told, CHILD, START + SIZE, "/by-the-leader", 30);
	assert_string_equal(at(&told, CHILD + 5, START + SIZE, 30), "/by-the-leader");
	assert_string_equal(at(&told, CHILD, START, 20), "/by-the-thread");
	assert_string_equal(at(&told, CHILD, START, 19), "");
	end(&told);
}

/* A sample before any map, of a process that nobody told of; names, which don't wait. */
static void test_who_has_mapped_nothing(void **state)
{
	struct told told = begin();
	const struct thread *thread = machine_thread_or_new(told.waiting, CHILD, CHILD, 5);
	assert_null(maps_find(thread_maps(thread), START, 5));
	assert_null(maps_find(thread_maps(machine_thread_or_new(told.at_once, CHILD, CHILD, 5)), START, 5));
	map(&told, CHILD, START, "/program", 10);
	assert_string_equal(at(&told, CHILD, START, 9), "");
	assert_string_equal(at(&told, CHILD, START, 10), "/program");
	map(&told, CHILD, START, "/next", 20);
	machine_add_comm(told.waiting, CHILD, CHILD, "late", true, 30);
	machine_add_comm(told.at_once, CHILD, CHILD, "late", true, 30);
	assert_true(waits(&told, CHILD));
	assert_string_equal(untrusted_raw(thread_comm(machine_thread(told.waiting, CHILD, 30), 29)), ":1001");
	assert_string_equal(untrusted_raw(thread_comm(machine_thread(told.waiting, CHILD, 30), 30)), "late");
	assert_string_equal(at(&told, CHILD, START, 25), "/next");
	end(&told);
}

static void test_a_number_is_used_again(void **state)
{
	struct told told = begin();
	become_child(&told, CHILD, PARENT, 10);
	map(&told, CHILD, START, "/old", 20);
	leave(&told, CHILD, 30);
	become_child(&told, CHILD, PARENT, 40);
	map(&told, CHILD, START, "/new", 50);
	assert_string_equal(at(&told, CHILD, START, 45), "");
	assert_string_equal(at(&told, CHILD, START, 50), "/new");
	assert_string_equal(at(&told, CHILD, START, 25), "/old");
	end(&told);
}

/* Generated code comes in its turn, though nobody has asked. */
static void test_code_comes_between(void **state)
{
	static const struct jitdump dump = {.path = (char *)"/jit-1001.dump"};
	const struct jitdump_code code = {.size = SIZE};
	struct told told = begin();
	struct machine *machine = told.waiting;
	map(&told, CHILD, START, "//anon", 10);
	struct dso *dso = machine_add_jitdump(machine, CHILD, &dump);
	machine_add_jit_code(machine, machine_process(machine, CHILD), dso, START, &code, 20);
	map(&told, CHILD, START, "/over-it", 30);
	const struct maps *maps = thread_maps(machine_thread(machine, CHILD, 20));
	assert_string_equal(maps_find(maps, START, 19)->dso->name, "/tmp/perf-1001.map");
	assert_ptr_equal(maps_find(maps, START, 20)->dso, dso);
	assert_string_equal(maps_find(maps, START, 30)->dso->name, "/over-it");
	dso->jitdump = NULL;
	end(&told);
}

/* Who lives on has what it mapped, and what it began with; of who has gone nothing was ever made. */
static void test_epochs_end(void **state)
{
	struct told told = begin();
	map(&told, PARENT, START, "/parent", 10);
	become_child(&told, CHILD, PARENT, 20);
	map(&told, CHILD, START + SIZE, "/child", 30);
	leave(&told, PARENT, 40);
	for (uint32_t i = 0; i < 1000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "/job-%u", i);
		become_child(&told, CHILD + 1 + i, CHILD, 50);
		map(&told, CHILD + 1 + i, START, name, 50);
		leave(&told, CHILD + 1 + i, 50);
	}
	become_child(&told, 5000, CHILD, 60);
	forget(&told, 100);
	assert_int_equal(told.waiting->dsos.len, 2);
	assert_int_equal(told.at_once->dsos.len, 1002);
	assert_in_range(told.waiting->arena.used, 1, told.at_once->arena.used); /* notes have gone */
	assert_false(waits(&told, CHILD));
	assert_string_equal(at(&told, CHILD, START, 100), "/parent");
	assert_string_equal(at(&told, 5000, START + SIZE, 100), "/child");
	assert_string_equal(at(&told, CHILD + 1, START, 100), "");
	end(&told);
}

/* Nothing of an epoch is left behind, though what lives on is told of more maps in each. (Under a sanitizer the heap is the
 * sanitizer's.) */
static void test_memory_of_epochs(void **state)
{
	enum { EPOCHS = 20, PROCESSES = 200, FILES = 50, BYTES_MOST = 8 << 20 };
	struct machine *machine = machine_create();
	machine->maps_wait = machine->drops_files = true;
	size_t before = made_heap_bytes();
	for (uint32_t pid = PARENT; pid < PARENT + PROCESSES; pid++)
		machine_add_fork(machine, pid, pid, 1, 1, true, 1); /* of whose beginning nothing is known, maps don't wait */
	for (uint64_t epoch = 1; epoch <= EPOCHS; epoch++) {
		for (uint32_t pid = PARENT; pid < PARENT + PROCESSES; pid++)
			for (uint64_t i = 0; i < FILES; i++) {
				const struct map_description description = {.pid = pid,
									    .tid = pid,
									    .start = START + i * SIZE,
									    .end = START + (i + 1) * SIZE,
									    .name = "/lib/some",
									    .prot = PROT_EXEC,
									    .inode = 7};
				machine_add_map(machine, &description, epoch);
			}
		machine_forget(machine, epoch, NULL, NULL);
	}
	assert_in_range(made_heap_bytes(), 0, before + BYTES_MOST);
	machine_destroy(machine);
}

/* Files are known by who asks, which isn't each process that maps them: they stay for some epochs. */
static void test_files_stay_a_while(void **state)
{
	enum { FILES = 300 };
	struct told told = begin();
	for (uint32_t i = 0; i < FILES; i++) {
		char name[32];
		snprintf(name, sizeof(name), "/job-%u", i);
		become_child(&told, CHILD + i, PARENT, 10);
		map(&told, CHILD + i, START, name, 10);
		assert_string_equal(at(&told, CHILD + i, START, 20), name);
		leave(&told, CHILD + i, 20);
	}
	for (uint64_t since = 100; since < 104; since++)
		forget(&told, since);
	assert_non_null(machine_next_dso(told.waiting, 0));
	assert_null(machine_next_dso(told.at_once, 0));
	forget(&told, 104);
	assert_null(machine_next_dso(told.waiting, 0));
	end(&told);
}

/* As deep as anybody forks: no recursion. */
static void test_a_long_line(void **state)
{
	enum { LENGTH = 300000 };
	struct told told = begin();
	map(&told, PARENT, START, "/first", 10);
	for (uint32_t i = 0; i < LENGTH; i++)
		become_child(&told, CHILD + i, PARENT + i, 20);
	assert_string_equal(at(&told, CHILD + LENGTH - 1, START, 20), "/first");
	end(&told);
}

static uint64_t next_random(uint64_t *random, uint64_t limit)
{
	*random = hash_mix(*random + 1);
	return *random % limit;
}

static void change(struct told *told, uint64_t *random, uint64_t time)
{
	static const char *const names[] = {"/a", "/b", "/c", "//anon", "[vdso]", "/d"};
	uint32_t pid = CHILD + (uint32_t)next_random(random, 30), other = CHILD + (uint32_t)next_random(random, 30);
	switch (next_random(random, 8)) {
	case 0:
		become_child(told, pid, other, time);
		break;
	case 1:
		fork_thread(told, pid, 5000 + other, pid, time);
		break;
	case 2:
		leave(told, pid, time);
		break;
	case 3: /* as no kernel tells it: of a process that is there */
		fork_thread(told, pid, 7000 + other, other, time);
		break;
	default:
		map(told, pid, START + next_random(random, 12) * (SIZE / 2), names[next_random(random, 6)], time);
	}
}

/* All that happens, in any order, and questions in between. */
static void test_random(void **state)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct told told = begin();
		uint64_t random = seed * 1000, time = 1000, since = 0;
		for (int i = 0; i < 3000; i++) {
			change(&told, &random, time);
			time += next_random(&random, 3);
			if (next_random(&random, 4) == 0)
				at(&told, CHILD + (uint32_t)next_random(&random, 30), START + next_random(&random, 8 * SIZE),
				   since + next_random(&random, time - since + 1));
			if (next_random(&random, 700) == 0)
				forget(&told, since = time - next_random(&random, 50));
		}
		end(&told);
	}
}

int model_waiting_tests(void);
int model_waiting_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_time_has_its_maps),
		cmocka_unit_test(test_a_child_has_its_parents_maps),
		cmocka_unit_test(test_a_child_shares_its_parents_state),
		cmocka_unit_test(test_threads_share_their_process),
		cmocka_unit_test(test_who_has_mapped_nothing),
		cmocka_unit_test(test_a_number_is_used_again),
		cmocka_unit_test(test_code_comes_between),
		cmocka_unit_test(test_epochs_end),
		cmocka_unit_test(test_memory_of_epochs),
		cmocka_unit_test(test_files_stay_a_while),
		cmocka_unit_test(test_a_long_line),
		cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests_name("model/waiting", tests, NULL, NULL);
}
