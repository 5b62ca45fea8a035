/* perf where: where the time of a program goes, running and waiting, in one answer.
 *
 *	live source (or a recording) ──► session ──► timeline of each thread ──► critical path ──► reasons ──► words and tables
 */
#include "cmd/where/where.h"

#include "analysis/script/filter.h"
#include "analysis/where/wall.h"
#include "app/command.h"
#include "app/ending.h"
#include "app/format_option.h"
#include "app/pager.h"
#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "bpf/switches/switches.h"
#include "capture/attached.h"
#include "capture/live.h"
#include "cmd/drawing.h"
#include "cmd/opening.h"
#include "cmd/sampling_options.h"
#include "event/parse/parse.h"
#include "kernel/fix.h"
#include "kernel/limits.h"
#include "kernel/process/asleep.h"
#include "kernel/process/descriptor.h"
#include "view/view.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { FREQUENCY = 999, REASONS = 7, STACK_BYTES = 4096, HIGHEST_PRIORITY = -20 };

struct where {
	const struct where_command *command;
	struct workload workload;
	struct event_list events; /* live_open() takes them */
	struct targets_place place;
	struct sampling sampling;
	struct live *live;	       /* NULL = a recording is read */
	struct bpf_switches *switches; /* NULL = the scheduler's events tell of switches */
	bool has_ended;		       /* the measurement: no switch comes any more */
	struct script_ids pids;
	struct where_limits limits;
	struct where_sleepers sleepers, looked_at;
	struct opening opening;
};

/* ---- options ---- */

#define O struct where_command

static const struct option options[] = {
	OPTION_HEADING("What is measured"),
	OPTION_FLAG('a', "all-cpus", O, system_wide, "all threads of the system (default without a command or target)"),
	OPTION_STRING('p', "pid", O, pids, "PIDS", "existing processes with all their threads (comma-separated)"),
	OPTION_U64('F', "freq", O, freq, "HZ", "how many times per second to sample what runs (default 999)"),
	OPTION_CUSTOM_FLAGS('m', "mmap-pages", O, ring_pages, "PAGES", "size of each buffer in pages, or such as 64K, 1M",
			    option_ring_pages, OPTION_NO_NEGATION),
	OPTION_STRING(0, "call-graph", O, callgraph, "MODE",
		      "how to record stacks: dwarf[,BYTES] (default dwarf,4096; with -o auto), auto or fp"),
	OPTION_STRING('o', "output", O, record, "FILE", "keep what was recorded as FILE, for -i, 'perf report' and 'perf script'"),
	OPTION_STRING('i', "input", O, input.input, "FILE", "read such a recording instead of measuring"),
	OPTION_FLAG(0, "force", O, input.force, "read the recording even if another user owns it"),
	OPTION_SANDBOX(O, input.sandbox),

	OPTION_HEADING("Output"),
	OPTION_FLAG(0, "idle", O, all_threads, "show all threads, also those that only waited for work"),
	OPTION_U64('n', "reasons", O, most, "N", "describe at most N reasons in words (default 7)"),
	OPTION_STRING(0, "flamegraph", O, flamegraph, "FILE",
		      "draw all threads' time, running and waiting, as a flame graph (.html, .svg, or .folded)"),
	OPTION_CUSTOM_FLAGS(0, "format", O, format, "FORMAT", "tables for programs: csv or json", option_table_format, OPTION_NO_NEGATION),
	OPTION_JSON(0, O, format),
	OPTION_STRING(0, "symfs", O, input.symfs, "DIRECTORY", "look for programs, libraries and debug files under DIRECTORY"),
	OPTION_STRING(0, "vmlinux", O, input.vmlinux, "FILE", "read kernel symbols from this kernel image"),
	OPTION_STRING(0, "kallsyms", O, input.kallsyms, "FILE", "read kernel symbols from this copy of /proc/kallsyms"),
	OPTION_GROUP(output_option_group, O, output),
	OPTION_END,
};

