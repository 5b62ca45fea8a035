/* perf flamegraph: where the time goes, as one picture.
 *
 *	perf flamegraph                             perf.data → flamegraph.html
 *	perf flamegraph -i FILE -o out.svg          the ending of the name chooses the form: .svg, .html, .folded or .txt (folded stacks)
 *	perf flamegraph -i stacks.folded            folded stacks of any program, also from standard input (-i -)
 *	perf flamegraph -F 999 -- make -j4          records with call graphs into a temporary file, and draws
 *	perf flamegraph --off-cpu -- make -j4       where threads wait instead
 *
 * Frames are weighed by the event's period, or with --samples by samples, as stackcollapse-perf.pl does; so they are in a picture where
 * all samples have one period. With several events the first one that has samples is drawn, unless --show-event names another.
 */
#include "analysis/folded_stacks.h"
#include "analysis/report/fold.h"
#include "analysis/sched/off_cpu_fold.h"
#include "app/command.h"
#include "app/groups.h"
#include "base/cleanup.h"
#include "base/files/replacement.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/drawing.h"
#include "cmd/from.h"
#include "cmd/hidden_kernel.h"
#include "cmd/opening.h"
#include "view/flame_data.h"
#include "view/flame_palette.h"
#include "view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

struct flamegraph_options {
	struct input_options input;
	const char *output;
	const char *title;
	const char *event;
	const char *palette;
	const char *comms;
	const char *time;
	const char *cpus;
	bool off_cpu;
	bool folded;
	bool samples;
	bool icicle;
	bool reverse;
	bool by_thread;
	bool no_comm;
	int max_stack;
	enum stack_inlines inlines;
};

/* Checked here, so that a wrong name is told before a long recording. */
static struct error *parse_palette(const struct option *option, const char *argument, bool negated, void *field)
{
	(void)option;
	*(const char **)field = negated ? NULL : argument;
	if (negated || flame_palette_find(argument))
		return NULL;
	struct strbuf names = {0};
	flame_palette_add_names(&names, ", ");
	struct error *error = error_new_kind(ERROR_USAGE, "unknown palette '%s'; choose one of %s", argument, strbuf_str(&names));
	strbuf_deinit(&names);
	return error;
}

static const struct option flamegraph_own_options[] = {
	OPTION_STRING('o', "output", struct flamegraph_options, output, "FILE",
		      "file to write, by suffix .html, .svg or .folded (default flamegraph.html; - for standard output)"),
	OPTION_FLAG(
		0, "off-cpu", struct flamegraph_options, off_cpu,
		"draw where threads wait and for how long, in blue: from offcpu-time or sched:sched_switch events, which are recorded with a "
		"command"),
	OPTION_FLAG(0, "folded", struct flamegraph_options, folded,
		    "write folded stacks for other tools, one per line with its count (default: to standard output)"),
	OPTION_STRING(0, "title", struct flamegraph_options, title, "TEXT", "title of the graph"),
	OPTION_STRING(0, "show-event", struct flamegraph_options, event, "NAME", "event to draw (default: the first with samples)"),
	OPTION_STRING(0, "comms", struct flamegraph_options, comms, "NAME[,NAME]", "only threads with these names"),
	OPTION_STRING(0, "time", struct flamegraph_options, time, "FROM,TO", "only samples in this time range (seconds, or 10%-20%)"),
	OPTION_STRING(0, "show-cpu", struct flamegraph_options, cpus, "LIST", "only samples on these CPUs"),
	OPTION_FLAG(0, "samples", struct flamegraph_options, samples, "weight frames by number of samples instead of period"),
	OPTION_FLAG(0, "inverted", struct flamegraph_options, icicle, "draw an icicle graph, with the root at the top"),
	OPTION_FLAG(0, "reverse", struct flamegraph_options, reverse,
		    "merge stacks from the innermost frame, to show who calls the "
		    "hot functions"),
	OPTION_CUSTOM(
		0, "palette", struct flamegraph_options, palette, "NAME",
		"colours: kind (default: user, kernel, JIT and inlined code differ), module, java, js, perl, hot, mem, io, red, blue, "
		"green, aqua, yellow, orange, purple",
		parse_palette),
	OPTION_FLAG(0, "by-thread", struct flamegraph_options, by_thread, "separate threads (name-PID/TID at the root)"),
	OPTION_FLAG(0, "merge-comms", struct flamegraph_options, no_comm, "omit thread names at the root"),
	OPTION_INT(0, "max-stack", struct flamegraph_options, max_stack, "N", "use at most N frames of each stack (default 127)"),
	OPTION_INLINE(struct flamegraph_options, inlines),
	OPTION_SANDBOX(struct flamegraph_options, input.sandbox),
	OPTION_END,
};

