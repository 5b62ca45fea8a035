/* perf annotate: functions taken apart: what each instruction and each source line costs.
 *
 *	perf annotate                       every function with samples, the hottest first
 *	perf annotate -s FUNCTION           one of them
 *	perf annotate --stdio2 -l           with offsets and arrows; a summary by source lines
 *	perf annotate --format json         for programs
 *
 * Events of a group stand side by side; others follow one another, each with its functions. Functions without code (no vmlinux, generated
 * code without a jitdump, …) are told of together at the end. */
#include "analysis/annotate/annotate.h"

#include "app/color.h"
#include "app/command.h"
#include "app/config.h"
#include "app/format_option.h"
#include "app/groups.h"
#include "app/pager.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/annotate/data_types.h"
#include "cmd/code/code_options.h"
#include "cmd/code/code_screen.h"
#include "cmd/dumping.h"
#include "cmd/name_list.h"
#include "cmd/opening.h"
#include "event/event_set.h"
#include "view/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct annotate_command {
	struct input_options input;
	struct itrace_options itrace;
	struct output_options output;
	const char *symbol;
	struct name_list dsos;
	const char *cpus, *time;
	enum group_choice group;
	double percent_limit;
	bool skip_missing, skip_empty, dump;
	bool samples, period;
	bool print_lines, full_paths, compact;
	struct code_options code;
	struct data_types_options types;
	enum color_choice color;
	const char *format, *separator;
	enum { SCREEN_ON_TERMINALS, SCREEN_WANTED, SCREEN_NEVER } screen;
};

/* ---- options ---- */

/* --group and --no-group. */
static struct error *parse_group(const struct option *option, const char *argument, bool negated, void *field)
{
	*(enum group_choice *)field = negated ? GROUPS_NEVER : GROUPS_WANTED;
	return NULL;
}

/* --stdio, --stdio2 and --tui: the last one counts. */
static struct error *parse_style(const struct option *option, const char *argument, bool negated, void *field)
{
	struct annotate_command *command = field;
	command->compact = !strcmp(option->long_name, "stdio2");
	command->screen = *option->long_name == 't' ? SCREEN_WANTED : SCREEN_NEVER;
	return NULL;
}

/* --data-type and --data-type=NAME. */
static struct error *parse_type(const struct option *option, const char *argument, bool negated, void *field)
{
	struct data_types_options *types = field;
	types->types = true;
	types->name = argument;
	return NULL;
}

#define TYPE struct annotate_command
#define STYLE(name, help)                                                                                              \
	{                                                                                                              \
		OPTION_KIND_CUSTOM, 0, name, 0, NULL, help, parse_style, NULL, OPTION_NO_ARGUMENT | OPTION_NO_NEGATION \
	}
