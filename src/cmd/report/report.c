/* perf report: a recording as tables: who used how much, with call graphs.
 *
 * This file has the way through: open, fold, show. Options are in options.c, keys and columns in keys.c, filters in
 * filter.c, tables in table.c. */
#include "cmd/report/report.h"
#include "cmd/report/screen_rest.h"
#include "cmd/report/screen_scripts.h"
#include "cmd/report/screen_switch.h"

#include "analysis/report/data_places.h"
#include "analysis/source_lines.h"
#include "app/command.h"
#include "app/config.h"
#include "app/pager.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/dumping.h"
#include "cmd/from.h"
#include "cmd/report/callgraph.h"
#include "perfdata/features/features_print.h"
#include "symbol/data/data_access.h"
#include "view/view.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the recording has decides the defaults. */
static struct error *look_at_recording(struct report *report)
{
	struct report_options *options = report->options;
	const struct event_list *events = &report->session->reader->events;
	uint64_t types = 0, branches = 0;
	for (size_t i = 0; i < events->events.len; i++) {
		types |= events->events.data[i]->attr.sample_type;
		branches |= events->events.data[i]->attr.branch_sample_type;
	}
	bool lbr_stacks = (types & PERF_SAMPLE_BRANCH_STACK) && (branches & PERF_SAMPLE_BRANCH_CALL_STACK);
	report->unwound = (types & PERF_SAMPLE_REGS_USER) && (types & PERF_SAMPLE_STACK_USER);
	report->chains = (types & PERF_SAMPLE_CALLCHAIN) || lbr_stacks;
	bool has_branches = (types & PERF_SAMPLE_BRANCH_STACK) && !lbr_stacks;
	report->branch_history = options->branch_history && has_branches;
	if (options->branch_history && !has_branches && !report->chains)
		return error_new("--branch-history: the recording has neither branch records nor call chains; record with -b or -g");
	bool recorded_chains = report->chains;
	report->chains |= report->branch_history;
	report->branch_mode = has_branches && options->branches != BRANCHES_NEVER && !report->branch_history && !options->mem_mode;
	if (options->mem_mode && (options->branches == BRANCHES_WANTED || options->branch_history || options->total_cycles))
		return error_new_kind(ERROR_USAGE, "--mem-mode and -b cannot be combined");
	if (options->mem_mode && !(types & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_ADDR)))
		return error_new(
			"--mem-mode: the recording has no memory accesses; record with -d -W and an event that samples them, such as mem-loads (see 'perf list mem')");
	if (options->branches == BRANCHES_WANTED && !has_branches)
		return error_new("-b: the recording has no branch records; record with -b");
	if (options->total_cycles && !report->branch_mode)
		return error_new("--total-cycles: %s",
				 has_branches ? "not without branches" : "the recording has no branch records; record with -b");
	if (options->callgraph.given && !report->chains)
		return error_new("-g: the recording has no call chains; record with -g");
	report->children = options->children && recorded_chains && !report->branch_mode && !options->hierarchy && !options->mem_mode;
	report->group = !options->total_cycles && event_sets_together(events, options->group);
	report->caller_order = options->callgraph.order_given
				       ? options->callgraph.caller
				       : options->inverted || report->children ||
						 ((options->hierarchy || options->mem_mode) && options->children && report->chains);
	return NULL;
}

/* The pattern of the sort key `parent`, which has one of its own. */
static struct error *setup_parent(struct report *report)
{
	static const char default_pattern[] = "^sys_|^do_page_fault";
	const char *pattern = report->options->parent ? report->options->parent : default_pattern;
	if (regcomp(&report->parent_regex, pattern, REG_EXTENDED))
		return error_new_kind(ERROR_USAGE, "-p %s: not a regular expression", pattern);
	report->has_parent_regex = true;
	report->context.parent_regex = &report->parent_regex;
	return NULL;
}

/* What keys ask when they make texts. Tables in it are freed by report_deinit(). */
static void setup_context(struct report *report)
{
	const struct report_options *options = report->options;
	report->context = (struct key_context){
		.session = report->session,
		.resolver = report->opening.resolver,
		.strings = &report->strings,
		.arena = &report->arena,
		.verbose = options->output.verbose > 0,
		.nanoseconds = options->nanoseconds,
		.raw_trace = options->raw_trace,
		.time_quantum_ns = options->time_quantum_ns,
	};
	report->context.places = data_places_create(report->opening.resolver);
	report->context.accesses = data_accesses_create(report->opening.resolver);
	report->context.lines = source_lines_create(report->opening.resolver, options->full_source_path,
						    options->inlines == STACK_INLINES_ALL || (options->inlines && report->unwound));
}

