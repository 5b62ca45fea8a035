/* Options for instructions and source lines (code_options.h).
 *
 * The kernel's tool runs objdump and addr2line, and has options for where they are. What these ask for is given here without any program;
 * so command lines that name one go on working, and only -v tells that it wasn't run. */
#include "cmd/code/code_options.h"

#include "app/hint.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct error *parse_syntax(const struct option *option, const char *argument, bool negated, void *field)
{
	bool intel = !strcmp(argument, "intel");
	if (!intel && strcmp(argument, "att"))
		return error_new_kind(ERROR_USAGE, "invalid style '%s': use att or intel", argument);
	*(enum disasm_syntax *)field = intel ? DISASM_INTEL : DISASM_ATT;
	return NULL;
}

/* Both words in any order. */
static struct error *parse_percent_type(const struct option *option, const char *argument, bool negated, void *field)
{
	static const struct {
		const char *name, *other;
		struct percent_type type;
	} types[] = {
		{"local-period", "period-local", {false, false}},
		{"local-hits", "hits-local", {false, true}},
		{"global-period", "period-global", {true, false}},
		{"global-hits", "hits-global", {true, true}},
	};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(argument, types[i].name) || !strcmp(argument, types[i].other)) {
			*(struct percent_type *)field = types[i].type;
			return NULL;
		}
	return error_new_kind(ERROR_USAGE, "invalid type '%s': use local-period, local-hits, global-period or global-hits", argument);
}

#define TYPE struct code_options
const struct option code_option_group[] = {
	OPTION_CUSTOM_FLAGS(0, "percent-type", TYPE, percent_type, "TYPE",
			    "percentages of the function (local-period, the default; local-hits) or of the recording (global-period, "
			    "global-hits)",
			    parse_percent_type, OPTION_NO_NEGATION),
	OPTION_FLAG(0, "source", TYPE, source, "interleave source text with the instructions (default; --no-source: omit it)"),
	OPTION_FLAG(0, "asm-raw", TYPE, raw, "show the bytes of each instruction"),
	OPTION_CUSTOM_FLAGS('M', "disassembler-style", TYPE, syntax, "STYLE", "x86 syntax: att (default) or intel", parse_syntax,
			    OPTION_NO_NEGATION),
	OPTION_STRING(0, "prefix", TYPE, prefix, "DIRECTORY", "prepend DIRECTORY to absolute paths of source files"),
	OPTION_U64(0, "prefix-strip", TYPE, prefix_strip, "N", "with --prefix: strip N leading directories first"),
	OPTION_STRING(0, "objdump", TYPE, objdump, "PROGRAM", "for old command lines: perf disassembles code itself and runs no program"),
	OPTION_STRING(0, "addr2line", TYPE, addr2line, "PROGRAM",
		      "for old command lines: perf reads source lines itself and runs no program"),
	OPTION_END,
};

void code_options_init(struct code_options *options)
{
	*options = (struct code_options){.source = true};
}

void code_options_tell_program(const char *name, const char *program)
{
	if (program)
		log_info("--%s: %s isn't run: perf %s itself", name, program,
			 *name == 'o' ? "disassembles code" : "reads source lines from debug information");
}

struct error *code_options_check(const struct code_options *options)
{
	if (options->prefix_strip && !options->prefix)
		return error_new_kind(ERROR_USAGE, "--prefix-strip requires --prefix");
	code_options_tell_program("objdump", options->objdump);
	code_options_tell_program("addr2line", options->addr2line);
	return NULL;
}

void code_options_hint(const struct code_options *options, const char *command)
{
	bool style = options->syntax || options->raw || !options->source || options->prefix || options->percent_type.global ||
		     options->percent_type.hits;
	if ((style || options->objdump) && hint_is_wanted(STDERR_FILENO))
		fprintf(stderr, "perf %s as text shows no instructions. 'perf annotate --stdio' does, with these options.\n", command);
}

struct annotate_options code_options_annotate(const struct code_options *options, const char *symfs)
{
	return (struct annotate_options){
		.syntax = options->syntax,
		.source = options->source,
		.files = {.symfs = symfs, .prefix = options->prefix, .prefix_strip = (unsigned int)options->prefix_strip},
	};
}

struct annotation_style code_options_style(const struct code_options *options)
{
	return (struct annotation_style){.global = options->percent_type.global,
					 .hits = options->percent_type.hits,
					 .raw = options->raw,
					 .compact = true,
					 .least_percent = 0.5};
}
