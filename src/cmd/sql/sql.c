/* perf sql: a recording asked in SQL.
 *
 *	perf sql "select symbol, count(*) n from samples group by symbol order by n desc limit 10"
 *	perf sql                        a prompt; or statements from a pipe
 *
 * The tables are the recording itself (view/sql): what of it is looked at follows from the columns that a statement names. So counting
 * by symbol reads what perf report reads, and stacks are resolved only for who asks for them.
 */
#include "view/sql/sql.h"
#include "analysis/samples.h"
#include "app/command.h"
#include "app/groups.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "cmd/from.h"
#include "cmd/hidden_kernel.h"
#include "cmd/opening.h"
#include "cmd/sql/answer.h"

#include <string.h>
#include <unistd.h>

struct sql_options {
	struct input_options input;
	const char *time;
	const char *cpus;
	bool csv;
	bool json;
	int max_stack;
	enum stack_inlines inlines;
};

static const struct option sql_option_table[] = {
	OPTION_FLAG(0, "csv", struct sql_options, csv, "rows as comma-separated values"),
	OPTION_FLAG(0, "json", struct sql_options, json, "rows as JSON objects, one per line"),
	OPTION_STRING(0, "time", struct sql_options, time, "FROM,TO", "only samples in this time range (seconds, or 10%-20%)"),
	OPTION_STRING(0, "show-cpu", struct sql_options, cpus, "LIST", "only samples on these CPUs"),
	OPTION_INT(0, "max-stack", struct sql_options, max_stack, "N", "use at most N frames of each stack (default 127)"),
	OPTION_INLINE(struct sql_options, inlines),
	OPTION_SANDBOX(struct sql_options, input.sandbox),
	OPTION_GROUP(input_option_group, struct sql_options, input),
	OPTION_GROUP(guest_option_group, struct sql_options, input),
	OPTION_GROUP(from_option_group, struct sql_options, input.from),
	OPTION_END,
};

static const char *const sql_usage[] = {"[<options>] 'SELECT …'", "[<options>]", NULL};

struct asking {
	struct sql_options options;
	struct opening opening;
	struct samples *description;
	struct samples *samples; /* or NULL */
	struct sql *sql;
};

static enum answer_form form_of(const struct sql_options *options)
{
	return options->json ? ANSWER_JSON : options->csv ? ANSWER_CSV : ANSWER_TABLE;
}

/* What a statement needs, when its first row is asked for. */
static struct error *load(void *context, unsigned int detail, const struct samples **ret)
{
	struct asking *asking = context;
	struct fold_options options;
	struct fold *fold;
	samples_destroy(asking->samples);
	asking->samples = NULL;
	samples_fold_options(detail, &options);
	options.max_stack = (unsigned int)asking->options.max_stack;
	options.inlines = asking->options.inlines;
	struct error *error = fold_of_session(asking->opening.session, asking->opening.resolver, &options, &fold);
	if (error)
		return error;
	hidden_kernel_warn(fold);
	*ret = asking->samples = samples_of_fold(fold, asking->opening.resolver, detail, asking->options.inlines);
	fold_destroy(fold);
	return NULL;
}

/* ---- the prompt ---- */

static void show_help(void)
{
	fputs("Statements end with ';'. Tables: .tables; their columns: .schema [TABLE]; .quit or Ctrl-D ends.\n"
	      "  select symbol, count(*) n from samples group by symbol order by n desc limit 10;\n",
	      stdout);
}

/* The words behind a dot; true: the end. */
static bool run_dot_command(const struct asking *asking, const char *line)
{
	struct strbuf text = {0};
	const char *argument = line + strcspn(line, " \t");
	argument += strspn(argument, " \t");
	if (str_starts_with(line, ".quit") || str_starts_with(line, ".exit"))
		return true;
	if (str_starts_with(line, ".schema")) {
		if (!sql_add_schema(asking->sql, *argument ? argument : NULL, &text))
			log_warning("no table of that name: .tables lists them");
	} else if (!strcmp(line, ".tables")) {
		sql_add_tables(asking->sql, &text);
	} else {
		show_help();
	}
	fputs(strbuf_str(&text), stdout);
	strbuf_deinit(&text);
	return false;
}