void report_copy(const struct report *report, struct report *ret)
{
	*ret = *report;
	ret->fold = NULL;
	ret->every = 0;
	ret->strings = (struct intern){0};
	ret->arena = (struct arena){0};
	setup_context(ret);
	ret->context.has_dso = report->context.has_dso;
	ret->context.parent_regex = report->context.parent_regex;
}

void report_copy_deinit(struct report *copy)
{
	fold_destroy(copy->fold);
	data_places_destroy(copy->context.places);
	data_accesses_destroy(copy->context.accesses);
	source_lines_destroy(copy->context.lines);
	intern_deinit(&copy->strings);
	arena_deinit(&copy->arena);
}

/* Whether what is shown depends on whole stacks; else the sampled address is enough, which is much quicker. */
static bool needs_stacks(const struct report *report)
{
	const struct report_options *options = report->options;
	if (!report->chains || report->branch_mode)
		return false;
	bool parents = options->exclude_other;
	for (size_t i = 0; i < report->sort.keys.len; i++)
		parents |= report->sort.keys.data[i]->domain == KEY_STACK;
	for (size_t i = 0; i < report->shown.keys.len; i++)
		parents |= report->shown.keys.data[i]->domain == KEY_STACK;
	return report->children || parents || options->ignore_callees || options->format || options->callgraph.mode != CALLGRAPH_PRINT_NONE;
}

/* `context` is the compiled pattern. */
static bool is_ignored(void *context, const struct symbol *symbol)
{
	return !regexec(context, symbol->name, 0, NULL, 0);
}

/* --ignore-callees. */
static struct error *setup_ignored(struct report *report)
{
	const char *pattern = report->options->ignore_callees;
	if (!pattern)
		return NULL;
	if (regcomp(&report->ignored_regex, pattern, REG_EXTENDED | REG_NOSUB))
		return error_new_kind(ERROR_USAGE, "--ignore-callees %s: not a regular expression", pattern);
	report->has_ignored_regex = true;
	return NULL;
}

void report_ignore_callees(struct report *report, struct fold *fold)
{
	if (report->has_ignored_regex)
		fold_cut_callees(fold, is_ignored, &report->ignored_regex);
}

/* Whether threads of one name are told apart by what is shown. */
static bool needs_threads(const struct report *report)
{
	if (report->options->pids.names.len || report->options->tids.names.len)
		return true;
	for (size_t i = 0; i < report->sort.keys.len; i++)
		if (report->sort.keys.data[i]->flags & KEY_THREADS)
			return true;
	return false;
}

void report_fold_options(struct report *report, struct fold_options *ret)
{
	const struct report_options *options = report->options;
	bool filters = report->windows || options->socket >= 0;
	*ret = (struct fold_options){
		.chains = options->max_stack && needs_stacks(report),
		.shared_frames = true,
		.branches = report->branch_mode,
		.threads = needs_threads(report),
		.by_address = options->callgraph.by_address || options->branch_history,
		.by_line = report->by_line,
		.branch_history = report->branch_history,
		.keep_outermost = report->caller_order,
		.by_weight = options->mem_mode,
		.inlines = options->inlines,
		.hide_unresolved = options->hide_unresolved,
		.max_stack = (unsigned int)options->max_stack,
		.stitcher = report->stitcher,
		.every = report->every,
		.accept = filters ? report_accept : NULL,
		.extra_words = report->extra_words,
		.extra = report->extras.keys.len ? report_extra : NULL,
		.context = report,
	};
}

/* Goes through all samples: here is the time that a report takes. */
struct error *report_make_fold(struct report *report)
{
	struct fold_options fold;
	report_fold_options(report, &fold);
	struct error *error = report->stitcher && fold.chains ? stitcher_prepare(report->stitcher, report->session) : NULL;
	if (!error)
		error = fold_of_session(report->session, report->opening.resolver, &fold, &report->fold);
	report->context.fold = report->fold;
	if (!error)
		report_ignore_callees(report, report->fold);
	return error;
}

/* Of all events. */
static uint64_t lost_samples(const struct session *session)
{
	uint64_t lost = 0;
	for (size_t i = 0; i < session->reader->events.events.len; i++)
		lost += session->event_counts[i].lost_samples;
	return lost;
}