static struct error *check(const struct where_command *command, bool workload)
{
	const char *input = command->input.input;
	if (input && (workload || command->system_wide || command->record))
		return error_new_kind(ERROR_USAGE, "-i reads a recording: it cannot be combined with a command, -a or -o");
	if (command->pids && command->system_wide)
		return error_new_kind(ERROR_USAGE, "-p and -a cannot be combined");
	if (!command->freq)
		return error_new_kind(ERROR_USAGE, "-F 0: nothing that runs would be seen; use at least 1");
	return drawing_check(command->flamegraph);
}

/* ---- events ---- */

/* Those without which there is no answer, and those that name devices. */
static const char *const needed[] = {"sched:sched_switch", "sched:sched_waking/call-graph=no/", NULL};
/* A thread may wait a hundred thousand times a second: then copies of the stack are taken of some of its switches only, as many as the
 * frequency says; of all while there are fewer. The other switches have the kernel's part. */
static const char *const sampled[] = {"sched:sched_switch/call-graph=fp/", "sched:sched_switch/call-graph=dwarf,stack-size=4096/",
				      "sched:sched_waking/call-graph=no/", NULL};
static const char *const block[] = {"block:block_bio_queue/call-graph=no/", "block:block_bio_remap/call-graph=no/",
				    "block:block_bio_complete/call-graph=no/", NULL};

/* The kernel begins with each switch, and takes fewer when there are more than that. */
static void limit_copies(struct event *event)
{
	enum { COPIES_A_SECOND = 1999 };
	event->attr.freq = 1;
	event->attr.sample_freq = COPIES_A_SECOND;
	event->period_given = true;
}

/* What the thread asks of the kernel, which tells for which lock or file it waits, and from where. */
static void take_registers(struct event *event)
{
	event->attr.sample_type |= PERF_SAMPLE_REGS_USER;
	event->attr.sample_regs_user |= 1ull << arch_own()->call_argument | 1ull << arch_own()->frames.ip_sample;
}

static struct error *parse_scheduler_events(struct event_list *events, struct event_catalog *catalog, bool sampled_stacks)
{
	struct error *error = NULL;
	for (const char *const *name = sampled_stacks ? sampled : needed; *name && !error; name++)
		error = event_parse(events, catalog, *name);
	if (!error && arch_own())
		take_registers(events->events.data[0]);
	if (!error && sampled_stacks)
		limit_copies(events->events.data[1]);
	return error;
}

static struct error *parse_events(struct where *where, struct event_catalog *catalog)
{
	const struct where_command *command = where->command;
	struct event_list *events = &where->events;
	char clock[60];
	struct error *error =
		where->switches ? where_switches_add_events(events, catalog) : parse_scheduler_events(events, catalog, !command->callgraph);
	snprintf(clock, sizeof(clock), "cpu-clock/freq=%llu/", (unsigned long long)command->freq);
	if (!error)
		error = event_parse(events, catalog, clock);
	for (const char *const *name = block; *name && !error; name++)
		error_free(event_parse(events, catalog, *name)); /* kernels without block devices lack them */
	return error;
}

/* ---- live ---- */

