/* Threads, names, forks and files as the kernel's perf tells them. */
#include "model/machine.h"

#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cmocka.h>

#define NEVER UINT64_MAX

static const char *comm(struct machine *machine, uint32_t tid, uint64_t time)
{
	return untrusted_raw(thread_comm(machine_thread_or_new(machine, UINT32_MAX, tid, time), time));
}

static const struct map *add_map(struct machine *machine, uint32_t pid, uint64_t start, const char *name, uint32_t prot, uint64_t inode,
				 uint64_t time)
{
	struct map_description description = {
		.pid = pid, .tid = pid, .start = start, .end = start + 0x1000, .name = name, .prot = prot, .inode = inode};
	machine_add_map(machine, &description, time);
	return maps_find(thread_maps(machine_thread(machine, pid, time)), start, time);
}

static void test_names(void **state)
{
	struct machine *machine = machine_create();
	assert_string_equal(comm(machine, 0, 0), "swapper");
	machine_add_comm(machine, 10, 10, "sh", false, 0);
	machine_add_fork(machine, 20, 20, 10, 10, true, 100);
	machine_add_comm(machine, 20, 20, "make", true, 200);
	machine_add_comm(machine, 20, 20, "renamed", false, 300);
	assert_string_equal(comm(machine, 10, 1000), "sh");
	assert_string_equal(comm(machine, 20, 150), "sh");
	assert_string_equal(comm(machine, 20, 250), "make");
	assert_string_equal(comm(machine, 20, NEVER), "renamed");
	/* before the fork nobody had the id */
	assert_null(machine_thread(machine, 20, 99));
	machine_finish(machine);
	assert_string_equal(comm(machine, 20, 99), ":20");
	assert_string_equal(comm(machine, UINT32_MAX, 99), ":-1");
	assert_ptr_equal(machine_thread_or_new(machine, 7, 8, 50), machine_thread_or_new(machine, 7, 8, 60));
	assert_ptr_equal(machine_thread_or_new(machine, 7, 8, 50)->process, machine_thread_or_new(machine, 7, 7, 60)->process);
	machine_destroy(machine);
}

static void test_nameless(void **state)
{
	struct machine *machine = machine_create();
	/* a nameless parent has no name to pass on */
	machine_add_fork(machine, 31, 31, 30, 30, true, 10);
	assert_string_equal(comm(machine, 31, 11), ":31");
	machine_add_comm(machine, 31, 31, "late", false, 20);
	assert_string_equal(comm(machine, 31, 11), ":31");
	assert_string_equal(untrusted_raw(thread_comm_settled(machine_thread(machine, 31, 11), 11)), "late");
	assert_string_equal(comm(machine, 31, 20), "late");
	/* the bearer of the parent's id is of another process: it is replaced */
	machine_add_comm(machine, 40, 41, "old", false, 30);
	machine_add_fork(machine, 50, 50, 42, 41, true, 40);
	assert_string_equal(comm(machine, 50, 41), ":50");
	assert_string_equal(comm(machine, 41, 41), ":41");
	assert_string_equal(comm(machine, 41, 39), "old");
	machine_destroy(machine);
}

static void test_reused_ids(void **state)
{
	struct machine *machine = machine_create();
	machine_add_comm(machine, 1, 1, "init", false, 0);
	const uint64_t count = 20000;
	char name[32];
	for (uint64_t i = 1; i <= count; i++) {
		machine_add_fork(machine, 5, 5, 1, 1, true, i * 10);
		snprintf(name, sizeof(name), "n%d", (int)i);
		machine_add_comm(machine, 5, 5, name, true, i * 10 + 5);
	}
	for (uint64_t i = 1; i <= count; i++) {
		snprintf(name, sizeof(name), "n%d", (int)i);
		assert_string_equal(comm(machine, 5, i * 10 + 7), name);
		assert_string_equal(comm(machine, 5, i * 10 + 2), "init");
	}
	machine_destroy(machine);
}