/* The header's lines; `facts_alone`: without those that describe the file itself. */
static void print_header(const struct session *session, bool full, bool facts_alone)
{
	struct strbuf text = {0};
	(facts_alone ? features_print_facts : features_print)(session->reader, full, &text);
	fwrite(strbuf_str(&text), 1, text.len, stdout);
	strbuf_deinit(&text);
}

/* Columns that would say the same in each row are told once. */
static void print_elided(const struct report *report)
{
	static const char *const names[] = {"comm", "dso", "symbol"};
	const struct report_options *options = report->options;
	const struct name_list *lists[] = {&options->comms, &options->dsos, &options->symbols};
	for (size_t i = 0; i < 3; i++)
		if (lists[i]->names.len == 1 && report_is_elided(report, key_find(names[i], false)))
			printf("# %s: %s\n", names[i], lists[i]->names.data[0]);
}

/* What stands above the tables of stdio. */
static void print_top(const struct report *report)
{
	if (report->options->output.quiet || report->options->format)
		return;
	if (report->options->header)
		print_header(report->session, report->options->show_info, false);
	else
		printf("# To display the perf.data header info, please use --header/--header-only options.\n#\n");
	/* The kernel's perf shows the facts of a stream as they come. */
	if (report->options->show_info && !report->options->header && report->session->reader->pipe)
		print_header(report->session, true, true);
	print_elided(report);
	printf("#\n# Total Lost Samples: %lu\n#\n", lost_samples(report->session));
}

void report_keep_shown(struct report *report)
{
	struct fold *fold = report->fold;
	bool by_symbol = report->options->symbol_filter;
	size_t kept = 0;
	for (size_t i = 0; i < fold->entry_count; i++) {
		const struct fold_entry *entry = &fold->entries[i];
		if (report_shown(report, fold, entry) && (!by_symbol || report_place_shown(report, &fold->frames[entry->leaf])))
			fold->entries[kept++] = *entry;
	}
	fold->entry_count = kept;
}

/* Formats that can't show tables show the stacks. */
static struct error *show_stacks(struct report *report, const struct view_ops *view)
{
	report_keep_shown(report);
	struct calltree *tree = fold_calltree(report->fold, &(struct fold_calltree_options){.event = -1, .by_comm = true});
	struct view_options options = {.title = "report"};
	struct sink out = sink_to_file(stdout);
	struct error *error = view_write_one(view, (struct result){RESULT_CALLTREE, .calltree = tree}, &options, &out);
	calltree_destroy(tree);
	return error;
}

struct error *report_prepare(struct report *report)
{
	struct error *error = look_at_recording(report);
	if (error)
		return error;
	setup_context(report);
	if (report->options->stitch_lbr)
		report->stitcher = opening_stitcher(&report->opening);
	error = setup_parent(report);
	if (!error)
		error = setup_ignored(report);
	if (!error)
		error = report_setup_keys(report);
	return error ? error : report_setup_filter(report);
}

struct error *report_show(struct report *report)
{
	const struct view_ops *view = view_find(report->options->format ? report->options->format : "stdio");
	return view_can_show(view, RESULT_TABLE) ? report_show_events(report) : show_stacks(report, view);
}

/* Where tables go. */
struct way {
	bool screen; /* else text */
	struct screen_tools tools;
	struct screen_switch choice;
};

/* On a screen, with a large recording: the first rows are those of a part of it (screen_rest.h). Nothing is shown, and report->every is 0,
 * where there is no such part. */
static struct error *show_early(struct report *report, const struct way *way)
{
	report->every = screen_rest_part(report);
	if (!report->every)
		return NULL;
	struct error *error = report_make_fold(report);
	if (!error && report->fold->entry_count)
		return report_screen(report, &way->tools);
	fold_destroy(report->fold);
	report->fold = report->context.fold = NULL;
	report->every = 0;
	return error;
}

/* The same by the beginning of the recording, when that is all that was opened: what it lacks will be opened meanwhile. False: there is
 * nothing to show of it, or something is wrong, which the recording as a whole will tell. */
static bool show_beginning(struct report *report, const struct way *way, struct opening_options opening, struct error **ret_error)
{
	opening.first_bytes = SCREEN_REST_BEGINNING;
	report->beginning = true;
	*ret_error = opening_begin(&report->opening, &opening);
	report->session = report->opening.session;
	if (!*ret_error)
		*ret_error = report_prepare(report);
	if (!*ret_error)
		*ret_error = report_make_fold(report);
	/* What a hardware trace is made to is all or nothing. */
	bool traced = !*ret_error && features_has(&report->session->reader->features, FEATURE_AUXTRACE);
	if (!*ret_error && !traced && report->fold->entry_count) {
		*ret_error = report_screen(report, &way->tools);
		return true;
	}
	error_free(*ret_error);
	*ret_error = NULL;
	report_deinit(report);
	*report = (struct report){.options = report->options};
	return false;
}