static const struct option annotate_options[] = {
	OPTION_GROUP(input_option_group, TYPE, input),
	OPTION_GROUP(guest_option_group, TYPE, input),
	OPTION_SANDBOX(TYPE, input.sandbox),
	OPTION_GROUP(output_option_group, TYPE, output),
	OPTION_HEADING("Functions"),
	OPTION_STRING('s', "symbol", TYPE, symbol, "FUNCTION",
		      "annotate this function (default: all with samples, hottest first); * and ? match any characters"),
	OPTION_CUSTOM_FLAGS('d', "dsos", TYPE, dsos, "FILE,…", "annotate functions in these files", name_list_option, OPTION_NO_NEGATION),
	OPTION_STRING('C', "cpu", TYPE, cpus, "CPUS", "use only samples on these CPUs, such as 0-3,7"),
	OPTION_STRING(0, "time", TYPE, time, "FROM,TO", "use only samples in this time range, in seconds; or 10%-20%, 10%/2"),
	OPTION_CUSTOM_FLAGS(0, "percent-limit", TYPE, percent_limit, "PERCENT", "omit functions below this percentage", option_percent,
			    OPTION_NO_NEGATION),
	OPTION_FLAG(0, "skip-missing", TYPE, skip_missing, "do not warn about functions whose code is missing"),
	OPTION_FLAG(0, "skip-empty", TYPE, skip_empty, "omit the columns of group events without samples"),
	OPTION_CUSTOM_FLAGS(0, "group", TYPE, group, NULL,
			    "show all events side by side (default: only those recorded as a group; --no-group: none)", parse_group,
			    OPTION_NO_ARGUMENT),
	OPTION_HEADING("Contents"),
	OPTION_FLAG('n', "show-nr-samples", TYPE, samples, "show numbers of samples instead of percentages"),
	OPTION_FLAG(0, "show-total-period", TYPE, period, "show sums of periods instead of percentages"),
	OPTION_FLAG('l', "print-line", TYPE, print_lines, "show a summary by source line, and the source line of each sampled instruction"),
	OPTION_FLAG('P', "full-paths", TYPE, full_paths, "show full paths of files"),
	OPTION_GROUP(code_option_group, TYPE, code),
	OPTION_HEADING("Types of data"),
	OPTION_CUSTOM_FLAGS(0, "data-type", TYPE, types, "NAME",
			    "show the types of accessed data member by member, or only the type NAME, instead of functions", parse_type,
			    OPTION_OPTIONAL_ARGUMENT | OPTION_NO_NEGATION),
	OPTION_FLAG(0, "type-stat", TYPE, types.outcomes, "show how many samples have a known type, and why others do not"),
	OPTION_FLAG(0, "insn-stat", TYPE, types.instructions, "show the same by instruction"),
	OPTION_HEADING("Output"),
	STYLE("tui", "a screen, with offsets and jumps to follow (default on terminals)"),
	STYLE("stdio", "text with addresses (default in pipes and files)"),
	STYLE("stdio2", "text with offsets, jump arrows, and names instead of addresses"),
	OPTION_CUSTOM_FLAGS(0, "stdio-color", TYPE, color, "WHEN", "when to use colours: always, never or auto (on terminals; default)",
			    color_choice_option, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "format", TYPE, format, "FORMAT", "machine-readable output, one row per instruction: csv or json",
			    option_table_format, OPTION_NO_NEGATION),
	OPTION_STRING('x', "field-separator", TYPE, separator, "CHAR", "csv with this field separator"),
	OPTION_FLAG('D', "dump-raw-trace", TYPE, dump, "dump all records of the recording, byte by byte"),
	OPTION_ITRACE(TYPE, itrace),
	OPTION_REFUSED(0, "gtk", NULL, "there are no windows of GTK; use --tui, --stdio or --stdio2"),
	OPTION_END,
};

/* A word is the function. What the options exclude. */
static struct error *check_options(struct annotate_command *command, int words, char **argv)
{
	if (words == 1 && !command->symbol)
		command->symbol = argv[0];
	else if (words)
		return error_new_kind(ERROR_USAGE, "unexpected argument '%s': only one function can be given", argv[words - 1]);
	if (command->samples && command->period)
		return error_new_kind(ERROR_USAGE, "--show-nr-samples and --show-total-period cannot be combined");
	if (command->separator && (strlen(command->separator) != 1 || (command->format && strcmp(command->format, "csv"))))
		return error_new_kind(ERROR_USAGE, "-x takes a single character, and only for csv");
	if (command->separator)
		command->format = "csv";
	return code_options_check(&command->code);
}

/* ---- which functions ---- */

/* Why functions aren't shown, and how many. */
struct missing {
	char *why;
	const char *first;
	uint64_t functions;
	double percent;
};

struct work {
	const struct annotate_command *command;
	bool screen;		   /* else text */
	struct print_file *prints; /* of a screen */
	struct opening opening;
	struct annotate *annotate;
	VEC(struct missing) missing;
	uint64_t matching, shown;
};

/* The name as typed, or without the compiler's ending and C++'s parameters: "sum" for "sum.constprop.0" and "sum(int)". */
static bool name_matches(const char *wanted, const char *name)
{
	size_t length = strlen(wanted);
	if (str_has_glob(wanted) && str_glob_match(wanted, name))
		return true;
	return !strncmp(name, wanted, length) && (!name[length] || name[length] == '.' || name[length] == '(');
}

