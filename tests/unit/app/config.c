/* Configuration files: the dialect, and values that become options. */
#include "app/config.h"
#include "app/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/perf-unit-config-XXXXXX";

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void reads_the_dialect(void **state)
{
	struct config config = {0};
	write_file("# comment\n; comment\n[Report] # more\n  Percent-Limit = 0.5 ; note\nflag\nlong = a \\\n b\n[call-graph \"x\"]\n"
		   "quoted = \" a # b \" \nescaped = a\\\\b\\tc\nempty =\n");
	assert_null(config_open_file(path, &config));
	assert_string_equal(config_get(&config, "report.percent-limit"), "0.5");
	assert_string_equal(config_get(&config, "REPORT.FLAG"), "true");
	assert_string_equal(config_get(&config, "report.long"), "a  b");
	assert_string_equal(config_get(&config, "call-graph.x.quoted"), " a # b ");
	assert_string_equal(config_get(&config, "call-graph.x.escaped"), "a\\b\tc");
	assert_string_equal(config_get(&config, "call-graph.x.empty"), "");
	assert_null(config_get(&config, "report.none"));
	assert_true(config_get_bool(&config, "report.flag", false));
	assert_true(config_get_bool(&config, "report.percent-limit", true));
	config_close(&config);
}

static void names_the_broken_line(void **state)
{
	struct config config = {0};
	static const char *const broken[] = {"[a]\nb = \"c\n", "x = y\n\n", "[a\n", "[a]\n= 3\n", "[]\n"};
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		write_file(broken[i]);
		struct error *error = config_open_file(path, &config);
		assert_non_null(error);
		assert_non_null(strstr(error_message(error), path));
		error_free(error);
	}
}

struct values {
	bool children;
	int limit;
	const char *sort;
};

static const struct option options[] = {
	OPTION_FLAG(0, "children", struct values, children, "children"),
	OPTION_INT(0, "limit", struct values, limit, "N", "limit"),
	OPTION_STRING('s', "sort", struct values, sort, "KEYS", "sort"),
	OPTION_END,
};
static const struct config_binding bindings[] = {
	{"report.children", "children"}, {"report.limit", "limit"}, {"report.sort_order", "sort"}, {0}};

static void gives_options_their_values(void **state)
{
	struct values values = {.children = true};
	setenv("PERF_CONFIG", path, 1);
	write_file("[report]\nchildren = false\nlimit = 7\nsort_order = dso,sym\n");
	assert_null(config_apply(bindings, options, &values));
	assert_false(values.children);
	assert_int_equal(values.limit, 7);
	assert_string_equal(values.sort, "dso,sym");
	write_file("[report]\nchildren = perhaps\n");
	struct error *error = config_apply(bindings, options, &values);
	char place[128];
	snprintf(place, sizeof(place), "%s:2: ", path);
	assert_ptr_equal(strstr(error_message(error), place), error_message(error));
	assert_string_equal(error_message(error) + strlen(place), "report.children: invalid value 'perhaps': expected true or false");
	error_free(error);
	assert_true(config_override("report.children=1"));
	assert_false(config_override("report=1.5"));
	assert_null(config_apply(bindings, options, &values));
	assert_true(values.children);
}

static void writes_in_place(void **state)
{
	struct config config = {0};
	write_file("[a]\n\tb = 1\n# end\n[c]\nd = 2");
	assert_null(config_write(path, "a.new", "x;y"));
	assert_null(config_write(path, "c.d", "3"));
	assert_null(config_write(path, "e.f.g", " sp"));
	assert_null(config_open_file(path, &config));
	assert_string_equal(config_get(&config, "a.b"), "1");
	assert_string_equal(config_get(&config, "a.new"), "x;y");
	assert_string_equal(config_get(&config, "c.d"), "3");
	assert_string_equal(config_get(&config, "e.f.g"), " sp");
	config_close(&config);
}

static int create(void **state)
{
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int destroy(void **state)
{
	return unlink(path);
}

int app_config_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_dialect),
		cmocka_unit_test(names_the_broken_line),
		cmocka_unit_test(gives_options_their_values),
		cmocka_unit_test(writes_in_place),
	};
	return cmocka_run_group_tests(tests, create, destroy);
}
