/* What perf probe shows without changing anything: functions (-F), lines of source (-L), variables (-V). */
#include "app/pager.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/probe/probe.h"
#include "probe/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_BEHIND = 3 /* shown after the last line with code */ };

/* ---- -F ---- */

struct error *probe_show_functions(const struct probe_options *options)
{
	const char *filter = options->functions_pattern ? options->functions_pattern : options->filter ? options->filter : "!_* & !*@plt";
	const char *last = "";
	struct probe_target target;
	struct strbuf name = {0};
	struct error *error = probe_filter_check(filter);

	if (!error)
		error = probe_target_open(&options->target, &target);
	if (error)
		return error;
	pager_start("probe");
	for (size_t i = 0; i < target.names.items.len; i++) {
		const char *its = target.names.items.data[i].name;
		if (!strcmp(its, last) || !probe_filter_matches(filter, its))
			continue;
		last = its;
		strbuf_clear(&name);
		text_add_safe(&name, its, strlen(its));
		puts(strbuf_str(&name));
	}
	strbuf_deinit(&name);
	probe_target_close(&target);
	return NULL;
}

/* ---- -L ---- */

struct source_listing {
	struct probe_target *target;
	struct debug_rows rows;
	const char *file;
	uint32_t base; /* the line that is number 0 */
	uint32_t first, last;
};

/* Leaves each address to one line: several may begin at one, but only one of them can be told when the probe is hit. */
static void choose_lines(struct source_listing *listing)
{
	size_t to = 0;

	for (size_t i = 0; i < listing->rows.items.len; i++) {
		struct debug_row row = listing->rows.items.data[i];
		uint32_t line = debug_program_line_at(listing->target->debug, row.address);
		struct debug_function function;
		bool entry = debug_program_outer_function(listing->target->debug, row.address, &function) && function.entry == row.address;
		if (line != row.line && !entry)
			continue;
		row.line = line;
		listing->rows.items.data[to++] = row;
	}
	listing->rows.items.len = to;
}

static bool has_code(const struct source_listing *listing, uint32_t line)
{
	for (size_t i = 0; i < listing->rows.items.len; i++)
		if (listing->rows.items.data[i].line == line)
			return true;
	return false;
}

/* Text without control characters, but with its tabs. */
static void print_text(const char *text, size_t size)
{
	struct strbuf safe = {0};

	while (size) {
		const char *tab = memchr(text, '\t', size);
		size_t len = tab ? (size_t)(tab - text) : size;
		text_add_safe(&safe, text, len);
		if (tab)
			strbuf_add_char(&safe, '\t');
		len += tab != NULL;
		text += len;
		size -= len;
	}
	puts(strbuf_str(&safe));
	strbuf_deinit(&safe);
}

static struct error *print_lines(struct source_listing *listing)
{
	const char *text;
	size_t size;

	if (!source_line(listing->target->sources, listing->file, listing->first, &text, &size))
		return error_new("cannot read %s:%u: is the source still where the program was compiled? (-s DIRECTORY gives its new "
				 "place)",
				 listing->file, listing->first);
	for (uint32_t line = listing->first; line <= listing->last; line++) {
		if (!source_line(listing->target->sources, listing->file, line, &text, &size))
			break;
		if (has_code(listing, line))
			printf("%7u  ", line - listing->base);
		else
			printf("%9s", "");
		print_text(text, size);
	}
	return NULL;
}

static void set_end(struct source_listing *listing, const struct probe_lines *lines)
{
	uint32_t end = listing->first;

	choose_lines(listing);
	for (size_t i = 0; i < listing->rows.items.len; i++)
		if (listing->rows.items.data[i].line > end)
			end = listing->rows.items.data[i].line;
	listing->last = lines->last != UINT32_MAX ? listing->base + lines->last : end + LINES_BEHIND;
}

/* The rows of all code that a function has, there or inlined. */
static struct error *find_function_lines(struct source_listing *listing, const struct probe_lines *lines)
{
	struct debug_functions functions = {0};
	struct debug_program *debug = listing->target->debug;

	debug_program_functions(debug, lines->function, lines->file, &functions);
	const struct debug_function *found = NULL;
	for (size_t i = 0; i < functions.items.len; i++) {
		const struct debug_function *function = &functions.items.data[i];
		if (!function->file || !function->line)
			continue;
		found = found ? found : function;
		if (function->line == found->line && !strcmp(function->file, found->file))
			debug_program_rows(debug, function->file, function->line, UINT32_MAX, function, &listing->rows);
	}
	if (found) {
		listing->file = found->file;
		listing->base = found->line;
		listing->first = found->line + lines->first;
		set_end(listing, lines);
		cleanup_free char *file = text_safe_copy(found->file);
		printf("<%s@%s:%u>\n", lines->function, file, lines->first);
	}
	vec_deinit(&functions.items);
	return found ? NULL : probe_no_function(listing->target, lines->function, lines->function, " in the debug information");
}