/* Whether a screen is to show it. */
static struct error *wants_screen(const struct annotate_command *command, bool *ret)
{
	const char *why = terminal_why_not();
	bool text = command->format || command->dump || command->print_lines || data_types_wanted(&command->types);
	*ret = command->screen != SCREEN_NEVER && !why && !text;
	if (command->screen == SCREEN_WANTED && !*ret)
		return error_new_kind(ERROR_USAGE, "--tui: %s; use --stdio2",
				      text ? "-l, -D, --format and types of data are shown as text" : why);
	return NULL;
}

/* By -s and -d. */
static bool is_wanted_at(void *context, const struct dso *dso, const struct symbol *symbol)
{
	const struct annotate_command *command = context;
	const struct name_list *dsos = &command->dsos;
	if (command->symbol && (!symbol || !name_matches(command->symbol, symbol->name)))
		return false;
	return !dsos->names.len || (dso && (name_list_has(dsos, dso->short_name) || name_list_has(dsos, dso->name)));
}

static bool is_wanted(const struct annotate_command *command, const struct annotate_function *function)
{
	return is_wanted_at((void *)command, function->dso, function->symbol);
}

/* Of all samples of the event, by period. */
static double global_percent(const struct annotate *annotate, const struct annotate_function *function, unsigned int event)
{
	uint64_t total = annotate->totals[event].period;
	return total ? 100.0 * (double)function->values[event].period / (double)total : 0;
}

/* Why, with the nearest name where a function was asked for. */
static struct error *nothing_found(const struct work *work)
{
	const struct annotate *annotate = work->annotate;
	const char *wanted = work->command->symbol;
	if (!annotate->function_count)
		return error_new("the recording has no samples in known functions%s",
				 work->opening.session->record_counts[RECORD_SAMPLE] ? "" : ": it has no samples at all");
	if (!wanted)
		return error_new("no function in these files has samples; 'perf report -s dso' lists the files that have samples");
	const char **names = mem_alloc_array(annotate->function_count, sizeof(*names));
	for (size_t i = 0; i < annotate->function_count; i++)
		names[i] = annotate->functions[i].symbol->name;
	const char *nearest = str_nearest_part(wanted, names, annotate->function_count);
	struct error *error = error_new("no function named '%s' has samples%s%s%s", wanted, nearest ? "; did you mean '" : "",
					nearest ? nearest : "; 'perf report -s sym' lists the functions that do", nearest ? "'?" : "");
	free(names);
	return error;
}

/* ---- showing ---- */

/* Functions with one reason are told together. Takes over the error. */
static void note_missing(struct work *work, const struct annotate_function *function, double percent, struct error *error)
{
	const char *why = error_message(error);
	struct missing *found = NULL;
	for (size_t i = 0; i < work->missing.len && !found; i++)
		if (!strcmp(work->missing.data[i].why, why))
			found = &work->missing.data[i];
	if (!found) {
		found = vec_add(&work->missing);
		*found = (struct missing){.why = mem_strdup(why), .first = function->symbol->name};
	}
	found->functions++;
	found->percent += percent;
	error_free(error);
}

/* One warning a reason. */
static void warn_of_missing(const struct work *work)
{
	if (work->command->skip_missing)
		return;
	for (size_t i = 0; i < work->missing.len; i++) {
		const struct missing *missing = &work->missing.data[i];
		struct strbuf name = {0};
		text_add_safe(&name, missing->first, strlen(missing->first));
		if (missing->functions == 1)
			log_warning("%s (%.2f%%) cannot be shown: %s", strbuf_str(&name), missing->percent, missing->why);
		else
			log_warning("%s and %lu more functions (%.2f%% together) cannot be shown: %s", strbuf_str(&name),
				    missing->functions - 1, missing->percent, missing->why);
		strbuf_deinit(&name);
	}
}

/* What the view is told of the options. */
static struct annotation_style style_of(const struct annotate_command *command)
{
	struct annotation_style style = code_options_style(&command->code);
	style.show = command->samples ? ANNOTATION_SAMPLES : command->period ? ANNOTATION_PERIOD : ANNOTATION_PERCENT;
	style.full_paths = command->full_paths;
	style.print_lines = command->print_lines;
	style.compact = command->compact;
	style.counts = command->output.verbose > 0;
	return style;
}

