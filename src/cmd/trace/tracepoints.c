/* Tracing by the kernel's events (tracepoints.h): a live source of them is shown as it comes. System calls come from the BPF program,
 * which runs beside it (strings.h); without it they are events, too.
 *
 *	workload ──► rings ──► live source ──► session ─┐
 *	         └─► BPF program ───────────────────────┴──► trace_replay()
 */
#include "cmd/trace/tracepoints.h"

#include "app/command.h"
#include "app/ending.h"
#include "base/cleanup.h"
#include "capture/attached.h"
#include "capture/live.h"
#include "cmd/targets.h"
#include "cmd/trace/replay.h"
#include "cmd/trace/strings.h"
#include "event/parse/parse.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_NUMBERS = 100, FILTER_LIMIT = 3500, RING_PAGES = 1024, MAP_TIMEOUT_MS = 500 };

/* ---- what is measured ---- */

/* Events with what belongs to each, in the order of a command line. */
struct choice {
	struct event_words words;
	struct arena texts;
	bool live; /* we show them: neither we nor who carries our output away are seen */
};

static void choice_deinit(struct choice *choice)
{
	vec_deinit(&choice->words);
	arena_deinit(&choice->texts);
}

/* The text is copied. */
static void add(struct choice *choice, int kind, const char *text)
{
	vec_push(&choice->words, (struct event_word){.kind = kind, .text = text ? arena_strdup(&choice->texts, text) : NULL});
}

/* Those who are left out besides us: who carries our output away, and --filter-pids. The kernel takes a page of text; the rest is left out
 * when it is shown. */
static void add_left_out(const struct trace *trace, struct strbuf *filter)
{
	for (size_t i = 0; i < trace->left_out.len && filter->len < FILTER_LIMIT; i++)
		strbuf_printf(filter, "%scommon_pid != %d", filter->len ? " && " : "", (int)trace->left_out.data[i]);
}

/* Of the tracepoints that were added last. */
static void add_filter(struct choice *choice, const struct strbuf *filter)
{
	if (filter->len)
		add(choice, WORD_FILTER, strbuf_str(filter));
	if (choice->live)
		add(choice, WORD_EXCLUDE_PERF, NULL);
}

/* The numbers of the calls that are wanted, or of those that aren't, when there are few. */
static void add_numbers(const struct trace_table *table, struct strbuf *filter)
{
	struct strbuf numbers = {0};
	unsigned int wanted = 0;

	for (unsigned int i = 0; i < SYSCALL_NUMBERS; i++)
		wanted += table->selected[i];
	bool is_wanted = wanted <= MOST_NUMBERS;
	if (!is_wanted && SYSCALL_NUMBERS - wanted > MOST_NUMBERS)
		return;
	for (unsigned int i = 0; i < SYSCALL_NUMBERS; i++)
		if (table->selected[i] == is_wanted)
			strbuf_printf(&numbers, "%sid %s %u", numbers.len ? is_wanted ? " || " : " && " : "", is_wanted ? "==" : "!=", i);
	if (numbers.len && filter->len + numbers.len < FILTER_LIMIT)
		strbuf_printf(filter, filter->len ? " && (%s)" : "%s", strbuf_str(&numbers));
	strbuf_deinit(&numbers);
}

/* Both events with the same filter; stacks are taken at the end of a call. */
static void add_calls(const struct trace *trace, struct choice *choice)
{
	static const char *const events[] = {"raw_syscalls:sys_enter/call-graph=no/", "raw_syscalls:sys_exit"};
	struct strbuf filter = {0};

	if (choice->live)
		add_left_out(trace, &filter);
	add_numbers(&trace->table, &filter);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		add(choice, WORD_EVENT, events[i]);
		add_filter(choice, &filter);
	}
	strbuf_deinit(&filter);
}

/* Whether the text means tracepoints alone, which are all that have filters of the kernel. */
static bool are_tracepoints(const struct trace *trace, const char *text)
{
	struct event_list list = {0};
	struct error *error =
		event_words_apply(&(struct event_words){.data = &(struct event_word){.kind = WORD_EVENT, .text = text}, .len = 1}, &list,
				  trace->catalog, true);
	bool all = !error;

	for (size_t i = 0; i < list.events.len; i++)
		all &= list.events.data[i]->attr.type == PERF_TYPE_TRACEPOINT;
	error_free(error);
	event_list_deinit(&list);
	return all;
}

