/* Who has what mapped, where maps wait until somebody asks: the answers are those of a model that is told at once, and what nobody asks for
 * goes with its process. */
#include "capture/stacks/process_maps.h"
#include "made_records.h"
#include "perfdata/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { PARENT = MADE_PARENT, CHILD = 1001, START = 0x10000, LENGTH = 0x1000 };

struct told {
	struct process_maps maps;
	struct strbuf record;
};

static struct told begin(void)
{
	struct told told = {0};
	process_maps_init(&told.maps);
	told.maps.waits = true;
	told.maps.machine->drops_files = true;
	return told;
}

static void end(struct told *told)
{
	process_maps_deinit(&told->maps);
	strbuf_deinit(&told->record);
}

static void tell(struct told *told, uint64_t time)
{
	process_maps_apply(&told->maps, (const void *)told->record.data, time);
	strbuf_clear(&told->record);
}

static void task(struct told *told, uint32_t type, uint32_t pid, uint64_t time)
{
	made_task(&told->record, type, &(const struct made_trailer){.pid = pid, .tid = pid, .time = time});
	tell(told, time);
}

static void map(struct told *told, uint32_t pid, uint64_t start, const char *path, uint64_t time)
{
	made_map(&told->record, start, LENGTH, path, &(const struct made_trailer){.pid = pid, .tid = pid, .time = time});
	tell(told, time);
}

/* The file that has the address, or "". */
static const char *at(struct told *told, uint32_t pid, uint64_t address, uint64_t time)
{
	const struct map *found = maps_find(process_maps_of(&told->maps, pid, pid, time), address, time);
	return found ? found->dso->name : "";
}

static void forget(struct told *told, uint64_t since)
{
	process_maps_forget(&told->maps, since, NULL);
}

static void each_time_has_its_maps(void **state)
{
	struct told told = begin();
	task(&told, RECORD_FORK, CHILD, 10);
	map(&told, CHILD, START, "/first", 20);
	map(&told, CHILD, START, "/second", 40);
	assert_true(told.maps.bytes > 0);
	assert_int_equal(told.maps.machine->dsos.len, 0);
	task(&told, RECORD_FORK, CHILD + 1, 1000); /* the model is far ahead of what waits */
	assert_string_equal(at(&told, CHILD, START, 19), "");
	assert_string_equal(at(&told, CHILD, START, 20), "/first");
	assert_string_equal(at(&told, CHILD, START, 39), "/first");
	assert_string_equal(at(&told, CHILD, START, 40), "/second");
	assert_int_equal(told.maps.bytes, 0);
	map(&told, CHILD, START + LENGTH, "/third", 1010);
	assert_string_equal(at(&told, CHILD, START + LENGTH, 1009), "");
	assert_string_equal(at(&told, CHILD, START + LENGTH, 1010), "/third");
	assert_string_equal(at(&told, CHILD, START, 1010), "/second");
	end(&told);
}

static void a_child_has_its_parents_maps(void **state)
{
	struct told told = begin();
	map(&told, PARENT, START, "/early", 5); /* nobody told of the process: not one that may wait */
	assert_int_equal(told.maps.bytes, 0);
	map(&told, PARENT, START, "/parent", 10);
	assert_true(told.maps.bytes > 0);
	task(&told, RECORD_FORK, CHILD, 20);
	map(&told, PARENT, START, "/later", 30);
	map(&told, CHILD, START + LENGTH, "/child", 40);
	assert_string_equal(at(&told, CHILD, START, 50), "/parent");
	assert_string_equal(at(&told, CHILD, START + LENGTH, 50), "/child");
	assert_string_equal(at(&told, PARENT, START, 9), "/early");
	assert_string_equal(at(&told, PARENT, START, 29), "/parent");
	assert_string_equal(at(&told, PARENT, START, 30), "/later");
	end(&told);
}

/* A sample may come after the end of its process was told of. */
static void what_nobody_asks_for_goes_with_its_process(void **state)
{
	struct told told = begin();
	for (uint32_t i = 0; i < 3; i++) {
		task(&told, RECORD_FORK, CHILD + i, 10);
		map(&told, CHILD + i, START, "/program", 20);
		if (i < 2)
			task(&told, RECORD_EXIT, CHILD + i, 30);
	}
	forget(&told, 25);
	assert_string_equal(at(&told, CHILD, START, 29), "/program");
	size_t before = told.maps.bytes;
	forget(&told, 31);
	assert_int_equal(told.maps.bytes, before / 2);
	assert_string_equal(at(&told, CHILD + 1, START, 40), "");
	assert_string_equal(at(&told, CHILD + 2, START, 40), "/program");
	assert_int_equal(told.maps.bytes, 0);
	end(&told);
}

static void a_number_is_used_again(void **state)
{
	struct told told = begin();
	task(&told, RECORD_FORK, CHILD, 10);
	map(&told, CHILD, START, "/old", 20);
	task(&told, RECORD_EXIT, CHILD, 30);
	task(&told, RECORD_FORK, CHILD, 40);
	map(&told, CHILD, START, "/new", 50);
	assert_string_equal(at(&told, CHILD, START, 25), "/old");
	assert_string_equal(at(&told, CHILD, START, 45), "");
	assert_string_equal(at(&told, CHILD, START, 50), "/new");
	end(&told);
}

/* Where many come and go, what waits is looked through when it has doubled. */
static void many_come_and_go(void **state)
{
	enum { PROCESSES = 100000 };
	struct told told = begin();
	size_t most = 0, forgotten = 0;
	for (uint32_t i = 0; i < PROCESSES; i++) {
		task(&told, RECORD_FORK, CHILD + i, i + 1);
		map(&told, CHILD + i, START, "/program", i + 1);
		task(&told, RECORD_EXIT, CHILD + i, i + 1);
		most = told.maps.bytes > most ? told.maps.bytes : most;
		if (process_maps_have_grown(&told.maps)) {
			forget(&told, i + 2);
			forgotten++;
		}
	}
	assert_true(most < 1 << 19 && forgotten > 10 && forgotten < PROCESSES / 1000);
	end(&told);
}

/* Of a process that lives and goes on mapping. */
static void what_waits_of_one_process_is_bounded(void **state)
{
	struct told told = begin();
	size_t most = 0;
	task(&told, RECORD_FORK, CHILD, 1);
	for (uint32_t i = 0; i < 10000; i++) {
		map(&told, CHILD, START, i % 2 ? "/odd" : "/even", i + 2);
		most = told.maps.bytes > most ? told.maps.bytes : most;
	}
	assert_in_range(most, 1, 1 << 17);
	assert_string_equal(at(&told, CHILD, START, 2), "/even");
	assert_string_equal(at(&told, CHILD, START, 10001), "/odd");
	end(&told);
}

int capture_process_maps_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_time_has_its_maps),
		cmocka_unit_test(a_child_has_its_parents_maps),
		cmocka_unit_test(what_nobody_asks_for_goes_with_its_process),
		cmocka_unit_test(a_number_is_used_again),
		cmocka_unit_test(many_come_and_go),
		cmocka_unit_test(what_waits_of_one_process_is_bounded),
	};
	return cmocka_run_group_tests_name("process_maps", tests, NULL, NULL);
}
