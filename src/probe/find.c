/* From what a person wrote to addresses: by debug information where there is some, else by the symbol table. */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "probe/probe.h"
#include "symbol/elf/sdt.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct finder {
	const struct probe_target_options *options;
	struct probe_target *target;
	const struct probe_spec *spec;
	struct probe_points *found;
};

static struct error *not_found(const struct finder *finder, const char *why)
{
	struct strbuf place = {0};

	probe_spec_add_place(&place, finder->spec);
	struct error *error = why ? error_new("%s: %s", strbuf_str(&place), why)
				  : probe_no_function(finder->target, finder->spec->function, strbuf_str(&place), "");
	strbuf_deinit(&place);
	return error;
}

static void add_point(struct finder *finder, struct probe_point point)
{
	for (size_t i = 0; i < finder->found->items.len; i++)
		if (finder->found->items.data[i].address == point.address)
			return;
	vec_push(&finder->found->items, point);
}

/* ---- by debug information ---- */

static struct probe_point point_in(struct finder *finder, uint64_t address, const struct debug_function *function)
{
	struct debug_function outer;
	struct probe_point point = {.address = address, .function = function->name, .linked = function->linked};

	if (function->inlined && debug_program_outer_function(finder->target->debug, address, &outer)) {
		point.entry = outer.entry;
		point.outer = outer.name;
	} else {
		point.entry = function->entry;
		point.outer = function->name;
	}
	return point;
}

static bool wants_variables(const struct probe_spec *spec)
{
	for (size_t i = 0; i < spec->arguments.len; i++)
		if (spec->arguments.data[i].kind != PROBE_ARGUMENT_KERNEL)
			return true;
	return false;
}

/* Without optimisation parameters are stored away first: they can be had behind that. */
static uint64_t entry_with_variables(struct finder *finder, const struct debug_function *function)
{
	struct debug_program *debug = finder->target->debug;

	if (finder->target->kernel || function->inlined || finder->spec->is_return || !wants_variables(finder->spec) ||
	    debug_program_optimised(debug, function))
		return function->entry;
	uint64_t body = debug_program_body(debug, function);
	log_info("%s was compiled without optimisation: placing the probe at %s+%llu, where its variables have been set up", function->name,
		 function->name, (unsigned long long)(body - function->entry));
	return body;
}

/* Lines of the function, or of the file, that the pattern matches. */
static void add_pattern_points(struct finder *finder, const struct debug_function *function, const char *file, uint32_t first)
{
	struct debug_rows rows = {0};

	debug_program_rows(finder->target->debug, file, first, UINT32_MAX, function, &rows);
	for (size_t i = 0; i < rows.items.len; i++) {
		const struct debug_row *row = &rows.items.data[i];
		struct debug_function around;
		const char *text;
		size_t size;
		if (source_line(finder->target->sources, row->file, row->line, &text, &size) &&
		    probe_pattern_match(finder->spec->pattern, text, size) &&
		    debug_program_function_at(finder->target->debug, row->address, &around))
			add_point(finder, point_in(finder, row->address, function ? function : &around));
	}
	vec_deinit(&rows.items);
}

static void add_line_points(struct finder *finder, const struct debug_function *function, const char *file, uint32_t line)
{
	struct debug_rows rows = {0};

	debug_program_rows(finder->target->debug, file, line, line, function, &rows);
	for (size_t i = 0; i < rows.items.len; i++) {
		struct debug_function around;
		if (debug_program_function_at(finder->target->debug, rows.items.data[i].address, &around))
			add_point(finder, point_in(finder, rows.items.data[i].address, function ? function : &around));
	}
	vec_deinit(&rows.items);
}

static struct error *add_function_points(struct finder *finder, const struct debug_function *function)
{
	const struct probe_spec *spec = finder->spec;

	if (function->inlined && (spec->is_return || finder->options->no_inlines))
		return NULL;
	if (spec->pattern) {
		if (function->file)
			add_pattern_points(finder, function, function->file, function->line);
	} else if (spec->has_line) {
		if (function->file)
			add_line_points(finder, function, function->file, function->line + spec->line);
	} else if (spec->offset) {
		if (function->entry + spec->offset >= function->end)
			return not_found(finder, "the offset is beyond the end of the function");
		add_point(finder, point_in(finder, function->entry + spec->offset, function));
	} else {
		add_point(finder, point_in(finder, entry_with_variables(finder, function), function));
	}
	return NULL;
}

static struct error *find_functions(struct finder *finder, bool *ret_known)
{
	struct debug_functions functions = {0};
	struct error *error = NULL;

	debug_program_functions(finder->target->debug, finder->spec->function, finder->spec->file, &functions);
	for (size_t i = 0; !error && i < functions.items.len; i++)
		error = add_function_points(finder, &functions.items.data[i]);
	*ret_known = functions.items.len > 0;
	vec_deinit(&functions.items);
	return error;
}

/* The next line after `line` that has code, 0 = none. */
static uint32_t next_line(struct finder *finder, const char *file, uint32_t line)
{
	struct debug_rows rows = {0};
	uint32_t next = 0;

	debug_program_rows(finder->target->debug, file, line, UINT32_MAX, NULL, &rows);
	for (size_t i = 0; i < rows.items.len; i++)
		if (!next || rows.items.data[i].line < next)
			next = rows.items.data[i].line;
	vec_deinit(&rows.items);
	return next;
}

static struct error *find_in_file(struct finder *finder)
{
	const struct probe_spec *spec = finder->spec;

