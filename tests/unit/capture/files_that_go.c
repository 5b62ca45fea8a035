/* What is kept of files beside the machine, where each process runs a program of its own that nobody runs again: no more than of the last
 * ones. */
#include "base/mem.h"
#include "capture/python/python_reader.h"
#include "made_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { JOBS = 20000, IN_AN_EPOCH = 500, FIRST_PID = 100, START = 0x10000 };

struct storm {
	struct machine *machine;
	struct resolver *resolver;
	struct python_reader *reader;
	bool reads;
	VEC(void *) plugs; /* where files were that have gone, so that no other one gets the address */
	size_t most;	   /* bytes of the heap */
};

static void carry(void *context, struct carrying *carrying)
{
	const struct storm *storm = context;
	if (storm->reader)
		python_reader_carry(storm->reader, carrying);
}

/* A stack of one address in the job's file: the reader asks whether it is an interpreter. */
static void read_stack(struct storm *storm, const struct map_description *map, uint64_t now)
{
	struct unwind_cache *cache = NULL;
	uint64_t ips[2] = {map->start + 0x10};
	const struct unwind_input input = {.maps = thread_maps(machine_thread(storm->machine, map->tid, now)), .time = now};
	assert_int_equal(python_reader_add(storm->reader, map->pid, &input, &cache, ips, 1, 2), 1);
	unwind_cache_destroy(cache);
}

static void run(struct storm *storm)
{
	static const struct symbol_options options = {.buildid_dir = "/nonexistent", .proc = "/nonexistent"};
	struct python_frames *frames = python_frames_create(NULL);
	char name[32];
	storm->machine = machine_create();
	storm->machine->drops_files = true;
	storm->resolver = resolver_create(storm->machine, &options);
	storm->reader = storm->reads ? python_reader_create(frames, storm->resolver) : NULL;
	size_t before = made_heap_bytes();
	for (uint32_t i = 0; i < JOBS; i++) {
		uint32_t pid = FIRST_PID + i;
		const struct map_description map = {
			.pid = pid, .tid = pid, .start = START, .end = START + 0x1000, .name = name, .prot = PROT_EXEC, .inode = pid};
		snprintf(name, sizeof(name), "/nonexistent/job-%u", i);
		machine_add_comm(storm->machine, pid, pid, "job", true, i + 1);
		machine_add_map(storm->machine, &map, i + 1);
		if (storm->reader)
			read_stack(storm, &map, i + 1);
		machine_add_exit(storm->machine, pid, i + 1);
		if (i % IN_AN_EPOCH < IN_AN_EPOCH - 1)
			continue;
		machine_forget_but(storm->machine, i + 2, NULL, NULL, &(const struct machine_holder){carry, storm});
		resolver_forget(storm->resolver);
		for (int j = 0; j < IN_AN_EPOCH; j++)
			vec_push(&storm->plugs, mem_alloc(sizeof(struct dso)));
		size_t now = made_heap_bytes();
		if (now > before && now - before > storm->most)
			storm->most = now - before;
	}
	for (size_t i = 0; i < storm->plugs.len; i++)
		free(storm->plugs.data[i]);
	vec_deinit(&storm->plugs);
	python_reader_destroy(storm->reader);
	python_frames_destroy(frames);
	resolver_destroy(storm->resolver);
	machine_destroy(storm->machine);
}

/* What is known of each, were it kept, is 3 MB. */
static void test_interpreters(void **state)
{
	struct storm storm = {.reads = true}, other = {0};
	run(&storm);
	run(&other);
	assert_in_range(storm.most, 0, other.most + (1 << 20));
}

int capture_files_that_go_tests(void);
int capture_files_that_go_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_interpreters)};
	return cmocka_run_group_tests_name("capture/files_that_go", tests, NULL, NULL);
}
