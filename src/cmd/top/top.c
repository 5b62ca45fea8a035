/* perf top: what uses the CPUs now, shown again and again.
 *
 *	live source ──► session ──► fold ──every few seconds──► rows, as of perf report
 *
 * What was sampled earlier fades: at each screen it counts for 7/8 of what it did before. */
#include "cmd/top/top.h"
#include "cmd/top/fleet.h"

#include "app/command.h"
#include "base/clock.h"
#include "base/files/mapping.h"
#include "base/files/program_pages.h"
#include "base/log.h"
#include "base/text.h"
#include "capture/attached.h"
#include "event/catalog.h"
#include "kernel/limits.h"
#include "perfdata/records.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is measured ---- */

/* Those of -e, else the default one, which this user may sample. */
static struct error *choose_events(struct top *top, struct event_catalog *catalog)
{
	top->options->report.sides = top->options->words.sides;
	struct error *error = event_words_apply(&top->options->words, &top->events, catalog, top->options->sampling.by_cpu);
	if (!error && !top->events.events.len)
		error = sampling_add_default(&top->events, catalog, !limits_can_profile_kernel());
	for (size_t i = 0; i < top->events.events.len && top->options->overwrite; i++)
		if (!top->events.events.data[i]->overwrite)
			top->events.events.data[i]->overwrite = EVENT_YES;
	return error;
}

/* Tracepoints alone are told apart by what they say; several events have a header each. */
static void choose_rows(struct top *top)
{
	struct report_options *options = &top->options->report;
	const struct event_list *events = &top->events;
	bool tracepoints = true;
	for (size_t i = 0; i < events->events.len; i++)
		tracepoints &= events->events.data[i]->attr.type == PERF_TYPE_TRACEPOINT;
	if (tracepoints)
		options->default_sort = options->raw_trace ? "trace_fields" : "trace";
	top->event_count = events->events.len;
	options->output.quiet = top->event_count == 1;
}

/* Counters and rings of what is asked for; they count from here on. */
static struct error *open_live(struct top *top, struct event_catalog *catalog)
{
	const struct top_options *options = top->options;
	struct error *error = choose_events(top, catalog);
	if (!error)
		error = targets_place(&options->targets, &options->sampling, 0, &top->place);
	if (error)
		return error;
	const struct live_options live = {
		.name = "top",
		.events = &top->events,
		.catalog = catalog,
		.sampling = &options->sampling,
		.target = &top->place.target,
		.ring_pages = options->ring_pages,
		.map_timeout_ns = options->map_timeout_ms * 1000000,
		.synth_jobs = (unsigned int)options->synth_jobs,
	};
	attached_warn(&top->events, NULL);
	choose_rows(top);
	return live_open(&live, &top->live);
}

/* ---- feeding ---- */

/* What options and keys leave out, which the kernel samples all the same. */
static bool is_wanted(const struct top *top, const struct sample *sample)
{
	if (top_hides(top->options, sample->header->misc & PERF_RECORD_MISC_CPUMODE_MASK))
		return false;
	return (!top->pid || sample->pid == top->pid) && (!top->tid || sample->tid == top->tid);
}

/* The report's keys take its own context. */
static void extra(void *context, const struct fold_sample *sample, uint64_t *words)
{
	const struct top *top = context;
	report_extra((void *)&top->report, sample, words);
}

/* Records in rings are overwritten: the fold copies those that keys will be asked about. */
static void open_rows(struct top *top)
{
	struct fold_options options;
	report_fold_options(&top->report, &options);
	options.records = top->report.extras.keys.len ? FOLD_RECORDS_COPIED : FOLD_RECORDS_DROPPED;
	options.accept = NULL; /* is_wanted() */
	options.any_address = true;
	if (options.extra)
		options.extra = extra;
	options.context = top;
	top_history_open(top, &top->rows, &options);
}

