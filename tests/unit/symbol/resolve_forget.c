/* Symbols of files that were mapped once: what runs for days holds those of what is there, not of all that ever was. */
#include "symbol/resolve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FILES = 5000 };
#define NEVER UINT64_MAX

/* A process for each file, which asks for symbols of it and has ended then. */
static void run_file(struct machine *machine, struct resolver *resolver, unsigned int number, uint64_t time, const struct map **ret_map)
{
	char name[32];
	struct frame frame;
	uint32_t pid = 100 + number;
	snprintf(name, sizeof(name), "/nowhere/program%u", number);
	const struct map_description map = {.pid = pid, .tid = pid, .start = 0x1000, .end = 0x2000, .name = name, .prot = 5};
	machine_add_comm(machine, pid, pid, "job", true, time);
	machine_add_map(machine, &map, time);
	resolver_frame(resolver, thread_maps(machine_thread(machine, pid, NEVER)), 2, 0x1800, time, &frame);
	*ret_map = frame.map;
	machine_add_exit(machine, pid, time + 1);
}

static size_t tables_held(const struct machine *machine)
{
	size_t held = 0;
	for (size_t i = 0; i < machine->dsos.len; i++)
		held += machine->dsos.data[i]->symtab != NULL;
	return held;
}

static void keep_map(void *context, struct carrying *carrying)
{
	const struct map **map = context;
	*map = machine_carry_map(carrying, *map);
}

static void test_tables_of_what_is_gone_go(void **state)
{
	struct machine *machine = machine_create();
	struct resolver *resolver = resolver_create(machine, &(struct symbol_options){0});
	const struct map *last, *held = NULL;
	const struct machine_holder holder = {keep_map, &held};
	size_t most = 0;
	for (unsigned int i = 0; i < FILES; i++) {
		run_file(machine, resolver, i, 10 * (uint64_t)i + 10, &last);
		held = held ? held : last;
		most = tables_held(machine) > most ? tables_held(machine) : most;
		if (i % 100 != 99)
			continue;
		machine_forget_but(machine, 10 * (uint64_t)i + 15, NULL, NULL, &holder);
		resolver_forget(resolver);
		/* What a holder keeps, and what was mapped in the epoch that has just ended: all processes have ended, too. */
		assert_in_range(tables_held(machine), 100, 101);
		assert_string_equal(held->dso->name, "/nowhere/program0");
		assert_non_null(held->dso->symtab);
	}
	assert_in_range(most, 200, 201);
	resolver_destroy(resolver);
	machine_destroy(machine);
}

static void test_what_comes_back_has_symbols_again(void **state)
{
	struct machine *machine = machine_create();
	struct resolver *resolver = resolver_create(machine, &(struct symbol_options){0});
	const struct map *map;
	run_file(machine, resolver, 1, 10, &map);
	struct dso *dso = map->dso;
	const void *before = dso->symtab;
	machine_forget(machine, 20, NULL, NULL);
	resolver_forget(resolver);
	assert_ptr_equal(dso->symtab, before); /* for one epoch */
	machine_forget(machine, 25, NULL, NULL);
	resolver_forget(resolver);
	assert_null(dso->symtab);
	run_file(machine, resolver, 1, 30, &map);
	assert_ptr_equal(map->dso, dso);
	assert_non_null(dso->symtab);
	resolver_destroy(resolver);
	machine_destroy(machine);
}

/* Where memory is short all tables go, also those of what runs; those of the kernel are asked for again at once, and stay. */
static void test_tables_go_where_memory_is_short(void **state)
{
	struct machine *machine = machine_create();
	struct resolver *resolver = resolver_create(machine, &(struct symbol_options){0});
	const struct map_description kernel = {
		.pid = UINT32_MAX, .start = 0xffffffff81000000, .end = 0xffffffff82000000, .name = "[kernel.kallsyms]_text", .prot = 5};
	const struct map *map;
	struct frame frame;
	machine_add_kernel_map(machine, &kernel, 1);
	run_file(machine, resolver, 1, 10, &map);
	resolver_frame(resolver, machine->kernel_maps, 1, kernel.start + 0x100, 10, &frame);
	assert_non_null(frame.map);
	struct dso *of_kernel = frame.map->dso;
	assert_non_null(of_kernel->symtab);
	resolver_shed(resolver, 0);
	assert_null(map->dso->symtab);
	assert_non_null(of_kernel->symtab);
	resolver_destroy(resolver);
	machine_destroy(machine);
}

/* Those that were asked for stay, the small ones first, as far as there is room. */
static void test_tables_that_are_asked_for_stay(void **state)
{
	struct machine *machine = machine_create();
	struct resolver *resolver = resolver_create(machine, &(struct symbol_options){0});
	const struct map *used, *idle;
	run_file(machine, resolver, 1, 10, &used);
	run_file(machine, resolver, 2, 20, &idle);
	size_t both = symtab_bytes(used->dso->symtab) + symtab_bytes(idle->dso->symtab);
	resolver_shed(resolver, both);
	assert_non_null(used->dso->symtab);
	assert_non_null(idle->dso->symtab);
	resolver_symtab(resolver, used->dso);
	resolver_shed(resolver, both - 1);
	assert_non_null(used->dso->symtab);
	assert_null(idle->dso->symtab);
	resolver_destroy(resolver);
	machine_destroy(machine);
}

int symbol_resolve_forget_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables_of_what_is_gone_go),
		cmocka_unit_test(test_what_comes_back_has_symbols_again),
		cmocka_unit_test(test_tables_go_where_memory_is_short),
		cmocka_unit_test(test_tables_that_are_asked_for_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