static struct error *find_file_lines(struct source_listing *listing, const struct probe_lines *lines)
{
	debug_program_rows(listing->target->debug, lines->file, lines->first, lines->last, NULL, &listing->rows);
	if (!listing->rows.items.len)
		return error_new("%s: the debug information has no such file, or no code in these lines", lines->file);
	listing->file = listing->rows.items.data[0].file;
	listing->first = lines->first ? lines->first : 1;
	set_end(listing, lines);
	cleanup_free char *file = text_safe_copy(listing->file);
	printf("<%s:%u>\n", file, lines->first);
	return NULL;
}

static struct error *needs_debug(const struct probe_target *target)
{
	if (target->debug)
		return NULL;
	if (target->kernel && !target->path)
		return error_new_kind(ERROR_UNSUPPORTED, "no debug information for the kernel: install its debug package, or give its "
							 "vmlinux (-k FILE)");
	return error_new_kind(ERROR_UNSUPPORTED, "%s has no debug information: compile it with -g, or install its debug package",
			      target->path);
}

struct error *probe_show_lines(const struct probe_options *options)
{
	struct probe_lines lines;
	struct probe_target target;
	struct error *error = probe_lines_parse(options->lines, &lines);

	if (error)
		return error;
	if ((error = probe_target_open(&options->target, &target))) {
		arena_deinit(&lines.arena);
		return error;
	}
	struct source_listing listing = {.target = &target};
	error = needs_debug(&target);
	pager_start("probe");
	if (!error)
		error = lines.function ? find_function_lines(&listing, &lines) : find_file_lines(&listing, &lines);
	if (!error)
		error = print_lines(&listing);
	vec_deinit(&listing.rows.items);
	probe_target_close(&target);
	arena_deinit(&lines.arena);
	return error;
}

/* ---- -V ---- */

/* For qsort(). */
static int compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "TYPE\tNAME", with --range also where it has a value. */
static void add_variable_line(const struct probe_options *options, const struct probe_point *point, const struct debug_variable *one,
			      struct strbuf *out)
{
	if (options->range)
		strbuf_add_str(out, one->external ? "[EXT]\t" : "[VAL]\t");
	text_add_safe(out, one->type, strlen(one->type));
	strbuf_add_char(out, '\t');
	text_add_safe(out, one->name, strlen(one->name));
	if (options->range && !one->external && one->ranges)
		strbuf_printf(out, "\t@<%s+[%s]>", point->function ? point->function : "?", one->ranges);
}

/* Sorted, each once: a name may stand in several scopes. */
static void print_variables(const struct probe_options *options, const struct probe_point *point, const struct debug_variables *variables)
{
	VEC(char *) texts = {0};

	for (size_t i = 0; i < variables->items.len; i++) {
		const struct debug_variable *variable = &variables->items.data[i];
		struct strbuf text = {0};
		if ((!variable->available && !options->range) ||
		    (options->filter && !probe_filter_matches(options->filter, variable->name)))
			continue;
		if (options->range && !variable->available && !variable->ranges)
			continue;
		add_variable_line(options, point, variable, &text);
		vec_push(&texts, strbuf_detach(&text));
	}
	if (texts.len)
		qsort(texts.data, texts.len, sizeof(*texts.data), compare_text);
	for (size_t i = 0; i < texts.len; i++) {
		if (!i || strcmp(texts.data[i], texts.data[i - 1]))
			printf("\t\t%s\n", texts.data[i]);
	}
	for (size_t i = 0; i < texts.len; i++)
		free(texts.data[i]);
	if (!texts.len)
		printf("\t\t(none%s)\n", options->range ? "" : "; --range also shows those that have a value elsewhere");
	vec_deinit(&texts);
}

/* One place of the probe; without debug information the parameters that the kernel's types tell. */
static void show_variables_at(const struct probe_options *options, struct probe_target *target, const struct probe_point *point)
{
	struct debug_variables variables = {0};

	if (target->debug)
		debug_program_variables(target->debug, point->address, options->externs, &variables);
	else
		probe_kernel_parameters(target, point, &variables);
	cleanup_free char *outer = text_safe_copy(point->outer ? point->outer : "?");
	printf("\t@<%s+%llu>\n", outer, (unsigned long long)(point->address - point->entry));
	print_variables(options, point, &variables);
	debug_variables_deinit(&variables);
}

struct error *probe_show_variables(const struct probe_options *options)
{
	struct probe_spec spec;
	struct probe_target target;
	struct probe_points points = {0};
	struct error *error = probe_spec_parse_place(options->variables, &spec);

	if (!error && options->filter)
		error = probe_filter_check(options->filter);
	if (error)
		return error;
	if ((error = probe_target_open(&options->target, &target))) {
		probe_spec_deinit(&spec);
		return error;
	}
	if (!target.types)
		error = needs_debug(&target);
	if (!error)
		error = probe_find(&options->target, &target, &spec, &points);
	if (!error)
		printf("Available variables at %s%s\n", spec.function || spec.is_address ? "" : "@", options->variables);
	for (size_t i = 0; !error && i < points.items.len; i++)
		show_variables_at(options, &target, &points.items.data[i]);
	vec_deinit(&points.items);
	probe_target_close(&target);
	probe_spec_deinit(&spec);
	return error;
}
