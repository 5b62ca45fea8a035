/* The end of an epoch: what can still be asked for answers as before, all else is gone, and what stays is no more than what is there. */
#include "model/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cmocka.h>

#define NEVER UINT64_MAX

static const char *name_of(const struct machine *machine, uint32_t tid, uint64_t time)
{
	return untrusted_raw(thread_comm(machine_thread(machine, tid, time), time));
}

static void add_map(struct machine *machine, uint32_t pid, uint64_t start, const char *name, uint64_t time)
{
	const struct map_description description = {
		.pid = pid, .tid = pid, .start = start, .end = start + 0x1000, .name = name, .prot = PROT_EXEC, .inode = 7};

	machine_add_map(machine, &description, time);
}

static const char *mapped_at(const struct machine *machine, uint32_t pid, uint64_t address, uint64_t time)
{
	const struct map *map = maps_find(thread_maps(machine_thread(machine, pid, time)), address, time);

	return map ? map->dso->name : NULL;
}

static void test_what_ended_is_gone(void **state)
{
	struct machine *machine = machine_create();

	machine_add_comm(machine, 10, 10, "sh", false, 0);
	machine_add_fork(machine, 20, 20, 10, 10, true, 100);
	machine_add_exit(machine, 20, 200);
	machine_add_fork(machine, 30, 30, 10, 10, true, 300);
	machine_add_exit(machine, 30, 600);
	machine_forget(machine, 500, NULL, NULL);
	assert_int_equal(machine->generation, 1);
	assert_null(machine_thread(machine, 20, NEVER));
	assert_string_equal(name_of(machine, 10, NEVER), "sh");
	assert_string_equal(name_of(machine, 30, 500), "sh"); /* it ended later */
	assert_string_equal(name_of(machine, 0, NEVER), "swapper");
	machine_forget(machine, 700, NULL, NULL);
	assert_null(machine_thread(machine, 30, NEVER));
	assert_int_equal(machine->threads.len, 2);
	machine_destroy(machine);
}

static void test_names_and_maps_from_the_time_on(void **state)
{
	struct machine *machine = machine_create();
	uint64_t epoch;

	machine_add_comm(machine, 10, 10, "first", false, 0);
	add_map(machine, 10, 0x1000, "/bin/old", 0);
	add_map(machine, 10, 0x5000, "/lib/stays", 0);
	machine_add_comm(machine, 10, 10, "second", false, 100);
	add_map(machine, 10, 0x1000, "/bin/middle", 100);
	machine_add_comm(machine, 10, 10, "third", false, 300);
	add_map(machine, 10, 0x1000, "/bin/new", 300);
	epoch = maps_epoch(thread_maps(machine_thread(machine, 10, 200)), 200);
	machine_forget(machine, 200, NULL, NULL);
	assert_string_equal(name_of(machine, 10, 200), "second");
	assert_string_equal(name_of(machine, 10, 300), "third");
	assert_int_equal(machine_thread(machine, 10, 200)->comm_count, 2);
	assert_string_equal(mapped_at(machine, 10, 0x1800, 200), "/bin/middle");
	assert_string_equal(mapped_at(machine, 10, 0x1800, 300), "/bin/new");
	assert_string_equal(mapped_at(machine, 10, 0x5800, 300), "/lib/stays");
	assert_int_not_equal(maps_epoch(thread_maps(machine_thread(machine, 10, 200)), 200), epoch);
	/* and goes on from there */
	add_map(machine, 10, 0x5000, "/lib/later", 400);
	assert_string_equal(mapped_at(machine, 10, 0x5800, 399), "/lib/stays");
	assert_string_equal(mapped_at(machine, 10, 0x5800, 400), "/lib/later");
	machine_destroy(machine);
}

