/* The argument of report's -g. */
#include "cmd/report/callgraph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct callgraph_choice parse(const char *text)
{
	struct callgraph_choice choice;
	callgraph_choice_init(&choice);
	assert_null(callgraph_choice_parse(NULL, text, false, &choice));
	return choice;
}

static void words_in_any_order(void **state)
{
	struct callgraph_choice choice = parse(NULL);
	assert_int_equal(choice.mode, CALLGRAPH_PRINT_GRAPH);
	assert_true(choice.given && !choice.order_given && choice.min_percent == 0.5);
	choice = parse("fractal,5,10,callee,address,count");
	assert_int_equal(choice.mode, CALLGRAPH_PRINT_FRACTAL);
	assert_true(choice.min_percent == 5 && choice.most_entries == 10 && choice.order_given && !choice.caller && choice.by_address);
	assert_int_equal(choice.value, GRAPH_COUNT);
	choice = parse("caller,2.5,fl");
	assert_int_equal(choice.mode, CALLGRAPH_PRINT_FLAT);
	assert_true(choice.caller && choice.min_percent == 2.5 && choice.most_entries == 0);
	choice = parse("none");
	assert_int_equal(choice.mode, CALLGRAPH_PRINT_NONE);
	assert_false(choice.given);
}

static void nonsense_is_refused(void **state)
{
	static const char *const texts[] = {"nonsense", "graph,x", "-1", "graph,,1e"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct callgraph_choice choice;
		callgraph_choice_init(&choice);
		struct error *error = callgraph_choice_parse(NULL, texts[i], false, &choice);
		assert_non_null(error);
		error_free(error);
	}
}

int cmd_report_callgraph_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(words_in_any_order), cmocka_unit_test(nonsense_is_refused)};
	return cmocka_run_group_tests_name("cmd/report_callgraph", tests, NULL, NULL);
}
