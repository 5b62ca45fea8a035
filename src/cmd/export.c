/* perf export: a recording in a format of other tools.
 *
 *	perf export                                lists the formats
 *	perf export speedscope -o profile.json     perf.data → profile.json
 *	perf export folded | other-tool            without -o to standard output
 *
 * A view that shows samples one by one is a format, as is that of folded stacks; what they need is in their rows (view/view.h).
 */
#include "analysis/samples.h"
#include "app/command.h"
#include "app/groups.h"
#include "base/cleanup.h"
#include "base/files/replacement.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/from.h"
#include "cmd/hidden_kernel.h"
#include "cmd/opening.h"
#include "view/view.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct export_options {
	struct input_options input;
	const char *output;
	const char *event;
	const char *comms;
	const char *time;
	const char *cpus;
	int max_stack;
	enum stack_inlines inlines;
};

static const struct option export_option_table[] = {
	OPTION_STRING('o', "output", struct export_options, output, "FILE", "file to write (default: standard output)"),
	OPTION_STRING(0, "show-event", struct export_options, event, "NAME", "only this event (default: all; of folded stacks the first)"),
	OPTION_STRING(0, "comms", struct export_options, comms, "NAME[,NAME]", "only threads with these names"),
	OPTION_STRING(0, "time", struct export_options, time, "FROM,TO", "only samples in this time range (seconds, or 10%-20%)"),
	OPTION_STRING(0, "show-cpu", struct export_options, cpus, "LIST", "only samples on these CPUs"),
	OPTION_INT(0, "max-stack", struct export_options, max_stack, "N", "use at most N frames of each stack (default 127)"),
	OPTION_INLINE(struct export_options, inlines),
	OPTION_SANDBOX(struct export_options, input.sandbox),
	OPTION_GROUP(input_option_group, struct export_options, input),
	OPTION_GROUP(guest_option_group, struct export_options, input),
	OPTION_GROUP(from_option_group, struct export_options, input.from),
	OPTION_END,
};

static const char *const export_usage[] = {"", "FORMAT [<options>]", NULL};

struct export
{
	struct export_options options;
	const struct view_ops *view;
	struct opening opening;
	const struct event *event; /* the only one, or NULL */
};

/* ---- formats ---- */

static bool is_format(const struct view_ops *view)
{
	return view->samples || (view->for_programs && view->calltree);
}

static struct error *find_format(const char *name, const struct view_ops **ret)
{
	const struct view_ops *view = view_find(name);
	if (view && is_format(view)) {
		*ret = view;
		return NULL;
	}
	struct strbuf names = {0};
	for (const struct view_ops *const *at = view_list; *at; at++)
		if (is_format(*at))
			strbuf_printf(&names, "%s%s", names.len ? ", " : "", (*at)->name);
	struct error *error = error_new_kind(ERROR_USAGE, "unknown format '%s': choose one of %s", name, strbuf_str(&names));
	strbuf_deinit(&names);
	return error;
}

static void list_formats(void)
{
	for (const struct view_ops *const *view = view_list; *view; view++)
		if (is_format(*view))
			printf("  %-12s  %s\n", (*view)->name, (*view)->samples_summary ? (*view)->samples_summary : (*view)->summary);
}

/* ---- samples ---- */

static bool accept_sample(void *context, const struct fold_sample *sample)
{
	const struct export *export = context;
	const char *comms = export->options.comms;
	return (!export->event || sample->event == export->event) && (!comms || str_is_listed(comms, untrusted_raw(sample->comm)));
}

/* The one that was named; of folded stacks, which are of one, the first with samples; else all. */
static struct error *choose_event(struct export *export)
{
	const struct opening *opening = &export->opening;
	if (!opening_events_sampled(opening))
		return error_new("%s has no samples: nothing to export", reader_name(opening->session->reader));
	if (!export->options.event && export->view->samples)
		return NULL;
	return opening_choose_event(opening, export->options.event, "writing", &export->event);
}

static struct error *fold_recording(struct export *export, struct fold **ret)
{
	struct fold_options fold;
	samples_fold_options(export->view->samples ? export->view->detail : SAMPLES_STACKS, &fold);
	fold.max_stack = (unsigned int)export->options.max_stack;
	fold.inlines = export->options.inlines;
	fold.accept = accept_sample;
	fold.context = export;
	return fold_of_session(export->opening.session, export->opening.resolver, &fold, ret);
}

static struct error *show(struct export *export, struct result result, const struct sink *out)
{
	const struct view_options options = {.header = true, .unit = export->event ? export->event->name : NULL};
	return view_write_one(export->view, result, &options, out);
}