void top_open_code(struct top *top)
{
	if (top->code.feed)
		return;
	const struct fold_options options = {.by_address = true, .records = FOLD_RECORDS_DROPPED};
	top_history_open(top, &top->code, &options);
}

/* --switch-on and --switch-off, whose own samples only show_on_off wants. */
static bool is_switched_off(struct top *top, const struct event *event)
{
	bool off = top->off_now;
	if (event == (off ? top->on : top->off))
		top->off_now = !off;
	else
		return off;
	return !top->options->report.show_on_off;
}

/* Counts the sample for the header, and feeds it. */
static void take_sample(struct top *top, const struct record *record)
{
	struct sample sample;
	if (top->frozen || is_switched_off(top, record->event) || !session_decode(top->report.session, record, &sample))
		return;
	unsigned int misc = record->header->misc;
	top->interval.samples++;
	top->interval.kernel_samples += (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	top->interval.exact_samples += (misc & PERF_RECORD_MISC_EXACT_IP) != 0;
	if (!is_wanted(top, &sample))
		return;
	top_weigh(top, record->event, sample.period);
	const struct fold_sample taken = {.event = record->event, .sample = &sample, .model_time = record->model_time};
	fold_add(top->rows.feed, &taken, 1);
	if (top->code.feed)
		fold_add(top->code.feed, &taken, 1);
}

/* ---- what runs for days ---- */

static void carry(void *context, struct carrying *carrying)
{
	const struct top *top = context;
	top_history_carry(&top->rows, carrying);
	top_history_carry(&top->code, carrying);
	if (top->viewer.carry)
		top->viewer.carry(top->viewer.context, carrying);
}

/* While a window hides the table, or it is frozen, nobody asks for a newer one. */
static void set_aside(struct top *top)
{
	uint64_t now = clock_now_ns(CLOCK_MONOTONIC), delay = top->options->delay_s * 1000000000;
	uint64_t since = top->aside_ns > top->interval.begin_ns ? top->aside_ns : top->interval.begin_ns + delay;
	if (top->frozen || now < since + delay)
		return;
	top->aside_ns = now;
	top_history_set_aside(top, &top->rows);
	if (top->code.feed)
		top_history_set_aside(top, &top->code);
}

/* What was forgotten lay in small pieces between others: the system gets it back, page by page. */
static void forget(struct top *top)
{
	if (!session_forget(top->report.session, &(struct machine_holder){carry, top}))
		return;
	resolver_forget(top->report.opening.resolver);
	malloc_trim(0);
}

/* Large arrays go back as soon as they are freed: with each screen they are made anew, with other sizes. Threads live no longer
 * than it takes to read /proc, and would leave a heap each. */
static void prepare_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	mallopt(M_ARENA_MAX, 1);
}

void top_let_go(struct top *top)
{
	mapping_forget_all();
	if (!top->begun)
		program_pages_forget();
	top->begun = true;
}

bool top_take_round(struct top *top, struct error **ret_error)
{
	struct record record;
	while (session_next(top->report.session, &record, ret_error) > 0) {
		if (record.is_sample)
			take_sample(top, &record);
		else if (record.header->type == RECORD_FINISHED_ROUND) {
			set_aside(top);
			forget(top);
			return true;
		}
	}
	return false;
}

bool top_is_due(const struct top *top)
{
	return clock_now_ns(CLOCK_MONOTONIC) - top->interval.begin_ns >= top->options->delay_s * 1000000000;
}

/* Lines and types of data are remembered by their files, and so are places of memory accesses. */
bool top_keeps_files(const struct report *report)
{
	bool keeps = report->by_line;
	for (size_t i = 0; i < report->extras.keys.len; i++)
		keeps |= (report->extras.keys.data[i]->flags & KEY_MEMORY) != 0;
	return keeps;
}

/* ---- */