/* `header`: of csv, once before the first function. */
static struct error *write_annotation(const struct annotate_command *command, const struct annotation *annotation, bool header)
{
	struct view_options view = {
		.separator = command->separator ? command->separator[0] : 0, .header = header, .color = color_wanted(command->color)};
	struct sink out = sink_to_file(stdout);
	if (!command->format)
		return view_write_one(view_find("stdio"), (struct result){RESULT_ANNOTATION, .annotation = annotation}, &view, &out);
	struct table *table = annotation_table(annotation);
	struct error *error = view_write_one(view_find(command->format), (struct result){RESULT_TABLE, .table = table}, &view, &out);
	table_destroy(table);
	return error;
}

/* A function without code is noted, which is no error. */
static struct error *show_function(struct work *work, const struct annotate_function *function, const struct event_set *set)
{
	const struct annotation_style style = style_of(work->command);
	struct annotation *annotation;
	struct error *error = code_annotation(work->annotate, function, set->events.data, set->events.len, &style, &annotation);
	if (error) {
		note_missing(work, function, global_percent(work->annotate, function, set->events.data[0]->index), error);
		return NULL;
	}
	error = write_annotation(work->command, annotation, !work->shown);
	annotation_destroy(annotation);
	work->shown++;
	return error;
}

static struct error *show_set(struct work *work, struct event_set *set)
{
	if (work->command->skip_empty)
		code_events_with_samples(work->annotate->totals, set);
	uint32_t *order;
	size_t count = code_order(work->annotate, set->events.data, set->events.len, &order);
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++) {
		const struct annotate_function *function = &work->annotate->functions[order[i]];
		if (!is_wanted(work->command, function))
			continue;
		work->matching++;
		if (global_percent(work->annotate, function, set->events.data[0]->index) >= work->command->percent_limit)
			error = show_function(work, function, set);
	}
	free(order);
	return error;
}

/* ---- on a screen ---- */

/* The functions that may be chosen, hottest first. */
struct choices {
	uint32_t *order; /* numbers of functions */
	VEC(char *) lines;
};

/* Those with samples of these events. */
static void find_choices(struct work *work, const struct event_set *set, struct choices *choices)
{
	size_t count = code_order(work->annotate, set->events.data, set->events.len, &choices->order);
	for (size_t i = 0; i < count; i++) {
		const struct annotate_function *function = &work->annotate->functions[choices->order[i]];
		double percent = global_percent(work->annotate, function, set->events.data[0]->index);
		if (!is_wanted(work->command, function) || percent < work->command->percent_limit)
			continue;
		struct strbuf line = {0};
		strbuf_printf(&line, "%6.2f%%  ", percent);
		text_add_safe(&line, function->symbol->name, strlen(function->symbol->name));
		strbuf_add_str(&line, "  ");
		text_add_safe(&line, function->dso->short_name, strlen(function->dso->short_name));
		choices->order[choices->lines.len] = choices->order[i];
		vec_push(&choices->lines, strbuf_detach(&line));
	}
}

/* One function after the other, as they are chosen; at first the hottest. A single one needs no menu. */
static void choose_functions(const struct code_screen *screen, const struct choices *choices)
{
	const char *const *lines = (const char *const *)choices->lines.data;
	size_t count = choices->lines.len, chosen = 0;
	do {
		struct error *error = code_screen_show(screen, &screen->annotate->functions[choices->order[chosen]]);
		if (error) {
			char *text = text_safe_copy(error_message(error));
			message_show(screen->terminal, "No instructions can be shown", text);
			free(text);
			error_free(error);
		}
		terminal_clear(screen->terminal);
		chosen = count > 1 ? menu_choose(screen->terminal, "Functions, the hottest first (q: quit)", lines, count, chosen)
				   : MENU_NONE;
	} while (chosen != MENU_NONE);
}

static struct error *screen_of_set(struct work *work, struct event_set *set)
{
	struct choices choices = {0};
	struct code_screen screen = {.annotate = work->annotate,
				     .events = set->events.data,
				     .event_count = set->events.len,
				     .style = style_of(work->command),
				     .prints = work->prints};
	struct error *error = NULL;
	screen.style.compact = true;
	find_choices(work, set, &choices);
	screen.order = choices.order;
	screen.order_count = choices.lines.len;
	work->matching += choices.lines.len;
	if (choices.lines.len && !(error = terminal_open(&screen.terminal))) {
		choose_functions(&screen, &choices);
		terminal_close(screen.terminal);
	}
	for (size_t i = 0; i < choices.lines.len; i++)
		free(choices.lines.data[i]);
	vec_deinit(&choices.lines);
	free(choices.order);
	return error;
}

