/* perf timechart: a picture of what ran when.
 *
 *	perf timechart record -- COMMAND     records switches, wake-ups and what CPUs do; with -I system calls that move data
 *	perf timechart                       perf.data → output.svg
 *	perf timechart --html                … → output.html, to zoom and search in
 */
#include "analysis/timechart/timechart.h"

#include "app/command.h"
#include "app/format_option.h"
#include "app/groups.h"
#include "base/files/replacement.h"
#include "base/log.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/opening.h"
#include "cmd/timechart/timechart.h"
#include "view/timechart/timechart.h"
#include "view/view.h"

#include <inttypes.h>
#include <string.h>

struct timechart_command {
	struct input_options input;
	struct output_options output;
	struct timechart_options wanted;
	struct timechart_drawing drawing;
	VEC(const char *) only;
	const char *path, *format;
	uint64_t width;
	bool html, power_only, tasks_only;
};

/* ---- options ---- */

static struct error *add_process(const struct option *option, const char *argument, bool negated, void *field)
{
	struct timechart_command *command = field;
	vec_push(&command->only, argument);
	return NULL;
}

static struct error *parse_highlight(const struct option *option, const char *argument, bool negated, void *field)
{
	struct timechart_drawing *drawing = field;
	uint64_t ns;
	if (drawing->highlight || drawing->highlight_ns)
		return error_new_kind(ERROR_USAGE, "--highlight can be given once");
	if (number_parse_u64(argument, &ns) && ns)
		drawing->highlight_ns = ns;
	else
		drawing->highlight = argument;
	return NULL;
}

static struct error *parse_time(const struct option *option, const char *argument, bool negated, void *field)
{
	if (!number_parse_duration(argument, "ns", field))
		return error_new_kind(ERROR_USAGE, "--%s %s: expected a time such as 500us, 1ms or a number of nanoseconds",
				      option->long_name, argument);
	return NULL;
}

#define O struct timechart_command
#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION)

static const struct option options[] = {
	OPTION_STRING('o', "output", O, path, "FILE",
		      "file to write; one that ends with .html is a page (default output.svg; - for standard output)"),
	OPTION_FLAG(0, "html", O, html, "write write an interactive page, output.html unless -o names another file"),
	OPTION_U64('w', "width", O, width, "PIXELS", "width of the SVG (default 1000)"),
	OPTION_FLAG('P', "power-only", O, power_only, "draw only CPUs"),
	OPTION_FLAG('T', "tasks-only", O, tasks_only, "do not draw idle states and frequencies"),
	{OPTION_KIND_CUSTOM, 'p', "process", 0, "NAME", "show only the rows of this thread, by name or number (may be repeated)",
	 add_process, NULL, OPTION_NO_NEGATION},
	OPTION_U64('n', "proc-num", O, wanted.least_rows, "N", "show at least N rows, if there are that many (default 15)"),
	OPTION_FLAG('t', "topology", O, wanted.topology, "draw CPUs that share a core side by side"),
	CUSTOM(0, "highlight", drawing, "TIME|NAME",
	       "highlight runs that last longer than TIME nanoseconds, or those of threads with NAME in their names", parse_highlight),
	OPTION_FLAG(0, "io-skip-eagain", O, drawing.no_eagain, "do not draw system calls that failed with EAGAIN"),
	CUSTOM(0, "io-min-time", wanted.least_ns, "TIME", "draw shorter system calls as if they lasted this long (default 1ms)",
	       parse_time),
	CUSTOM(0, "io-merge-dist", wanted.merge_ns, "TIME", "draw system calls that follow each other this closely as one (default 1us)",
	       parse_time),
	OPTION_CUSTOM_FLAGS(0, "format", O, format, "FORMAT", "machine-readable output instead of a picture: csv or json",
			    option_table_format, OPTION_NO_NEGATION),
	OPTION_JSON(0, O, format),
	OPTION_GROUP(input_option_group, O, input),
	OPTION_GROUP(output_option_group, O, output),
	OPTION_SANDBOX(O, input.sandbox),
	OPTION_END,
};

static struct error *check(struct timechart_command *command)
{
	enum { MOST_PIXELS = 1000000, LEAST_PIXELS = 100 };
	if (command->width < LEAST_PIXELS || command->width > MOST_PIXELS)
		return error_new_kind(ERROR_USAGE, "-w %" PRIu64 ": expected a width from %d to %d pixels", command->width, LEAST_PIXELS,
				      MOST_PIXELS);
	if (command->power_only && command->tasks_only)
		return error_new_kind(ERROR_USAGE, "-P and -T cannot be combined: they leave nothing to draw");
	command->html |= command->path && str_ends_with(command->path, ".html");
	if (!command->path)
		command->path = command->html ? "output.html" : "output.svg";
	if (command->power_only)
		command->wanted.least_rows = 0;
	command->wanted.only = command->only.data;
	command->wanted.only_count = command->only.len;
	command->drawing.no_power = command->tasks_only;
	command->drawing.width = (double)command->width;
	return NULL;
}