/* All CPUs are measured: who woke a thread up, and who had the CPU meanwhile, may be anybody. */
static struct error *open_live(struct where *where, struct event_catalog *catalog)
{
	const struct where_command *command = where->command;
	const struct targets targets = {.system_wide = true};
	if (!command->callgraph)
		where->switches = where_switches_open();
	/* Copies of the stack that reach from a system call to the program's own functions, mostly. */
	where->sampling = (struct sampling){.callgraph = CALLCHAIN_DWARF,
					    .stack_size = STACK_BYTES,
					    .kernel_callchains = !command->callgraph,
					    .period = 1,
					    .by_cpu = true,
					    .switch_events = !where->switches,
					    .address = true,
					    .clockid_given = where->switches != NULL,
					    .clockid = CLOCK_MONOTONIC}; /* that of BPF programs */
	struct error *error = NULL;
	if (command->callgraph)
		error = sampling_parse_callgraph(command->callgraph, &where->sampling);
	if (!error)
		error = parse_events(where, catalog);
	if (!error)
		error = targets_place(&targets, &where->sampling, where->workload.pid, &where->place);
	if (error)
		return error;
	const struct live_options live = {
		.name = "where",
		.events = &where->events,
		.catalog = catalog,
		.sampling = &where->sampling,
		.target = &where->place.target,
		.workload = where->workload.pid ? &where->workload : NULL,
		.ring_pages =
			command->ring_pages ? command->ring_pages : sampling_ring_pages_of_switches(where->place.target.cpu_count, false),
		.opened = where->switches ? where_switches_direct : NULL,
		.begun = where->switches ? where_switches_begin : NULL,
		.context = where->switches,
	};
	attached_warn(&where->events, NULL);
	error = live_open(&live, &where->live);
	/* The buffers hold some seconds: who waits longer for a CPU than that, as on a machine that is very busy, loses what it is to see.
	 * The command is another process by now, and keeps its priority. */
	if (!error)
		setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY); /* refused: as well as it goes */
	return error;
}

/* At each round. The measurement of processes ends with the last of them. */
static void look_for_processes(void *context)
{
	struct where *where = context;
	if (where->workload.pid && !where->pids.len)
		where_limits_look(&where->limits, where->workload.pid);
	for (size_t i = 0; i < where->pids.len; i++)
		where_limits_look(&where->limits, (pid_t)where->pids.data[i]);
	if (!where->pids.len)
		return;
	for (size_t i = 0; i < where->pids.len; i++)
		if (!kill((pid_t)where->pids.data[i], 0) || errno != ESRCH)
			return;
	live_stop(where->live);
}

static void name_descriptor(void *context, uint32_t pid, int descriptor, struct strbuf *out)
{
	(void)context;
	descriptor_add_name((pid_t)pid, descriptor, out);
}

static bool look(void *context, uint32_t pid, uint32_t tid, struct where_asleep *ret)
{
	struct where *where = context;
	where_sleepers_deinit(&where->looked_at);
	where->looked_at = (struct where_sleepers){0};
	if (!where_sleepers_look(pid, tid, &where->looked_at))
		return false;
	*ret = where->looked_at.all.data[0];
	return true;
}

static uint32_t find_holder(void *context, uint32_t pid, uint64_t address, bool is_join)
{
	(void)context;
	return (uint32_t)(is_join ? asleep_joined((pid_t)pid, address) : asleep_owner_of_mutex((pid_t)pid, address));
}

static bool next_switch(void *context, uint64_t until, struct where_switch *ret)
{
	struct where *where = context;
	if (until == UINT64_MAX && !where->has_ended)
		bpf_switches_stop(where->switches);
	where->has_ended = until == UINT64_MAX;
	return where_switches_next(where->switches, until, ret);
}

/* ---- a recording ---- */

/* The buffers hold a second or two of a busy program. So the recorder, which only empties them, goes before all others; between groups of
 * tasks, as the kernel makes one of each terminal (autogroups), nice values count for nothing. The command gets the usual priority. */
static void come_first(bool first)
{
	const struct sched_param lowest = {.sched_priority = 1}, usual = {0};
	if (first && !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest))
		return;
	sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &usual);
	if (first)
		setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY); /* refused: as well as it goes */
}

