/* How command lines are read: bundles, values, abbreviations, negation, groups, errors. */
#include "app/options.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct inner {
	int level;
	const char *name;
};

struct values {
	bool all;
	bool inherit;
	int verbose;
	const char *output;
	uint64_t count;
	int number;
	const char *graph;
	const char *level;
	struct inner inner;
};

static struct error *parse_text(const struct option *option, const char *argument, bool negated, void *field)
{
	*(const char **)field = negated ? "negated" : argument ? argument : "default";
	return NULL;
}

static const struct option inner_options[] = {
	OPTION_COUNT('l', "level", struct inner, level, "level"),
	OPTION_STRING(0, "name", struct inner, name, "NAME", "name"),
	OPTION_END,
};

static const struct option options[] = {
	OPTION_HEADING("First"),
	OPTION_FLAG('a', "all-cpus", struct values, all, "all"),
	OPTION_FLAG_INVERTED('i', "no-inherit", struct values, inherit, "children are not measured"),
	OPTION_COUNT('v', "verbose", struct values, verbose, "more"),
	OPTION_STRING('o', "output", struct values, output, "FILE", "output file"),
	OPTION_U64('c', "count", struct values, count, "N", "count"),
	OPTION_INT(0, "number", struct values, number, "N", "number"),
	OPTION_CUSTOM_FLAGS('g', "graph", struct values, graph, "MODE", "graph", parse_text, OPTION_OPTIONAL_ARGUMENT),
	OPTION_CUSTOM_FLAGS('z', "zlevel", struct values, level, "N", "level", parse_text, OPTION_LAST_ARGUMENT),
	OPTION_GROUP(inner_options, struct values, inner),
	OPTION_END,
};

/* Splits `line` at spaces, parses it, and returns the error's text, or NULL; the words that are left are joined in `words`. */
static const char *parse(const char *line, enum options_mode mode, struct values *values, char words[200])
{
	static char message[300], copy[300];
	char *argv[20] = {(char *)"test"};
	int argc = 1, count = 0;
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	*values = (struct values){.inherit = true};
	words[0] = '\0';
	struct error *error = options_parse(options, mode, argc, argv, values, &count);
	if (error) {
		snprintf(message, sizeof(message), "%s", error_message(error));
		assert_int_equal(error_kind(error), ERROR_USAGE);
		error_free(error);
		return message;
	}
	assert_null(argv[count]);
	for (int i = 0; i < count; i++)
		snprintf(words + strlen(words), 200 - strlen(words), "%s%s", i ? " " : "", argv[i]);
	return NULL;
}

static void reads_values(void **state)
{
	struct values values;
	char words[200];
	assert_null(parse("-avvo out -c100 x --number=-3 --graph=flat --name n y", OPTIONS_PERMUTE, &values, words));
	assert_true(values.all);
	assert_int_equal(values.verbose, 2);
	assert_string_equal(values.output, "out");
	assert_int_equal(values.count, 100);
	assert_int_equal(values.number, -3);
	assert_string_equal(values.graph, "flat");
	assert_string_equal(values.inner.name, "n");
	assert_string_equal(words, "x y");
}

static void optional_arguments(void **state)
{
	struct values values;
	char words[200];
	assert_null(parse("-g caller", OPTIONS_PERMUTE, &values, words));
	assert_string_equal(values.graph, "default");
	assert_string_equal(words, "caller");
	assert_null(parse("-gcaller -o - --no-graph", OPTIONS_PERMUTE, &values, words));
	assert_string_equal(values.graph, "negated");
	assert_string_equal(values.output, "-");
	assert_null(parse("-z 3", OPTIONS_PERMUTE, &values, words));
	assert_string_equal(values.level, "3");
	assert_null(parse("-z -a", OPTIONS_PERMUTE, &values, words));
	assert_string_equal(values.level, "default");
	assert_true(values.all);
}

static void negation_and_abbreviation(void **state)
{
	struct values values;
	char words[200];
	assert_null(parse("--all --no-all -i -l --lev --verb --no-verbose", OPTIONS_PERMUTE, &values, words));
	assert_false(values.all);
	assert_false(values.inherit);
	assert_int_equal(values.inner.level, 2);
	assert_int_equal(values.verbose, 0);
	assert_null(parse("--no-inherit --inherit", OPTIONS_PERMUTE, &values, words));
	assert_true(values.inherit);
	assert_null(parse("--no-inh", OPTIONS_PERMUTE, &values, words));
	assert_false(values.inherit);
}

static void workloads(void **state)
{
	struct values values;
	char words[200];
	assert_null(parse("-a ls -l --all", OPTIONS_STOP_AT_FIRST_WORD, &values, words));
	assert_string_equal(words, "ls -l --all");
	assert_null(parse("-a -- -x y", OPTIONS_STOP_AT_FIRST_WORD, &values, words));
	assert_string_equal(words, "-x y");
	assert_null(parse("w -a -- -v -- z", OPTIONS_PERMUTE, &values, words));
	assert_string_equal(words, "w -v -- z");
	assert_int_equal(values.verbose, 0);
}

static void errors(void **state)
{
	struct values values;
	char words[200];
	assert_string_equal(parse("--nmae x", OPTIONS_PERMUTE, &values, words), "unknown option --nmae; did you mean --name?");
	assert_string_equal(parse("-aq", OPTIONS_PERMUTE, &values, words), "unknown option -q");
	assert_string_equal(parse("--n", OPTIONS_PERMUTE, &values, words), "option --n is ambiguous: --no-inherit or --name");
	assert_string_equal(parse("-c 1x", OPTIONS_PERMUTE, &values, words), "option -c: invalid number '1x'");
	assert_string_equal(parse("-o", OPTIONS_PERMUTE, &values, words), "option -o: needs a value (FILE)");
	assert_string_equal(parse("--all=3", OPTIONS_PERMUTE, &values, words), "option --all: does not take a value");
	assert_string_equal(parse("-ah", OPTIONS_PERMUTE, &values, words), "");
	assert_string_equal(parse("--help", OPTIONS_PERMUTE, &values, words), "");
}

static void help_text(void **state)
{
	struct strbuf text = {0};
	options_add_help(&text, options, 60);
	assert_non_null(strstr(strbuf_str(&text), "\nFirst\n  -a, --all-cpus            all\n"));
	assert_non_null(strstr(strbuf_str(&text), "  -g, --graph[=MODE]        graph\n"));
	assert_non_null(strstr(strbuf_str(&text), "      --name NAME           name\n"));
	strbuf_clear(&text);
	options_add_names(&text, inner_options);
	assert_string_equal(strbuf_str(&text), "--level --name ");
	strbuf_deinit(&text);
}

int app_options_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_values),
		cmocka_unit_test(optional_arguments),
		cmocka_unit_test(negation_and_abbreviation),
		cmocka_unit_test(workloads),
		cmocka_unit_test(errors),
		cmocka_unit_test(help_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
