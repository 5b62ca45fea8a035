/* URLs of sinks: what is in them, and what isn't allowed to be. */
#include "fleet/sink_url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[] = {"keep", "limit", NULL};

static void parts(void **state)
{
	struct sink_url url;
	assert_null(sink_url_parse("otlps://me%40x@web1:4318/some%20where?limit=5M&keep=2#x", names, &url));
	assert_string_equal(url.scheme, "otlps");
	assert_string_equal(url.user, "me@x");
	assert_string_equal(url.host, "web1");
	assert_string_equal(url.port, "4318");
	assert_string_equal(url.path, "/some where");
	assert_string_equal(sink_url_parameter(&url, "keep"), "2");
	assert_string_equal(sink_url_parameter(&url, "limit"), "5M");
	sink_url_deinit(&url);
	assert_null(sink_url_parse("parca://[::1]", names, &url));
	assert_string_equal(url.host, "[::1]");
	assert_null(url.port);
	assert_null(url.user);
	assert_string_equal(url.path, "");
	assert_null(sink_url_parameter(&url, "keep"));
	sink_url_deinit(&url);
	assert_null(sink_url_parse("file:///a/b", names, &url));
	assert_string_equal(url.host, "");
	assert_string_equal(url.path, "/a/b");
	sink_url_deinit(&url);
}

static void path(const char *url, const char *wanted)
{
	char *found = sink_url_path(url);
	assert_string_equal(found, wanted);
	free(found);
}

static void paths(void **state)
{
	path("file:///a%20b/c?keep=2", "/a b/c");
	path("file:///a%25/#x", "/a%/");
	path("otlp://me@web1:4318/x", "/x");
	path("otlp://web1?keep=/x", "");
	path("nothing", "");
}

static void refused(const char *text, const char *why, const char *without)
{
	struct sink_url url;
	struct error *error = sink_url_parse(text, names, &url);
	assert_non_null(error);
	assert_non_null(strstr(error_message(error), why));
	if (without)
		assert_null(strstr(error_message(error), without));
	error_free(error);
}

static void refusals(void **state)
{
	refused("otlp://me:hush@web1/", "password", "hush");
	refused("otlp://web1/?kep=1", "'kep'; it has keep, limit", NULL);
	refused("otlp://web1/?\xff", "\\xff", "\xff");
	refused("otlp://web1/?\x1b[2J", "control character", "\x1b");
	refused("pyroscope://web1/?keep=a%0d%0aEvil:%20x", "control character", "Evil");
	refused("otlp://web1/a%7F", "control character", NULL);
	refused("otlp://web1:http/", "port", NULL);
	refused("web1:4318", "scheme", NULL);
	refused("://web1", "scheme", NULL);
}

int fleet_sink_url_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(parts), cmocka_unit_test(paths), cmocka_unit_test(refusals)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