static const struct option flamegraph_option_table[] = {
	{.kind = OPTION_KIND_GROUP, .group = flamegraph_own_options},
	OPTION_GROUP(input_option_group, struct flamegraph_options, input),
	OPTION_GROUP(guest_option_group, struct flamegraph_options, input),
	OPTION_GROUP(from_option_group, struct flamegraph_options, input.from),
	OPTION_END,
};

static const char *const flamegraph_usage[] = {"[<options>]", "[<options>] [<record options>] -- <command> [<its arguments>]",
					       "--off-cpu [-i FILE | [<record options>] -- <command>]", NULL};

struct flamegraph {
	struct flamegraph_options options;
	struct opening opening;
	struct fold *fold;
	struct calltree *tree;
	const struct event *event;
	const char *unit;	     /* of the weights */
	bool waits;		     /* what was counted are waits between switches, not samples */
	const char *title;	     /* of what was recorded in one go; NULL: the recording tells */
	struct folded_stacks folded; /* of the input, when it is such; its tree is `tree` */
};

/* For the fold: of the event that is drawn, and of the threads that are wanted. */
static bool accept_sample(void *context, const struct fold_sample *sample)
{
	const struct flamegraph *flamegraph = context;
	return sample->event == flamegraph->event &&
	       (!flamegraph->options.comms || str_is_listed(flamegraph->options.comms, untrusted_raw(sample->comm)));
}

/* The same for waits. */
static bool accept_wait(void *context, const struct fold_sample *sample)
{
	const struct flamegraph *flamegraph = context;
	return !flamegraph->options.comms || str_is_listed(flamegraph->options.comms, untrusted_raw(sample->comm));
}

static const struct event *find_event(const struct session *session, const char *name)
{
	for (size_t i = 0; i < session->reader->events.events.len; i++)
		if (!strcmp(session->reader->events.events.data[i]->name, name))
			return session->reader->events.events.data[i];
	return NULL;
}

static struct error *choose_event(struct flamegraph *flamegraph)
{
	const struct opening *opening = &flamegraph->opening;
	if (!flamegraph->options.event && !opening_events_sampled(opening))
		return error_new("%s has no samples: nothing to draw", reader_name(opening->session->reader));
	return opening_choose_event(opening, flamegraph->options.event, "drawing", &flamegraph->event);
}

/* Folded stacks instead of a picture: then no limit holds for what is too small to be seen. */
static bool writes_folded(const struct flamegraph_options *options)
{
	const char *output = options->output ? options->output : "";
	return options->folded || drawing_is_folded(output);
}

/* "-" is standard output. */
static const char *output_path(const struct flamegraph_options *options)
{
	return options->output ? options->output : options->folded ? "-" : "flamegraph.html";
}

static const char off_cpu_event[] = "offcpu-time"; /* of record --off-cpu */

/* One of the recording's events. */
static struct error *fold_samples(struct flamegraph *flamegraph, const struct fold_options *fold)
{
	if (flamegraph->options.off_cpu)
		flamegraph->options.event = off_cpu_event;
	struct error *error = choose_event(flamegraph);
	return error ? error : fold_of_session(flamegraph->opening.session, flamegraph->opening.resolver, fold, &flamegraph->fold);
}