/* Forks of forks without end: no recursion, no cost but the thread itself; and all of them see the first one's map. */
static void test_deep_forks(void **state)
{
	struct machine *machine = machine_create();
	const struct map *map = add_map(machine, 1, 0x1000, "/bin/bomb", PROT_EXEC, 1, 0);
	for (uint32_t i = 1; i < 300000; i++)
		machine_add_fork(machine, i + 1, i + 1, i, i, true, i);
	struct thread *last = machine_thread(machine, 300000, NEVER);
	assert_ptr_equal(maps_find(thread_maps(last), 0x1000, NEVER), map);
	assert_true(machine->arena.used < 300000u * 500);
	machine_destroy(machine);
}

static void test_forked_maps(void **state)
{
	struct machine *machine = machine_create();
	const struct map *sh = add_map(machine, 10, 0x1000, "/bin/sh", PROT_EXEC, 1, 0);
	machine_add_fork(machine, 20, 20, 10, 10, true, 100);
	machine_add_fork(machine, 10, 11, 10, 10, true, 110);
	const struct map *late = add_map(machine, 10, 0x5000, "/lib/late.so", PROT_EXEC, 2, 120);
	const struct maps *child = thread_maps(machine_thread(machine, 20, NEVER));
	const struct maps *sibling = thread_maps(machine_thread(machine, 11, NEVER));
	assert_ptr_equal(maps_find(child, 0x1000, NEVER), sh);
	assert_null(maps_find(child, 0x5000, NEVER));
	assert_ptr_equal(maps_find(sibling, 0x5000, NEVER), late);
	assert_null(maps_find(sibling, 0x5000, 119));
	/* a fork made up by the recorder copies nothing */
	machine_add_fork(machine, 30, 30, 10, 10, false, 130);
	assert_null(maps_find(thread_maps(machine_thread(machine, 30, NEVER)), 0x1000, NEVER));
	machine_destroy(machine);
}

static void test_dso_names(void **state)
{
	static const struct {
		const char *mapped;
		uint32_t prot;
		const char *name, *short_name;
		bool identity;
	} cases[] = {
		{"/usr/lib/libc.so.6", PROT_EXEC, "/usr/lib/libc.so.6", "libc.so.6", false},
		{"//anon", PROT_READ, "//anon", "anon", true},
		{"//anon", PROT_EXEC, "/tmp/perf-9.map", "[JIT] tid 9", true},
		{"[heap]", PROT_READ, "[heap]", "[heap]", true},
		{"[heap]", PROT_EXEC, "/tmp/perf-9.map", "[JIT] tid 9", true},
		{"[stack]", PROT_READ, "[stack]", "[stack]", true},
		{"[vdso]", PROT_EXEC, "[vdso]", "[vdso]", false},
		{"[vsyscall]", PROT_EXEC, "[vsyscall]", "[vsyscall]", false},
		{"/SYSV00000000 (deleted)", PROT_READ, "/SYSV00000000 (deleted)", "SYSV00000000 (deleted)", true},
		{"/memfd:jit (deleted)", PROT_EXEC, "/memfd:jit (deleted)", "memfd:jit (deleted)", false},
		{"/opt/gone (deleted)", PROT_EXEC, "/opt/gone (deleted)", "gone (deleted)", false},
		{"/dev/zero (deleted)", PROT_EXEC, "/tmp/perf-9.map", "[JIT] tid 9", true},
	};
	struct machine *machine = machine_create();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct map *map = add_map(machine, 9, 0x100000 * (i + 1), cases[i].mapped, cases[i].prot, 0, 0);
		assert_string_equal(map->dso->name, cases[i].name);
		assert_string_equal(map->dso->script_name, cases[i].name);
		assert_string_equal(map->dso->short_name, cases[i].short_name);
		assert_int_equal(map->identity, cases[i].identity);
	}
	machine_destroy(machine);
}

