/* Which events sample memory accesses, on machines that are not here. */
#include "event/memory_events.h"

#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define DEVICES "sys/bus/event_source/devices/"
#define COUNT(files) (sizeof(files) / sizeof(*(files)))

/* What is chosen on a machine with these files: by kinds, or by `names`; or the beginning of the error. */
static void expect(tree_file *files, size_t count, const char *names, unsigned int kinds, uint64_t latency, const char *expected)
{
	char root[] = "/tmp/perf-memory-XXXXXX";
	struct memory_events events;
	struct strbuf chosen = {0};
	tree_make(root, files, count);
	struct event_catalog *catalog = event_catalog_create(root);
	memory_events_find(catalog, latency, &events);
	struct error *error = names ? memory_events_named(&events, names, &chosen) : memory_events_choose(&events, kinds, &chosen);
	const char *got = error ? error_message(error) : strbuf_str(&chosen);
	if (error)
		assert_true(!strncmp(got, expected, strlen(expected)));
	else
		assert_string_equal(got, expected);
	error_free(error);
	strbuf_deinit(&chosen);
	memory_events_deinit(&events);
	event_catalog_destroy(catalog);
	tree_remove(root);
}

static tree_file intel[] = {
	{DEVICES "cpu/type", "4"},
	{DEVICES "cpu/format/ldlat", "config1:0-15"},
	{DEVICES "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
	{DEVICES "cpu/events/mem-stores", "event=0xd0,umask=0x82"},
};

static void intel_cores(void **state)
{
	expect(intel, COUNT(intel), NULL, MEMORY_LOADS | MEMORY_STORES, 0, "cpu/mem-loads,ldlat=30/P,cpu/mem-stores/P");
	expect(intel, COUNT(intel), NULL, MEMORY_LOADS, 100, "cpu/mem-loads,ldlat=100/P");
	expect(intel, COUNT(intel), NULL, MEMORY_STORES, 100, "cpu/mem-stores/P");
	expect(intel, COUNT(intel), "loads", 0, 0, "cpu/mem-loads,ldlat=30/P");
	expect(intel, COUNT(intel), "ldlat-stores,ldlat-loads", 0, 0, "cpu/mem-stores/P,cpu/mem-loads,ldlat=30/P");
	expect(intel, COUNT(intel), "cpu/mem-loads,ldlat=50/pp", 0, 0, "cpu/mem-loads,ldlat=50/pp");
	expect(intel, COUNT(intel), "spe-load", 0, 0, "this machine has no event 'spe-load'");
}

static tree_file hybrid[] = {
	{DEVICES "cpu_core/type", "4"},
	{DEVICES "cpu_core/cpus", "0-7"},
	{DEVICES "cpu_core/format/ldlat", "config1:0-15"},
	{DEVICES "cpu_core/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
	{DEVICES "cpu_core/events/mem-loads-aux", "event=0x03,umask=0x82"},
	{DEVICES "cpu_core/events/mem-stores", "event=0xcd,umask=0x2"},
	{DEVICES "cpu_atom/type", "10"},
	{DEVICES "cpu_atom/cpus", "8-15"},
	{DEVICES "cpu_atom/format/ldlat", "config1:0-15"},
	{DEVICES "cpu_atom/events/mem-loads", "event=0xd0,umask=0x5,ldlat=3"},
	{DEVICES "cpu_atom/events/mem-stores", "event=0xd0,umask=0x6"},
};

static void hybrid_cores(void **state)
{
	expect(hybrid, COUNT(hybrid), NULL, MEMORY_LOADS, 0,
	       "cpu_atom/mem-loads,ldlat=30/P,{cpu_core/mem-loads-aux/,cpu_core/mem-loads,ldlat=30/}:P");
	expect(hybrid, COUNT(hybrid), NULL, MEMORY_STORES, 0, "cpu_atom/mem-stores/P,cpu_core/mem-stores/P");
}

static tree_file power[] = {
	{DEVICES "cpu/type", "4"},
	{DEVICES "cpu/events/mem-loads", "event=0x34340401e0"},
	{DEVICES "cpu/events/mem-stores", "event=0x353c0401e0"},
};

static void power_cores(void **state)
{
	expect(power, COUNT(power), NULL, MEMORY_LOADS | MEMORY_STORES, 100, "cpu/mem-loads/,cpu/mem-stores/");
}

static tree_file amd[] = {
	{DEVICES "cpu/type", "4"},
	{DEVICES "cpu/events/cache-misses", "event=0x64"},
	{DEVICES "ibs_op/type", "11"},
};
static tree_file amd_with_latency[] = {
	{DEVICES "ibs_op/type", "11"},
	{DEVICES "ibs_op/format/ldlat", "config1:0-11"},
};

static void amd_ibs(void **state)
{
	expect(amd, COUNT(amd), NULL, MEMORY_LOADS | MEMORY_STORES, 0, "ibs_op//");
	expect(amd, COUNT(amd), NULL, MEMORY_LOADS, 200, "ibs_op//");
	expect(amd, COUNT(amd), "mem-ldst", 0, 0, "ibs_op//");
	expect(amd_with_latency, COUNT(amd_with_latency), NULL, MEMORY_LOADS, 200, "ibs_op/ldlat=200/");
	expect(amd_with_latency, COUNT(amd_with_latency), NULL, MEMORY_LOADS, 0, "ibs_op//");
}

static tree_file arm[] = {
	{DEVICES "armv8_pmuv3_0/type", "8"},
	{DEVICES "armv8_pmuv3_0/cpus", "0-3"},
	{DEVICES "arm_spe_0/type", "9"},
};

static void arm_spe(void **state)
{
	expect(arm, COUNT(arm), NULL, MEMORY_LOADS | MEMORY_STORES, 0,
	       "arm_spe_0/ts_enable=1,pa_enable=1,load_filter=1,store_filter=1,min_latency=30/");
	expect(arm, COUNT(arm), NULL, MEMORY_LOADS, 50, "arm_spe_0/ts_enable=1,pa_enable=1,load_filter=1,min_latency=50/");
	expect(arm, COUNT(arm), NULL, MEMORY_STORES, 50, "arm_spe_0/ts_enable=1,pa_enable=1,store_filter=1/");
}

static tree_file nothing[] = {
	{DEVICES "software/type", "1"},
};

static void no_hardware(void **state)
{
	expect(nothing, COUNT(nothing), NULL, MEMORY_LOADS, 0, "this machine has no events that sample memory accesses. Intel");
	expect(nothing, COUNT(nothing), "ldlat-loads", 0, 0, "this machine has no events that sample memory accesses. Intel");
	expect(nothing, COUNT(nothing), "page-faults,faults:u", 0, 0, "page-faults,faults:u");
}

int event_memory_events_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intel_cores), cmocka_unit_test(hybrid_cores), cmocka_unit_test(power_cores),
		cmocka_unit_test(amd_ibs),     cmocka_unit_test(arm_spe),      cmocka_unit_test(no_hardware),
	};
	return cmocka_run_group_tests_name("event/memory_events", tests, NULL, NULL);
}