/* --off-cpu: what passed between the recording's switches. A filter would take the ends of waits away. */
static struct error *fold_waits(struct flamegraph *flamegraph, struct fold_options *fold)
{
	const struct off_cpu_options waits = {.min_ns = 1, .max_ns = UINT64_MAX};
	const struct session *session = flamegraph->opening.session;
	struct off_cpu_sums sums;
	if (flamegraph->options.time || flamegraph->options.cpus)
		return error_new_kind(ERROR_USAGE, "--time and --show-cpu: waits of a part are drawn by 'perf sched timehist --folded "
						   "--time START,STOP -C LIST | perf flamegraph -i - --palette blue'");
	fold->accept = accept_wait;
	fold->records = FOLD_RECORDS_DROPPED;
	fold->loose = false;
	flamegraph->fold = fold_create(flamegraph->opening.session, flamegraph->opening.resolver, fold);
	struct error *error = off_cpu_fold(&waits, flamegraph->fold, &sums);
	if (error)
		return error;
	flamegraph->event = find_event(session, "sched:sched_switch");
	return flamegraph->fold->entry_count ? NULL
					     : error_new("%s contains no completed wait: nothing to draw", reader_name(session->reader));
}

/* A recording as a call tree, with its unit. */
static struct error *build_tree(struct flamegraph *flamegraph)
{
	const struct flamegraph_options *options = &flamegraph->options;
	struct opening_options opening = {.input = &options->input,
					  .cpus = options->cpus,
					  .time = options->time,
					  .confined = "flamegraph",
					  .output = output_path(options)};
	struct error *error = opening_begin(&flamegraph->opening, &opening);
	if (error)
		return error;
	struct fold_options fold = {
		.chains = true,
		.threads = options->by_thread,
		.by_file = true,
		.inlines = options->inlines,
		.max_stack = (unsigned int)options->max_stack,
		.accept = accept_sample,
		.context = flamegraph,
	};
	fold.loose = !writes_folded(options);
	flamegraph->waits = options->off_cpu && !find_event(flamegraph->opening.session, off_cpu_event);
	error = flamegraph->waits ? fold_waits(flamegraph, &fold) : fold_samples(flamegraph, &fold);
	if (error)
		return error;
	struct fold_calltree_options tree = {
		.event = (int)flamegraph->event->index,
		.by_comm = !options->no_comm,
		.by_thread = options->by_thread,
		.reverse = options->reverse,
		.count = options->samples ||
			 (!options->off_cpu && !writes_folded(options) && fold_has_one_period(flamegraph->fold, flamegraph->event->index)),
	};
	if (!writes_folded(options)) {
		tree.most = FLAME_MOST;
		tree.deepest = FLAME_DEEPEST;
	}
	flamegraph->unit = tree.count ? (flamegraph->waits ? "waits" : "samples") : options->off_cpu ? "ns" : flamegraph->event->name;
	flamegraph->tree = fold_calltree(flamegraph->fold, &tree);
	if (!(flamegraph->event->attr.sample_type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_BRANCH_STACK)))
		log_warning("%s has no call chains, so every stack has a single frame; record them with: perf record -g",
			    reader_name(flamegraph->opening.session->reader));
	return NULL;
}

/* The descriptor that a path stands for: "-", and "/dev/fd/N" as shells have it for <(…); -1 = none. */
static int descriptor_of(const char *path)
{
	uint32_t number;
	if (!strcmp(path, "-"))
		return STDIN_FILENO;
	return str_starts_with(path, "/dev/fd/") && number_parse_u32(path + strlen("/dev/fd/"), &number) ? (int)number : -1;
}

/* Whether `path` (- for standard input) holds text instead of a recording. Looks at the first bytes and takes none of them away: what can't
 * be looked at so is for the reader of recordings. */