/* The kernel maps "[vdso]" for 32-bit processes, too. */
static void test_vdso_of_32_bits(void **state)
{
	static const struct {
		const char *arch;
		uint64_t address;
		const char *name;
	} cases[] = {
		{"x86_64", 0xf7f5d000, "[vdso32]"}, {"x86_64", 0x7ffff7fc0000, "[vdso]"}, {"aarch64", 0xf7f5d000, "[vdso32]"},
		{"armv7l", 0xb6fd0000, "[vdso]"},   {"i686", 0xb7fd0000, "[vdso]"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct machine *machine = machine_create();
		machine->arch = cases[i].arch;
		const struct dso *dso = add_map(machine, 9, cases[i].address, "[vdso]", PROT_EXEC, 0, 0)->dso;
		assert_string_equal(dso->name, cases[i].name);
		assert_int_equal(dso->kind == DSO_VDSO, cases[i].name[5] == ']');
		machine_destroy(machine);
	}
}

static void test_dso_identity(void **state)
{
	struct machine *machine = machine_create();
	struct buildid id = {.data = {1, 2, 3}, .size = 20};
	machine_note_build_id(machine, "/bin/x", &id, false, false);
	const struct dso *a = add_map(machine, 1, 0x1000, "/bin/x", PROT_EXEC, 11, 0)->dso;
	const struct dso *b = add_map(machine, 1, 0x3000, "/bin/x", PROT_EXEC, 12, 0)->dso;
	const struct dso *again = add_map(machine, 2, 0x1000, "/bin/x", PROT_EXEC, 11, 0)->dso;
	const struct dso *unknown = add_map(machine, 3, 0x1000, "/bin/x", PROT_EXEC, 0, 0)->dso;
	struct map_description made_up = {.pid = 4, .tid = 4, .start = 0x1000, .end = 0x2000, .name = "/bin/y", .inode = 5},
			       first = made_up, second = made_up;
	first.inode_generation = 77;
	second.inode_generation = 78;
	first.start += 0x1000, first.end += 0x1000;
	second.start += 0x2000, second.end += 0x2000;
	machine_add_map(machine, &first, 0);
	machine_add_map(machine, &second, 0);
	machine_add_map(machine, &made_up, 0);
	const struct maps *maps = thread_maps(machine_thread(machine, 4, 0));
	assert_ptr_equal(maps_find(maps, 0x1000, 0)->dso, maps_find(maps, 0x2000, 0)->dso);
	assert_ptr_not_equal(maps_find(maps, 0x2000, 0)->dso, maps_find(maps, 0x3000, 0)->dso);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(a, again);
	assert_ptr_equal(a, unknown);
	assert_true(buildid_equal(&a->build_id, &id) && buildid_equal(&b->build_id, &id));
	machine_destroy(machine);
}

/* Threads that only samples mention, met by several workers at once: one for each id, and found again. */
struct placeholder_hunt {
	struct machine *machine;
	struct thread *found[8][2000];
};

static void hunt_strays(void *context, unsigned int worker, size_t item)
{
	struct placeholder_hunt *hunt = context;
	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t id = (i * 7 + (uint32_t)item * 31) % 2000;
		hunt->found[item][id] = machine_thread_or_new(hunt->machine, 100000 + id / 3, 100000 + id, 5);
	}
}

static void test_strays(void **state)
{
	struct placeholder_hunt *hunt = mem_zalloc(sizeof(*hunt));
	hunt->machine = machine_create();
	machine_add_comm(hunt->machine, 100010, 100010, "late", false, 100);
	machine_finish(hunt->machine);
	pool_run(4, 8, hunt_strays, hunt);
	for (size_t item = 1; item < 8; item++)
		assert_memory_equal(hunt->found[0], hunt->found[item], sizeof(hunt->found[0]));
	assert_string_equal(untrusted_raw(thread_comm(hunt->found[0][1234], 5)), ":101234");
	assert_ptr_equal(hunt->found[0][31]->process->leader, hunt->found[0][10]);
	machine_destroy(hunt->machine);
	free(hunt);
}

