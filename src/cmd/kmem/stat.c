/* perf kmem stat: its options, and the reading. */
#include "cmd/kmem/kmem.h"

#include "app/config.h"
#include "app/pager.h"
#include "base/log.h"
#include "base/number.h"

#include <string.h>

/* ---- options ---- */

static struct error *choose_callers(const struct option *option, const char *argument, bool negated, void *field)
{
	struct kmem_stat_options *options = field;
	options->wanted.callers = true;
	options->last_table = KMEM_TABLE_CALLERS;
	return NULL;
}

static struct error *choose_rows(const struct option *option, const char *argument, bool negated, void *field)
{
	struct kmem_stat_options *options = field;
	options->wanted.rows = true;
	options->last_table = KMEM_TABLE_ROWS;
	return NULL;
}

static struct error *choose_slab(const struct option *option, const char *argument, bool negated, void *field)
{
	struct kmem_stat_options *options = field;
	options->wanted.slab = true;
	options->last_kind = KMEM_KIND_SLAB;
	return NULL;
}

static struct error *choose_pages(const struct option *option, const char *argument, bool negated, void *field)
{
	struct kmem_stat_options *options = field;
	options->wanted.pages = true;
	options->last_kind = KMEM_KIND_PAGE;
	return NULL;
}

static void set_sort(struct kmem_sort *sort, enum kmem_table table, const char *keys)
{
	if (table != KMEM_TABLE_ROWS)
		sort->callers = keys;
	if (table != KMEM_TABLE_CALLERS)
		sort->rows = keys;
}

static struct error *parse_sort(const struct option *option, const char *argument, bool negated, void *field)
{
	struct kmem_stat_options *options = field;
	if (options->last_kind != KMEM_KIND_PAGE)
		set_sort(&options->wanted.slab_sort, options->last_table, argument);
	if (options->last_kind != KMEM_KIND_SLAB)
		set_sort(&options->wanted.page_sort, options->last_table, argument);
	return NULL;
}

static struct error *parse_lines(const struct option *option, const char *argument, bool negated, void *field)
{
	struct kmem_stat_options *options = field;
	uint64_t lines;
	if (!number_parse_u64(argument, &lines))
		return error_new_kind(ERROR_USAGE, "-l %s: expected a number of lines", argument);
	if (options->last_table != KMEM_TABLE_ROWS)
		options->caller_lines = lines;
	if (options->last_table != KMEM_TABLE_CALLERS)
		options->row_lines = lines;
	return NULL;
}

static struct error *parse_separator(const struct option *option, const char *argument, bool negated, void *field)
{
	struct kmem_stat_options *options = field;
	const char *separator = strcmp(argument, "\\t") ? argument : "\t";
	if (strlen(separator) != 1 || strchr("\"\n\r", *separator))
		return error_new_kind(ERROR_USAGE, "-x %s: expected a single character, such as ; or \\t", argument);
	options->format = "csv";
	options->separator = *separator;
	return NULL;
}

/* The parsers get all options: `field` is the structure. */
#define O struct kmem_stat_options
#define CHOICE(s, l, h, p)                                                                             \
	{                                                                                              \
		OPTION_KIND_CUSTOM, s, l, 0, NULL, h, p, NULL, OPTION_NO_NEGATION | OPTION_NO_ARGUMENT \
	}

