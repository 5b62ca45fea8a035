/* perf offcpu: where threads wait, and how long: each wait's stack with its length for a weight, added up as in perf report.
 *
 *	live source (or a recording) ──► session ──► off_cpu: waits ──► fold ──► rows, as of perf report
 */
#include "analysis/report/fold.h"
#include "analysis/sched/off_cpu_fold.h"
#include "analysis/script/filter.h"
#include "app/command.h"
#include "app/ending.h"
#include "app/format_option.h"
#include "app/pager.h"
#include "base/log.h"
#include "base/number.h"
#include "capture/attached.h"
#include "capture/live.h"
#include "cmd/report/callgraph.h"
#include "cmd/report/report.h"
#include "cmd/sampling_options.h"
#include "cmd/targets.h"
#include "event/catalog.h"
#include "event/parse/parse.h"
#include "kernel/workload.h"
#include "view/view.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { MIN_NS = 1000, HIGHEST_PRIORITY = -20 };

struct offcpu_options {
	struct report_options report; /* rows, columns, call graphs, filters; `input` for a recording */
	struct targets targets;
	struct sampling sampling;
	size_t ring_pages;
	struct off_cpu_options waits;
	/* With --wakers: */
	const char *chosen;	/* of -p or -t; or NULL */
	bool of_workload;	/* the waits of the command */
	struct script_ids pids; /* `chosen` as numbers */
};

struct offcpu {
	struct offcpu_options *options;
	struct workload workload;
	struct event_list events; /* as asked for; live_open() takes them */
	struct targets_place place;
	struct live *live; /* NULL = a recording is read */
	struct report report;
};

/* ---- options ---- */

static struct error *parse_us(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t *ns = field;
	if (!number_parse_u64(argument, ns) || *ns > UINT64_MAX / 1000)
		return error_new_kind(ERROR_USAGE, "invalid number of microseconds '%s'", argument);
	*ns *= 1000;
	return NULL;
}

/* "SD", "R", or bits as a number. */
static struct error *parse_state(const struct option *option, const char *argument, bool negated, void *field)
{
	static const char letters[] = "SDTtXZPI"; /* bit 0, 1, … of prev_state */
	struct off_cpu_options *waits = field;
	waits->by_state = true;
	waits->states = 0;
	if (number_parse_u64(argument, &waits->states))
		return NULL;
	bool runnable = false;
	for (const char *letter = argument; *letter; letter++) {
		const char *found = strchr(letters, *letter);
		runnable |= *letter == 'R';
		if (!found && *letter != 'R')
			return error_new_kind(ERROR_USAGE, "invalid state '%s': use R, or letters of %s, or a number as in prev_state",
					      argument, letters);
		if (found)
			waits->states |= 1ull << (found - letters);
	}
	if (!*argument || (runnable && waits->states))
		return error_new_kind(ERROR_USAGE, "invalid state '%s': R (runnable) cannot be combined with others", argument);
	return NULL;
}

static const enum result_kind shown_kinds[] = {RESULT_TABLE, RESULT_CALLTREE};

static struct error *parse_format(const struct option *option, const char *argument, bool negated, void *field)
{
	return format_parse(argument, shown_kinds, sizeof(shown_kinds) / sizeof(*shown_kinds), field);
}

static struct error *choose_folded(const struct option *option, const char *argument, bool negated, void *field)
{
	*(const char **)field = "folded";
	return NULL;
}

#define O struct offcpu_options
#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION)

