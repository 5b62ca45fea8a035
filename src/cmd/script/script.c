/* perf script: the samples of a recording as lines of text, in time order.
 *
 *	            true  4711 [001]  1446.229506:     250000 cpu-clock:  ffffffff816cdca3 step_into+0x183 ([kernel.kallsyms])
 *
 * Programs read these lines (stackcollapse-perf.pl and many more): they are, byte for byte, those of the kernel's perf. This file has the
 * options; the loop is in run.c, the text in analysis/script. */
#include "cmd/script/script.h"
#include "cmd/code/code_options.h"
#include "cmd/record/record.h"
#include "cmd/script/language.h"
#include "cmd/script/ready.h"

#include "analysis/branch_counters.h"
#include "app/command.h"
#include "app/pager.h"
#include "app/places.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/from.h"
#include "perfdata/features/features_print.h"

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_MAX_STACK = 127 };

static struct error *parse_fields(const struct option *option, const char *argument, bool negated, void *field)
{
	struct script_options *options = (struct script_options *)((char *)field - offsetof(struct script_options, fields));
	options->list_fields |= strcmp(argument, "help") == 0;
	return options->list_fields ? NULL : script_fields_parse(&options->fields, argument);
}

static struct script_filter *filter_of(void *field)
{
	return field;
}

static struct error *parse_comms(const struct option *option, const char *argument, bool negated, void *field)
{
	return script_filter_add_names(filter_of(field), argument, &filter_of(field)->comms);
}

static struct error *parse_dsos(const struct option *option, const char *argument, bool negated, void *field)
{
	return script_filter_add_names(filter_of(field), argument, &filter_of(field)->dsos);
}

static struct error *parse_symbols(const struct option *option, const char *argument, bool negated, void *field)
{
	return script_filter_add_symbols(filter_of(field), argument);
}

static struct error *parse_ids(const struct option *option, const char *argument, bool negated, void *field)
{
	return script_filter_add_ids(argument, field);
}

static struct error *parse_stop_at(const struct option *option, const char *argument, bool negated, void *field)
{
	return script_filter_add_names(filter_of(field), argument, &filter_of(field)->stop_at);
}

static struct error *parse_generated(const struct option *option, const char *argument, bool negated, void *field)
{
	const struct language_ops **generated = field;
	*generated = language_find(argument, strlen(argument));
	return *generated ? NULL : error_new("unknown scripting language \"%s\"; choose one of: %s", argument, language_names());
}

static struct error *parse_instructions(const struct option *option, const char *argument, bool negated, void *field)
{
	struct script_options *options = (struct script_options *)((char *)field - offsetof(struct script_options, itrace));
	(void)option, (void)argument, (void)negated;
	options->nanoseconds = true;
	struct error *error = itrace_options_parse("i0ns", &options->itrace);
	return error ? error : script_fields_parse(&options->fields, "+insn,-event,-period");
}

/* --call-trace, --call-ret-trace. */
static struct error *parse_calls(struct script_options *options, const char *letters, const char *fields)
{
	options->nanoseconds = true;
	struct error *error = itrace_options_parse(letters, &options->itrace);
	return error ? error : script_fields_parse(&options->fields, fields);
}

static struct error *parse_call_trace(const struct option *option, const char *argument, bool negated, void *field)
{
	enum { FILE_WIDTH = 50 };
	struct script_options *options = (struct script_options *)((char *)field - offsetof(struct script_options, itrace));
	(void)option, (void)argument, (void)negated;
	options->file_width = FILE_WIDTH;
	return parse_calls(options, "cewp", "-ip,-addr,-event,-period,+callindent");
}

static struct error *parse_call_returns(const struct option *option, const char *argument, bool negated, void *field)
{
	struct script_options *options = (struct script_options *)((char *)field - offsetof(struct script_options, itrace));
	(void)option, (void)argument, (void)negated;
	return parse_calls(options, "crewp", "-ip,-addr,-event,-period,+flags,+callindent");
}