/* -o: perf record makes it. */
static struct error *record(const struct where_command *command, int word_count, char **words, int *ret_status)
{
	/* Copies as large as of a profile would fill the buffers in no time: every switch has one. */
	static const char smaller[] = "sched:sched_switch/stack-size=8192/";
	struct strbuf names = {0};
	for (const char *const *name = needed; *name; name++)
		strbuf_printf(&names, "%s%s", names.len ? "," : "", *name == *needed && !command->callgraph ? smaller : *name);
	struct event_catalog *catalog = event_catalog_create("");
	for (const char *const *name = block; *name; name++) {
		struct event_list list = {0};
		struct error *absent = event_parse(&list, catalog, *name);
		if (!absent)
			strbuf_printf(&names, ",%s", *name);
		error_free(absent);
		event_list_deinit(&list);
	}
	event_catalog_destroy(catalog);
	strbuf_printf(&names, ",cpu-clock/freq=%llu/", (unsigned long long)command->freq);
	size_t pages =
		command->ring_pages ? command->ring_pages : sampling_ring_pages_of_switches((size_t)sysconf(_SC_NPROCESSORS_ONLN), true);
	cleanup_free char *rings = mem_printf("%zu", pages);
	const char *before[15] = {"record",
				  "-a",
				  "-q",
				  "--call-graph",
				  command->callgraph ? command->callgraph : "auto",
				  "--switch-events",
				  "-c",
				  "1",
				  "-o",
				  command->record,
				  "-e",
				  strbuf_str(&names)};
	size_t count = 12;
	if (pages) {
		before[count++] = "-m";
		before[count++] = rings;
	}
	if (word_count)
		before[count++] = "--";
	come_first(true);
	struct error *error = command_run_with(before, count, words, word_count, ret_status);
	come_first(false);
	strbuf_deinit(&names);
	return error;
}

/* ---- the answer ---- */

static struct error *draw(const struct where_command *command, struct where_timeline *timeline, const struct where_sums *sums)
{
	const struct view_options view = {.title = "Wall-clock time: running and waiting", .unit = "ns"};
	struct calltree *tree = where_wall_tree(timeline, sums, command->all_threads);
	struct error *error = drawing_write(tree, drawing_view(command->flamegraph), &view, command->flamegraph);
	calltree_destroy(tree);
	return error;
}

/* Without names of the kernel's functions nothing tells what threads wait for. */
static void tell_nameless_kernel(const struct where *where, const struct where_timeline *timeline)
{
	const char *release = where->opening.session->reader->features.os_release;
	if (!timeline->places.kernel_stacks || timeline->places.named_stacks)
		return;
	if (session_is_of_this_machine(where->opening.session))
		log_warning(
			"The kernel's functions, which show what threads wait for, have no names: kernel addresses are hidden. Run as root, or "
			"first run:  " FIX_KERNEL_ADDRESSES);
	else
		log_warning(
			"The kernel's functions, which show what threads wait for, have no names: they are of another kernel (%s). Read it "
			"with --kallsyms FILE, a copy of that machine's /proc/kallsyms (made by root), or with --vmlinux FILE.",
			release);
}

static struct error *answer(struct where *where, struct where_timeline *timeline)
{
	struct where_sums sums;
	struct where_reasons reasons;
	where_sums_find(timeline, &sums);
	where_reasons_find(timeline, &sums, &reasons);
	where_limits_finish(&where->limits);
	const struct where_answer shown = {where->command, timeline,
					   &sums,	   &reasons,
					   &where->limits, where->live || session_is_of_this_machine(where->opening.session)};
	struct error *error = where->command->flamegraph ? draw(where->command, timeline, &sums) : NULL;
	if (!error && where->command->format) {
		error = where_write(&shown);
	} else if (!error) {
		if (!where->live)
			pager_start("where");
		where_show(&shown);
	}
	if (!error && sums.endless)
		log_warning("The end of %" PRIu64 " wait%s was not recorded: what is not known of %s counts as running.", sums.endless,
			    sums.endless == 1 ? "" : "s", sums.endless == 1 ? "it" : "them");
	uint64_t lost = where->switches ? bpf_switches_lost(where->switches) : 0;
	if (!error && lost)
		log_warning("%" PRIu64 " switch%s between threads %s lost: the buffers were full, or there are too many threads.", lost,
			    lost == 1 ? "" : "es", lost == 1 ? "was" : "were");
	if (!error && !timeline->has_stacks)
		log_warning("The recording has no stacks, which show what threads wait for; record them with 'perf where -o FILE COMMAND' "
			    "or 'perf sched record -g'.");
	if (!error)
		tell_nameless_kernel(where, timeline);
	where_reasons_deinit(&reasons);
	where_sums_deinit(&sums);
	return error;
}