/* The session, the report and the histories, then one table after the other. */
static struct error *show(struct top *top, bool screen, struct print_file *prints)
{
	struct report *report = &top->report;
	const struct opening_options opening = {
		.input = &top->options->report.input, .reader = live_take_reader(top->live), .remembers = true, .streaming = true};
	struct error *error = opening_begin(&report->opening, &opening);
	report->session = report->opening.session;
	prepare_memory();
	if (!error) {
		report->session->jobs = 1; /* rounds are small: threads would cost more than they save */
		error = report_find_switches(report, &top->on, &top->off);
	}
	top->off_now = top->on;
	if (!error)
		error = report_prepare(report);
	if (error)
		return error;
	report->session->machine->drops_files = !top_keeps_files(report);
	open_rows(top);
	if (screen || top->options->sym_annotate)
		top_open_code(top);
	else
		code_options_hint(&top->options->report.code, "top");
	top->interval.begin_ns = clock_now_ns(CLOCK_MONOTONIC);
	error = screen ? top_screen(top, &(struct screen_tools){.prints = prints}) : top_text(top);
	report->fold = NULL;
	top_history_close(&top->rows);
	top_history_close(&top->code);
	free(top->function);
	vec_deinit(&top->weights);
	if (!error && top->options->dump_symbols)
		top_write_symbols(top, stderr);
	if (!error)
		opening_warn(&report->opening);
	return error;
}

/* -r; 0 is the usual priority. */
static struct error *be_realtime(int priority)
{
	const struct sched_param parameters = {.sched_priority = priority};
	if (!priority || !sched_setscheduler(0, SCHED_FIFO, &parameters))
		return NULL;
	return error_system(errno, "real-time priority %d (-r; 1 to 99, for root and CAP_SYS_NICE)", priority);
}

/* --from anywhere on the command line. Options move its words. */
static bool asks_a_fleet(int argc, char *const *argv)
{
	bool found = false;
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		found |= str_starts_with(argv[i], "--from") && (!argv[i][6] || argv[i][6] == '=');
	return found;
}

/* Alone these say nothing. */
static struct error *check_from(const struct from_options *from)
{
	if (from->url)
		return error_new_kind(ERROR_USAGE, "write --from in full");
	if (from->where || from->labels[0])
		return error_new_kind(ERROR_USAGE, "--where and --label go with --from, which says where samples are stored");
	return NULL;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct top_options options;
	int words;
	bool screen = false;
	if (asks_a_fleet(argc, argv))
		return top_fleet(argc, argv, ret_status);
	top_options_init(&options);
	struct top top = {.options = &options, .report = {.options = &options.report, .live = true}};
	struct event_catalog *catalog = event_catalog_create("");
	struct error *error = options_parse(top_option_table, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (!error && words)
		error = error_new_kind(ERROR_USAGE, "perf top takes no arguments: '%s'", argv[0]);
	if (!error)
		error = check_from(&options.from);
	if (!error)
		error = top_options_check(&options);
	if (!error)
		error = report_screen_wanted(&options.report, &screen);
	if (!error)
		error = be_realtime(options.realtime);
	struct print_file *prints = !error && screen ? print_file_prepare("perf.hist") : NULL;
	if (!error)
		error = open_live(&top, catalog);
	if (!error)
		error = show(&top, screen, prints);
	print_file_end(prints);
	if (top.nobody_reads)
		*ret_status = COMMAND_ENDS_BY_SIGNAL + SIGPIPE;
	report_deinit(&top.report);
	live_close(top.live, true);
	event_list_deinit(&top.events);
	targets_place_deinit(&top.place);
	event_catalog_destroy(catalog);
	top_options_deinit(&options);
	return error;
}

static const char *const usage[] = {"[-a | -p PID | -t TID | -C CPUS | -u USER] [-e EVENT] [OPTIONS]",
				    "--from URL [--where CONDITION] [OPTIONS]", NULL};
const struct command cmd_top = {"top", "Show what uses the CPUs now, again and again", usage, top_option_table, run};