static struct error *parse_graphed(const struct option *option, const char *argument, bool negated, void *field)
{
	(void)option, (void)negated;
	return script_filter_add_names(filter_of(field), argument, &filter_of(field)->graphed);
}

static struct error *parse_dlarg(const struct option *option, const char *argument, bool negated, void *field)
{
	struct script_options *options = (struct script_options *)((char *)field - offsetof(struct script_options, dlfilter_arguments));
	vec_push(&options->dlfilter_arguments, (char *)argument);
	return NULL;
}

#define TYPE struct script_options
static const struct option script_options[] = {
	OPTION_GROUP(input_option_group, TYPE, input),
	OPTION_GROUP(guest_option_group, TYPE, input),
	OPTION_GROUP(from_option_group, TYPE, input.from),
	OPTION_SANDBOX(TYPE, input.sandbox),
	OPTION_GROUP(output_option_group, TYPE, output),
	OPTION_HEADING("Contents"),
	OPTION_CUSTOM_FLAGS(
		'F', "fields", TYPE, fields, "[TYPE:]FIELD,…",
		"fields to print, for one TYPE of events (hw sw trace cache raw break other synth) or for all; + and - add to the "
		"defaults and remove from them. '-F help' lists the fields",
		parse_fields, OPTION_NO_NEGATION),
	OPTION_FLAG(0, "json", TYPE, json, "print each sample as a JSON object on one line, with everything that was recorded"),
	OPTION_FLAG('G', "hide-call-graph", TYPE, hide_call_graph, "print no call chains: one line per sample"),
	OPTION_U64(0, "max-stack", TYPE, max_stack, "N", "use at most N frames of a stack (default 127)"),
	OPTION_U64(0, "max-blocks", TYPE, max_blocks, "N", "with -F brstackinsn: print at most N blocks of code"),
	OPTION_CUSTOM_FLAGS(0, "stop-bt", TYPE, filter, "SYMBOL,…", "end stacks at these functions", parse_stop_at, OPTION_NO_NEGATION),
	OPTION_FLAG(0, "ns", TYPE, nanoseconds, "show times with nine decimals"),
	OPTION_FLAG(0, "reltime", TYPE, relative, "print times relative to the first line"),
	OPTION_FLAG(0, "deltatime", TYPE, delta, "print times relative to the previous line"),
	OPTION_FLAG('L', "Latency", TYPE, latency, "print names in 8 columns and CPUs without brackets"),
	OPTION_FLAG(0, "show-kernel-path", TYPE, kernel_path, "print the path of the kernel image instead of [kernel.kallsyms]"),
	OPTION_FLAG(0, "full-source-path", TYPE, source_path, "show full paths of source files"),
	OPTION_INLINE(TYPE, inlines),
	OPTION_FLAG(0, "stitch-lbr", TYPE, stitch_lbr,
		    "extend call graphs of --call-graph lbr beyond the number of branch registers, with callers from earlier samples that "
		    "are certain to be still valid"),
	OPTION_HEADING("Scripts"),
	OPTION_STRING('s', "script", TYPE, script, "FILE",
		      "process the events with a script, in Python or Perl by its suffix (.py, .pl) or as python:FILE; arguments after the "
		      "options are passed to the script"),
	OPTION_STRING(0, "script-args", TYPE, script_words, "WORDS",
		      "with -s: arguments for the script, separated by spaces, passed before those after the options"),
	OPTION_FLAG('l', "list", TYPE, list_scripts, "list the installed scripts"),
	OPTION_FLAG('a', "all-cpus", TYPE, system_wide,
		    "with an installed script that records: record the whole system, even with a command"),
	OPTION_CUSTOM_FLAGS('g', "gen-script", TYPE, generated, "LANGUAGE",
			    "generate a script in Python or Perl that prints the tracepoints of the recording, as a starting point "
			    "(perf-script.py, perf-script.pl)",
			    parse_generated, OPTION_NO_NEGATION),
	OPTION_HEADING("Filters"),
	OPTION_STRING('C', "cpu", TYPE, cpus, "CPUS", "only samples on these CPUs, such as 0-3,7"),
	OPTION_CUSTOM_FLAGS('c', "comms", TYPE, filter, "NAME,…", "only samples of threads with these names", parse_comms,
			    OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "pid", TYPE, filter.pids, "PID,…", "only samples of these processes", parse_ids, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "tid", TYPE, filter.tids, "TID,…", "only samples of these threads", parse_ids, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "dsos", TYPE, filter, "FILE,…", "only samples in these files", parse_dsos, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('S', "symbols", TYPE, filter, "SYMBOL,…", "only samples in these functions, or at these addresses (0x…)",
			    parse_symbols, OPTION_NO_NEGATION),
	OPTION_U64(0, "addr-range", TYPE, filter.address_range, "N", "with -S 0x…: length of the address range in bytes"),
	OPTION_STRING(0, "time", TYPE, time, "TIMES", "only samples in this time range: START,STOP in seconds, or 10%-20%, 10%/2"),
	OPTION_STRING(0, "switch-on", TYPE, switch_on, "EVENT", "only samples after this event"),
	OPTION_STRING(0, "switch-off", TYPE, switch_off, "EVENT", "only samples before this event"),
	OPTION_FLAG(0, "show-on-off-events", TYPE, filter.show_on_off, "also print the events of --switch-on and --switch-off themselves"),
	OPTION_STRING(0, "dlfilter", TYPE, dlfilter, "FILE", "only samples accepted by this filter, a shared object (perf_dlfilter.h)"),
	OPTION_CUSTOM_FLAGS(0, "dlarg", TYPE, dlfilter_arguments, "WORD", "argument for the filter; may be repeated", parse_dlarg,
			    OPTION_NO_NEGATION),
	OPTION_FLAG(0, "list-dlfilters", TYPE, list_dlfilters, "list the installed filters; with -v: with long descriptions"),
	OPTION_HEADING("Other records"),
	OPTION_FLAG(0, "show-task-events", TYPE, show_tasks, "print names, forks and exits of threads"),
	OPTION_FLAG(0, "show-mmap-events", TYPE, show_mmaps, "print memory maps"),
	OPTION_FLAG(0, "show-namespace-events", TYPE, show_namespaces, "print namespaces of processes"),
	OPTION_FLAG(0, "show-switch-events", TYPE, show_switches, "print context switches (recorded with --switch-events)"),
	OPTION_FLAG(0, "show-lost-events", TYPE, show_lost, "print where records were lost"),
	OPTION_FLAG(0, "show-round-events", TYPE, show_rounds, "print where the recorder had read all buffers; implies file order"),
	OPTION_FLAG(0, "show-bpf-events", TYPE, show_bpf, "print BPF programs and kernel symbols as they come and go"),
	OPTION_FLAG(0, "show-cgroup-events", TYPE, show_cgroups, "print control groups"),
	OPTION_FLAG(0, "show-text-poke-events", TYPE, show_text_pokes, "print changes of kernel code"),
	OPTION_HEADING("Output"),
	OPTION_FLAG(0, "header", TYPE, header, "print the recording's header first: host, machine, events"),
	OPTION_FLAG(0, "header-only", TYPE, header_only, "print only the header"),
	OPTION_FLAG('I', "show-info", TYPE, full_header, "with the header: also print topology, caches and memory"),
	OPTION_FLAG('D', "dump-raw-trace", TYPE, dump, "dump the bytes and fields of every record"),
	OPTION_FLAG(0, "dump-unsorted-raw-trace", TYPE, dump_unsorted, "dump records in file order"),
	OPTION_FLAG('d', "debug-mode", TYPE, check_order, "print no samples, only check that time stamps are in order"),
	OPTION_FLAG(0, "per-event-dump", TYPE, per_event_dump, "write one file per event: RECORDING.EVENT.dump"),
	OPTION_ITRACE(TYPE, itrace),
	OPTION_CUSTOM_FLAGS(
		0, "insn-trace", TYPE, itrace, NULL,
		"each instruction of a hardware trace of Intel PT, with its bytes: --itrace=i0ns -F +insn,-event,-period --ns; --xed "
		"shows it in assembly",
		parse_instructions, OPTION_NO_ARGUMENT | OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "call-trace", TYPE, itrace, NULL,
			    "functions of a hardware trace as they are called, indented by how deep: --itrace=cewp --ns "
			    "-F -ip,-addr,-event,-period,+callindent",
			    parse_call_trace, OPTION_NO_ARGUMENT | OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "call-ret-trace", TYPE, itrace, NULL,
			    "the same with returns, and what each branch is: --itrace=crewp --ns "
			    "-F -ip,-addr,-event,-period,+flags,+callindent",
			    parse_call_returns, OPTION_NO_ARGUMENT | OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "graph-function", TYPE, filter, "SYMBOL,…",
			    "with --call-trace and --call-ret-trace: only these functions and what they call", parse_graphed,
			    OPTION_NO_NEGATION),
	OPTION_FLAG(0, "xed", TYPE, disassemble, "disassemble instructions (-F insn, brstackinsn); the program xed is not needed"),
	OPTION_STRING(0, "addr2line", TYPE, addr2line, "PROGRAM",
		      "for old command lines: perf reads source lines itself and runs no program"),
	OPTION_END,
};

static struct error *prepare(struct script_options *options, const struct opening *opening)
{
	const struct reader *reader = opening->session->reader;
	const struct script_offer offer = {
		.events = &reader->events,
		.pipe = reader->pipe,
		.callchains = !options->hide_call_graph,
		.traced = opening->itrace != NULL,
		.has_clock_data = features_has(&reader->features, FEATURE_CLOCK_DATA),
	};
	struct error *error = script_fields_check(&options->fields, &offer);
	if (error)
		return error;
	if (options->filter.graphed.len && !offer.traced)
		log_warning(
			"--graph-function: calls are told by decoded instruction traces (Intel PT, Arm CoreSight), of which this recording has none");
	if (options->filter.stop_at.len)
		vec_push(&options->filter.stop_at, NULL);
	return script_filter_set_switches(&options->filter, &reader->events, options->switch_on, options->switch_off);
}

static void print_header(const struct reader *reader, bool full)
{
	struct strbuf text = {0};
	features_print(reader, full, &text);
	fwrite(strbuf_str(&text), 1, text.len, stdout);
	fflush(stdout);
	strbuf_deinit(&text);
}

/* What the letters of brcntr mean. */
static void print_legend(const struct script_options *options, const struct event_list *events)
{
	struct strbuf text = {0};
	bool shown = false;
	for (size_t type = 0; type < SCRIPT_TYPE_COUNT; type++)
		shown |= options->fields.shown[type] & SCRIPT_BIT(SCRIPT_BRCNTR);
	if (!shown || options->output.verbose > 0 || !branch_counters_any(events))
		return;
	branch_counters_legend(events, &text);
	fputs(strbuf_str(&text), stdout);
	fflush(stdout);
	strbuf_deinit(&text);
}

/* Whether lines tell what branches are, or how deep calls are. */
static bool wants_flow(const struct script_options *options)
{
	uint64_t shown = 0;
	for (size_t type = 0; type < SCRIPT_TYPE_COUNT; type++)
		shown |= options->fields.shown[type];
	return options->filter.graphed.len || shown & (SCRIPT_BIT(SCRIPT_FLAGS) | SCRIPT_BIT(SCRIPT_CALLINDENT));
}

/* A file in the folder that gets files instead of standard output; NULL = none does. Freed by the caller. */
static char *written_instead(const struct script_options *options)
{
	const char *recording = options->input.input ? options->input.input : "perf.data";
	return options->generated ? mem_strdup("perf-script") : options->per_event_dump ? mem_printf("%s.dump", recording) : NULL;
}

static struct error *open_and_run(struct script_options *options, int *ret_status)
{
	const char *foreign = options->script ? "a script" : options->dlfilter ? "--dlfilter" : NULL;
	cleanup_free char *why = foreign ? mem_printf("%s is a program of your own, and may need all rights", foreign) : NULL;
	cleanup_free char *output = written_instead(options);
	options->itrace.flow = wants_flow(options);
	/* Marks of rounds mean something only among records that aren't put in order. */
	const struct opening_options opening_options = {.input = &options->input,
							.cpus = options->cpus,
							.time = options->time,
							.streaming = true,
							.unordered = options->show_rounds || options->dump_unsorted,
							.confined = foreign ? NULL : "script",
							.unconfined = why,
							.itrace = options->dump || options->dump_unsorted ? &ITRACE_NONE : &options->itrace,
							.output = output};
	struct opening opening = {0};
	struct error *error = opening_begin(&opening, &opening_options);
	if (!error && options->generated) {
		error = script_generate(options, &opening);
		opening_end(&opening);
		return error;
	}
	if (!error && !options->header_only)
		error = prepare(options, &opening);
	if (!error) {
		if (!output)
			pager_start("script");
		if (options->header || options->header_only)
			print_header(opening.session->reader, options->full_header);
		if (options->script) {
			error = script_run_language(options, &opening, ret_status);
		} else if (!options->header_only) {
			print_legend(options, &opening.session->reader->events);
			error = script_run(options, &opening);
		}
	}
	opening_end(&opening);
	return error;
}

static void list_fields(void)
{
	struct strbuf text = {0};
	script_fields_describe(&text);
	fputs(strbuf_str(&text), stdout);
	strbuf_deinit(&text);
}

static void list_scripts(void)
{
	struct strbuf text = {0};
	script_ready_list(&text);
	fputs(strbuf_str(&text), stdout);
	strbuf_deinit(&text);
}

static void list_dlfilters(bool verbose)
{
	struct strbuf text = {0};
	cleanup_free char *root = places_root(), *folder = mem_printf("%s/dlfilters", root);
	dlfilter_list(folder, verbose, &text);
	fputs(strbuf_str(&text), stdout);
	strbuf_deinit(&text);
}

static struct error *find_language(struct script_options *options)
{
	options->language = language_of_script(options->script, &options->script_path);
	if (!options->language)
		return error_new_kind(ERROR_USAGE, "cannot tell the language of %s from its name; prefix it with one of %s and a colon",
				      options->script, language_names());
	return NULL;
}

/* The script's own words: those behind the options, or of --script-args, which has them as one text. The list is freed by the caller, and
 * *ret_text. */
static char **words_of_script(const struct script_options *options, char **behind, char **ret_text)
{
	VEC(char *) words = {0};
	*ret_text = options->script_words ? mem_strdup(options->script_words) : NULL;
	for (char *at = *ret_text, *word; at && (word = strsep(&at, " "));)
		if (*word)
			vec_push(&words, word);
	while (*behind)
		vec_push(&words, *behind++);
	vec_push(&words, NULL);
	return words.data;
}

static struct error *check_options(struct script_options *options, int words, char **argv)
{
	if (options->relative && options->delta)
		return error_new_kind(ERROR_USAGE, "--reltime and --deltatime cannot be combined");
	if (options->filter.address_range && !options->filter.addresses.len)
		return error_new_kind(ERROR_USAGE, "--addr-range requires -S 0x…");
	code_options_tell_program("addr2line", options->addr2line);
	if (options->script)
		return find_language(options);
	if (words && options->generated)
		return error_new_kind(ERROR_USAGE, "unknown option \"%s\"", argv[0]);
	return NULL;
}

static struct error *run_parsed(struct script_options *options, int words, char **argv, int *ret_status)
{
	struct error *error = check_options(options, words, argv);
	if (error)
		return error;
	if (options->list_fields) {
		list_fields();
		return NULL;
	}
	if (options->list_dlfilters) {
		list_dlfilters(options->output.verbose > 0);
		return NULL;
	}
	if (options->list_scripts) {
		list_scripts();
		return NULL;
	}
	if (words && !options->script && options->input.from.url)
		return error_new_kind(ERROR_USAGE, "ready-made scripts read recordings, not --from");
	if ((error = from_apply(&options->input, &options->time, 0)))
		return error;
	if (words && !options->script)
		return script_ready_run(argv, options->system_wide, ret_status);
	cleanup_free char *text = NULL;
	cleanup_free char **list = words_of_script(options, argv, &text);
	options->script_arguments = list;
	return open_and_run(options, ret_status);
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct script_options options = {.max_stack = DEFAULT_MAX_STACK, .inlines = STACK_INLINES_ALL};
	input_options_init(&options.input);
	script_fields_init(&options.fields);
	int words;
	struct error *error = options_parse(script_options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &options, &words);
	options.dump |= options.dump_unsorted;
	if (!error)
		error = run_parsed(&options, words, argv, ret_status);
	script_filter_deinit(&options.filter);
	vec_deinit(&options.dlfilter_arguments);
	return error;
}

/* ---- perf script record, perf script report ---- */

static bool asks_for_help(const char *word)
{
	return !strcmp(word, "-h") || !strcmp(word, "--help");
}

/* A half of a ready-made script. Options may stand before its name as well: of `options`, those that the half takes. They come to stand
 * before the other words, which may be a command (`first`), or behind them, which are the script's own. */
static struct error *run_half(const char *half, const struct option *options, bool first, int argc, char **argv, int *ret_status)
{
	int at = 1, span;
	while (at < argc && (span = options_span(options, argv + at)) > 0)
		at += span;
	if (at < argc && argv[at][0] == '-')
		return asks_for_help(argv[at]) ? error_new_kind(ERROR_USAGE, "%s", "")
					       : error_new_kind(ERROR_USAGE, "unknown option %s", argv[at]);
	cleanup_free char **words = mem_zalloc_array((size_t)argc + 1, sizeof(*words));
	size_t count = 0, before = at < argc ? (size_t)at - 1 : 0, behind = at < argc ? (size_t)(argc - at) - 1 : 0;
	words[count++] = (char *)half;
	if (at < argc)
		words[count++] = argv[at];
	memcpy(words + count + (first ? 0 : behind), argv + 1, before * sizeof(*words));
	memcpy(words + count + (first ? before : 0), argv + at + 1, behind * sizeof(*words));
	return script_ready_run(words, false, ret_status);
}

static struct error *run_record(int argc, char **argv, int *ret_status)
{
	return run_half("record", record_option_table, true, argc, argv, ret_status);
}

static struct error *run_report(int argc, char **argv, int *ret_status)
{
	return run_half("report", script_options, false, argc, argv, ret_status);
}

static const char *const record_usage[] = {"NAME [<record options>] [--] [COMMAND]", NULL};
static const char *const report_usage[] = {"NAME [WORDS] [<script options>]", NULL};
static const struct command cmd_script_record = {
	"script record",   "Record what a ready-made script needs", record_usage, NULL, run_record, .runs = "record", .own_options = true,
	.whole_word = true};
static const struct command cmd_script_report = {
	"script report",   "Run a ready-made script on a recording", report_usage, NULL, run_report, .runs = "script", .own_options = true,
	.whole_word = true};
static const struct command *const subcommands[] = {&cmd_script_record, &cmd_script_report, NULL};
static const char *const usage[] = {"[OPTIONS]", "[OPTIONS] -s FILE [WORDS]", "NAME [WORDS] [COMMAND]", NULL};

const struct command cmd_script = {
	.name = "script",
	.summary = "Print the events of a recording as text",
	.usage = usage,
	.options = script_options,
	.run = run,
	.subcommands = subcommands,
};