/* A child that has its parent's maps, whose end is forgotten. */
static void test_maps_are_shared(void **state)
{
	struct machine *machine = machine_create();

	machine_add_comm(machine, 10, 10, "sh", false, 0);
	add_map(machine, 10, 0x1000, "/bin/sh", 0);
	machine_add_fork(machine, 20, 20, 10, 10, true, 100);
	machine_add_fork(machine, 30, 30, 20, 20, true, 150);
	machine_add_exit(machine, 10, 200);
	add_map(machine, 20, 0x3000, "/lib/own", 250);
	machine_forget(machine, 300, NULL, NULL);
	assert_null(machine_thread(machine, 10, NEVER));
	assert_string_equal(mapped_at(machine, 20, 0x1800, NEVER), "/bin/sh");
	assert_string_equal(mapped_at(machine, 20, 0x3800, NEVER), "/lib/own");
	assert_string_equal(mapped_at(machine, 30, 0x1800, NEVER), "/bin/sh");
	assert_null(mapped_at(machine, 30, 0x3800, NEVER));
	assert_ptr_equal(maps_find(thread_maps(machine_thread(machine, 20, NEVER)), 0x1800, NEVER),
			 maps_find(thread_maps(machine_thread(machine, 30, NEVER)), 0x1800, NEVER));
	machine_destroy(machine);
}

static void test_leaders_stay_with_their_threads(void **state)
{
	struct machine *machine = machine_create();

	machine_add_comm(machine, 10, 10, "main", false, 0);
	add_map(machine, 10, 0x1000, "/bin/main", 0);
	machine_add_fork(machine, 10, 11, 10, 10, true, 50);
	machine_add_exit(machine, 10, 100);
	machine_forget(machine, 200, NULL, NULL);
	assert_non_null(machine_thread(machine, 10, NEVER));
	assert_ptr_equal(machine_thread(machine, 11, NEVER)->process, machine_thread(machine, 10, NEVER)->process);
	assert_ptr_equal(machine_thread(machine, 11, NEVER)->process->leader, machine_thread(machine, 10, NEVER));
	assert_string_equal(mapped_at(machine, 11, 0x1800, NEVER), "/bin/main");
	machine_add_exit(machine, 11, 300);
	machine_forget(machine, 400, NULL, NULL);
	assert_null(machine_thread(machine, 10, NEVER));
	assert_null(machine_thread(machine, 11, NEVER));
	machine_destroy(machine);
}

/* Whose end no record told has lost its id to another one; or somebody knows that it is gone. */
static bool is_gone(void *context, const struct thread *thread)
{
	return thread->tid == *(const uint32_t *)context;
}

static void test_ends_that_were_lost(void **state)
{
	struct machine *machine = machine_create();
	uint32_t gone = 30;

	machine_add_comm(machine, 10, 10, "sh", false, 0);
	machine_add_fork(machine, 20, 20, 10, 10, true, 100);
	machine_add_comm(machine, 20, 20, "first", true, 110);
	machine_add_fork(machine, 20, 20, 10, 10, true, 200);
	machine_add_comm(machine, 20, 20, "second", true, 210);
	machine_add_fork(machine, 30, 30, 10, 10, true, 220);
	machine_forget(machine, 150, NULL, NULL);
	assert_string_equal(name_of(machine, 20, 150), "first");
	machine_forget(machine, 300, is_gone, &gone);
	assert_null(machine_thread(machine, 20, 150));
	assert_string_equal(name_of(machine, 20, NEVER), "second");
	assert_null(machine_thread(machine, 30, NEVER));
	machine_destroy(machine);
}

static void test_the_kernel_stays(void **state)
{
	struct machine *machine = machine_create();
	const struct map_description text = {.pid = UINT32_MAX,
					     .start = 0xffffffff81000000,
					     .end = 0xffffffff82000000,
					     .pgoff = 0xffffffff81000000,
					     .name = "[kernel.kallsyms]_text"};

	machine_add_kernel_map(machine, &text, 0);
	machine_add_ksymbol(machine, 0xffffffffc0001000, 0x100, "bpf_prog_1", true, false, 100);
	machine_add_ksymbol(machine, 0xffffffffc0001000, 0x100, "bpf_prog_1", true, true, 200);
	machine_add_ksymbol(machine, 0xffffffffc0002000, 0x100, "bpf_prog_2", true, false, 300);
	machine_forget(machine, 400, NULL, NULL);
	assert_ptr_equal(maps_find(machine->kernel_maps, 0xffffffff81000010, NEVER)->dso, machine->kernel);
	assert_null(maps_find(machine->kernel_maps, 0xffffffffc0001010, NEVER));
	assert_string_equal(maps_find(machine->kernel_maps, 0xffffffffc0002010, NEVER)->dso->name, "bpf_prog_2");
	machine_destroy(machine);
}

