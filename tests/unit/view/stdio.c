/* Tables and call graphs as text: the layout that scripts read. */
#include "view/view.h"

#include "paths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *render(const struct table *table, const struct view_options *options)
{
	struct strbuf text = {0};
	struct sink out = sink_to_text(&text);
	assert_null(view_write_one(view_find("stdio"), (struct result){RESULT_TABLE, .table = table}, options, &out));
	return strbuf_detach(&text);
}

static struct table *make_table(union cell (*cells)[3], struct calltree *tree)
{
	struct table *table = table_create();
	vec_push(&table->columns, (struct column){.id = "overhead",
						  .title = "Overhead",
						  .kind = COLUMN_PERCENT,
						  .align = ALIGN_RIGHT,
						  .min_width = 8,
						  .decimals = 2});
	vec_push(&table->columns, (struct column){.id = "comm", .title = "Command", .kind = COLUMN_TEXT, .padded = true});
	vec_push(&table->columns, (struct column){.id = "symbol", .title = "Symbol", .kind = COLUMN_TEXT});
	vec_push(&table->header, "Samples: 4");
	vec_push(&table->header, "");
	vec_push(&table->rows, (struct row){.cells = cells[0], .value = 100, .tree = tree});
	vec_push(&table->rows, (struct row){.cells = cells[1], .value = 25});
	return table;
}

static void columns_line_up(void **state)
{
	union cell cells[2][3] = {{{.real = 75}, {.text = "a"}, {.text = "[.] main"}},
				  {{.real = 25}, {.text = "\x1b[31mb"}, {.text = "[k] x"}}};
	struct table *table = make_table(cells, NULL);
	char *text = render(table, &(struct view_options){.header = true});
	assert_string_equal(text, "# Samples: 4\n#\n"
				  "# Overhead  Command    Symbol  \n"
				  "# ........  .........  ........\n#\n"
				  "    75.00%  a          [.] main\n"
				  "    25.00%  \\x1b[31mb  [k] x\n");
	free(text);
	text = render(table, &(struct view_options){.separator = ','});
	assert_string_equal(text, " 75.00% ,a        ,[.] main\n 25.00% ,\\x1b[31mb,[k] x\n");
	free(text);
	table_destroy(table);
}

static struct calltree *make_tree(void)
{
	struct calltree *tree = calltree_create();
	static const char main_label[] = "main", parse[] = "parse", token[] = "token", run[] = "run";
	calltree_add_path(tree, (const char *const[]){main_label, parse, token}, 3, 60, 6);
	calltree_add_path(tree, (const char *const[]){main_label, run}, 2, 30, 3);
	calltree_add_path(tree, (const char *const[]){main_label}, 1, 10, 1);
	return tree;
}

static int by_weight(const struct calltree_node *a, const struct calltree_node *b)
{
	return (a->total < b->total) - (a->total > b->total);
}

static char *render_graph(struct table_graph graph)
{
	union cell cells[2][3] = {{{.real = 100}, {.text = "a"}, {.text = "s"}}, {{.real = 0}, {.text = "b"}, {.text = "t"}}};
	struct calltree *tree = make_tree();
	calltree_sort(&tree->root, by_weight);
	struct table *table = make_table(cells, tree);
	table->rows.len = 1;
	table->graph = graph;
	char *text = render(table, &(struct view_options){0});
	table_destroy(table);
	calltree_destroy(tree);
	return text;
}

static void graphs_branch(void **state)
{
	char *text = render_graph((struct table_graph){.style = GRAPH_TREE, .total = 200});
	assert_string_equal(strchr(text, '\n') + 1, "            |\n"
						    "            ---main\n"
						    "               |          \n"
						    "               |--30.00%--parse\n"
						    "               |          token\n"
						    "               |          \n"
						    "                --15.00%--run\n\n");
	free(text);
	text = render_graph((struct table_graph){.style = GRAPH_FRACTAL, .total = 200});
	assert_non_null(strstr(text, "|--60.00%--parse\n"));
	assert_non_null(strstr(text, "|--30.00%--run\n"));
	assert_non_null(strstr(text, " --10.00%--[...]\n"));
	free(text);
	text = render_graph(
		(struct table_graph){.style = GRAPH_TREE, .value = GRAPH_COUNT, .total = 200, .skip_first = true, .most_entries = 1});
	assert_null(strstr(text, "main"));
	assert_non_null(strstr(text, "|--6--parse\n"));
	assert_null(strstr(text, "run"));
	free(text);
}

static void stacks_are_listed(void **state)
{
	char *text = render_graph((struct table_graph){.style = GRAPH_FOLDED, .value = GRAPH_PERIOD, .total = 100, .least = 20});
	assert_string_equal(strchr(text, '\n') + 1, "60 main;parse;token\n30 main;run\n");
	free(text);
	text = render_graph((struct table_graph){.style = GRAPH_FLAT, .total = 100, .least = 40});
	assert_string_equal(strchr(text, '\n') + 1,
			    "           60.00%\n                main\n                parse\n                token\n\n");
	free(text);
}

static void fetch(const void *context, size_t index, struct row_scratch *scratch, struct row *ret)
{
	strbuf_clear(&scratch->texts[0]);
	strbuf_printf(&scratch->texts[0], "row %zu of %s", index, (const char *)context);
	scratch->cells[0].text = strbuf_str(&scratch->texts[0]);
	*ret = (struct row){.cells = scratch->cells};
}

/* Rows that are made when they are shown: in order, whatever the number of threads. */
static void rows_are_made(void **state)
{
	struct table *table = table_create();
	vec_push(&table->columns, (struct column){.id = "x", .title = "X", .kind = COLUMN_TEXT, .min_width = 20});
	table->fetched = 10000;
	table->fetch = fetch;
	table->fetch_context = "many";
	char *one = render(table, &(struct view_options){.jobs = 1}), *four = render(table, &(struct view_options){.jobs = 4});
	assert_string_equal(one, four);
	assert_non_null(strstr(one, "  row 9998 of many\n  row 9999 of many\n"));
	free(one);
	free(four);
	table_destroy(table);
}

int view_stdio_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_line_up),
		cmocka_unit_test(graphs_branch),
		cmocka_unit_test(stacks_are_listed),
		cmocka_unit_test(rows_are_made),
	};
	return cmocka_run_group_tests_name("view/stdio", tests, NULL, NULL);
}