/* ---- output ---- */

static struct error *write_rows(const struct timechart *chart, const char *format)
{
	static const struct column columns[] = {
		{"comm", "Task", COLUMN_TEXT},
		{"tid", "TID", COLUMN_COUNT, ALIGN_RIGHT},
		{"begin", "Begin", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"end", "End", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"running", "Running", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"waiting", "Waiting", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"blocked", "Blocked", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"bytes", "Bytes", COLUMN_BYTES, ALIGN_RIGHT},
	};
	enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
	struct table *table = table_create_columns("timechart", columns, COLUMNS);
	for (size_t i = 0; i < chart->rows.len; i++) {
		const struct timechart_row *row = chart->rows.data[i];
		const union cell cells[COLUMNS] = {
			{.text = untrusted_raw(row->comm)},
			{.integer = row->tid},
			{.integer = row->begin},
			{.integer = row->end},
			{.integer = row->times[TIMECHART_RUNNING]},
			{.integer = row->times[TIMECHART_WAITING]},
			{.integer = row->times[TIMECHART_BLOCKED]},
			{.integer = row->bytes},
		};
		if (row->shown)
			table_add_row(table, cells);
	}
	return view_print_table(format, table, stdout);
}

static struct error *draw(const struct timechart_command *command, const struct timechart *chart, FILE *file)
{
	struct sink out = sink_to_file(file);
	return (command->html ? timechart_write_html : timechart_write_svg)(chart, &command->drawing, &out);
}

static struct error *show(const struct timechart_command *command, const struct timechart *chart)
{
	struct replacement file;
	if (command->format)
		return write_rows(chart, command->format);
	if (!strcmp(command->path, "-"))
		return draw(command, chart, stdout);
	struct error *error = replacement_begin(command->path, &file);
	if (!error)
		error = replacement_end(&file, draw(command, chart, file.file));
	struct strbuf path = {0};
	text_add_safe(&path, command->path, strlen(command->path));
	if (!error && log_level() >= LOG_WARNING)
		fprintf(stderr, "Written %.1f seconds of trace to %s.\n", (double)(chart->end - chart->begin) / 1e9, strbuf_str(&path));
	strbuf_deinit(&path);
	return error;
}

static struct error *read_and_show(struct timechart_command *command)
{
	struct opening opening = {0};
	struct timechart *chart = NULL;
	const struct opening_options wanted = {.input = &command->input,
					       .streaming = true,
					       .confined = "timechart",
					       .recorder = "perf timechart record",
					       .output = command->format ? NULL : command->path};
	struct error *error = opening_begin(&opening, &wanted);
	if (!error)
		error = timechart_create(opening.session, opening.resolver, &command->wanted, &chart);
	if (!error)
		error = show(command, chart);
	if (!error)
		opening_warn(&opening);
	timechart_destroy(chart);
	opening_end(&opening);
	return error;
}

/* ---- commands ---- */

static struct error *run_record(int argc, char **argv, int *ret_status)
{
	struct timechart_recorded wanted = {0};
	return timechart_record(&wanted, argc, argv, ret_status);
}

static bool is_record(const char *word)
{
	return !strncmp(word, "rec", 3);
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	enum { LEAST_ROWS = 15, WIDTH = 1000, MERGE_NS = 1000, LEAST_NS = 1000000 };
	struct timechart_command command = {.width = WIDTH,
					    .wanted = {.least_rows = LEAST_ROWS, .least_ns = LEAST_NS, .merge_ns = MERGE_NS}};
	struct timechart_recorded recorded = {0};
	int words, at = timechart_take_letters(argc, argv, &recorded);
	if (at < argc && is_record(argv[at]))
		return timechart_record(&recorded, argc - at, argv + at, ret_status);
	input_options_init(&command.input);
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &command, &words);
	if (!error && words && is_record(argv[0]))
		error = error_new_kind(ERROR_USAGE, "only -P, -T, -I and -g may stand before 'record'; its other options follow its name");
	if (!error && words)
		error = error_new_kind(ERROR_USAGE, "unknown subcommand '%s'", argv[0]);
	if (!error)
		error = check(&command);
	if (!error)
		error = read_and_show(&command);
	vec_deinit(&command.only);
	return error;
}

static const char *const record_usage[] = {"[-P | -T | -I] [-g] [<record options>] [--] [<command>]", NULL};
static const struct command cmd_timechart_record = {"timechart record", "Record what a timechart shows, on all CPUs",
						    record_usage,	timechart_record_table,
						    run_record,		.runs = "record",
						    .own_options = true};
static const struct command *const subcommands[] = {&cmd_timechart_record, NULL};
static const char *const usage[] = {"[-o FILE] [--html] [-p NAME] [-n N] [-P | -T] [-i FILE]", "record [<options>] [<command>]", NULL};
const struct command cmd_timechart = {
	"timechart", "Draw what ran when, as SVG or as a page with zoom", usage, options, run, .subcommands = subcommands};