	if (spec->pattern)
		add_pattern_points(finder, NULL, spec->file, 1);
	else
		add_line_points(finder, NULL, spec->file, spec->line);
	if (finder->found->items.len || spec->pattern)
		return NULL;
	uint32_t next = next_line(finder, spec->file, spec->line);
	if (!next)
		return not_found(finder, "the debug information has no such file, or no code at or after this line");
	cleanup_free char *why = mem_printf("no code begins at this line; the next line with code is %u", next);
	return not_found(finder, why);
}

/* ---- by the symbol table ---- */

static bool is_known(const struct finder *finder, uint64_t address)
{
	for (size_t i = 0; i < finder->found->items.len; i++)
		if (finder->found->items.data[i].entry == address)
			return true;
	return false;
}

static struct error *find_symbols(struct finder *finder)
{
	const struct probe_spec *spec = finder->spec;
	const struct probe_target *target = finder->target;
	const struct function_name *one;
	/* Names of the kernel's functions come from the kernel that runs; with debug information places are those of its file. */
	bool moved = target->kernel && target->debug && !target->module && target->text && target->linked_text;
	uint64_t distance = moved ? target->text - target->linked_text : 0;

	for (size_t at = 0; (one = function_names_next(&finder->target->names, spec->function, &at));) {
		uint64_t address = one->address - distance;
		if (is_known(finder, address))
			continue;
		if (one->size && spec->offset >= one->size)
			return not_found(finder, "the offset is beyond the end of the function");
		if (one->indirect)
			log_warning("%s is an indirect function: the probe is in its resolver, not in the code that the resolver selects",
				    one->name);
		add_point(finder, (struct probe_point){.address = address + spec->offset,
						       .function = one->name,
						       .linked = one->linked,
						       .entry = address,
						       .outer = one->name});
	}
	return NULL;
}

/* ---- absolute addresses, static tracepoints ---- */

static void add_address(struct finder *finder)
{
	uint64_t address = finder->spec->offset, offset;
	struct probe_point point = {.address = address, .entry = address};
	struct debug_function function;

	if (!finder->target->kernel && !probe_target_offset(finder->target, address, &offset))
		log_info("0x%llx is not in a loaded part of the program: used unchanged", (unsigned long long)address);
	if (finder->target->debug && debug_program_function_at(finder->target->debug, address, &function))
		point = point_in(finder, address, &function);
	vec_push(&finder->found->items, point);
}

static void add_static(void *context, const struct sdt_probe *probe)
{
	struct finder *finder = context;
	struct probe_point point = {.address = probe->address,
				    .function = probe->name,
				    .provider = probe->provider,
				    .counter = probe->semaphore,
				    .operands = probe->arguments};

	if (str_glob_match(finder->spec->provider, probe->provider) && str_glob_match(finder->spec->function, probe->name))
		add_point(finder, point);
}

/* ---- */

struct error *probe_no_function(const struct probe_target *target, const char *name, const char *shown, const char *where)
{
	const char **names = mem_alloc_array(target->names.items.len + 1, sizeof(*names));
	for (size_t i = 0; i < target->names.items.len; i++)
		names[i] = target->names.items.data[i].name;
	const char *nearest =
		!name || str_has_glob(name) || !target->names.items.len ? NULL : str_nearest(name, names, target->names.items.len);
	if (nearest && !strcmp(nearest, name))
		nearest = NULL;
	struct error *error = error_new("%s: no such function%s%s%s%s (-F lists the functions)", shown, where,
					nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
	free(names);
	return error;
}

static const char *why_nothing(const struct finder *finder, bool known)
{
	const struct probe_spec *spec = finder->spec;

	if (spec->provider)
		return "the file has no such static tracepoint ('perf list sdt' lists those of known files)";
	if (known && spec->is_return)
		return "all calls of the function are inlined, so it never returns: probe one of its lines instead";
	if (known && spec->pattern)
		return "no line of the function matches the pattern (a pattern must match the whole line; begin and end it with * to "
		       "match a part)";
	if (known && spec->has_line)
		return "no code of the function begins at this line (-L shows the lines with code)";
	if (known)
		return "all calls of the function are inlined, and --no-inlines skips inlined functions";
	if (!finder->target->debug && (spec->has_line || spec->pattern || spec->file))
		return "lines and files require debug information, and there is none (compile with -g, or install the debug package)";
	return NULL;
}

static struct error *find(struct finder *finder, bool *ret_known)
{
	const struct probe_spec *spec = finder->spec;
	struct error *error = NULL;

	*ret_known = false;
	if (spec->provider) {
		if (finder->target->files.runtime)
			sdt_visit(finder->target->files.runtime, add_static, finder);
		return NULL;
	}
	if (spec->is_address) {
		add_address(finder);
		return NULL;
	}
	if (finder->target->debug)
		error = spec->function ? find_functions(finder, ret_known) : find_in_file(finder);
	bool by_symbol = spec->function && !spec->has_line && !spec->pattern && !spec->file;
	if (!error && by_symbol && (!*ret_known || str_has_glob(spec->function) || spec->is_return))
		if (!finder->found->items.len || str_has_glob(spec->function))
			error = find_symbols(finder);
	return error;
}

struct error *probe_find(const struct probe_target_options *options, struct probe_target *target, const struct probe_spec *spec,
			 struct probe_points *ret)
{
	struct finder finder = {options, target, spec, ret};
	bool known;
	struct error *error = find(&finder, &known);

	if (!error && !ret->items.len)
		error = not_found(&finder, why_nothing(&finder, known));
	if (!error && ret->items.len > options->max_probes)
		error = error_new("%zu places match, more than the limit of %llu; raise it with --max-probes", ret->items.len,
				  (unsigned long long)options->max_probes);
	return error;
}