static const struct option options[] = {
	OPTION_HEADING("What is measured"),
	OPTION_FLAG('a', "all-cpus", O, targets.system_wide, "all threads of the system (default without a command or target)"),
	OPTION_STRING('p', "pid", O, targets.pids, "PIDS", "existing processes with all their threads (comma-separated)"),
	OPTION_STRING('t', "tid", O, targets.tids, "TIDS", "existing threads (comma-separated)"),
	OPTION_STRING(0, "uid", O, targets.user, "USER", "all processes of this user, by name or number"),
	CUSTOM(0, "call-graph", sampling, "MODE", "how to record stacks: auto (complete, default), fp or dwarf[,BYTES]",
	       sampling_option_callgraph),
	CUSTOM(0, "mmap-pages", ring_pages, "PAGES", "size of each buffer in pages, or such as 64K, 1M", option_ring_pages),
	OPTION_STRING('i', "input", O, report.input.input, "FILE",
		      "read a recording with sched:sched_switch instead (- for standard input)"),
	OPTION_FLAG(0, "force", O, report.input.force, "read the recording even if another user owns it"),
	OPTION_SANDBOX(O, report.input.sandbox),

	OPTION_HEADING("Which waits"),
	OPTION_FLAG('u', "user-threads-only", O, waits.user_only, "only threads of programs"),
	OPTION_FLAG('k', "kernel-threads-only", O, waits.kernel_only, "only kernel threads"),
	CUSTOM('m', "min-block-time", waits.min_ns, "US", "only waits of at least this many microseconds (default 1)", parse_us),
	CUSTOM('M', "max-block-time", waits.max_ns, "US", "only waits of at most this many microseconds", parse_us),
	CUSTOM(0, "state", waits, "STATE",
	       "only waits that begin in this state: S and D (asleep), R (preempted), or the bits of prev_state", parse_state),
	OPTION_CUSTOM_FLAGS(0, "comms", O, report.comms, "NAME,…", "only threads with these names", name_list_option, OPTION_NO_NEGATION),

	OPTION_FLAG(0, "wakers", O, waits.wakers, "show the threads that ended the waits, by the stacks with which they did"),

	OPTION_HEADING("Output"),
	OPTION_CUSTOM_FLAGS('f', "folded", O, report.format, NULL, "folded stacks with nanoseconds, for flame graphs", choose_folded,
			    OPTION_NO_ARGUMENT | OPTION_NO_NEGATION),
	CUSTOM(0, "format", report.format, "FORMAT", "machine-readable output: csv, json or folded (stacks)", parse_format),
	OPTION_JSON('j', O, report.format),
	OPTION_STRING('s', "sort", O, report.sort, "KEY,…", "keys to group waits by (default comm), as in perf report"),
	OPTION_CUSTOM_FLAGS('g', "graph", O, report.callgraph, "STYLE,…", "how to show stacks, as 'perf report -g' does",
			    callgraph_choice_parse, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "percent-limit", O, report.percent_limit, "PERCENT", "hide rows below this percentage", option_percent,
			    OPTION_NO_NEGATION),
	OPTION_U64(0, "max-stack", O, report.max_stack, "N", "use at most N frames of a stack (default 127)"),
	OPTION_STRING(0, "symfs", O, report.input.symfs, "DIRECTORY", "look for programs, libraries and debug files under DIRECTORY"),
	OPTION_STRING(0, "vmlinux", O, report.input.vmlinux, "FILE", "read kernel symbols from this kernel image"),
	OPTION_STRING(0, "kallsyms", O, report.input.kallsyms, "FILE", "read kernel symbols from this copy of /proc/kallsyms"),
	OPTION_FLAG(0, "demangle", O, report.input.demangle,
		    "show C++, Rust and D names as in the source (default; --no-demangle: mangled)"),
	OPTION_GROUP(output_option_group, O, report.output),
	OPTION_END,
};

/* Whoever wakes a thread up can be anybody: all CPUs are watched, and the waits chosen from what comes. */
static void watch_all(struct offcpu_options *command, bool workload)
{
	struct targets *targets = &command->targets;
	command->chosen = targets->pids ? targets->pids : targets->tids;
	command->of_workload = workload && !targets_are_tasks(targets) && !targets->system_wide;
	targets->pids = targets->tids = NULL;
	targets->system_wide = true;
}