/* ---- all of it ---- */

static struct error *show(struct work *work)
{
	const struct annotate_command *command = work->command;
	const struct event_list *list = &work->opening.session->reader->events;
	const bool together = event_sets_together(list, command->group);
	struct event_set set = {0};
	struct error *error = NULL;
	if (!work->screen)
		pager_start("annotate");
	while (!error && event_set_next(list, together, &set))
		error = (work->screen ? screen_of_set : show_set)(work, &set);
	event_set_deinit(&set);
	if (!error && !work->matching)
		error = nothing_found(work);
	fflush(stdout);
	if (error)
		return error;
	if (work->screen || work->shown || !work->missing.len) {
		warn_of_missing(work);
		opening_warn(&work->opening);
		return NULL;
	}
	return error_new("%s: %s", work->missing.data[0].first, work->missing.data[0].why);
}

static struct error *show_data_types(struct work *work)
{
	const struct annotate_command *command = work->command;
	const struct annotation_style style = style_of(command);
	struct data_types_options options = command->types;
	options.percent_limit = command->percent_limit;
	options.group = command->group;
	options.skip_empty = command->skip_empty;
	options.show = style.show;
	options.global = style.global;
	options.hits = style.hits;
	options.format = command->format;
	options.separator = command->separator ? command->separator[0] : 0;
	options.color = color_wanted(command->color);
	options.functions = (struct data_profile_options){is_wanted_at, (void *)command};
	pager_start("annotate");
	struct error *error = data_types_show(&work->opening, &options);
	if (!error)
		opening_warn(&work->opening);
	return error;
}

static struct error *annotate(struct work *work)
{
	const struct annotate_command *command = work->command;
	const struct annotate_options options = code_options_annotate(&command->code, command->input.symfs);
	struct error *error = wants_screen(command, &work->screen);
	if (error)
		return error;
	if (work->screen)
		work->prints = print_file_prepare("perf.hist");
	struct opening_options opening = {.input = &command->input,
					  .cpus = command->cpus,
					  .time = command->time,
					  .itrace = command->dump ? &ITRACE_NONE : &command->itrace,
					  .confined = "annotate",
					  .output = work->screen ? "-" : NULL};
	error = opening_begin(&work->opening, &opening);
	if (error)
		return error;
	if (command->dump) {
		pager_start("annotate");
		return dumping_all(work->opening.session);
	}
	if (data_types_wanted(&command->types))
		return show_data_types(work);
	error = annotate_create(work->opening.session, work->opening.resolver, &options, &work->annotate);
	return error ? error : show(work);
}

static void work_deinit(struct work *work)
{
	for (size_t i = 0; i < work->missing.len; i++)
		free(work->missing.data[i].why);
	vec_deinit(&work->missing);
	annotate_destroy(work->annotate);
	print_file_end(work->prints);
	opening_end(&work->opening);
}

/* Keys of the configuration that preset options. */
static const struct config_binding configuration[] = {
	{"annotate.disassembler_style", "disassembler-style"},
	{0},
};

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct annotate_command command = {0};
	int words;
	code_options_init(&command.code);
	input_options_init(&command.input);
	struct error *error = config_apply(configuration, annotate_options, &command);
	if (!error)
		error = options_parse(annotate_options, OPTIONS_PERMUTE, argc, argv, &command, &words);
	if (!error)
		error = check_options(&command, words, argv);
	struct work work = {.command = &command};
	if (!error)
		error = annotate(&work);
	work_deinit(&work);
	name_list_deinit(&command.dsos);
	return error;
}

static const char *const usage[] = {"[-i FILE] [-s FUNCTION] [OPTIONS] [FUNCTION]", NULL};
const struct command cmd_annotate = {
	"annotate", "Show what each instruction and source line of a function costs", usage, annotate_options, run, configuration};
