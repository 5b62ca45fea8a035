/* Texts of -e on a machine that is not here: PMUs with formats and named events, a hybrid CPU, two memory controllers, a few tracepoints.
 */
#include "event/parse/parse.h"

#include "base/strbuf.h"
#include "event/defaults.h"
#include "tree.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DEVICES "sys/bus/event_source/devices/"
#define EVENTS "sys/kernel/tracing/events/"

static tree_file tree[] = {
	{DEVICES "cpu/type", "4"},
	{DEVICES "cpu/format/event", "config:0-7,32-35"},
	{DEVICES "cpu/format/umask", "config:8-15"},
	{DEVICES "cpu/format/inv", "config:23"},
	{DEVICES "cpu/format/ldlat", "config1:0-15"},
	{DEVICES "cpu/events/cpu-cycles", "event=0x3c"},
	{DEVICES "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
	{DEVICES "cpu/events/named", "event=0x2,name=other,branch_type=any"},
	{DEVICES "cpu/events/parameter", "event=0x1,umask=?"},
	{DEVICES "uncore_imc_0/type", "14"},
	{DEVICES "uncore_imc_0/cpumask", "0,28"},
	{DEVICES "uncore_imc_0/format/event", "config:0-7"},
	{DEVICES "uncore_imc_0/events/cas_count_read", "event=0x04"},
	{DEVICES "uncore_imc_0/events/cas_count_read.scale", "6.103515625e-5"},
	{DEVICES "uncore_imc_0/events/cas_count_read.unit", "MiB"},
	{DEVICES "uncore_imc_1/type", "15"},
	{DEVICES "uncore_imc_1/cpumask", "0,28"},
	{DEVICES "uncore_imc_1/format/event", "config:0-7"},
	{DEVICES "uncore_imc_1/events/cas_count_read", "event=0x04"},
	{DEVICES "uncore_imc_1/events/level", "event=0x07"},
	{DEVICES "uncore_imc_1/events/level.per-pkg", "1"},
	{DEVICES "uncore_imc_1/events/level.snapshot", "1"},
	{DEVICES "uncore_ddr_87e1b0000000/type", "16"},
	{DEVICES "uncore_ddr_87e1b0000000/format/eventid", "config:0-8"},
	{DEVICES "uncore_ddr_87e1b1000000/type", "17"},
	{DEVICES "uncore_ddr_87e1b1000000/format/eventid", "config:0-8"},
	{DEVICES "hisi_1/type", "18"},
	{DEVICES "hisi_1/alias", "hisi_second_name"},
	{DEVICES "hisi_1/format/scattered", "config1:0,8-9,63"},
	{DEVICES "cs_etm/type", "19"},
	{DEVICES "cs_etm/format/sinkid", "config2:0-31"},
	{DEVICES "cs_etm/sinks/tmc_etr0", "0x1234abcd"},
	{EVENTS "sched/sched_switch/id", "314"},
	{EVENTS "sched/sched_waking/id", "318"},
	{EVENTS "irq/irq_entry/id", "21"},
};

static char root[] = "/tmp/perf-parse-XXXXXX";
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

/* The events of a text as "NAME TYPE:CONFIG[,c1=…][,period=…|freq=…][ PMU CPUS]" separated by "; ", in an order that does not depend on
 * directories. */
static char *describe(const char *text)
{
	struct event_list list = {0};
	struct strbuf out = {0};
	struct error *error = event_parse(&list, catalog, text);

	if (error) {
		fprintf(stderr, "%s: %s\n", text, error_message(error));
		error_free(error);
	}
	for (size_t i = 0; i < list.events.len; i++) {
		const struct event *event = list.events.data[i];
		const struct event_attr *attr = &event->attr;
		strbuf_printf(&out, "%s%s %u:%llx", i ? "; " : "", event->name, attr->type, (unsigned long long)attr->config);
		if (attr->config1)
			strbuf_printf(&out, ",c1=%llx", (unsigned long long)attr->config1);
		if (attr->config2)
			strbuf_printf(&out, ",c2=%llx", (unsigned long long)attr->config2);
		if (attr->config3)
			strbuf_printf(&out, ",c3=%llx", (unsigned long long)attr->config3);
		if (attr->sample_period)
			strbuf_printf(&out, attr->freq ? ",freq=%llu" : ",period=%llu", (unsigned long long)attr->sample_period);
		if (attr->precise_ip)
			strbuf_printf(&out, ",p%u", attr->precise_ip);
		if (attr->exclude_user || attr->exclude_kernel)
			strbuf_printf(&out, ",%s%s", attr->exclude_user ? "" : "u", attr->exclude_kernel ? "" : "k");
		if (event->pmu_cpus)
			strbuf_printf(&out, " cpus=%s", event->pmu_cpus);
		if (event->unit[0])
			strbuf_printf(&out, " %g %s", event->scale, event->unit);
	}
	event_list_deinit(&list);
	return strbuf_detach(&out);
}

static void texts(void **state)
{
	static const char *const cases[][2] = {
		{"cycles", "cycles 0:0"},
		{"branches:u", "branches:u 0:4,u"},
		{"cpu/event=0x3c,umask=1/", "cpu/event=0x3c,umask=1/ 4:13c"},
		{"cpu/event=0x13c,inv/k", "cpu/event=0x13c,inv/k 4:10080003c,k"},
		{"cpu/mem-loads/pp", "cpu/mem-loads/pp 4:1cd,c1=3,p2"},
		{"cpu/mem-loads,ldlat=30/", "cpu/mem-loads,ldlat=30/ 4:1cd,c1=1e"},
		{"cpu/ldlat=30,mem-loads/", "cpu/ldlat=30,mem-loads/ 4:1cd,c1=1e"},
		{"cpu/cycles/", "cpu/cycles/ 0:0"},
		{"cpu/cpu-cycles/", "cpu/cpu-cycles/ 4:3c"},
		{"cpu/parameter,umask=7/", "cpu/parameter,umask=7/ 4:701"},
		{"cpu/named/", "other 4:2"},
		{"cpu/r1a8/", "cpu/r1a8/ 4:1a8"},
		{"cpu/config=0x1a8,period=5,name=x/u", "x 4:1a8,period=5,u"},
		{"mem-loads", "mem-loads 4:1cd,c1=3"},
		{"r1a8", "r1a8 4:1a8"},
		{"uncore_imc_0/cas_count_read/", "uncore_imc_0/cas_count_read/ 14:4 cpus=0,28 6.10352e-05 MiB"},
		{"L1-dcache-load-misses,LLC-stores,iTLB-loads", "L1-dcache-load-misses 3:10000; LLC-stores 3:102; iTLB-loads 3:4"},
		{"l1-d-read-miss", "l1-d-read-miss 3:10000"},
		{"sched:sched_switch", "sched:sched_switch 2:13a,period=1"},
		{"irq:*,sched:*switch:u", "irq:irq_entry 2:15,period=1; sched:sched_switch 2:13a,period=1,u"},
		{"cs/freq=99/", "cs/freq=99/ 1:3,freq=99"},
		{"{cycles,cs}:k", "cycles 0:0,k; cs 1:3,k"},
		{"mem:0x10/8:w", "mem:0x10 5:0,c1=10,c2=8,period=1"},
		{"mem:0x10:u", "mem:0x10:u 5:0,c1=10,c2=4,period=1,u"},
		{"mem:16:x/name=here/", "here 5:0,c1=10,c2=8,period=1"},
		{"cpu/config=1,config1=2,config2=0x3,config3=4/", "cpu/config=1,config1=2,config2=0x3,config3=4/ 4:1,c1=2,c2=3,c3=4"},
		{"cpu/event=1,config=0x300/", "cpu/event=1,config=0x300/ 4:301"},
		{"cpu/r0x1a8,inv/", "cpu/r0x1a8,inv/ 4:8001a8"},
		{"cpu/instructions/u", "cpu/instructions/u 0:1,u"},
		{"cpu/LLC-load-misses/", "cpu/LLC-load-misses/ 3:10002"},
		{"mem-loads/ldlat=30/", "mem-loads/ldlat=30/ 4:1cd,c1=1e"},
		{"cpu/event=010/", "cpu/event=010/ 4:a"},
		{"LLC,iTLB,bpu-miss", "LLC 3:2; iTLB 3:4; bpu-miss 3:10005"},
		{"1:3/name=x/,0x1:0x4:u", "x 1:3; 0x1:0x4:u 1:4,u"},
		{"2:318", "2:318 2:13e,period=1"},
		{"cycles/metric-id=a,name='b,c d'/", "b,c d 0:0"},
		{"hisi_1/scattered=0x9/", "hisi_1/scattered=0x9/ 18:0,c1=8000000000000001"},
		{"hisi_second_name/scattered=6/", "hisi_second_name/scattered=6/ 18:0,c1=300"},
		{"cs_etm/@tmc_etr0/u", "cs_etm/@tmc_etr0/u 19:0,c2=1234abcd,u"},
		{"level", "level 15:7 cpus=0,28"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *described = describe(cases[i][0]);
		assert_string_equal(described, cases[i][1]);
		free(described);
	}
}

/* A name stands for all PMUs that begin with it, also without "uncore_", or match it. Those without such a term are left out. */
static void several_pmus(void **state)
{
	static const char *const names[] = {"uncore_imc/cas_count_read/", "imc/event=4/",  "uncore_*/event=4/", "cas_count_read",
					    "uncore_imc_*/event=4/",	  "*imc*/event=4/"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct event_list list = {0};
		assert_null(event_parse(&list, catalog, names[i]));
		assert_int_equal(list.events.len, 2);
		assert_int_equal(list.events.data[0]->attr.type, 14);
		assert_int_equal(list.events.data[1]->attr.type, 15);
		assert_int_equal(list.events.data[1]->attr.config, 4);
		assert_string_equal(list.events.data[0]->name, names[i]);
		assert_null(list.events.data[0]->part_of);
		assert_ptr_equal(list.events.data[1]->part_of, list.events.data[0]);
		event_list_deinit(&list);
	}
}

/* What a name stands for is added up per sort of PMU. */
static void sums(void **state)
{
	struct event_list list = {0};

	assert_null(event_parse(&list, catalog, "ddr/eventid=3/,uncore*/config=1/,uncore_imc_1/level/"));
	assert_int_equal(list.events.len, 2 + 4 + 1);
	struct event *const *events = list.events.data;
	assert_int_equal(events[0]->attr.type, 16);
	assert_ptr_equal(events[1]->part_of, events[0]);
	static const unsigned int types[] = {16, 17, 14, 15};
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(events[2 + i]->attr.type, types[i]);
	assert_null(events[2]->part_of);
	assert_ptr_equal(events[3]->part_of, events[2]);
	assert_null(events[4]->part_of);
	assert_ptr_equal(events[5]->part_of, events[4]);
	assert_true(events[6]->per_package && events[6]->snapshot && !events[5]->per_package);
	event_list_deinit(&list);
}

/* A group lies on one PMU; software joins whatever there is. */
static void groups_of_pmus(void **state)
{
	static const struct {
		const char *text;
		const char *leaders; /* of each event, as digits */
	} cases[] = {
		{"{cycles,cpu/event=1/,r1a8,LLC-loads}", "0000"},
		{"{imc/event=1/,imc/event=2/}", "0022"},
		{"{cs,imc/event=1/,sched:sched_switch,imc/event=2/}:W", "000044"},
		{"{cs,faults}", "00"},
		{"{mem:0x10,uncore_imc_0/event=1/}", "00"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event_list list = {0};
		char leaders[16] = "";
		assert_null(event_parse(&list, catalog, cases[i].text));
		for (size_t j = 0; j < list.events.len; j++) {
			leaders[j] = (char)('0' + list.events.data[j]->leader);
			assert_int_equal(list.events.data[j]->index, j);
		}
		assert_string_equal(leaders, cases[i].leaders);
		event_list_deinit(&list);
	}
}

static void groups(void **state)
{
	struct event_list list = {0};

	assert_null(event_parse(&list, catalog, "cs, front{cycles:u,instructions,faults}:S , task-clock"));
	assert_int_equal(list.events.len, 5);
	const struct event *leader = list.events.data[1], *member = list.events.data[3];
	assert_string_equal(leader->group_name, "front");
	assert_int_equal(leader->members, 3);
	assert_int_equal(member->leader, 1);
	assert_int_equal(member->members, 0);
	assert_true(leader->sample_read && leader->attr.exclude_kernel && !member->attr.exclude_kernel);
	assert_int_equal(list.events.data[4]->members, 1);
	event_list_deinit(&list);
}

static void terms(void **state)
{
	struct event_list list = {0};

	assert_null(
		event_parse(&list, catalog,
			    "cycles/period=9,time=0,no-inherit,overwrite,max-stack=7,call-graph=dwarf,stack-size=64,aux-output,percore/"));
	struct event *event = list.events.data[0];
	event->attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
	event->attr.inherit = 1;
	event_apply_terms(event);
	assert_int_equal(event->attr.sample_type, 0);
	assert_int_equal(event->attr.inherit, 0);
	assert_int_equal(event->attr.write_backward, 1);
	assert_int_equal(event->attr.sample_max_stack, 7);
	assert_int_equal(event->attr.aux_output, 1);
	assert_true(event->period_given && event->percore && event->callgraph_given && event->stack_size == 64);
	assert_string_equal(event->callgraph, "dwarf");
	event_list_deinit(&list);
}

/* The mistake, and the text that stands under it. */
static void mistakes(void **state)
{
	static const struct {
		const char *text;
		int column;
		const char *hint;
	} cases[] = {
		{"", 0, "an event"},
		{"cycles,", 7, "an event"},
		{"cycles,foo", 7, "software events"},
		{"cycls", 0, "did you mean 'cycles'?"},
		{"cycles:x", 7, "the modifiers are"},
		{"cycles:uku", 9, NULL},
		{"cycles:pppp", 10, "ppp"},
		{"cycles/period", -1, NULL},
		{"cycles/period=x/", 14, "a number"},
		{"cycles/aux-action/", 7, "start-paused, pause or resume"},
		{"cycles/aux-action=stop/", 18, "start-paused, pause or resume"},
		{"cycles/foo/", 7, "the terms are: config"},
		{"cycles/name/", 7, "a value"},
		{"cpu/umask=0x100/", 10, NULL},
		{"cpu/parameter/", 4, NULL},
		{"cpu/foo=1/", 4, "the terms are: "},
		{"graphics/foo/", 0, "this machine has: "},
		{"intel_pt//u", 0, "Broadwell"},
		{"{cycles,intel_bts//}", 8, "bts in /proc/cpuinfo"},
		{"arm_spe_0//", 0, "arm_spe_pmu"},
		{"gpu/foo/", 0, "did you mean 'cpu'?"},
		{"uncore_imx_0/event=1/", 0, "did you mean 'uncore_imc_0'?"},
		{"cpu/evnt=1/", 4, "did you mean 'event'?"},
		{"cpu/mem-load/", 4, "did you mean 'mem-loads'?"},
		{"cycles/perod=3/", 7, "did you mean 'period'?"},
		{"sched:sched_switch/colour=x/", 19, "the terms are: period"},
		{"prog.bpf.o", 0, "BPF programs"},
		{"{cycles,cs", 10, "',' or '}'"},
		{"sched:sched_swich", 0, "did you mean 'sched:sched_switch'?"},
		{"sched:", -1, NULL},
		{"shed:sched_switch", 0, "did you mean 'sched:sched_switch'?"},
		{"sched:sched_stat_sleep", 0, "CONFIG_SCHEDSTATS"},
		{"probe:x", 0, "CONFIG_KPROBE_EVENTS"},
		{"sched:nothing_like_it", 0, "/events/sched"},
		{"sched_switch", 0, "did you mean 'sched:sched_switch'?"},
		{"mem:x", 4, "an address"},
		{"cycles}", 6, "',' and another event"},
		{"cpu/@foo/", 4, NULL},
		{"cs_etm/@tmc_etf9/", 7, "'sinks'"},
		{"uncore*/nothing=1/", 8, "the terms are: "},
		{"mem:0x10/q", 10, "another term"},
		{"mem:0x10:rr", 10, "each of r, w, x once"},
		{"2:9999", 0, "sched:sched_switch"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event_list list = {0};
		struct error *error = event_parse(&list, catalog, cases[i].text);
		assert_non_null(error);
		assert_int_equal(list.events.len, 0);
		assert_int_equal(error_kind(error), ERROR_USAGE);
		const char *caret = strrchr(error_message(error), '\n');
		assert_non_null(caret);
		if (cases[i].column >= 0)
			assert_int_equal(strchr(caret, '^') - caret - 3, cases[i].column);
		if (cases[i].hint && !strstr(caret, cases[i].hint))
			fail_msg("%s: %s", cases[i].text, error_message(error));
		error_free(error);
		event_list_deinit(&list);
	}
}

/* Two kinds of cores: an event of the CPU is one of each kind, and a group is a group of each. */
static void hybrid(void **state)
{
	static tree_file files[] = {{DEVICES "cpu_core/type", "4"},
				    {DEVICES "cpu_core/cpus", "0-7"},
				    {DEVICES "cpu_atom/type", "10"},
				    {DEVICES "cpu_atom/cpus", "8-15"}};
	char other[] = "/tmp/perf-hybrid-XXXXXX";
	struct event_list list = {0};

	tree_make(other, files, 4);
	struct event_catalog *catalog_of_two = event_catalog_create(other);
	assert_null(event_parse(&list, catalog_of_two, "cycles:u,cs,r1a8,{cycles,instructions/period=7/,LLC-loads}:k"));
	assert_int_equal(list.events.len, 11);
	unsigned int cores = 0;
	for (size_t i = 0; i < list.events.len; i++) {
		const struct event *event = list.events.data[i];
		assert_int_equal(event->index, i);
		cores += event->pmu_name && !strcmp(event->pmu_name, "cpu_core");
	}
	assert_int_equal(cores, 5);
	const struct event *first = list.events.data[0], *leader = list.events.data[5], *other_leader = list.events.data[8];
	assert_string_equal(first->name, "cpu_atom/cycles:u/");
	assert_int_equal(first->attr.config, 10ull << 32);
	assert_string_equal(first->pmu_cpus, "8-15");
	assert_ptr_equal(list.events.data[1]->part_of, first);
	assert_int_equal(list.events.data[3]->attr.type + list.events.data[4]->attr.type, 14);
	assert_true(leader->members == 3 && leader->leader == 5 && other_leader->members == 3 && other_leader->leader == 8);
	assert_string_not_equal(leader->pmu_name, other_leader->pmu_name);
	assert_string_equal(leader->pmu_name, list.events.data[7]->pmu_name);
	assert_true(list.events.data[6]->attr.sample_period == 7 && list.events.data[9]->attr.sample_period == 7);
	assert_true(leader->attr.exclude_user && other_leader->attr.exclude_user);
	event_list_deinit(&list);
	list = (struct event_list){0};
	assert_null(event_parse(&list, catalog_of_two, "{cpu/instructions/,cs},cpu_core/LLC-loads/,cpu_atom/r7,name=x/,cycles/period=3/"));
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
	} wanted[] = {
		{"cpu/instructions/", 0, 10ull << 32 | 1},  {"cs", 1, 3},	    {"cpu/instructions/", 0, 4ull << 32 | 1},
		{"cpu_core/LLC-loads/", 3, 4ull << 32 | 2}, {"cpu_atom/x/", 10, 7}, {"cycles/period=3/", 0, 10ull << 32},
		{"cycles/period=3/", 0, 4ull << 32},
	};
	assert_int_equal(list.events.len, sizeof(wanted) / sizeof(wanted[0]));
	for (size_t i = 0; i < list.events.len; i++) {
		const struct event *event = list.events.data[i];
		assert_string_equal(event->name, wanted[i].name);
		assert_int_equal(event->attr.type, wanted[i].type);
		assert_int_equal(event->attr.config, wanted[i].config);
		assert_int_equal(event->core_kind, wanted[i].type != 1);
	}
	event_list_deinit(&list);
	list = (struct event_list){0};
	assert_null(event_catalog_choose_cores(catalog_of_two, "core"));
	assert_null(event_parse(&list, catalog_of_two, "cycles,cpu/r5/,cpu_atom/r6/"));
	assert_int_equal(list.events.len, 3);
	assert_string_equal(list.events.data[0]->name, "cpu_core/cycles/");
	assert_string_equal(list.events.data[1]->pmu_name, "cpu_core");
	assert_string_equal(list.events.data[2]->pmu_name, "cpu_atom");
	struct error *error = event_catalog_choose_cores(catalog_of_two, "big");
	assert_non_null(strstr(error_message(error), "atom, core"));
	error_free(error);
	event_list_deinit(&list);
	event_catalog_destroy(catalog_of_two);
	assert_int_equal(tree_remove(other), 0);
}

static void no_tracefs(void **state)
{
	struct event_list list = {0};
	struct event_catalog *nothing = event_catalog_create("/nonexistent");
	struct error *error = event_parse(&list, nothing, "sched:sched_switch");

	assert_non_null(error);
	assert_int_equal(error_kind(error), ERROR_UNSUPPORTED);
	error_free(error);
	assert_null(event_parse(&list, nothing, "cycles"));
	event_list_deinit(&list);
	event_catalog_destroy(nothing);
}

int event_parse_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),    cmocka_unit_test(several_pmus), cmocka_unit_test(groups),
		cmocka_unit_test(terms),    cmocka_unit_test(sums),	    cmocka_unit_test(groups_of_pmus),
		cmocka_unit_test(mistakes), cmocka_unit_test(no_tracefs),   cmocka_unit_test(hybrid),
	};

	return cmocka_run_group_tests_name("event/parse", tests, make_tree, remove_tree);
}
