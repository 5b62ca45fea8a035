/* The recorder's own machine: it forgets processes that have ended, so that a recording of days stays small. */
#include "capture/stack_chains.h"

#include "perfdata/records.h"
#include "symbol/resolve.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { SIZE = 1 << 16, PROCESSES = 150000, STEP_NS = 100000 };

/* FORK and EXIT with a trailer of pid, tid and time. */
struct task {
	struct record_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
	uint32_t id_pid, id_tid;
	uint64_t id_time;
};

struct fake {
	struct perf_event_mmap_page page;
	uint8_t data[SIZE];
	struct ring ring;
};

static void put(struct fake *fake, uint32_t type, uint32_t pid, uint64_t time)
{
	const struct task task = {.header = {.type = type, .size = sizeof(task)},
				  .pid = pid,
				  .ppid = 1,
				  .tid = pid,
				  .ptid = 1,
				  .time = time,
				  .id_time = time};

	for (size_t i = 0; i < sizeof(task); i++)
		fake->data[(fake->page.data_head + i) % SIZE] = ((const uint8_t *)&task)[i];
	fake->page.data_head += sizeof(task);
}

static void test_processes_are_forgotten(void **state)
{
	static struct fake fake;
	struct event_list events = {0};
	struct ring_set rings = {.rings = &fake.ring, .count = 1};
	struct stack_chains *chains;
	size_t most = 0;

	fake.ring = (struct ring){.fd = -1, .page = &fake.page, .data = fake.data, .mask = SIZE - 1};
	struct event *event = event_list_add(&events, "cpu-clock");
	event->attr = (struct event_attr){
		.sample_id_all = 1, .mmap2 = 1, .task = 1, .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME};
	assert_null(stack_chains_open(&events, NULL, NULL, NULL, &rings, &chains));
	for (uint32_t pid = 2; pid < PROCESSES; pid++) {
		put(&fake, RECORD_FORK, pid, (uint64_t)pid * STEP_NS);
		put(&fake, RECORD_EXIT, pid, (uint64_t)pid * STEP_NS + 1);
		if (pid % 256)
			continue;
		stack_chains_look(chains);
		ring_consume(&fake.ring);
		size_t threads = resolver_machine(stack_chains_resolver(chains))->threads.len;
		most = threads > most ? threads : most;
	}
	assert_in_range(most, 2, PROCESSES / 3);
	stack_chains_close(chains);
	event_list_deinit(&events);
}

/* MMAP2 of code with the same trailer; a path of less than 24 bytes. */
struct map_record {
	struct record_header header;
	uint32_t pid, tid;
	uint64_t start, length, pgoff;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
	char path[24];
	uint32_t id_pid, id_tid;
	uint64_t id_time;
};

static void put_map(struct fake *fake, uint32_t pid, uint64_t time)
{
	struct map_record map = {.header = {RECORD_MMAP2, CPUMODE_USER, sizeof(map)},
				 .pid = pid,
				 .tid = pid,
				 .start = 0x10000,
				 .length = 0x1000,
				 .inode = pid,
				 .prot = PROT_READ | PROT_EXEC,
				 .id_time = time};

	snprintf(map.path, sizeof(map.path), "/tmp/job-%u", pid);
	for (size_t i = 0; i < sizeof(map); i++)
		fake->data[(fake->page.data_head + i) % SIZE] = ((const uint8_t *)&map)[i];
	fake->page.data_head += sizeof(map);
}

enum { JOBS = 150000 };

/* Each process runs a program of its own, of which nobody asks for anything. Returns for how many files there was room at last. */
static size_t run_jobs(bool maps_wait)
{
	static struct fake fake;
	struct event_list events = {0};
	struct ring_set rings = {.rings = &fake.ring, .count = 1};
	struct stack_chains *chains;

	fake.ring = (struct ring){.fd = -1, .page = &fake.page, .data = fake.data, .mask = SIZE - 1};
	struct event *event = event_list_add(&events, "cpu-clock");
	event->attr = (struct event_attr){
		.sample_id_all = 1, .mmap2 = 1, .task = 1, .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME};
	assert_null(stack_chains_open(&events, NULL, NULL, NULL, &rings, &chains));
	stack_chains_drop_files(chains);
	struct machine *machine = (struct machine *)resolver_machine(stack_chains_resolver(chains));
	assert_true(machine->maps_wait);
	machine->maps_wait = maps_wait;
	for (uint32_t pid = 2; pid < JOBS; pid++) {
		put(&fake, RECORD_FORK, pid, (uint64_t)pid * STEP_NS);
		put_map(&fake, pid, (uint64_t)pid * STEP_NS + 1);
		put(&fake, RECORD_EXIT, pid, (uint64_t)pid * STEP_NS + 2);
		if (pid % 64)
			continue;
		stack_chains_look(chains);
		ring_consume(&fake.ring);
	}
	size_t files = machine->dsos.len;
	stack_chains_close(chains);
	event_list_deinit(&events);
	return files;
}

static void test_files_are_forgotten(void **state)
{
	assert_in_range(run_jobs(false), 2, JOBS / 3);
}

static void test_files_that_nobody_asks_for_are_none(void **state)
{
	assert_int_equal(run_jobs(true), 0);
}

int capture_stack_chains_tests(void);
int capture_stack_chains_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes_are_forgotten),
		cmocka_unit_test(test_files_are_forgotten),
		cmocka_unit_test(test_files_that_nobody_asks_for_are_none),
	};

	return cmocka_run_group_tests_name("capture/stack_chains", tests, NULL, NULL);
}