static bool is_text(const char *path)
{
	char magic[8];
	int given = descriptor_of(path), file = given >= 0 ? given : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t size = pread(file, magic, sizeof(magic), 0);
	int pipe_ends[2];
	if (size < 0 && errno == ESPIPE && given >= 0 && !pipe2(pipe_ends, O_CLOEXEC)) {
		size = tee(given, pipe_ends[1], sizeof(magic), 0);
		if (size > 0)
			size = read(pipe_ends[0], magic, (size_t)size);
		close(pipe_ends[0]);
		close(pipe_ends[1]);
	}
	if (given < 0 && file >= 0)
		close(file);
	for (ssize_t i = 0; i < size; i++)
		if ((unsigned char)magic[i] < ' ' && magic[i] != '\t' && magic[i] != '\n' && magic[i] != '\r')
			return false;
	return size > 0 && memcmp(magic, "PERF", size < 4 ? (size_t)size : 4) && memcmp(magic, "2ELIFREP", size < 8 ? (size_t)size : 8);
}

/* Folded stacks as a call tree. Options about events and threads can't mean anything there. */
static struct error *read_folded(struct flamegraph *flamegraph)
{
	const struct flamegraph_options *options = &flamegraph->options;
	const char *path = options->input.input;
	if (options->event || options->comms || options->time || options->cpus || options->by_thread || options->no_comm ||
	    options->off_cpu)
		return error_new(
			"%s contains folded stacks: --show-event, --comms, --time, --show-cpu, --by-thread, --merge-comms and --off-cpu apply to "
			"recordings only",
			path);
	bool input = !strcmp(path, "-");
	FILE *in = input ? stdin : fopen(path, "re");
	if (!in)
		return error_system(errno, "%s", path);
	struct error *error = folded_stacks_read(in, input ? "standard input" : path, options->reverse, &flamegraph->folded);
	if (!input)
		fclose(in);
	if (flamegraph->folded.other_lines && !error)
		log_warning("ignored %llu lines of %s that are not folded stacks ('main;function;… WEIGHT')",
			    (unsigned long long)flamegraph->folded.other_lines, input ? "standard input" : path);
	flamegraph->unit = "samples";
	flamegraph->tree = flamegraph->folded.tree;
	return error;
}

/* What can be told before a long recording. */
static struct error *check_options(const struct flamegraph_options *options)
{
	if (options->off_cpu && options->event)
		return error_new_kind(ERROR_USAGE, "--off-cpu chooses the event: it cannot be combined with --show-event");
	return drawing_check(options->output);
}

static const struct view_ops *choose_view(const struct flamegraph_options *options)
{
	const char *output = options->output ? options->output : "";
	if (writes_folded(options))
		return view_find("folded");
	return !strcmp(output, "-") ? view_find("svg") : drawing_view(output);
}

/* What was recorded: the command line of the recording, without the folders of perf. */
static void add_title(const struct flamegraph *flamegraph, struct strbuf *out)
{
	const struct flamegraph_options *options = &flamegraph->options;
	const char *given = options->title ? options->title : flamegraph->title;
	const struct features *features = flamegraph->event ? &flamegraph->opening.session->reader->features : NULL;
	if (given) {
		strbuf_add_str(out, given);
	} else if (features && features->command_line_count) {
		for (uint32_t i = 0; i < features->command_line_count; i++) {
			const char *word = features->command_line[i], *slash = strrchr(word, '/');
			strbuf_printf(out, "%s%s", i ? " " : "", !i && slash ? slash + 1 : word);
		}
	} else {
		const char *path = features ? flamegraph->opening.session->reader->path : options->input.input;
		strbuf_add_str(out, !strcmp(path, "-") ? "Flame graph" : path);
	}
}

static const char *drawn_name(const struct flamegraph *flamegraph)
{
	if (flamegraph->waits)
		return "time off the CPU";
	if (flamegraph->event)
		return flamegraph->event->name;
	return strcmp(flamegraph->options.input.input, "-") ? flamegraph->options.input.input : "standard input";
}

