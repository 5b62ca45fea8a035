/* What a machine that is not here can measure. */
#include "event/listing.h"

#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define DEVICES "sys/bus/event_source/devices/"
#define EVENTS "sys/kernel/tracing/events/"

static tree_file tree[] = {
	{DEVICES "cpu_core/type", "4"},
	{DEVICES "cpu_core/cpus", "0-7"},
	{DEVICES "cpu_core/format/event", "config:0-7"},
	{DEVICES "cpu_core/format/edge", "config:18"},
	{DEVICES "cpu_core/events/mem-loads", "event=0xcd,umask=0x1"},
	{DEVICES "cpu_core/events/parameter", "event=0x1,umask=?,cmask=?"},
	{DEVICES "cpu_atom/type", "10"},
	{DEVICES "cpu_atom/cpus", "8-15"},
	{DEVICES "cpu_atom/events/mem-loads", "event=0xd0"},
	{DEVICES "uncore_imc_10/type", "24"},
	{DEVICES "uncore_imc_10/events/reads", "event=0x04"},
	{DEVICES "uncore_imc_2/type", "16"},
	{DEVICES "uncore_imc_2/events/reads", "event=0x04"},
	{DEVICES "uncore_imc_2/events/reads.scale", "6.103515625e-5"},
	{DEVICES "uncore_imc_2/events/reads.unit", "MiB"},
	{DEVICES "uncore_imc_2/events/reads.per-pkg", "1"},
	{EVENTS "sched/sched_switch/id", "314"},
	{EVENTS "sched/sched_switch/format",
	 "name: sched_switch\nID: 314\nformat:\n"
	 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
	 "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	 "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\nprint fmt: \"%s\", REC->prev_comm"},
	{EVENTS "sched/sched_waking/id", "318"},
	{EVENTS "ftrace/bprint/format", "name: bprint"},
	{EVENTS "ftrace/print/id", "5"},
};

static char root[] = "/tmp/perf-listing-XXXXXX";
static struct event_catalog *catalog;

static int make_tree(void **state)
{
	tree_make(root, tree, sizeof(tree) / sizeof(tree[0]));
	catalog = event_catalog_create(root);
	return 0;
}

static int remove_tree(void **state)
{
	event_catalog_destroy(catalog);
	return tree_remove(root);
}

static const struct listing_entry *find(const struct listing *listing, const char *name)
{
	for (size_t i = 0; i < listing->entries.len; i++)
		if (!strcmp(listing->entries.data[i].name, name))
			return &listing->entries.data[i];
	fail_msg("'%s' isn't listed", name);
	return NULL;
}

static void builtin(void **state)
{
	struct listing listing = {0};

	listing_add(&listing, catalog, LISTING_HARDWARE, &(struct listing_options){0});
	assert_int_equal(listing.entries.len, 10);
	const struct listing_entry *cycles = find(&listing, "cpu-cycles");
	assert_string_equal(cycles->alias, "cycles");
	assert_string_equal(cycles->unit, "cpu_atom,cpu_core");
	assert_string_equal(cycles->encoding, "0:0");
	assert_int_equal(cycles->support, LISTING_UNTRIED);
	listing_add(&listing, catalog, LISTING_SOFTWARE, &(struct listing_options){0});
	listing_add(&listing, catalog, LISTING_TOOL, &(struct listing_options){0});
	assert_int_equal(listing.entries.len, 10 + 12 + 3);
	assert_string_equal(find(&listing, "system_time")->kind, "Tool event");
	listing_add(&listing, catalog, LISTING_CACHE, &(struct listing_options){0});
	assert_int_equal(listing.entries.len, 25 + 32);
	assert_string_equal(find(&listing, "L1-icache-prefetch-misses")->long_description,
			    "Prefetches into the level 1 instruction cache that missed");
	assert_string_equal(find(&listing, "node-stores")->encoding, "3:0x106");
	listing_deinit(&listing);
}

static void pmus(void **state)
{
	static const char *const names[] = {"cpu_atom/mem-loads/", "cpu_core/mem-loads/", "cpu_core/parameter,umask=?,cmask=?/",
					    "uncore_imc_10/reads/", "uncore_imc_2/reads/"};
	struct listing listing = {0};

	listing_add(&listing, catalog, LISTING_PMU, &(struct listing_options){0});
	assert_int_equal(listing.entries.len, 5);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(listing.entries.data[i].name, names[i]);
	assert_string_equal(listing.entries.data[2].alias, "parameter");
	assert_string_equal(listing.entries.data[1].encoding, "cpu_core/event=0xcd,umask=0x1/");
	assert_null(listing.entries.data[4].alias);
	assert_string_equal(listing.entries.data[4].scale_unit, "6.10352e-05MiB");
	assert_true(listing.entries.data[4].per_package && !listing.entries.data[3].per_package);
	listing_add(&listing, catalog, LISTING_RAW, &(struct listing_options){0});
	find(&listing, "cpu_core/edge,event=0..0xff/modifier");
	listing_deinit(&listing);
	assert_null(event_catalog_choose_cores(catalog, "atom"));
	listing = (struct listing){0};
	listing_add(&listing, catalog, LISTING_PMU, &(struct listing_options){0});
	assert_int_equal(listing.entries.len, 3);
	listing_deinit(&listing);
}

static void tracepoints(void **state)
{
	struct listing listing = {0};

	listing_add(&listing, catalog, LISTING_TRACEPOINT, &(struct listing_options){.encoding = true, .fields = true});
	assert_int_equal(listing.entries.len, 3);
	assert_string_equal(listing.entries.data[0].name, "ftrace:print");
	assert_string_equal(listing.entries.data[1].encoding, "2:314");
	assert_string_equal(listing.entries.data[1].long_description, "fields: char prev_comm[16]; pid_t prev_pid");
	assert_null(listing.entries.data[2].long_description);
	listing_deinit(&listing);
	listing = (struct listing){0};
	listing_add(&listing, catalog, LISTING_TRACEPOINT, &(struct listing_options){.tracepoints = "*:*waking"});
	assert_int_equal(listing.entries.len, 1);
	listing_deinit(&listing);
}

int event_listing_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(builtin), cmocka_unit_test(pmus), cmocka_unit_test(tracepoints)};

	return cmocka_run_group_tests_name("event/listing", tests, make_tree, remove_tree);
}