static struct error *follow(struct where *where, const struct input_options *input)
{
	struct opening *opening = &where->opening;
	struct where_timeline timeline = {0};
	const struct opening_options wanted = {
		.input = input,
		.reader = where->live ? live_take_reader(where->live) : NULL,
		/* What was recorded just now is our own, and the device mapper is asked about devices. */
		.confined = where->live || where->command->record ? NULL : "where",
		.recorder = "perf where -o FILE COMMAND",
		.output = where->command->flamegraph,
		.remembers = true,
		.streaming = true,
	};
	const struct where_options chosen = {
		.root = where->live ? (uint32_t)where->workload.pid * !where->command->pids * !where->command->system_wide : 0,
		.pids = where->pids.len ? where->pids.data : NULL,
		.pid_count = where->pids.len,
		.sampled_stacks = where->live && !where->command->callgraph && !where->switches,
		.next_switch = where->switches ? next_switch : NULL,
		.read_stack = where->switches ? where_switches_read_stack : NULL,
		.is_whole = where->command->system_wide,
		.own = where->live || where->command->record ? (uint32_t)getpid() : 0,
		.asleep = where->sleepers.all.data,
		.asleep_count = where->sleepers.all.len,
		.look = where->live ? look : NULL,
		.find_holder = where->live ? find_holder : NULL,
		.name_descriptor = where->live ? name_descriptor : NULL,
		.tick = where->live && !where->command->system_wide ? look_for_processes : NULL,
		.tick_context = where,
	};
	struct error *error = opening_begin(opening, &wanted);
	if (!error)
		error = where_timeline_read(opening->session, opening->resolver, &chosen, &timeline);
	workload_stop(&where->workload);
	if (!error)
		error = answer(where, &timeline);
	if (!error)
		opening_warn(opening);
	where_timeline_deinit(&timeline);
	return error;
}

static struct error *measure(struct where *where, int word_count, char **words, int *ret_status)
{
	const struct where_command *command = where->command;
	struct input_options input = command->input;
	struct event_catalog *catalog = event_catalog_create("");
	struct error *error = NULL;
	if (command->pids)
		error = script_filter_add_ids(command->pids, &where->pids);
	if (!error && command->record) {
		error = record(command, word_count, words, ret_status);
		input.input = command->record;
	} else if (!error && word_count) {
		error = workload_start(&where->workload, words, command->format != NULL);
	}
	if (!error && !input.input)
		error = open_live(where, catalog);
	if (!error && where->live && (command->pids || command->system_wide || !word_count))
		where_sleepers_find(where->pids.data, where->pids.len, &where->sleepers);
	if (!error)
		error = follow(where, &input);
	workload_stop(&where->workload);
	if (!error && where->live)
		*ret_status = ending_status(ENDING_TRACE, &where->workload, live_signal(where->live));
	opening_end(&where->opening);
	live_close(where->live, true);
	bpf_switches_close(where->switches);
	event_list_deinit(&where->events);
	targets_place_deinit(&where->place);
	workload_deinit(&where->workload);
	event_catalog_destroy(catalog);
	where_limits_deinit(&where->limits);
	where_sleepers_deinit(&where->sleepers);
	where_sleepers_deinit(&where->looked_at);
	vec_deinit(&where->pids);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct where_command command = {.freq = FREQUENCY, .most = REASONS};
	struct where where = {.command = &command};
	int words;
	input_options_init(&command.input);
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &command, &words);
	if (!error)
		error = check(&command, words > 0);
	if (!error)
		error = measure(&where, words, argv, ret_status);
	return error;
}

static const char *const usage[] = {"[-p PIDS | -a] [-o FILE] [--] [COMMAND]", "-i FILE [-p PIDS]", NULL};
const struct command cmd_where = {"where", "Tell where the time of a program goes, running and waiting", usage, options, run};
