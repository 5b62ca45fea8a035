/* The address space against a plain model of it: every version must go on answering as the list of maps would, and stay a balanced tree. */
#include "model/maps_cache.h"
#include "model/model_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct change {
	uint32_t space;
	uint64_t time, start, end;
	const struct map *map; /* NULL: removed */
};

struct world {
	struct machine *machine;
	struct maps *spaces[64];
	uint32_t parents[64];
	uint64_t births[64];
	size_t space_count;
	VEC(struct change) changes;
	struct dso dso;
	uint64_t random;
};

static uint64_t next_random(struct world *world, uint64_t limit)
{
	world->random = hash_mix(world->random + 1);
	return world->random % limit;
}

/* The answer by the definition: the newest change of the space, or of its parent before the fork, that covers the address. */
static const struct map *expected(const struct world *world, uint32_t space, uint64_t addr, uint64_t time, size_t upto)
{
	for (size_t i = upto; i-- > 0;) {
		const struct change *change = &world->changes.data[i];
		if (change->space == space && change->time <= time && addr >= change->start && addr < change->end)
			return change->map;
		if (!change->map && change->space == UINT32_MAX && change->start == space) { /* the space was forked here */
			space = world->parents[space];
			time = UINT64_MAX;
		}
	}
	return NULL;
}

static void add_random_change(struct world *world, uint64_t time)
{
	uint32_t space = next_random(world, world->space_count);
	uint64_t start = next_random(world, 200), end = start + 1 + next_random(world, next_random(world, 5) ? 12 : 150);
	struct change change = {.space = space, .time = time, .start = start, .end = end};
	if (next_random(world, 8) == 0) {
		maps_remove(world->spaces[space], start, end, time);
	} else {
		struct map *map = arena_zalloc(&world->machine->arena, sizeof(*map));
		*map = (struct map){.start = start, .end = end, .time = time, .dso = &world->dso};
		change.map = map;
		maps_insert(world->spaces[space], map);
	}
	vec_push(&world->changes, change);
}

static void fork_space(struct world *world, uint64_t time)
{
	uint32_t parent = next_random(world, world->space_count), child = world->space_count++;
	world->spaces[child] = maps_create(world->machine);
	world->parents[child] = parent;
	world->births[child] = time;
	maps_inherit(world->spaces[child], world->spaces[parent], time);
	vec_push(&world->changes, (struct change){.space = UINT32_MAX, .time = time, .start = child});
}

/* What is known of a state, and of the piece around an address, must hold for all of it. */
static void check_state(struct world *world, struct maps_cache *cache, uint32_t space, uint64_t addr, uint64_t time)
{
	const struct maps *maps = world->spaces[space];
	struct maps_state state = maps_state_at(maps, time);
	assert_true(time >= state.from && time <= state.last);
	assert_int_equal(state.epoch, maps_epoch(maps, time));
	assert_int_equal(state.epoch, maps_epoch(maps, state.from));
	assert_int_equal(state.epoch, maps_epoch(maps, state.last));
	const struct maps_piece *piece = maps_cache_find(cache, &state, addr);
	assert_ptr_equal(piece->map, maps_find(maps, addr, time));
	assert_true(addr >= piece->start && addr < piece->end);
	assert_ptr_equal(piece->map, maps_find(maps, piece->start, state.last));
	assert_ptr_equal(piece->map, maps_find(maps, piece->end - 1, state.from));
	assert_int_equal(addr + piece->offset, piece->map ? map_to_dso(piece->map, addr) : addr);
}

static void check_world(struct world *world, uint64_t end_time)
{
	struct maps_cache cache;
	maps_cache_init(&cache);
	for (int i = 0; i < 20000; i++) {
		uint32_t space = next_random(world, world->space_count);
		uint64_t addr = next_random(world, 380),
			 time = world->births[space] + next_random(world, end_time - world->births[space] + 2);
		const struct map *map = maps_find(world->spaces[space], addr, time);
		assert_ptr_equal(map, expected(world, space, addr, time, world->changes.len));
		check_state(world, &cache, space, addr, time);
	}
	maps_cache_deinit(&cache);
}

static void test_random(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct world world = {.machine = machine_create(), .space_count = 1, .random = seed};
		world.spaces[0] = maps_create(world.machine);
		uint64_t time = 0;
		for (int i = 0; i < 600; i++) {
			if (next_random(&world, 10) == 0 && world.space_count < 64)
				fork_space(&world, time += 1);
			add_random_change(&world, time);
			if (i > 100 && next_random(&world, 2))
				time += next_random(&world, 3);
		}
		check_world(&world, time);
		vec_deinit(&world.changes);
		machine_destroy(world.machine);
	}
}

static bool count_piece(const struct map *map, uint64_t start, uint64_t end, void *context)
{
	uint64_t *counts = context;
	assert_true(start >= counts[1]);
	assert_true(start >= map->start && end <= map->end && start < end);
	counts[0]++;
	counts[1] = end;
	return true;
}

/* Many maps in ascending order: logarithmic depth, and in order when visited. */
static void test_large(void **state)
{
	struct machine *machine = machine_create();
	struct maps *maps = maps_create(machine);
	const uint64_t count = 100000;
	struct map *all = mem_zalloc_array(count, sizeof(*all));
	for (uint64_t i = 0; i < count; i++) {
		all[i] = (struct map){.start = i * 16, .end = i * 16 + 16, .time = i % 1000 == 0 ? i : i - i % 1000};
		maps_insert(maps, &all[i]);
	}
	for (uint64_t i = 0; i < count; i += 7) {
		assert_ptr_equal(maps_find(maps, i * 16 + 3, UINT64_MAX), &all[i]);
		assert_null(i >= 1000 ? maps_find(maps, i * 16 + 3, i - i % 1000 - 1) : NULL);
	}
	uint64_t counts[2] = {0};
	maps_visit(maps, UINT64_MAX, count_piece, counts);
	assert_int_equal(counts[0], count);
	assert_true(machine->arena.used < count * 600);
	free(all);
	machine_destroy(machine);
}

static void test_epochs(void **state)
{
	struct machine *machine = machine_create();
	struct maps *parent = maps_create(machine), *child = maps_create(machine);
	struct map a = {.start = 0, .end = 10, .time = 5}, b = {.start = 5, .end = 15, .time = 9};
	assert_int_equal(maps_epoch(parent, 100), 0);
	maps_insert(parent, &a);
	maps_inherit(child, parent, 6);
	assert_int_equal(maps_epoch(parent, 4), 0);
	assert_int_equal(maps_epoch(child, 7), maps_epoch(parent, 7));
	maps_insert(parent, &b);
	assert_int_equal(maps_epoch(child, 9), maps_epoch(parent, 8));
	assert_int_not_equal(maps_epoch(parent, 8), maps_epoch(parent, 9));
	assert_ptr_equal(maps_find(parent, 7, 9), &b);
	assert_ptr_equal(maps_find(parent, 7, 8), &a);
	assert_ptr_equal(maps_find(child, 7, 100), &a);
	assert_null(maps_find(NULL, 7, 9));
	machine_destroy(machine);
}

int model_maps_tests(void);
int model_maps_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_epochs),
	};
	return cmocka_run_group_tests_name("model/maps", tests, NULL, NULL);
}