/* What -e names besides system calls. */
static void add_others(const struct trace *trace, struct choice *choice)
{
	const struct event_words *events = &trace->events.words;
	struct strbuf filter = {0};

	add_left_out(trace, &filter);
	for (size_t i = 0; i < events->len; i++) {
		const struct event_word *word = &events->data[i];
		add(choice, word->kind, word->text);
		if (word->kind == WORD_EVENT && choice->live && are_tracepoints(trace, word->text))
			add_filter(choice, &filter);
	}
	strbuf_deinit(&filter);
}

/* Signals and ends of threads, which the BPF program would tell of. */
static void add_ends(const struct trace *trace, struct choice *choice)
{
	static const char *const events[] = {TRACE_SIGNAL_EVENT, TRACE_SENT_EVENT, TRACE_END_EVENT};
	struct strbuf filter = {0};

	add_left_out(trace, &filter);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (!are_tracepoints(trace, events[i])) /* kernels without them */
			continue;
		add(choice, WORD_EVENT, events[i]);
		add_filter(choice, &filter);
	}
	strbuf_deinit(&filter);
}

static void add_events(const struct trace *trace, struct choice *choice)
{
	const struct trace_options *options = trace->options;

	if (trace->calls && !trace->program_tells_calls)
		add_calls(trace, choice);
	if (trace->signals && !trace->wants_program)
		add_ends(trace, choice);
	if (options->faults & TRACE_MAJOR_FAULTS)
		add(choice, WORD_EVENT, "major-faults/period=1/");
	if (options->faults & TRACE_MINOR_FAULTS)
		add(choice, WORD_EVENT, "minor-faults/period=1/");
	add_others(trace, choice);
	if (options->sched)
		add(choice, WORD_EVENT, "sched:sched_stat_runtime");
	if (options->cgroup)
		add(choice, WORD_CGROUP, options->cgroup);
}

/* A flame graph needs stacks: complete ones, where that costs no copy for each call. */
static struct error *choose_call_graph(const struct trace_options *options, struct sampling *sampling)
{
	if (options->call_graph)
		return sampling_parse_callgraph(options->call_graph, sampling);
	sampling->callgraph = options->flamegraph ? CALLCHAIN_AUTO : CALLCHAIN_UNSET;
	sampling->callgraph_implied = sampling->stack_grows = options->flamegraph != NULL;
	return NULL;
}

static size_t ring_pages_of(const struct trace_options *options)
{
	return options->ring_bytes ? options->ring_bytes / (size_t)sysconf(_SC_PAGESIZE) : RING_PAGES;
}

/* ---- live ---- */

/* A live source for what was asked for, and all that it needs. */
struct measured {
	struct choice choice;
	struct event_list events;
	struct targets targets;
	struct sampling sampling;
	struct targets_place place;
	struct live *live;
};

static void measured_deinit(struct measured *measured)
{
	live_close(measured->live, true);
	event_list_deinit(&measured->events);
	targets_place_deinit(&measured->place);
	choice_deinit(&measured->choice);
}

static struct error *choose_sampling(const struct trace *trace, bool command, struct measured *measured)
{
	const struct trace_options *options = trace->options;
	struct sampling *sampling = &measured->sampling;
	struct targets *targets = &measured->targets;

	*targets = (struct targets){.pids = options->pids,
				    .tids = options->tids,
				    .user = options->user,
				    .cpus = options->cpus,
				    .system_wide = options->system_wide};
	targets_settle(targets, command);
	sampling->freq = sampling_default_freq();
	sampling->by_cpu = targets_are_cpus(targets);
	sampling->workload = command && !targets_are_tasks(targets) && !sampling->by_cpu;
	sampling->no_inherit = options->no_inherit || targets->tids;
	sampling->delayed = options->delay_ms > 0;
	sampling->cgroups = options->summary_mode == TRACE_BY_CGROUP;
	sampling->clockid_given = trace->wants_program; /* it has the same */
	sampling->clockid = CLOCK_MONOTONIC;
	struct error *error = choose_call_graph(options, sampling);
	sampling->address = options->faults || sampling->callgraph == CALLCHAIN_DWARF; /* so that maps of data are known as well */
	return error;
}

static struct error *open_events(struct trace *trace, bool command, struct measured *measured)
{
	const struct trace_options *options = trace->options;