const struct option kmem_stat_option_table[] = {
	CHOICE(0, "caller", "show a row per call site", choose_callers),
	CHOICE(0, "alloc", "show a row per object or page", choose_rows),
	OPTION_WHOLE(
		's', "sort", "KEYS",
		"sort by ptr, callsite, bytes, hit, pingpong or frag (default frag,hit,bytes); with --page by page, callsite, bytes, hit, "
		"order, migtype or gfp (default bytes,hit); for the table and allocator named before it",
		parse_sort, OPTION_NO_NEGATION),
	OPTION_WHOLE('l', "line", "N", "show at most N rows of the table named before it, or of each", parse_lines, OPTION_NO_NEGATION),
	CHOICE(0, "slab", "analyse the slab allocator (default)", choose_slab),
	CHOICE(0, "page", "analyse the page allocator", choose_pages),
	OPTION_FLAG(0, "live", O, wanted.live, "with --page: count only pages that were not freed"),
	OPTION_FLAG(0, "raw-ip", O, raw_addresses, "show addresses instead of functions"),
	OPTION_STRING(0, "time", O, time, "START,STOP", "use only events in this time range, in seconds; percentages as 10%-20%, 10%/2"),
	OPTION_CUSTOM_FLAGS(0, "format", O, format, "FORMAT", "machine-readable output: csv or json", option_table_format,
			    OPTION_NO_NEGATION),
	OPTION_WHOLE('x', "field-separator", "SEPARATOR", "the same as --format csv, with this character between fields", parse_separator,
		     OPTION_NO_NEGATION),
	OPTION_JSON('j', O, format),
	OPTION_GROUP(input_option_group, O, input),
	OPTION_GROUP(output_option_group, O, output),
	OPTION_SANDBOX(O, input.sandbox),
	OPTION_END,
};

void kmem_stat_options_init(struct kmem_stat_options *options)
{
	*options = (struct kmem_stat_options){.caller_lines = UINT64_MAX, .row_lines = UINT64_MAX};
	input_options_init(&options->input);
}

struct error *kmem_choose_kind(bool *slab, bool *page)
{
	struct config config = {0};
	if (*slab || *page)
		return NULL;
	struct error *error = config_open(&config);
	const char *value = error ? NULL : config_get(&config, "kmem.default");
	*page = value && !strcmp(value, "page");
	*slab = !*page;
	if (value && *slab && strcmp(value, "slab") != 0)
		error = error_new("kmem.default: '%s' is neither slab nor page", value);
	config_close(&config);
	return error;
}

static struct error *check(struct kmem_stat_options *options)
{
	struct error *error = kmem_choose_kind(&options->wanted.slab, &options->wanted.pages);
	if (error)
		return error;
	if (options->wanted.live && !options->wanted.pages)
		return error_new_kind(ERROR_USAGE, "--live is about pages: use it with --page");
	return kmem_check_sort(&options->wanted);
}

/* ---- */

static struct error *show_all(const struct kmem_show *show, const struct kmem *kmem)
{
	if (show->options->format)
		return kmem_write_tables(show, kmem);
	pager_start("kmem");
	if (kmem->slab)
		kmem_print_slab(show, kmem->slab);
	if (kmem->pages)
		kmem_print_pages(show, kmem->pages);
	return NULL;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct kmem_stat_options options;
	struct opening opening = {0};
	struct kmem *kmem = NULL;
	int words;
	kmem_stat_options_init(&options);
	struct error *error = options_parse(kmem_stat_option_table, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (!error && words)
		error = error_new_kind(ERROR_USAGE, "unexpected argument '%s'", argv[0]);
	if (!error)
		error = check(&options);
	const struct opening_options wanted = {.input = &options.input,
					       .time = options.time,
					       .streaming = true,
					       .kernel_only = true,
					       .threadless = true,
					       .names_kernel = !options.raw_addresses,
					       .confined = "kmem",
					       .recorder = "perf kmem record"};
	if (!error)
		error = opening_begin(&opening, &wanted);
	if (!error)
		error = kmem_create(opening.session, opening.resolver, &options.wanted, &kmem);
	const struct kmem_show show = {.options = &options, .resolver = opening.resolver};
	if (!error)
		error = show_all(&show, kmem);
	if (!error)
		opening_warn(&opening);
	kmem_destroy(kmem);
	opening_end(&opening);
	return error;
}

static const char *const usage[] = {"[--caller] [--alloc] [--slab] [--page] [-s KEYS] [-l N] [-i FILE]", NULL};
const struct command cmd_kmem_stat = {"kmem stat", "Add up recorded allocations", usage, kmem_stat_option_table, run};