/* The usual report. */
static struct error *show_tables(struct report *report, const struct way *way)
{
	struct error *error = report_prepare(report);
	if (!error && way->screen)
		error = show_early(report, way);
	if (error || report->every)
		return error;
	error = report_make_fold(report);
	if (error)
		return error;
	/* Before the pager: whoever leaves it after a look has seen them. */
	report_hints(report);
	if (!report->fold->entry_count) {
		const uint64_t *counts = report->session->record_counts;
		fprintf(stderr, "The recording has no samples%s%s.\n", counts[RECORD_SAMPLE] ? " that pass the filter" : "",
			counts[RECORD_STAT] ? ", but counts: perf stat report -i FILE shows them" : "");
		return NULL;
	}
	if (way->screen)
		return report_screen(report, &way->tools);
	code_options_hint(&report->options->code, "report");
	pager_start("report");
	print_top(report);
	return report_show(report);
}

/* -D: each record, then how many there were. */
static struct error *dump_records(struct session *session)
{
	pager_start("report");
	struct error *error = dumping_all(session);
	struct tally counted = {.events = session->event_counts};
	memcpy(counted.records, session->record_counts, sizeof(counted.records));
	if (!error && session->reader->stable)
		error = report_stats(session->reader, true);
	else if (!error)
		report_tally(session->reader, &counted, true);
	return error;
}

/* --stats: with nothing but a reader. */
static struct error *count_records(const struct report_options *options)
{
	const struct reader_options opening = {.path = options->input.input, .force = options->input.force, .streaming = true};
	struct reader *reader;
	if (options->input.sandbox)
		opening_sandbox(&options->input, NULL, "report");
	struct error *error = reader_open(&opening, &reader);
	if (error)
		return error;
	pager_start("report");
	error = report_stats(reader, options->skip_empty);
	reader_close(reader);
	return error;
}

/* The same of the samples that -C and --time choose. */
static struct error *count_chosen(struct report *report)
{
	struct session *session = report->session;
	size_t events = session->reader->events.events.len;
	struct tally tally = {.events = mem_zalloc_array(events + 1, sizeof(*tally.events))};
	struct record record;
	struct error *error = NULL;
	while (session_next(session, &record, &error) > 0) {
		tally.records[record.header->type < 256 ? record.header->type : 0] += !record.is_member || record.is_last_member;
		if (record.header->type == RECORD_SAMPLE)
			tally.events[record.event->index].samples++;
	}
	for (size_t i = 0; i < events; i++)
		tally.events[i].lost_samples = session->event_counts[i].lost_samples;
	if (!error)
		report_tally(session->reader, &tally, report->options->skip_empty);
	tally_deinit(&tally);
	return error;
}

/* What the options ask for: the header, a dump, counts, tasks, or tables. */
static struct error *show(struct report *report, const struct way *way)
{
	struct report_options *options = report->options;
	report->session = report->opening.session;
	if (options->html)
		return report_html(report);
	if (options->header_only) {
		pager_start("report");
		print_header(report->session, options->show_info, false);
		return NULL;
	}
	if (options->dump)
		return dump_records(report->session);
	if (options->stats) {
		pager_start("report");
		return options->stats == STATS_STACKS ? report_stack_stats(report) : count_chosen(report);
	}
	if (options->tasks || options->mmaps) {
		pager_start("report");
		report_tasks(report->session, options->mmaps);
		return NULL;
	}
	struct error *error = show_tables(report, way);
	if (!error && options->show_threads)
		report_threads(report->session, options->raw_counts);
	return error;
}

void report_deinit(struct report *report)
{
	stitcher_destroy(report->stitcher);
	vec_deinit(&report->sort.keys);
	vec_deinit(&report->shown.keys);
	vec_deinit(&report->extras.keys);
	free(report->windows);
	if (report->has_parent_regex)
		regfree(&report->parent_regex);
	if (report->has_ignored_regex)
		regfree(&report->ignored_regex);
	report_copy_deinit(report);
	opening_end(&report->opening);
}

