/* Facts of a machine that is not here: an arm64 server with two sockets, and one with two kinds of cores. */
#include "capture/gather/gather.h"

#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CPU "sys/devices/system/cpu/"
#define NODE "sys/devices/system/node/"
#define PMU "sys/bus/event_source/devices/"

static tree_file tree[] = {
	{"proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\nmodel name\t: Neo   Verse   N1\n"},
	{"proc/meminfo", "MemTotal:       16384000 kB\nMemFree:         1000 kB\n"},
	{CPU "online", "0-1"},
	{CPU "present", "0-3"},
	{CPU "cpu0/regs/identification/midr_el1", "0x00000000413fd0c1"},
	{CPU "cpu0/topology/core_id", "0"},
	{CPU "cpu0/topology/physical_package_id", "7"},
	{CPU "cpu0/topology/package_cpus_list", "0-1"},
	{CPU "cpu0/topology/core_cpus_list", "0"},
	{CPU "cpu1/topology/core_id", "1"},
	{CPU "cpu1/topology/core_siblings_list", "0-1"},
	{CPU "cpu1/topology/thread_siblings_list", "1"},
	{CPU "cpu0/cache/index0/level", "2"},
	{CPU "cpu0/cache/index0/type", "Unified"},
	{CPU "cpu0/cache/index0/size", "1024K"},
	{CPU "cpu0/cache/index0/shared_cpu_list", "0-1"},
	{CPU "cpu0/cache/index0/number_of_sets", "2048"},
	{CPU "cpu0/cache/index1/level", "1"},
	{CPU "cpu0/cache/index1/type", "Data"},
	{CPU "cpu0/cache/index1/shared_cpu_list", "0"},
	{CPU "cpu1/cache/index0/level", "2"},
	{CPU "cpu1/cache/index0/type", "Unified"},
	{CPU "cpu1/cache/index0/shared_cpu_list", "0-1"},
	{NODE "online", "0,2"},
	{NODE "node0/meminfo", "Node 0 MemTotal:  100 kB\nNode 0 MemFree:   50 kB\n"},
	{NODE "node0/cpulist", "0-1"},
	{NODE "node0/memory70/x", ""},
	{NODE "node2/meminfo", "Node 2 MemTotal:  200 kB\n"},
	{NODE "node2/memory3/x", ""},
	{"sys/devices/system/memory/block_size_bytes", "8000000"},
	{PMU "cpu_core/type", "4"},
	{PMU "cpu_core/cpus", "0-1"},
	{PMU "cpu_core/caps/branches", "32"},
	{PMU "cpu_atom/type", "10"},
	{PMU "cpu_atom/cpus", "2-3"},
	{PMU "imc/type", "14"},
	{PMU "imc/cpumask", "0"},
};

static char root[] = "/tmp/perf-gather-XXXXXX";

static int make_tree(void **state)
{
	tree_make(root, tree, sizeof(tree) / sizeof(tree[0]));
	return 0;
}

static int remove_tree(void **state)
{
	return tree_remove(root);
}

static void check_memory(const struct features *features)
{
	assert_int_equal(features->numa_nodes.len, 2);
	assert_int_equal(features->numa_nodes.data[0].mem_free_kb, 50);
	assert_int_equal(features->numa_nodes.data[1].node, 2);
	assert_int_equal(features->numa_nodes.data[1].mem_total_kb, 200);
	assert_string_equal(features->numa_nodes.data[1].cpus, "");
	assert_int_equal(features->memory_block_size, 0x8000000);
	assert_int_equal(features->memory_nodes.len, 2);
	assert_int_equal(features->memory_nodes.data[0].bits, 71);
	assert_int_equal(features->memory_nodes.data[0].bitmap[1], 1 << 6);
	assert_int_equal(features->memory_nodes.data[1].bitmap[0], 1 << 3);
}

static void check_cpus(const struct features *features)
{
	assert_int_equal(features->cpus_online, 2);
	assert_int_equal(features->cpus_available, 4);
	assert_int_equal(features->cpus.len, 4);
	assert_int_equal(features->cpus.data[0].socket_id, 7);
	assert_int_equal(features->cpus.data[3].core_id, -1);
	assert_string_equal(features->core_siblings[0], "0-1");
	assert_null(features->core_siblings[1]);
	assert_string_equal(features->thread_siblings[1], "1");
	assert_int_equal(features->caches.len, 2);
	assert_string_equal(features->caches.data[0].type, "Data");
	assert_string_equal(features->caches.data[0].size, "N/A");
	assert_int_equal(features->caches.data[1].sets, 2048);
}

static void facts(void **state)
{
	static const char *const arguments[] = {"record", "-a", "x y", NULL};
	struct features features = {0};
	struct gather_options options = {.root = root, .arguments = arguments, .catalog = event_catalog_create(root)};

	gather_features(&options, &features);
	assert_string_equal(features.cpu_desc, "Neo Verse N1");
	assert_string_equal(features.cpuid, "0x00000000410fd0c0");
	assert_int_equal(features.total_memory_kb, 16384000);
	assert_int_equal(features.command_line_count, 4);
	assert_string_equal(features.command_line[3], "x y");
	check_cpus(&features);
	check_memory(&features);
	assert_int_equal(features.pmus.len, 3);
	assert_int_equal(features.hybrids.len, 2);
	assert_int_equal(features.pmu_caps.len, 1);
	assert_string_equal(features.pmu_caps.data[0].values[0], "32");
	assert_true(features_has(&features, FEATURE_PMU_CAPS) && !features_has(&features, FEATURE_CPU_PMU_CAPS));
	assert_true(features_has(&features, FEATURE_HYBRID_TOPOLOGY));
	features_deinit(&features);
	event_catalog_destroy(options.catalog);
}

/* A place where nothing can be read gives nothing. */
static void nothing(void **state)
{
	struct features features = {0};
	struct gather_options options = {.root = "/nonexistent", .catalog = event_catalog_create("/nonexistent")};

	gather_features(&options, &features);
	for (unsigned int feature = FEATURE_NRCPUS; feature < FEATURE_COUNT; feature++)
		assert_false(features_has(&features, feature));
	assert_true(features_has(&features, FEATURE_HOSTNAME));
	features_deinit(&features);
	event_catalog_destroy(options.catalog);
}

int capture_gather_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(facts), cmocka_unit_test(nothing)};

	return cmocka_run_group_tests_name("session/gather", tests, make_tree, remove_tree);
}
