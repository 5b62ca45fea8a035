/* perf script: the samples of a recording as lines of text, in time order.
 *
 *	            true  4711 [001]  1446.229506:     250000 cpu-clock:  ffffffff816cdca3 step_into+0x183 ([kernel.kallsyms])
 *
 * Programs read these lines (stackcollapse-perf.pl and many more): they are, byte for byte, those of the kernel's perf. This file has the
 *options; the loop is in script_run.c, the text in analysis/script_*.c. */
#include "cmd/script.h"
#include "cmd/script_language.h"
#include "cmd/script_ready.h"

#include "app/command.h"
#include "app/pager.h"
#include "app/places.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"
#include "perfdata/features_print.h"

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
	return *generated ? NULL : error_new("\"%s\" is no language for scripts; there are: %s", argument, language_names());
}

static struct error *parse_dlarg(const struct option *option, const char *argument, bool negated, void *field)
{
	struct script_options *options = (struct script_options *)((char *)field - offsetof(struct script_options, dlfilter_arguments));
	vec_push(&options->dlfilter_arguments, (char *)argument);
	return NULL;
}

#define NO_TRACES "instruction traces of hardware (Intel PT, Arm CoreSight) aren't decoded; record branches with -b and use -F +brstack"
#define NO_GUESTS "symbols of guests aren't looked up from the host; record and look inside of the guest"
#define TYPE struct script_options
static const struct option script_options[] = {
	OPTION_GROUP(input_option_group, TYPE, input),
	OPTION_SANDBOX(TYPE, input.sandbox),
	OPTION_GROUP(output_option_group, TYPE, output),
	OPTION_HEADING("What is shown of a sample"),
	OPTION_CUSTOM_FLAGS('F', "fields", TYPE, fields, "[TYPE:]FIELD,…",
			    "fields of the lines, for a TYPE of events (hw sw trace cache raw break other synth) or for all; with + and - added "
			    "to the usual ones "
			    "and taken away. -F help lists them",
			    parse_fields, OPTION_NO_NEGATION),
	OPTION_FLAG(0, "json", TYPE, json, "an object of JSON a line for each sample, with everything that was recorded of it"),
	OPTION_FLAG('G', "hide-call-graph", TYPE, hide_call_graph, "no stacks: one line a sample"),
	OPTION_U64(0, "max-stack", TYPE, max_stack, "N", "at most N frames of a stack (127)"),
	OPTION_U64(0, "max-blocks", TYPE, max_blocks, "N", "with -F brstackinsn: at most N blocks of code"),
	OPTION_CUSTOM_FLAGS(0, "stop-bt", TYPE, filter, "SYMBOL,…", "stacks end at these functions", parse_stop_at, OPTION_NO_NEGATION),
	OPTION_FLAG(0, "ns", TYPE, nanoseconds, "times with nine decimals"),
	OPTION_FLAG(0, "reltime", TYPE, relative, "times count from the first line"),
	OPTION_FLAG(0, "deltatime", TYPE, delta, "times count from the line before"),
	OPTION_FLAG('L', "Latency", TYPE, latency, "names in 8 columns and CPUs without brackets"),
	OPTION_FLAG(0, "show-kernel-path", TYPE, kernel_path, "the kernel's file instead of [kernel.kallsyms]"),
	OPTION_FLAG(0, "full-source-path", TYPE, source_path, "source files with their paths"),
	OPTION_INLINE(TYPE, inlines),
	OPTION_FLAG(0, "stitch-lbr", TYPE, stitch_lbr, "call graphs of --call-graph lbr that are longer than the branch registers: callers beyond come from earlier samples, where these certainly still hold"),
	OPTION_HEADING("Scripts"),
	OPTION_STRING('s', "script", TYPE, script, "FILE", "hand the events to a script, in Python or Perl by its suffix (.py, .pl) or as python:FILE; words behind the options are its own"),
	OPTION_STRING(0, "script-args", TYPE, script_words, "WORDS", "with -s: words for the script, separated by spaces, before those behind the options"),
	OPTION_FLAG('l', "list", TYPE, list_scripts, "list the ready-made scripts"),
	OPTION_FLAG('a', "all-cpus", TYPE, system_wide, "with a ready-made script that records: the whole system, also when there is a command"),
	OPTION_CUSTOM_FLAGS('g', "gen-script", TYPE, generated, "LANGUAGE",
			    "write a script that prints the recording's tracepoints, in Python or Perl, to begin one's own with: perf-script.py, perf-script.pl", parse_generated,
			    OPTION_NO_NEGATION),
	OPTION_HEADING("Which samples"),
	OPTION_STRING('C', "cpu", TYPE, cpus, "CPUS", "of these CPUs, like 0-3,7"),
	OPTION_CUSTOM_FLAGS('c', "comms", TYPE, filter, "NAME,…", "of threads with these names", parse_comms, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "pid", TYPE, filter.pids, "PID,…", "of these processes", parse_ids, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "tid", TYPE, filter.tids, "TID,…", "of these threads", parse_ids, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "dsos", TYPE, filter, "FILE,…", "in these files", parse_dsos, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('S', "symbols", TYPE, filter, "SYMBOL,…", "in these functions, or at these addresses (0x…)", parse_symbols,
			    OPTION_NO_NEGATION),
	OPTION_U64(0, "addr-range", TYPE, filter.address_range, "N", "with -S 0x…: so many bytes from the address on"),
	OPTION_STRING(0, "time", TYPE, time, "TIMES", "of this span: START,STOP in seconds, or parts like 10%-20% and 10%/2"),
	OPTION_STRING(0, "switch-on", TYPE, switch_on, "EVENT", "after this event"),
	OPTION_STRING(0, "switch-off", TYPE, switch_off, "EVENT", "up to this event"),
	OPTION_FLAG(0, "show-on-off-events", TYPE, filter.show_on_off, "with --switch-on and --switch-off: these events too"),
	OPTION_STRING(0, "dlfilter", TYPE, dlfilter, "FILE", "that a filter keeps: a shared object of one's own (perf_dlfilter.h)"),
	OPTION_CUSTOM_FLAGS(0, "dlarg", TYPE, dlfilter_arguments, "WORD", "an argument for the filter; may be given several times", parse_dlarg,
			    OPTION_NO_NEGATION),
	OPTION_FLAG(0, "list-dlfilters", TYPE, list_dlfilters, "list the installed filters; with -v described at length"),
	OPTION_HEADING("Other records"),
	OPTION_FLAG(0, "show-task-events", TYPE, show_tasks, "names, forks and exits of threads"),
	OPTION_FLAG(0, "show-mmap-events", TYPE, show_mmaps, "what was mapped where"),
	OPTION_FLAG(0, "show-namespace-events", TYPE, show_namespaces, "namespaces of processes"),
	OPTION_FLAG(0, "show-switch-events", TYPE, show_switches, "context switches (recorded with --switch-events)"),
	OPTION_FLAG(0, "show-lost-events", TYPE, show_lost, "where records were lost"),
	OPTION_FLAG(0, "show-round-events", TYPE, show_rounds, "where the recorder had emptied all buffers; the order is the file's then"),
	OPTION_FLAG(0, "show-bpf-events", TYPE, show_bpf, "BPF programs and kernel symbols that came and went"),
	OPTION_FLAG(0, "show-cgroup-events", TYPE, show_cgroups, "control groups"),
	OPTION_FLAG(0, "show-text-poke-events", TYPE, show_text_pokes, "changes of kernel code"),
	OPTION_HEADING("Output"),
	OPTION_FLAG(0, "header", TYPE, header, "the recording's header first: host, machine, events"),
	OPTION_FLAG(0, "header-only", TYPE, header_only, "nothing but the header"),
	OPTION_FLAG('I', "show-info", TYPE, full_header, "with them: topology, caches and memory too"),
	OPTION_FLAG('D', "dump-raw-trace", TYPE, dump, "the bytes and fields of every record"),
	OPTION_FLAG(0, "dump-unsorted-raw-trace", TYPE, dump_unsorted, "the same, in the order of the file"),
	OPTION_FLAG('d', "debug-mode", TYPE, check_order, "no text: only say where times go back in spite of sorting"),
	OPTION_FLAG(0, "per-event-dump", TYPE, per_event_dump, "one file an event: RECORDING.EVENT.dump"),
	OPTION_REFUSED(0, "itrace", "OPTIONS", NO_TRACES),
	OPTION_REFUSED(0, "insn-trace", NULL, NO_TRACES),
	OPTION_REFUSED(0, "call-trace", NULL, NO_TRACES),
	OPTION_REFUSED(0, "call-ret-trace", NULL, NO_TRACES),
	OPTION_REFUSED(0, "graph-function", "SYMBOL,…", NO_TRACES),
	OPTION_FLAG(0, "xed", TYPE, disassemble,
		    "show instructions (-F insn, brstackinsn) as an assembler has them; the program xed is not needed for it"),
	OPTION_REFUSED(0, "addr2line", "PATH", "no program is needed to find source lines; use -F +srcline"),
	OPTION_REFUSED(0, "guest-code", NULL, NO_GUESTS),
	OPTION_REFUSED(0, "guestmount", "DIRECTORY", NO_GUESTS),
	OPTION_REFUSED(0, "guestvmlinux", "FILE", NO_GUESTS),
	OPTION_REFUSED(0, "guestkallsyms", "FILE", NO_GUESTS),
	OPTION_REFUSED(0, "guestmodules", "FILE", NO_GUESTS),
	OPTION_END,
};

static struct error *prepare(struct script_options *options, const struct opening *opening)
{
	const struct reader *reader = opening->session->reader;
	const struct script_offer offer = {
		.events = &reader->events,
		.pipe = reader->pipe,
		.callchains = !options->hide_call_graph,
		.has_clock_data = features_has(&reader->features, FEATURE_CLOCK_DATA),
	};
	struct error *error = script_fields_check(&options->fields, &offer);
	if (error)
		return error;
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

static struct error *open_and_run(struct script_options *options, int *ret_status)
{
	/* Marks of rounds mean something only among records that aren't put in order. */
	const struct opening_options opening_options = {.input = &options->input,
							.cpus = options->cpus,
							.time = options->time,
							.streaming = true,
							.unordered = options->show_rounds || options->dump_unsorted,
							/* Scripts and filters are the user's own programs; dumps are files. */
							.confined = options->script || options->generated || options->dlfilter || options->per_event_dump ? NULL : "script"};
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
		pager_start("script");
		if (options->header || options->header_only)
			print_header(opening.session->reader, options->full_header);
		if (options->script)
			error = script_run_language(options, &opening, ret_status);
		else if (!options->header_only)
			error = script_run(options, &opening);
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
		return error_new_kind(ERROR_USAGE, "in which language %s is can't be told from its name; put one of %s and a colon before it",
				      options->script, language_names());
	return NULL;
}

/* The script's own words: those behind the options, or of --script-args, which has them as one text. The list is freed by the caller, and *ret_text. */
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
		return error_new_kind(ERROR_USAGE, "times count either from the first line (--reltime) or from the line before (--deltatime)");
	if (options->filter.address_range && !options->filter.addresses.len)
		return error_new_kind(ERROR_USAGE, "--addr-range tells how far an address of -S reaches: it needs -S 0x…");
	if (options->script)
		return find_language(options);
	if (words && options->generated)
		return error_new_kind(ERROR_USAGE, "\"%s\" is no option", argv[0]);
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

static const char *const usage[] = {"[OPTIONS]", "[OPTIONS] -s FILE [WORDS]", "record NAME [OPTIONS] [COMMAND]", "report NAME [WORDS] [OPTIONS]",
				    "NAME [WORDS] [COMMAND]", NULL};

const struct command cmd_script = {
	.name = "script",
	.summary = "Print the samples of a recording as lines of text",
	.usage = usage,
	.options = script_options,
	.run = run,
};