/* What stands in the place of a function's name may be the file itself. */
bool report_is_recording(const char *word)
{
	static const char *const magics[] = {"PERFILE2", "2ELIFREP", "PERFFILE"};
	char begun[8] = "";
	cleanup_free char *data = mem_printf("%s/data", word);
	struct stat status = {0};
	/* A pipe isn't opened: what is read here would be missing later, and who writes to it would get SIGPIPE. No function is called like
	 * one. */
	if (stat(word, &status) || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
		return S_ISFIFO(status.st_mode);
	cleanup_close int fd = open(word, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (read(fd, begun, sizeof(begun)) != sizeof(begun))
		return !access(data, R_OK);
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (!memcmp(begun, magics[i], sizeof(begun)))
			return true;
	return false;
}

/* Words may be a recording and a part of a function's name, in this order; a recording is told by its first bytes. */
static struct error *use_words(int words, char **argv, struct report_options *options)
{
	int used = 0;
	if (words > used && !options->input.input && report_is_recording(argv[used]))
		options->input.input = argv[used++];
	if (words > used && !options->symbol_filter)
		options->symbol_filter = argv[used++];
	if (words > used)
		return error_new_kind(ERROR_USAGE, "unexpected argument '%s': only a recording and a part of a function name can be given",
				      argv[used]);
	return NULL;
}

/* What a screen needs and can't get in the sandbox. False: other processes have shown it, and all is over. */
static bool prepare_screen(struct report_options *options, struct way *way, int *ret_status)
{
	const char *path = options->input.input ? options->input.input : "perf.data";
	struct stat status;
	if (strcmp(path, "-") != 0 && !stat(path, &status) && !S_ISFIFO(status.st_mode)) {
		screen_switch_init(&way->choice, path);
		if (!screen_switch_next(&way->choice, ret_status))
			return false;
		options->input.input = way->choice.path;
		way->tools.choice = &way->choice;
		way->tools.scripts = script_runner_prepare(options);
	}
	way->tools.prints = print_file_prepare("perf.hist");
	return true;
}

static void way_deinit(struct way *way)
{
	print_file_end(way->tools.prints);
	script_runner_end(way->tools.scripts);
	screen_switch_deinit(&way->choice);
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct report_options options;
	report_options_init(&options);
	int words = 0;
	struct error *error = config_apply(report_configuration, report_option_table, &options);
	options.callgraph.given = false;
	if (options.group == GROUPS_WANTED)
		options.group = GROUPS_IF_RECORDED;
	const char *configured = options.sort;
	if (!error)
		error = options_parse(report_option_table, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (!error)
		error = use_words(words, argv, &options);
	if (!error)
		error = from_apply(&options.input, &options.time, 0);
	if (!error)
		error = code_options_check(&options.code);
	if (options.html && options.sort == configured)
		options.sort = NULL; /* the configuration's is for tables */
	if (!error && options.html)
		error = report_check_html(&options);
	struct report report = {.options = &options};
	if (!error && options.stats == STATS_RECORDS && !options.cpus && !options.time && !options.dump && !options.header_only) {
		error = count_records(&options);
		report_options_deinit(&options);
		return error;
	}
	struct way way = {.choice = {.wish = -1}};
	if (!error)
		error = report_screen_wanted(&options, &way.screen);
	if (!error && options.single_samples && !way.screen)
		log_warning("--samples: single samples are offered on the screen only (--tui); 'perf script' shows them as text");
	if (!error && way.screen && !prepare_screen(&options, &way, ret_status)) {
		way_deinit(&way);
		report_options_deinit(&options);
		return NULL;
	}
	struct opening_options opening = {.input = &options.input,
					  .cpus = options.cpus,
					  .time = options.time,
					  .itrace = options.dump ? &ITRACE_NONE : &options.itrace,
					  .unordered = options.disable_order && options.dump,
					  .confined = "report",
					  .output = way.screen ? "-" : options.html};
	bool shown = false;
	if (!error && way.screen && screen_rest_has_beginning(&options)) {
		shown = show_beginning(&report, &way, opening, &error);
		opening.confined = NULL; /* it is */
	}
	if (!error && !shown && (error = opening_begin(&report.opening, &opening))) {
		/* A mistake in the options is told first. */
		struct error *mistake = report_check_keys(&options);
		if (mistake) {
			error_free(error);
			error = mistake;
		}
	}
	if (!error && !shown)
		error = show(&report, &way);
	report_deinit(&report);
	way_deinit(&way);
	report_options_deinit(&options);
	return error;
}

static const char *const usage[] = {"[-i FILE] [-s KEY,…] [-g STYLE] [OPTIONS]", NULL};
const struct command cmd_report = {
	"report", "Show profiles of a recording: tables and call graphs", usage, report_option_table, run, report_configuration};