/* "cpu-clock, 12,345 samples in 10.2 s on HOST" */
static void add_subtitle(const struct flamegraph *flamegraph, struct strbuf *out)
{
	char number[32];
	if (!flamegraph->event) {
		strbuf_printf(out, "%s samples", number_format_grouped(flamegraph->tree->root.total, number));
		strbuf_printf(out, " in %s folded stacks", number_format_grouped(flamegraph->folded.lines, number));
		return;
	}
	const struct session *session = flamegraph->opening.session;
	const char *host = session->reader->features.hostname;
	number_format_grouped(flamegraph->tree->root.total_count, number);
	strbuf_printf(out, "%s, %s %s", drawn_name(flamegraph), number, flamegraph->waits ? "waits" : "samples");
	if (session->last_time > session->first_time)
		strbuf_printf(out, " in %.3g s", (double)(session->last_time - session->first_time) / 1e9);
	if (host && *host)
		strbuf_printf(out, " on %s", host);
}

static struct error *write_picture(const struct flamegraph *flamegraph, const struct view_ops *view,
				   const struct view_options *view_options)
{
	const struct flamegraph_options *options = &flamegraph->options;
	const char *output = output_path(options);
	struct sink out = sink_to_file(stdout);
	if (!strcmp(output, "-"))
		return view_write_one(view, (struct result){RESULT_CALLTREE, .calltree = flamegraph->tree}, view_options, &out);
	struct error *error = drawing_write(flamegraph->tree, view, view_options, output);
	if (!error && log_level() >= LOG_WARNING) {
		char samples[32];
		struct strbuf name = {0};
		const char *source = drawn_name(flamegraph);
		text_add_safe(&name, source, strlen(source));
		fprintf(stderr, "[ perf flamegraph: %s %s of %s drawn in %s ]\n",
			number_format_grouped(flamegraph->tree->root.total_count, samples), flamegraph->waits ? "waits" : "samples",
			strbuf_str(&name), output);
		strbuf_deinit(&name);
	}
	return error;
}

static struct error *show_tree(const struct flamegraph *flamegraph)
{
	const struct flamegraph_options *options = &flamegraph->options;
	const struct view_ops *view = choose_view(options);
	struct strbuf title = {0}, subtitle = {0};
	add_title(flamegraph, &title);
	add_subtitle(flamegraph, &subtitle);
	struct view_options view_options = {
		.title = strbuf_str(&title),
		.subtitle = strbuf_str(&subtitle),
		.unit = flamegraph->unit,
		.palette = options->palette || !options->off_cpu ? options->palette : "blue",
		.icicle = options->icicle,
		.changes = flamegraph->folded.two_weights && !options->palette,
	};
	struct error *error = write_picture(flamegraph, view, &view_options);
	strbuf_deinit(&title);
	strbuf_deinit(&subtitle);
	return error;
}

static struct error *draw(struct flamegraph *flamegraph)
{
	const char *given = flamegraph->options.input.input, *input = given ? given : reader_default_path();
	bool folded = is_text(input);
	if (folded)
		flamegraph->options.input.input = input;
	struct error *error = folded ? read_folded(flamegraph) : build_tree(flamegraph);
	if (!error)
		error = show_tree(flamegraph);
	if (!error && !folded) {
		hidden_kernel_warn(flamegraph->fold);
		opening_warn(&flamegraph->opening);
	}
	if (folded)
		folded_stacks_deinit(&flamegraph->folded);
	else
		calltree_destroy(flamegraph->tree);
	fold_destroy(flamegraph->fold);
	opening_end(&flamegraph->opening);
	return error;
}

/* Whether the command line only asks to draw: all of it is ours. Otherwise there is something to record. */
static bool only_draws(char **argv)
{
	argv++;
	while (*argv) {
		int span = options_span(flamegraph_option_table, argv);
		if (!span && strcmp(*argv, "-h") && strcmp(*argv, "--help"))
			return false;
		argv += span ? span : 1;
	}
	return true;
}

/* The command line of one go, told apart: our options stay in `own`; everything else, record's options and the workload, goes to `record`.
 */