static void tell(struct error *error)
{
	struct strbuf text = {0};
	text_add_safe_lines(&text, error_message(error));
	log_warning("%s", strbuf_str(&text));
	strbuf_deinit(&text);
	error_free(error);
}

/* Statements from standard input, which may be several lines long. At a prompt an error is told, and it goes on; else it is the end. */
static struct error *read_statements(const struct asking *asking, const struct sink *out)
{
	bool prompts = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	cleanup_free char *line = NULL;
	size_t capacity = 0;
	struct strbuf statement = {0};
	struct error *error = NULL;
	while (!error) {
		if (prompts)
			fputs(statement.len ? "...> " : "sql> ", stdout);
		fflush(stdout);
		ssize_t size = getline(&line, &capacity, stdin);
		if (size < 0)
			break;
		if (size && line[size - 1] == '\n')
			line[--size] = '\0';
		if (!statement.len && !line[strspn(line, " \t\r")])
			continue;
		if (!statement.len && *line == '.') {
			if (run_dot_command(asking, line))
				break;
			continue;
		}
		strbuf_add_str(&statement, line);
		strbuf_add_char(&statement, '\n');
		if (!sql_is_complete(strbuf_str(&statement)))
			continue;
		error = answer_write(asking->sql, strbuf_str(&statement), form_of(&asking->options), out);
		strbuf_clear(&statement);
		if (error && prompts) {
			tell(error);
			error = NULL;
		}
	}
	if (!error && statement.len)
		error = answer_write(asking->sql, strbuf_str(&statement), form_of(&asking->options), out);
	strbuf_deinit(&statement);
	return error;
}

/* ---- the command ---- */

static struct error *answer_words(struct asking *asking, char **words, int count)
{
	const struct sink out = sink_to_file(stdout);
	struct error *error = NULL;
	for (int i = 0; i < count && !error; i++) {
		if (*words[i] == '.')
			run_dot_command(asking, words[i]);
		else
			error = answer_write(asking->sql, words[i], form_of(&asking->options), &out);
	}
	return count ? error : read_statements(asking, &out);
}

static struct error *ask(struct asking *asking, char **words, int count)
{
	const struct opening_options opening = {.input = &asking->options.input,
						.cpus = asking->options.cpus,
						.time = asking->options.time,
						.sparing = true,
						.confined = "sql",
						.output = count ? NULL : "-"};
	struct error *error = opening_begin(&asking->opening, &opening);
	if (error)
		return error;
	asking->description = samples_describe(asking->opening.session);
	const struct sql_source source = {.description = asking->description, .load = load, .context = asking, .prefix = ""};
	error = sql_open(&source, &asking->sql);
	if (error)
		return error;
	sql_confine(asking->sql);
	error = answer_words(asking, words, count);
	if (!error)
		opening_warn(&asking->opening);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct asking asking = {.options.inlines = STACK_INLINES_ALL};
	int words;
	(void)ret_status;
	input_options_init(&asking.options.input);
	struct error *error = options_parse(sql_option_table, OPTIONS_PERMUTE, argc, argv, &asking.options, &words);
	if (!error && asking.options.csv && asking.options.json)
		error = error_new_kind(ERROR_USAGE, "--csv and --json: choose one");
	if (!error)
		error = from_apply(&asking.options.input, &asking.options.time, 0);
	if (!error && !words && !asking.options.input.input) /* standard input has the statements */
		asking.options.input.input = "perf.data";
	if (!error)
		error = ask(&asking, argv, words);
	sql_close(asking.sql);
	samples_destroy(asking.samples);
	samples_destroy(asking.description);
	opening_end(&asking.opening);
	return error;
}

const struct command cmd_sql = {
	.name = "sql",
	.summary = "Ask a recording in SQL",
	.usage = sql_usage,
	.options = sql_option_table,
	.run = run,
};
