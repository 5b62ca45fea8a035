/* perf flamegraph: where the time goes, as one picture.
 *
 *	perf flamegraph                             perf.data → flamegraph.html
 *	perf flamegraph -i FILE -o out.svg          the ending of the name chooses the form: .svg, .html, .folded or .txt (folded stacks)
 *	perf flamegraph -F 999 -- make -j4          records with call graphs into a temporary file, and draws
 *
 * The frames are weighed by samples, as stackcollapse-perf.pl does, or with --period by the event's period. With several events the first
 * one that has samples is drawn, unless --show-event names another.
 */
#include "analysis/fold.h"
#include "app/command.h"
#include "app/groups.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/replacement.h"
#include "base/text.h"
#include "cmd/opening.h"
#include "view/view.h"

#include <stdio.h>
#include <string.h>

struct flamegraph_options {
	struct input_options input;
	const char *output;
	const char *title;
	const char *event;
	const char *comms;
	const char *time;
	const char *cpus;
	bool folded;
	bool samples;
	bool inverted;
	bool by_thread;
	bool no_comm;
	int max_stack;
	enum stack_inlines inlines;
};

static const struct option flamegraph_own_options[] = {
	OPTION_STRING('o', "output", struct flamegraph_options, output, "FILE",
		      "what to write: .html (default flamegraph.html), .svg, or .folded; - for standard output"),
	OPTION_FLAG(0, "folded", struct flamegraph_options, folded,
		    "folded stacks, one a line with its count, for other tools (default: to standard output)"),
	OPTION_STRING(0, "title", struct flamegraph_options, title, "TEXT", "title of the picture"),
	OPTION_STRING(0, "show-event", struct flamegraph_options, event, "NAME", "which event to draw (default: the first with samples)"),
	OPTION_STRING(0, "comms", struct flamegraph_options, comms, "NAME[,NAME]", "only threads of these names"),
	OPTION_STRING(0, "time", struct flamegraph_options, time, "FROM,TO", "only samples of this time range (seconds, or 10%-20%)"),
	OPTION_STRING(0, "show-cpu", struct flamegraph_options, cpus, "LIST", "only samples of these CPUs"),
	OPTION_FLAG(0, "samples", struct flamegraph_options, samples, "weigh frames by samples instead of by the event's period"),
	OPTION_FLAG(0, "inverted", struct flamegraph_options, inverted, "merge from the innermost frame: who calls the hot functions"),
	OPTION_FLAG(0, "by-thread", struct flamegraph_options, by_thread, "tell threads apart (name-PID/TID at the root)"),
	OPTION_FLAG(0, "merge-comms", struct flamegraph_options, no_comm, "no names of threads at the root"),
	OPTION_INT(0, "max-stack", struct flamegraph_options, max_stack, "N", "frames of each stack to use (default 127)"),
	OPTION_INLINE(struct flamegraph_options, inlines),
	OPTION_END,
};

static const struct option flamegraph_option_table[] = {
	{.kind = OPTION_KIND_GROUP, .group = flamegraph_own_options},
	OPTION_GROUP(input_option_group, struct flamegraph_options, input),
	OPTION_END,
};

static const char *const flamegraph_usage[] = {"[<options>]", "[<options>] [<record options>] -- <command> [<its arguments>]", NULL};

struct flamegraph {
	struct flamegraph_options options;
	struct opening opening;
	struct fold *fold;
	struct calltree *tree;
	const struct event *event;
	const char *unit; /* of the weights */
};

/* Whether `name` is one of a comma-separated list. */
static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);
	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strcspn(at, ",") == len && memcmp(at, name, len) == 0)
			return true;
	return false;
}

static bool accept_sample(void *context, const struct fold_sample *sample)
{
	const struct flamegraph *flamegraph = context;
	return sample->event == flamegraph->event && (!flamegraph->options.comms || is_listed(flamegraph->options.comms, untrusted_raw(sample->comm)));
}

static struct error *choose_event(struct flamegraph *flamegraph)
{
	const struct session *session = flamegraph->opening.session;
	const char *wanted = flamegraph->options.event;
	size_t with_samples = 0;
	for (size_t i = 0; i < session->reader->events.events.len; i++) {
		const struct event *event = session->reader->events.events.data[i];
		bool samples = session->event_counts[i].samples > 0;
		with_samples += samples;
		if (!flamegraph->event && (wanted ? strcmp(event->name, wanted) == 0 : samples))
			flamegraph->event = event;
	}
	if (!flamegraph->event && wanted)
		return error_new("no event '%s' in %s; perf evlist shows what there is", wanted, session->reader->path);
	if (!flamegraph->event)
		return error_new("%s has no samples: nothing to draw", session->reader->path);
	if (with_samples > 1 && !wanted)
		log_warning("%zu events have samples; this is %s (--show-event NAME chooses another)", with_samples,
			    flamegraph->event->name);
	return NULL;
}