static void add_kernel(struct machine *machine, uint64_t start, uint64_t end, uint64_t pgoff, const char *name)
{
	struct map_description description = {.pid = UINT32_MAX, .start = start, .end = end, .pgoff = pgoff, .name = name};
	machine_add_kernel_map(machine, &description, 0);
}

static void test_kernel(void **state)
{
	struct machine *machine = machine_create();
	const uint64_t text = 0xffffffff81000000, modules = 0xffffffffc0000000;
	struct buildid id = {.data = {7}, .size = 20};
	machine_note_build_id(machine, "[kernel.kallsyms]", &id, true, false);
	machine_note_build_id(machine, "/lib/modules/6.1/ext4.ko.xz", &id, true, false);
	add_kernel(machine, text, modules, text, "[kernel.kallsyms]_text");
	add_kernel(machine, modules, modules + 0x1000, 0, "/lib/modules/6.1/snd-pcm.ko.xz");
	add_kernel(machine, modules + 0x1000, modules + 0x2000, 0, "/lib/modules/6.1/ext4.ko.xz");
	add_kernel(machine, modules + 0x2000, modules + 0x3000, 0, "[overlay]");
	const struct maps *maps = machine->kernel_maps;
	const struct map *kernel = maps_find(maps, text + 5, 0);
	assert_ptr_equal(kernel->dso, machine->kernel);
	assert_true(kernel->identity && buildid_equal(&kernel->dso->build_id, &id));
	assert_string_equal(machine->kernel_reloc_symbol, "_text");
	const struct dso *sound = maps_find(maps, modules + 1, 0)->dso, *ext4 = maps_find(maps, modules + 0x1001, 0)->dso;
	assert_string_equal(sound->script_name, "[snd_pcm]");
	assert_string_equal(sound->name, "/lib/modules/6.1/snd-pcm.ko.xz");
	assert_string_equal(ext4->script_name, "/lib/modules/6.1/ext4.ko.xz");
	assert_string_equal(ext4->short_name, "[ext4]");
	assert_string_equal(maps_find(maps, modules + 0x2001, 0)->dso->script_name, "[overlay]");
	machine_add_ksymbol(machine, modules + 0x9000, 0x100, "bpf_prog_1_x", true, false, 50);
	assert_null(maps_find(maps, modules + 0x9010, 49));
	assert_string_equal(maps_find(maps, modules + 0x9010, 50)->dso->name, "bpf_prog_1_x");
	machine_add_ksymbol(machine, modules + 0x9000, 0x100, "bpf_prog_1_x", true, true, 60);
	assert_null(maps_find(maps, modules + 0x9010, 60));
	machine_destroy(machine);
}

static const char *name_at(const struct machine *machine, uint64_t address)
{
	const struct map *map = maps_find(machine->kernel_maps, address, UINT64_MAX);
	return map ? map->dso->name : "nothing";
}

/* A program's code is given to another one before its end is told of: the other one stays, whatever of its place it has got. */
static void test_late_ends_of_programs(void **state)
{
	static const struct {
		uint64_t start, length;
		const char *found[3]; /* at 0x1000, 0x1100 and 0x1200 then */
	} others[] = {
		{0xf00, 0x180, {"other", "nothing", "nothing"}},
		{0xf00, 0x280, {"other", "other", "nothing"}},
		{0xf00, 0x800, {"other", "other", "other"}},
		{0x2000, 0x100, {"nothing", "nothing", "nothing"}},
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		const uint64_t base = 0xffffffffc0000000;
		struct machine *machine = machine_create();
		machine_add_ksymbol(machine, base + 0x1000, 0x300, "one", true, false, 10);
		machine_add_ksymbol(machine, base + others[i].start, (uint32_t)others[i].length, "other", true, false, 20);
		machine_add_ksymbol(machine, base + 0x1000, 0x300, "one", true, true, 30);
		assert_string_equal(name_at(machine, base + others[i].start), "other");
		for (size_t j = 0; j < 3; j++)
			assert_string_equal(name_at(machine, base + 0x1000 + 0x100 * j), others[i].found[j]);
		machine_destroy(machine);
	}
}