static struct error *check(struct offcpu_options *command, bool workload)
{
	struct targets *targets = &command->targets;
	struct sampling *sampling = &command->sampling;
	bool recorded = command->report.input.input;
	if (recorded && (workload || targets_are_tasks(targets) || targets->system_wide))
		return error_new_kind(ERROR_USAGE, "-i reads a recording: it cannot be combined with a command or -a, -p, -t, --uid");
	if (command->waits.user_only && command->waits.kernel_only)
		return error_new_kind(ERROR_USAGE, "-u and -k cannot be combined");
	if (command->waits.wakers && targets->user)
		return error_new_kind(ERROR_USAGE, "--wakers and --uid cannot be combined: use -p with the user's processes");
	if (command->waits.min_ns > command->waits.max_ns)
		return error_new_kind(ERROR_USAGE, "-m exceeds -M: no wait can match both");
	targets_settle(targets, workload);
	if (command->waits.wakers)
		watch_all(command, workload);
	sampling->period = 1;
	sampling->by_cpu = targets_are_cpus(targets);
	sampling->workload = workload && !targets_are_tasks(targets) && !sampling->by_cpu;
	sampling->no_inherit = targets->tids != NULL;
	/* On whole CPUs a thread comes back in the event of the one before; but kernels lose events of the idle task. */
	sampling->switch_events = true;
	sampling->address = sampling->callgraph == CALLCHAIN_DWARF ||
			    sampling->callgraph == CALLCHAIN_AUTO; /* so that maps of data are known as well: frames may lie anywhere */
	return NULL;
}

/* ---- live ---- */

static struct error *open_live(struct offcpu *offcpu, struct event_catalog *catalog)
{
	const struct offcpu_options *command = offcpu->options;
	struct error *error = event_parse(&offcpu->events, catalog, "sched:sched_switch");
	if (!error && command->waits.wakers)
		error = event_parse(&offcpu->events, catalog, "sched:sched_waking");
	if (!error)
		error = targets_place(&command->targets, &command->sampling, offcpu->workload.pid, &offcpu->place);
	if (error)
		return error;
	const struct live_options live = {
		.name = "offcpu",
		.events = &offcpu->events,
		.catalog = catalog,
		.sampling = &command->sampling,
		.target = &offcpu->place.target,
		.workload = offcpu->workload.pid ? &offcpu->workload : NULL,
		.ring_pages = command->ring_pages || !command->waits.wakers
				      ? command->ring_pages
				      : sampling_ring_pages_of_switches(offcpu->place.target.cpu_count, false),
	};
	attached_warn(&offcpu->events, NULL);
	error = live_open(&live, &offcpu->live);
	/* With all that the machine does the buffers are full soon, while others have the CPU. The command is another process by now. */
	if (!error && command->waits.wakers)
		setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY); /* refused: as well as it goes */
	return error;
}

/* ---- waits ---- */

static struct error *make_fold(struct offcpu *offcpu, struct off_cpu_sums *ret_sums)
{
	struct report *report = &offcpu->report;
	struct fold_options fold;
	report_fold_options(report, &fold);
	fold.records = FOLD_RECORDS_COPIED;
	report->fold = report->context.fold = fold_create(report->session, report->opening.resolver, &fold);
	return off_cpu_fold(&offcpu->options->waits, report->fold, ret_sums);
}

static void print_head(const struct off_cpu_sums *sums, bool wakers)
{
	const struct off_cpu_losses *losses = &sums->losses;
	printf("# Time off the CPU: %.3f s in %" PRIu64 " wait%s", (double)sums->total_ns / 1e9, sums->waits, sums->waits == 1 ? "" : "s");
	if (losses->waiting)
		printf("; still waiting at the end, not counted: %zu thread%s", losses->waiting, losses->waiting == 1 ? "" : "s");
	if (losses->endless)
		printf("; not counted because their end was not recorded: %" PRIu64, losses->endless);
	if (sums->unwoken)
		printf("; ended by no thread, but by timers or devices: %" PRIu64 ", %.3f s", sums->unwoken,
		       (double)sums->unwoken_ns / 1e9);
	printf(wakers ? ". What ended them; periods are the nanoseconds that they lasted.\n#\n" : ". Periods are in nanoseconds.\n#\n");
}

