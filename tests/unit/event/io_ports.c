/* PCIe root ports of a server that is not here. */
#include "event/io_ports.h"

#include "event/parse/parse.h"
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define DEVICES "sys/bus/event_source/devices/"
#define FORMATS(pmu)                                                                                              \
	{DEVICES pmu "/format/event", "config:0-7"}, {DEVICES pmu "/format/umask", "config:8-15"},                \
		{DEVICES pmu "/format/ch_mask", "config:36-43"}, {DEVICES pmu "/format/fc_mask", "config:44-46"}, \
	{                                                                                                         \
		DEVICES pmu "/cpumask", "0,28"                                                                    \
	}

static tree_file server[] = {
	{DEVICES "cpu/type", "4"},
	{DEVICES "uncore_iio_0/type", "20"},
	{DEVICES "uncore_iio_0/die0", "0000:00"},
	{DEVICES "uncore_iio_0/die1", "0000:80"},
	FORMATS("uncore_iio_0"),
	{DEVICES "uncore_iio_1/type", "21"},
	{DEVICES "uncore_iio_1/die0", "0000:17"},
	{DEVICES "uncore_iio_1/die1", "no port"},
	{DEVICES "uncore_iio_1/diex", "0000:18"},
	FORMATS("uncore_iio_1"),
	{DEVICES "uncore_iio_free_running_0/type", "30"},
	{DEVICES "uncore_iio_free_running_0/die0", "0000:00"},
};
static tree_file desktop[] = {
	{DEVICES "cpu/type", "4"},
	{DEVICES "uncore_imc/type", "10"},
};

static char root[] = "/tmp/perf-ports-XXXXXX";
static struct event_catalog *catalog;

static int make_tree(void **state)
{
	tree_make(root, server, sizeof(server) / sizeof(*server));
	catalog = event_catalog_create(root);
	return 0;
}

static int remove_tree(void **state)
{
	event_catalog_destroy(catalog);
	return tree_remove(root);
}

static void found(void **state)
{
	struct io_ports ports;
	assert_null(io_ports_find(catalog, &ports));
	assert_int_equal(ports.ports.len, 3);
	static const char *const names[] = {"0000:00", "0000:17", "0000:80"}, *const pmus[] = {"uncore_iio_0", "uncore_iio_1",
											       "uncore_iio_0"};
	static const unsigned int dies[] = {0, 0, 1};
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(ports.ports.data[i].name, names[i]);
		assert_string_equal(ports.ports.data[i].pmu, pmus[i]);
		assert_int_equal(ports.ports.data[i].die, dies[i]);
	}
	io_ports_deinit(&ports);
}

/* Each port has a group of four events, on the CPUs that the PMU names. */
static void chosen(void **state)
{
	struct io_ports ports;
	struct strbuf text = {0};
	struct event_list events = {0};
	assert_null(io_ports_find(catalog, &ports));
	assert_null(io_ports_choose(&ports, "0000:80,0000:17"));
	assert_int_equal(ports.ports.len, 2);
	io_ports_add_events(&ports, &text);
	assert_null(event_parse(&events, catalog, strbuf_str(&text)));
	assert_int_equal(events.events.len, 8);
	static const uint64_t codes[] = {0x483, 0x183, 0x4c0, 0x1c0};
	for (size_t i = 0; i < 8; i++) {
		const struct event *event = events.events.data[i];
		assert_int_equal(event->attr.type, i < 4 ? 21 : 20);
		assert_int_equal(event->attr.config, codes[i % 4] | 0xfull << 36 | 7ull << 44);
		assert_string_equal(event->pmu_cpus, "0,28");
	}
	event_list_deinit(&events);
	strbuf_deinit(&text);
	io_ports_deinit(&ports);
}

static void refused(void **state)
{
	struct io_ports ports;
	assert_null(io_ports_find(catalog, &ports));
	struct error *error = io_ports_choose(&ports, "0000:17,0000:99");
	assert_non_null(strstr(error_message(error), "no root port '0000:99'"));
	error_free(error);
	io_ports_deinit(&ports);
	char other[] = "/tmp/perf-ports-XXXXXX";
	tree_make(other, desktop, sizeof(desktop) / sizeof(*desktop));
	struct event_catalog *small = event_catalog_create(other);
	error = io_ports_find(small, &ports);
	assert_non_null(strstr(error_message(error), "Skylake-SP"));
	error_free(error);
	io_ports_deinit(&ports);
	event_catalog_destroy(small);
	tree_remove(other);
}

static void amounts(void **state)
{
	const struct counter_value all = {.value = 1 << 20, .enabled_ns = 100, .running_ns = 100, .open = true},
				   half = {.value = 1 << 20, .enabled_ns = 100, .running_ns = 50, .open = true},
				   none = {.value = 1 << 20, .enabled_ns = 100, .open = true};
	assert_true(io_ports_megabytes(&all) == 4);
	assert_true(io_ports_megabytes(&half) == 8);
	assert_true(io_ports_megabytes(&none) == 0);
}

int event_io_ports_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found),
		cmocka_unit_test(chosen),
		cmocka_unit_test(refused),
		cmocka_unit_test(amounts),
	};
	return cmocka_run_group_tests_name("event/io_ports", tests, make_tree, remove_tree);
}