/* Processes come and go: what is needed for them is what is left, however many there were. */
static void test_memory_is_bounded(void **state)
{
	enum { PROCESSES = 200000, ALIVE = 100, BYTES_MOST = 40 << 20 };
	struct machine *machine = machine_create();
	size_t most = 0;

	machine_add_comm(machine, 10, 10, "sh", false, 0);
	add_map(machine, 10, 0x1000, "/bin/sh", 0);
	for (uint32_t i = 1; i <= PROCESSES; i++) {
		uint32_t pid = 1000 + i, ended = pid - ALIVE;
		uint64_t now = (uint64_t)i * 1000;
		char name[16];
		snprintf(name, sizeof(name), "job-%u", i);
		machine_add_fork(machine, pid, pid, 10, 10, true, now);
		machine_add_comm(machine, pid, pid, name, true, now + 1);
		add_map(machine, pid, 0x1000, "/bin/job", now + 2);
		if (i > ALIVE)
			machine_add_exit(machine, ended, now + 3);
		if (machine_has_grown(machine))
			machine_forget(machine, now - 10, NULL, NULL);
		size_t used = machine->arena.used + machine->names.arena.used;
		most = used > most ? used : most;
	}
	assert_true(machine->generation > 1);
	assert_true(most < BYTES_MOST);
	assert_string_equal(name_of(machine, 1000 + PROCESSES, NEVER), "job-200000");
	assert_string_equal(mapped_at(machine, 1000 + PROCESSES, 0x1800, NEVER), "/bin/job");
	machine_destroy(machine);
}

struct holder {
	const struct thread *ended, *lives, *stays;
	const struct map *map;
	const struct untrusted *name;
};

static void renew(void *context, struct carrying *carrying)
{
	struct holder *holder = context;

	holder->ended = machine_carry_thread(carrying, holder->ended);
	assert_ptr_equal(holder->lives, holder->stays);
	holder->lives = machine_carry_thread(carrying, holder->lives);
	holder->stays = machine_carry_thread(carrying, holder->stays);
	holder->map = machine_carry_map(carrying, holder->map);
	holder->name = machine_carry_name(carrying, holder->name);
}

/* Through several epochs; what is asked of the machine doesn't know of it. */
static void test_holders_keep_what_they_hold(void **state)
{
	struct machine *machine = machine_create();

	machine_add_comm(machine, 10, 10, "sh", false, 0);
	machine_add_fork(machine, 20, 20, 10, 10, true, 100);
	add_map(machine, 20, 0x1000, "/bin/job", 110);
	machine_add_comm(machine, 20, 20, "job", true, 110);
	machine_add_exit(machine, 20, 200);
	struct holder holder = {.ended = machine_thread(machine, 20, NEVER),
				.lives = machine_thread(machine, 10, NEVER),
				.stays = machine_thread(machine, 10, NEVER),
				.map = maps_find(thread_maps(machine_thread(machine, 20, NEVER)), 0x1800, NEVER),
				.name = thread_comm(machine_thread(machine, 20, NEVER), NEVER)};
	for (uint64_t since = 500; since < 900; since += 100) {
		machine_forget_but(machine, since, NULL, NULL, &(struct machine_holder){renew, &holder});
		assert_null(machine_thread(machine, 20, NEVER));
		assert_ptr_equal(holder.lives, machine_thread(machine, 10, NEVER));
		assert_int_equal(holder.ended->tid, 20);
		assert_int_equal(holder.ended->process->pid, 20);
		assert_string_equal(untrusted_raw(thread_comm(holder.ended, NEVER)), "job");
		assert_ptr_equal(thread_comm(holder.ended, NEVER), holder.name);
		assert_string_equal(holder.map->dso->name, "/bin/job");
		assert_int_equal(holder.map->start, 0x1000);
	}
	machine_destroy(machine);
}

static void keep_file(void *context, struct carrying *carrying)
{
	machine_carry_file(carrying, *(struct dso **)context);
}

/* Each process has a file of its own, which is gone with it; numbers and names of those that went are used again, a file that is held
 * stays as it is. */