/* A program begins where another one still is: from its time on the place is its own. What is told of twice counts once; the image and
 * modules stay. */
static void test_late_beginnings_of_programs(void **state)
{
	const uint64_t base = 0xffffffffc0000000;
	struct machine *machine = machine_create();
	const struct maps *maps = machine->kernel_maps;
	add_kernel(machine, base + 0x10000, base + 0x20000, 0, "[ext4]");
	machine_add_ksymbol(machine, base + 0x1000, 0x300, "one", true, false, 10);
	machine_add_ksymbol(machine, base + 0x1000, 0x300, "one", true, false, 15);
	assert_int_equal(maps_epoch(maps, 20), maps_epoch(maps, 10));
	machine_add_ksymbol(machine, base + 0x1100, 0x100, "other", true, false, 20);
	machine_add_ksymbol(machine, base + 0x10100, 0x100, "within", true, false, 20);
	assert_string_equal(maps_find(maps, base + 0x1150, 19)->dso->name, "one");
	assert_string_equal(maps_find(maps, base + 0x1150, 20)->dso->name, "other");
	assert_string_equal(name_at(machine, base + 0x1050), "one");
	assert_string_equal(name_at(machine, base + 0x1250), "one");
	assert_string_equal(name_at(machine, base + 0x10150), "[ext4]");
	/* At the same place, then the first one's end. */
	machine_add_ksymbol(machine, base + 0x1000, 0x80, "third", true, false, 30);
	machine_add_ksymbol(machine, base + 0x1000, 0x300, "one", true, true, 30);
	assert_string_equal(maps_find(maps, base + 0x1000, 29)->dso->name, "one");
	assert_string_equal(name_at(machine, base + 0x1000), "third");
	assert_string_equal(name_at(machine, base + 0x1080), "nothing");
	machine_destroy(machine);
}

/* Modules whose sizes reach into the ones behind them, as kernels since 6.4 tell them, in three orders. */
static void test_modules_overlap(void **state)
{
	static const char *names[] = {"[a]", "[b]", "[c]"};
	static const size_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}};
	for (size_t i = 0; i < 3; i++) {
		struct machine *machine = machine_create();
		for (size_t j = 0; j < 3; j++) {
			uint64_t start = 0xffffffffc0000000 + 0x2000 * orders[i][j];
			add_kernel(machine, start, start + 0x8000, 0, names[orders[i][j]]);
		}
		for (uint64_t offset = 0; offset < 0x6000; offset += 0x1000)
			assert_string_equal(maps_find(machine->kernel_maps, 0xffffffffc0000000 + offset, 0)->dso->name,
					    names[offset / 0x2000]);
		machine_destroy(machine);
	}
}

static void test_cgroups(void **state)
{
	struct machine *machine = machine_create();
	machine_add_cgroup(machine, 1, "/");
	machine_add_cgroup(machine, 9, "/a.slice");
	machine_add_cgroup(machine, 9, "/other");
	assert_string_equal(untrusted_raw(machine_cgroup(machine, 9)), "/a.slice");
	assert_null(machine_cgroup(machine, 10));
	machine_destroy(machine);
}

int model_machine_tests(void);
int model_machine_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_nameless),
		cmocka_unit_test(test_reused_ids),
		cmocka_unit_test(test_deep_forks),
		cmocka_unit_test(test_forked_maps),
		cmocka_unit_test(test_dso_names),
		cmocka_unit_test(test_vdso_of_32_bits),
		cmocka_unit_test(test_dso_identity),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_late_ends_of_programs),
		cmocka_unit_test(test_late_beginnings_of_programs),
		cmocka_unit_test(test_modules_overlap),
		cmocka_unit_test(test_cgroups),
		cmocka_unit_test(test_strays),
	};
	return cmocka_run_group_tests_name("model/machine", tests, NULL, NULL);
}