static bool writes_folded(const struct flamegraph_options *options)
{
	const char *output = options->output ? options->output : "";
	return options->folded || str_ends_with(output, ".folded") || str_ends_with(output, ".txt");
}

/* Whether all samples of the event have the same period. */
static bool has_one_period(const struct fold *fold, unsigned int event)
{
	uint64_t period = 0;
	for (size_t i = 0; i < fold->entry_count; i++) {
		const struct fold_entry *entry = &fold->entries[i];
		if (entry->event != event)
			continue;
		if (!period)
			period = entry->period / entry->count;
		if (entry->period != entry->count * period)
			return false;
	}
	return true;
}

static struct error *build_tree(struct flamegraph *flamegraph)
{
	const struct flamegraph_options *options = &flamegraph->options;
	struct opening_options opening = {.input = &options->input, .cpus = options->cpus, .time = options->time};
	struct error *error = opening_begin(&flamegraph->opening, &opening);
	if (!error)
		error = choose_event(flamegraph);
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
	error = fold_create(flamegraph->opening.session, flamegraph->opening.resolver, &fold, &flamegraph->fold);
	if (error)
		return error;
	struct fold_calltree_options tree = {
		.event = (int)flamegraph->event->index,
		.by_comm = !options->no_comm,
		.by_thread = options->by_thread,
		.inverted = options->inverted,
		.count = options->samples || (!writes_folded(options) && has_one_period(flamegraph->fold, flamegraph->event->index)),
	};
	flamegraph->unit = tree.count ? "samples" : flamegraph->event->name;
	flamegraph->tree = fold_calltree(flamegraph->fold, &tree);
	return NULL;
}

static const struct view_ops *choose_view(const struct flamegraph_options *options)
{
	const char *output = options->output ? options->output : "";
	if (writes_folded(options))
		return view_find("folded");
	return view_find(str_ends_with(output, ".svg") || !strcmp(output, "-") ? "svg" : "html");
}

static struct error *write_file(const struct flamegraph *flamegraph, const struct view_ops *view, const struct view_options *view_options,
				const char *path)
{
	struct replacement file;
	struct error *error = replacement_begin(path, &file);
	return error ? error : replacement_end(&file, view->calltree(flamegraph->tree, view_options, file.file));
}

static struct error *write_picture(const struct flamegraph *flamegraph)
{
	const struct flamegraph_options *options = &flamegraph->options;
	const struct view_ops *view = choose_view(options);
	cleanup_free char *title = mem_printf("%s of %s", flamegraph->event->name, flamegraph->opening.session->reader->path);
	struct view_options view_options = {
		.title = options->title ? options->title : title,
		.unit = flamegraph->unit,
	};
	const char *output = options->output ? options->output : options->folded ? "-" : "flamegraph.html";
	if (!strcmp(output, "-"))
		return view->calltree(flamegraph->tree, &view_options, stdout);
	struct error *error = write_file(flamegraph, view, &view_options, output);
	if (!error && log_level() >= LOG_WARNING) {
		char samples[32];
		struct strbuf name = {0};
		text_add_safe(&name, flamegraph->event->name, strlen(flamegraph->event->name));
		fprintf(stderr, "[ perf flamegraph: %s samples of %s drawn in %s ]\n",
			number_format_grouped(flamegraph->tree->root.total_count, samples), strbuf_str(&name), output);
		strbuf_deinit(&name);
	}
	return error;
}

static struct error *draw(struct flamegraph *flamegraph)
{
	struct error *error = build_tree(flamegraph);
	if (!error)
		error = write_picture(flamegraph);
	if (!error)
		opening_warn(&flamegraph->opening);
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

/* `record` into a temporary directory of our own, then the picture of that. The workload's exit status becomes ours. */
static struct error *record_and_draw(struct flamegraph *flamegraph, char **argv, int *ret_status)
{
	const struct command *record = command_find("record");
	cleanup_free char *directory = NULL;
	struct error *error = temporary_directory("perf-flamegraph", &directory);
	if (error)
		return error;
	cleanup_free char *path = mem_printf("%s/perf.data", directory);
	struct split split = {0};
	char *begin[] = {"record", "-q", "-g", "-o", path};
	for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++)
		vec_push(&split.record, begin[i]);
	split_command_line(argv, record->options, &split);
	int words;
	error = options_parse(flamegraph_option_table, OPTIONS_PERMUTE, (int)split.own.len - 1, split.own.data,
					    &flamegraph->options, &words);
	enum log_level level = log_level();
	if (!error)
		error = record->run((int)split.record.len - 1, split.record.data, ret_status);
	log_set_level(level); /* record's -q is not ours */
	if (!error) {
		flamegraph->options.input.input = path;
		if (!flamegraph->options.title)
			flamegraph->options.title = "Flame graph";
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
	return error ? error : draw(&flamegraph);
}

const struct command cmd_flamegraph = {
	.name = "flamegraph",
	.summary = "Draw where the time goes as a flame graph (SVG or HTML)",
	.usage = flamegraph_usage,
	.options = flamegraph_option_table,
	.run = run,
};
