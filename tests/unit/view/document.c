/* Documents of several results, in memory; what each view can show; and that no view has words of its own for what a table is about. */
#include "base/mem.h"
#include "view/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A table of one row about a subject. */
static struct table *make_table(const char *subject, uint64_t count)
{
	struct table *table = table_create();
	table->id = "weather";
	table->subject_id = subject ? "town" : NULL;
	table->subject = subject;
	vec_push(&table->columns, (struct column){.id = "sky", .title = "Sky", .kind = COLUMN_TEXT});
	vec_push(&table->columns, (struct column){.id = "drops", .title = "Drops", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT});
	const union cell cells[] = {{.text = "grey, \"wet\""}, {.integer = count}};
	vec_push(&table->rows, (struct row){.cells = arena_copy(&table->arena, cells, sizeof(cells))});
	return table;
}

static char *write_tables(const char *view, const struct table *a, const struct table *b)
{
	struct document document = {0};
	struct strbuf text = {0};
	struct sink out = sink_to_text(&text);
	document_add(&document, (struct result){RESULT_TABLE, .table = a});
	document_add(&document, (struct result){RESULT_TABLE, .table = b});
	assert_null(view_write(view_find(view), &document, &(struct view_options){.header = true}, &out));
	document_deinit(&document);
	return strbuf_detach(&text);
}

static void check(char *text, const char *expected)
{
	assert_string_equal(text, expected);
	free(text);
}

static void results_come_one_after_the_other(void **state)
{
	struct table *a = make_table("Ulm", 7), *b = make_table("Bath", 12), *nowhere = make_table(NULL, 3);
	check(write_tables("json", a, b), "{\"town\":\"Ulm\",\"sky\":\"grey, \\\"wet\\\"\",\"drops\":7}\n"
					  "{\"town\":\"Bath\",\"sky\":\"grey, \\\"wet\\\"\",\"drops\":12}\n");
	check(write_tables("csv", a, nowhere), "town,sky,drops\nUlm,\"grey, \"\"wet\"\"\",7\n"
					       "sky,drops\n\"grey, \"\"wet\"\"\",3\n");
	check(write_tables("stdio", nowhere, nowhere), "# Sky          Drops\n# ...........  .....\n#\n  grey, \"wet\"      3\n"
						       "# Sky          Drops\n# ...........  .....\n#\n  grey, \"wet\"      3\n");
	table_destroy(a);
	table_destroy(b);
	table_destroy(nowhere);
}

/* Nothing is written of a document that a view can't show as a whole. */
static void what_a_view_cannot_show(void **state)
{
	struct table *table = make_table("Ulm", 7);
	struct calltree *tree = calltree_create();
	struct document document = {0};
	struct strbuf text = {0};
	struct sink out = sink_to_text(&text);
	calltree_child(tree, &tree->root, "main", FRAME_USER)->self = 5;
	document_add(&document, (struct result){RESULT_TABLE, .table = table});
	document_add(&document, (struct result){RESULT_CALLTREE, .calltree = tree});
	struct error *error = view_write(view_find("csv"), &document, &(struct view_options){0}, &out);
	assert_non_null(error);
	assert_string_equal(error_message(error), "the format csv cannot show call trees");
	assert_int_equal(text.len, 0);
	error_free(error);
	assert_null(view_write_one(view_find("folded"), document.results.data[1], &(struct view_options){0}, &out));
	assert_string_equal(strbuf_str(&text), "main 5\n");
	strbuf_deinit(&text);
	document_deinit(&document);
	calltree_destroy(tree);
	table_destroy(table);
}

/* Every file of src/view that defines a view is in the list, by what it can show. */
static void views_are_found(void **state)
{
	static const enum result_kind kinds[] = {RESULT_TABLE, RESULT_CALLTREE};
	struct strbuf names = {0};
	view_names_for_programs(kinds, 1, &names);
	assert_string_equal(strbuf_str(&names), "csv or json");
	strbuf_clear(&names);
	view_names_for_programs(kinds, 2, &names);
	assert_string_equal(strbuf_str(&names), "csv, json or folded");
	strbuf_deinit(&names);
	assert_ptr_equal(view_for_programs("json", kinds, 1), view_find("json"));
	assert_null(view_for_programs("folded", kinds, 1));
	assert_null(view_for_programs("stdio", kinds, 2));
	assert_null(view_for_programs("html", kinds, 2));
	assert_non_null(view_find("svg"));
	for (const struct view_ops *const *view = view_list; *view; view++)
		assert_ptr_equal(view_find((*view)->name), *view);
}

static int failing(void *context)
{
	return *(int *)context;
}

static void swallow(void *context, const void *data, size_t size)
{
}

/* What an output couldn't take is an error of the view that writes to the end. */
static void an_output_that_fails(void **state)
{
	int full = 28; /* ENOSPC */
	const struct sink out = {.write = swallow, .flush = failing, .context = &full};
	struct calltree *tree = calltree_create();
	static const char *const views[] = {"folded", "html", "svg"};
	calltree_child(tree, &tree->root, "main", FRAME_USER)->self = 5;
	for (size_t i = 0; i < 3; i++) {
		struct error *error = view_write_one(view_find(views[i]), (struct result){RESULT_CALLTREE, .calltree = tree},
						     &(struct view_options){.unit = "samples"}, &out);
		assert_non_null(error);
		assert_non_null(strstr(error_message(error), "No space left on device"));
		error_free(error);
	}
	calltree_destroy(tree);
}

int view_document_tests(void);
int view_document_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_come_one_after_the_other),
		cmocka_unit_test(what_a_view_cannot_show),
		cmocka_unit_test(views_are_found),
		cmocka_unit_test(an_output_that_fails),
	};
	return cmocka_run_group_tests_name("view/document", tests, NULL, NULL);
}