static struct error *show(struct offcpu *offcpu, const struct off_cpu_sums *sums)
{
	struct report *report = &offcpu->report;
	if (!report->fold->entry_count && sums->unwoken)
		fprintf(stderr,
			"No thread ended a wait; timers or devices ended all %" PRIu64 ", %.3f s. Without --wakers they are shown.\n",
			sums->unwoken, (double)sums->unwoken_ns / 1e9);
	else if (!report->fold->entry_count)
		fprintf(stderr, "No waits%s ended during the measurement. What is blocked throughout is not counted.\n",
			offcpu->options->waits.by_state || offcpu->options->waits.min_ns > MIN_NS ? " that pass the filter" : "");
	if (!report->fold->entry_count && !report->options->format)
		return NULL;
	if (!offcpu->live)
		pager_start("offcpu");
	if (!report->options->format)
		print_head(sums, offcpu->options->waits.wakers);
	return report_show(report);
}

static struct error *measure(struct offcpu *offcpu)
{
	struct report *report = &offcpu->report;
	struct off_cpu_sums sums;
	const struct opening_options opening = {
		.input = &offcpu->options->report.input,
		.reader = offcpu->live ? live_take_reader(offcpu->live) : NULL,
		.confined = offcpu->live ? NULL : "offcpu",
		.recorder = "perf record -e sched:sched_switch -a -g",
		.remembers = true,
		.streaming = true,
	};
	struct error *error = opening_begin(&report->opening, &opening);
	report->session = report->opening.session;
	if (!error)
		error = report_prepare(report);
	if (!error)
		error = make_fold(offcpu, &sums);
	workload_stop(&offcpu->workload);
	if (!error)
		error = show(offcpu, &sums);
	if (!error)
		opening_warn(&report->opening);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct offcpu_options command = {
		.sampling.callgraph = CALLCHAIN_AUTO, .sampling.stack_grows = true, .waits = {.min_ns = MIN_NS, .max_ns = UINT64_MAX}};
	int words;
	report_options_init(&command.report);
	command.report.default_sort = "comm";
	command.report.children = false;
	command.report.show_period = true;
	struct offcpu offcpu = {.options = &command, .report.options = &command.report};
	struct event_catalog *catalog = event_catalog_create("");
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &command, &words);
	if (!error)
		error = check(&command, words > 0);
	if (!error && words)
		error = workload_start(&offcpu.workload, argv, command.report.format != NULL);
	if (!error && command.chosen)
		error = script_filter_add_ids(command.chosen, &command.pids);
	command.waits.pids = command.pids.data;
	command.waits.pid_count = command.pids.len;
	command.waits.root = command.of_workload ? (uint32_t)offcpu.workload.pid : 0;
	if (!error && !command.report.input.input)
		error = open_live(&offcpu, catalog);
	if (!error)
		error = measure(&offcpu);
	workload_stop(&offcpu.workload);
	if (!error && offcpu.live)
		*ret_status = ending_status(ENDING_TRACE, &offcpu.workload, live_signal(offcpu.live));
	report_deinit(&offcpu.report);
	live_close(offcpu.live, true);
	event_list_deinit(&offcpu.events);
	targets_place_deinit(&offcpu.place);
	workload_deinit(&offcpu.workload);
	event_catalog_destroy(catalog);
	vec_deinit(&command.pids);
	report_options_deinit(&command.report);
	return error;
}

static const char *const usage[] = {"[-a | -p PIDS | -t TIDS] [-m US] [-M US] [--state STATE] [-f] [--] [COMMAND]", "-i FILE [OPTIONS]",
				    NULL};
const struct command cmd_offcpu = {"offcpu", "Show where threads wait, and how long", usage, options, run};