struct split {
	VEC(char *) own;
	VEC(char *) record;
};

static void split_command_line(char **argv, const struct option *record_options, struct split *ret)
{
	vec_push(&ret->own, *argv++);
	while (*argv) {
		int own = options_span(flamegraph_own_options, argv);
		int theirs = own ? 0 : options_span(record_options, argv);
		if (!own && !theirs)
			break;
		for (; own; own--)
			vec_push(&ret->own, *argv++);
		for (; theirs; theirs--)
			vec_push(&ret->record, *argv++);
	}
	while (*argv)
		vec_push(&ret->record, *argv++);
	vec_push(&ret->own, NULL);
	vec_push(&ret->record, NULL);
}

/* The words with a space between them, behind `first`; freed by the caller. */
static char *join_words(const char *first, char **words)
{
	struct strbuf text = {0};
	strbuf_add_str(&text, first);
	for (; *words; words++) {
		strbuf_add_char(&text, ' ');
		strbuf_add_str(&text, *words);
	}
	return strbuf_detach(&text);
}

/* Switches tell of waits; of single threads they are in SWITCH records (analysis/sched/off_cpu.h). */
static struct error *run_record(const struct command *record, const struct split *split, bool off_cpu, char *path, int *ret_status)
{
	char *const begin[] = {"record", "-q", "-g", "-o", path}, *const switches[] = {"--switch-events", "-e", "sched:sched_switch"};
	VEC(char *) words = {0};
	for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++)
		vec_push(&words, begin[i]);
	for (size_t i = 0; off_cpu && i < sizeof(switches) / sizeof(*switches); i++)
		vec_push(&words, switches[i]);
	for (size_t i = 0; i < split->record.len; i++)
		vec_push(&words, split->record.data[i]);
	struct error *error = record->run((int)words.len - 1, words.data, ret_status);
	vec_deinit(&words);
	return error;
}

/* `record` into a temporary directory of our own, then the picture of that. The workload's exit status becomes ours. */
static struct error *record_and_draw(struct flamegraph *flamegraph, char **argv, int *ret_status)
{
	const struct command *record = command_find("record");
	cleanup_free char *directory = NULL;
	struct error *error = temporary_directory("perf-flamegraph", &directory);
	if (error)
		return error;
	cleanup_free char *path = mem_printf("%s/perf.data", directory), *title = join_words("perf", argv);
	struct split split = {0};
	split_command_line(argv, record->options, &split);
	int words;
	error = options_parse(flamegraph_option_table, OPTIONS_PERMUTE, (int)split.own.len - 1, split.own.data, &flamegraph->options,
			      &words);
	enum log_level level = log_level();
	if (!error)
		error = check_options(&flamegraph->options);
	if (!error)
		error = run_record(record, &split, flamegraph->options.off_cpu, path, ret_status);
	log_set_level(level); /* record's -q is not ours */
	if (!error) {
		flamegraph->options.input.input = path;
		flamegraph->title = title;
		error = draw(flamegraph);
	}
	unlink(path);
	rmdir(directory);
	vec_deinit(&split.own);
	vec_deinit(&split.record);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct flamegraph flamegraph = {.options = {.inlines = STACK_INLINES_ALL}};
	input_options_init(&flamegraph.options.input);
	if (!only_draws(argv))
		return record_and_draw(&flamegraph, argv, ret_status);
	int words;
	struct error *error = options_parse(flamegraph_option_table, OPTIONS_PERMUTE, argc, argv, &flamegraph.options, &words);
	if (!error)
		error = check_options(&flamegraph.options);
	if (!error)
		error = from_apply(&flamegraph.options.input, &flamegraph.options.time, 0);
	return error ? error : draw(&flamegraph);
}

const struct command cmd_flamegraph = {
	.name = "flamegraph",
	.summary = "Draw a flame graph (SVG or HTML)",
	.usage = flamegraph_usage,
	.options = flamegraph_option_table,
	.run = run,
};