	measured->choice.live = true;
	add_events(trace, &measured->choice);
	struct error *error = choose_sampling(trace, command, measured);
	if (!error)
		error = event_words_apply(&measured->choice.words, &measured->events, trace->catalog, measured->sampling.by_cpu);
	if (!error)
		error = targets_place(&measured->targets, &measured->sampling, trace->workload.pid, &measured->place);
	if (error)
		return error;
	const struct live_options live = {
		.events = &measured->events,
		.catalog = trace->catalog,
		.sampling = &measured->sampling,
		.target = &measured->place.target,
		.workload = trace->workload.pid ? &trace->workload : NULL,
		.ring_pages = ring_pages_of(options),
		.delay_ms = options->delay_ms,
		.map_timeout_ns = (options->map_timeout_ms ? options->map_timeout_ms : MAP_TIMEOUT_MS) * 1000000,
	};
	return live_open(&live, &measured->live);
}

/* BPF programs of others may hide what we are to show. */
static struct error *warn_of_programs(const struct trace *trace)
{
	struct event_list calls = {0};
	struct error *error = trace->calls && !trace->program_tells_calls
				      ? event_parse(&calls, trace->catalog, "raw_syscalls:sys_enter,raw_syscalls:sys_exit")
				      : NULL;

	if (!error) {
		attached_warn(&calls, NULL);
		attached_warn(&trace->events.list, NULL);
	}
	event_list_deinit(&calls);
	return error;
}

struct error *trace_by_tracepoints(struct trace *trace, char **command, int *ret_status)
{
	struct measured measured = {0};
	struct error *error = warn_of_programs(trace);

	if (!error && trace->wants_program)
		error = trace_strings_open(trace, getpid(), &trace->strings);
	if (!error && *command)
		error = workload_start(&trace->workload, command, false);
	if (!error)
		error = open_events(trace, *command, &measured);
	if (!error)
		error = trace_replay(trace, NULL, live_take_reader(measured.live));
	workload_stop(&trace->workload);
	if (!error)
		error = trace_show_end(trace);
	if (!error && !(trace->printer && trace_printer_done(trace->printer))) {
		trace->signal = live_signal(measured.live);
		*ret_status = ending_status(ENDING_TRACE, &trace->workload, trace->signal);
	}
	trace_strings_close(trace->strings);
	measured_deinit(&measured);
	return error;
}

/* ---- recording ---- */

/* The words of a command line for `perf record`. */
struct words {
	VEC(char *) list;
	struct arena texts;
};

static void add_word(struct words *words, const char *text)
{
	vec_push(&words->list, arena_strdup(&words->texts, text));
}

static void add_option(struct words *words, const char *option, const char *argument)
{
	if (!argument)
		return;
	add_word(words, option);
	add_word(words, argument);
}

static void add_number(struct words *words, const char *option, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	add_option(words, option, number ? text : NULL);
}

static void add_choice(const struct trace *trace, struct words *words)
{
	const struct trace_options *options = trace->options;
	struct choice choice = {0};

	add_events(trace, &choice);
	for (size_t i = 0; i < choice.words.len; i++) {
		const struct event_word *word = &choice.words.data[i];
		add_option(words, word->kind == WORD_EVENT ? "-e" : word->kind == WORD_CGROUP ? "-G" : "--filter", word->text);
	}
	choice_deinit(&choice);
	if (options->faults)
		add_word(words, "-d"); /* addresses */
	if (options->summary_mode == TRACE_BY_CGROUP)
		add_word(words, "--all-cgroups");
	add_option(words, "--call-graph", options->call_graph);
	if (options->flamegraph && !options->call_graph)
		add_word(words, "-g");
}

static void add_target(const struct trace *trace, struct words *words)
{
	const struct trace_options *options = trace->options;

	if (options->system_wide)
		add_word(words, "-a");
	add_option(words, "-p", options->pids);
	add_option(words, "-t", options->tids);
	add_option(words, "-u", options->user);
	add_option(words, "-C", options->cpus);
	if (options->no_inherit)
		add_word(words, "--no-inherit");
	add_number(words, "-D", options->delay_ms);
	add_number(words, "--proc-map-timeout", options->map_timeout_ms);
	add_number(words, "-m", ring_pages_of(options));
}

struct error *trace_record(struct trace *trace, char **rest, int *ret_status)
{
	struct words words = {0};

	trace->signals = trace_wants_signals(trace->options) && (trace->calls || trace->options->signals == TRACE_YES);
	add_word(&words, "record");
	add_word(&words, "-R");
	add_option(&words, "-o", trace->options->output);
	add_choice(trace, &words);
	add_target(trace, &words);
	for (; *rest; rest++)
		add_word(&words, *rest);
	vec_push(&words.list, NULL);
	struct error *error = command_find("record")->run((int)words.list.len - 1, words.list.data, ret_status);
	vec_deinit(&words.list);
	arena_deinit(&words.texts);
	return error;
}
