/* Lines of the function_graph tracer, as the kernel writes them with different options, and histograms. */
#include "analysis/function_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *line, const char *name, uint64_t ns)
{
	struct function_call call;

	assert_true(function_graph_parse(line, strlen(line), &call));
	assert_int_equal(call.name_len, strlen(name));
	assert_memory_equal(call.name, name, call.name_len);
	assert_int_equal(call.ns, ns);
}

static void ends_of_calls(void **state)
{
	check(" 1)   0.123 us    |    rw_verify_area();", "rw_verify_area", 123);
	check(" 1) + 10.500 us   |  } /* vfs_read */", "vfs_read", 10500);
	check(" 0) ! 2214.9 us   |  } /* vfs_read.part.0 */", "vfs_read.part.0", 2214900);
	check(" 3) $ 1234567.890 us |  } /* schedule */", "schedule", 1234567890);
	check("  128.123456 |   0)   cat-4711   |  ..... |   1.002 us    |  ksys_lseek();", "ksys_lseek", 1002);
}

static void other_lines(void **state)
{
	static const char *const lines[] = {" 1)               |  vfs_read() {",
					    " 1)   1.0 us    |  }",
					    "# CPU  DURATION                  FUNCTION CALLS",
					    "",
					    " 1) us |",
					    "   us | x();",
					    " ------------------------------------------",
					    " 1)   ==========> |"};
	struct function_call call;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(function_graph_parse(lines[i], strlen(lines[i]), &call));
}

int analysis_function_graph_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ends_of_calls), cmocka_unit_test(other_lines)};

	return cmocka_run_group_tests_name("analysis/function_graph", tests, NULL, NULL);
}
