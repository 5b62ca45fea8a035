/* Who is asked by a URL. */
#include "base/formats/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void whole_ones(void **state)
{
	static const struct {
		const char *text, *host, *port;
	} cases[] = {
		{"https://debuginfod.elfutils.org/", "debuginfod.elfutils.org", "443"},
		{"http://localhost:8002", "localhost", "8002"},
		{"http://[::1]:8002/path", "::1", "8002"},
		{"http://[fe80::1]/", "fe80::1", "80"},
		{"https://me:secret@host:1/x@y:2", "host", "1"},
		{"http://host?a=b:c", "host", "80"},
		{"http://host:/", "host", "80"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct url url;
		assert_true(url_parse(cases[i].text, strlen(cases[i].text), &url));
		assert_string_equal(url.host, cases[i].host);
		assert_string_equal(url.port, cases[i].port);
		url_deinit(&url);
	}
}

static void others(void **state)
{
	static const char *const wrong[] = {"",		  "host:80",	  "://host",	 "http://",
					    "http://:80", "http:///path", "http://[]:1", "http://user@"};
	struct url url;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(url_parse(wrong[i], strlen(wrong[i]), &url));
	assert_false(url_parse("http://host", 7, &url));
}

int base_url_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(whole_ones), cmocka_unit_test(others)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