static struct error *write_folded(struct export *export, struct fold **fold, const struct sink *out)
{
	const struct fold_calltree_options options = {.event = (int)export->event->index, .by_comm = true};
	struct calltree *tree = fold_calltree(*fold, &options);
	struct error *error = show(export, (struct result){RESULT_CALLTREE, .calltree = tree}, out);
	calltree_destroy(tree);
	return error;
}

/* The fold isn't needed while the samples are written, which have all of it. */
static struct error *write_samples(struct export *export, struct fold **fold, const struct sink *out)
{
	struct samples *samples = samples_of_fold(*fold, export->opening.resolver, export->view->detail, export->options.inlines);
	fold_destroy(*fold);
	*fold = NULL;
	struct error *error = show(export, (struct result){RESULT_SAMPLES, .samples = samples}, out);
	samples_destroy(samples);
	return error;
}

static struct error *write_to(struct export *export, struct fold **fold, FILE *file)
{
	const struct sink out = sink_to_file(file);
	return export->view->samples ? write_samples(export, fold, &out) : write_folded(export, fold, &out);
}

static struct error *write_output(struct export *export, struct fold **fold)
{
	const char *output = export->options.output;
	if (!output || !strcmp(output, "-"))
		return write_to(export, fold, stdout);
	struct replacement file;
	struct error *error = replacement_begin(output, &file);
	return error ? error : replacement_end(&file, write_to(export, fold, file.file));
}

static bool is_same_file(const struct stat *written, const char *folder, const char *name)
{
	cleanup_free char *path = folder ? mem_printf("%s/%s", folder, name) : mem_strdup(name);
	struct stat read;
	return !stat(path, &read) && S_ISREG(read.st_mode) && read.st_dev == written->st_dev && read.st_ino == written->st_ino;
}

/* A recording that is a directory: its files are "data", "data.0", … */
static bool is_in_directory(const struct stat *written, const char *folder)
{
	bool found = false;
	DIR *dir = opendir(folder);
	for (struct dirent *entry; dir && !found && (entry = readdir(dir));)
		found = str_starts_with(entry->d_name, "data") && is_same_file(written, folder, entry->d_name);
	if (dir)
		closedir(dir);
	return found;
}

/* Whether the file to write is one that is read: replacing it would destroy the recording. */
static bool is_recording(const struct export_options *options)
{
	const char *input = options->input.input ? options->input.input : "perf.data";
	struct stat written;
	if (!options->output || !strcmp(options->output, "-") || !strcmp(input, "-") || stat(options->output, &written))
		return false;
	return is_same_file(&written, NULL, input) || is_in_directory(&written, input);
}

static struct error *export_recording(struct export *export)
{
	struct export_options *options = &export->options;
	const struct opening_options opening = {.input = &options->input,
						.cpus = options->cpus,
						.time = options->time,
						.sparing = true,
						.confined = "export",
						.output = options->output ? options->output : "-"};
	struct fold *fold = NULL;
	struct error *error = opening_begin(&export->opening, &opening);
	if (!error)
		error = choose_event(export);
	if (!error)
		error = fold_recording(export, &fold);
	if (!error)
		hidden_kernel_warn(fold);
	if (!error)
		error = write_output(export, &fold);
	if (!error)
		opening_warn(&export->opening);
	fold_destroy(fold);
	opening_end(&export->opening);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct export export = {.options.inlines = STACK_INLINES_ALL};
	int words;
	(void)ret_status;
	input_options_init(&export.options.input);
	struct error *error = options_parse(export_option_table, OPTIONS_PERMUTE, argc, argv, &export.options, &words);
	if (error)
		return error;
	if (!words) {
		list_formats();
		return NULL;
	}
	if (words > 1)
		return error_new_kind(ERROR_USAGE, "one format at a time: unexpected '%s'; the recording is given with -i", argv[1]);
	error = find_format(argv[0], &export.view);
	if (error)
		return error;
	if (export.view->binary && !export.options.output && isatty(STDOUT_FILENO))
		return error_new("%s is a binary format, and standard output is a terminal: give a file with -o", export.view->name);
	if ((error = from_apply(&export.options.input, &export.options.time, 0)))
		return error;
	if (is_recording(&export.options))
		return error_new("%s is the recording itself: choose another file to write", export.options.output);
	return export_recording(&export);
}

const struct command cmd_export = {
	.name = "export",
	.summary = "Write a recording in the format of another tool",
	.usage = export_usage,
	.options = export_option_table,
	.run = run,
};