static void test_files_are_as_many_as_there_are(void **state)
{
	enum { PROCESSES = 10000, IN_AN_EPOCH = 100 };
	struct machine *machine = machine_create();
	struct dso *held = NULL;
	const struct machine_holder holder = {keep_file, &held};
	char name[32];

	machine->drops_files = true;
	machine_add_comm(machine, 10, 10, "sh", false, 0);
	add_map(machine, 10, 0x1000, "/bin/sh", 1);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		uint32_t pid = 100 + i;
		uint64_t now = 10 + 10 * (uint64_t)i;
		snprintf(name, sizeof(name), "/tmp/job-%u", i);
		machine_add_fork(machine, pid, pid, 10, 10, true, now);
		add_map(machine, pid, 0x10000, name, now + 1);
		assert_string_equal(mapped_at(machine, pid, 0x10800, NEVER), name);
		if (i == 5)
			held = maps_find(thread_maps(machine_thread(machine, pid, NEVER)), 0x10800, NEVER)->dso;
		machine_add_exit(machine, pid, now + 2);
		if (i % IN_AN_EPOCH == IN_AN_EPOCH - 1)
			machine_forget_but(machine, now + 5, NULL, NULL, &holder);
	}
	/* "/bin/sh", the held one, those of the epoch that has just ended, and some that aren't worth the work yet */
	assert_in_range(machine->dsos.len, 2 + IN_AN_EPOCH, 2 + 5 * IN_AN_EPOCH);
	assert_in_range(machine->strings.count, 2 * (2 + IN_AN_EPOCH), 2 * (2 + 5 * IN_AN_EPOCH));
	assert_true(machine->drops > 10);
	assert_string_equal(held->name, "/tmp/job-5");
	assert_ptr_equal(machine->dsos.data[held->index], held);
	assert_string_equal(mapped_at(machine, 10, 0x1800, NEVER), "/bin/sh");
	machine_add_fork(machine, 50, 50, 10, 10, true, 200000);
	add_map(machine, 50, 0x10000, "/tmp/job-5", 200001);
	assert_ptr_equal(maps_find(thread_maps(machine_thread(machine, 50, NEVER)), 0x10800, NEVER)->dso, held);
	machine_destroy(machine);
}

struct asker {
	const struct dso *file;
	unsigned int keeps, loses;
};

static void ask(void *context, struct carrying *carrying)
{
	struct asker *asker = context;

	if (machine_keeps_file(carrying, asker->file))
		asker->keeps++;
	else
		asker->loses++;
}

/* Whoever has files beside the machine is told in time: not as long as a process has them, nor in the epoch after that. */
static void test_who_holds_files_lets_go_of_them(void **state)
{
	for (int drops = 0; drops < 2; drops++) {
		struct machine *machine = machine_create();
		struct asker asker = {0};
		const struct machine_holder holder = {ask, &asker};

		machine->drops_files = drops;
		machine_add_comm(machine, 10, 10, "job", false, 0);
		add_map(machine, 10, 0x1000, "/tmp/job", 1);
		asker.file = maps_find(thread_maps(machine_thread(machine, 10, NEVER)), 0x1800, NEVER)->dso;
		machine_forget_but(machine, 5, NULL, NULL, &holder);
		assert_int_equal(asker.keeps, 1);
		machine_add_exit(machine, 10, 10);
		machine_forget_but(machine, 20, NULL, NULL, &holder);
		assert_int_equal(asker.keeps, 2);
		machine_forget_but(machine, 30, NULL, NULL, &holder);
		assert_int_equal(asker.loses, drops);
		machine_destroy(machine);
	}
}

int model_forget_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holders_keep_what_they_hold),
		cmocka_unit_test(test_what_ended_is_gone),
		cmocka_unit_test(test_names_and_maps_from_the_time_on),
		cmocka_unit_test(test_maps_are_shared),
		cmocka_unit_test(test_leaders_stay_with_their_threads),
		cmocka_unit_test(test_ends_that_were_lost),
		cmocka_unit_test(test_the_kernel_stays),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_files_are_as_many_as_there_are),
		cmocka_unit_test(test_who_holds_files_lets_go_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
