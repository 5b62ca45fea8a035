/* One run of `perf stat`: start the command, open the counters on it, let it go, and read them at the end of each interval and of the
 * whole. */
#include "cmd/stat/stat.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "capture/attached.h"
#include "capture/counting/measurement.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Only the command is counted, not CPUs or other processes. */
static bool is_workload_target(const struct stat_run *run)
{
	return run->command && !targets_are_cpus(&run->options.targets) && !targets_are_tasks(&run->options.targets);
}

/* Where the counters go. The workload's process is the only thread of its target. */
static void choose_target(struct stat_run *run, struct counter_target *ret)
{
	static const int any_cpu = -1;
	static const pid_t any_thread = -1;
	bool by_cpu = targets_are_cpus(&run->options.targets) && run->options.display.per != STAT_PER_THREAD;

	if (is_workload_target(run)) {
		run->threads.len = 0;
		vec_push(&run->threads, run->workload.pid);
	}
	*ret = (struct counter_target){.cpus = &any_cpu, .cpu_count = 1, .threads = &any_thread, .thread_count = 1, .cgroup = -1};
	if (by_cpu) {
		ret->cpus = run->cpus;
		ret->cpu_count = run->cpu_count;
	} else {
		ret->threads = run->threads.data;
		ret->thread_count = run->threads.len;
	}
}

/* Counters that go on alone, or those of CPUs with a BPF program that adds up for tasks. */
static struct error *open_counters(struct stat_run *run)
{
	const struct stat_options *options = &run->options;
	/* What a running process forks while its groups are opened has a part of them, and then the kernel reads them no more (ECHILD). */
	bool forks_meanwhile = targets_are_tasks(&options->targets) && !options->no_inherit;
	struct counting_scope scope = {.no_inherit = options->no_inherit || options->bpf_programs,
				       .all_user = options->all_user,
				       .all_kernel = options->all_kernel,
				       .by_cpu = targets_are_cpus(&options->targets),
				       .workload = is_workload_target(run),
				       .delayed = options->delay_ms != 0,
				       .no_bundles = options->control || options->recorded || options->bpf_programs || forks_meanwhile,
				       .identified = options->recorded};
	struct counter_target target;

	choose_target(run, &target);
	stat_bpf_close(run);
	if (stat_wants_bpf(run)) {
		counter_set_close(&run->counters);
		struct error *error = stat_bpf_open(run, &scope, &target);
		if (error || !run->bpf_refused)
			return error;
	}
	counting_configure(run->events, &scope);
	counter_cells_allocate(&run->cells, run->events->events.len, target.cpu_count, target.thread_count);
	/* The counters of the run before are closed only now: as long as a tracepoint has another one, closing doesn't wait. */
	struct counter_set before = run->counters;
	bool first = !before.count;
	struct error *error = counter_set_open_present(&run->counters, run->events, &target);
	counter_set_close(&before);
	if (!error && first)
		attached_warn(run->events, &run->counters);
	if (!error && options->bpf_programs)
		error = stat_programs_open(run);
	return error;
}

/* Into run->cells.now, from whoever counts. */
static void read_counters(struct stat_run *run)
{
	if (run->bpf)
		stat_bpf_read(run);
	else if (run->programs)
		stat_programs_read(run);
	else
		counting_read(&run->counters, run->events, run->cells.now);
}

/* What was counted up to now: shown and recorded. */
static struct error *end_interval(void *context, bool *ret_enough)
{
	struct stat_run *run = context;

	if (!run->start_ns)
		return NULL;
	uint64_t time_ns = clock_now_ns(CLOCK_MONOTONIC);
	read_counters(run);
	struct error *error = stat_record_round(run, time_ns - run->start_ns, false);
	stat_end_interval(run, time_ns);
	*ret_enough = run->options.interval_count && run->intervals == run->options.interval_count;
	return error;
}

/* Counting begins now: all times are since then. */
static void begin(struct stat_run *run)
{
	stat_waits_begin(run);
	run->start_ns = run->shown_ns = clock_now_ns(CLOCK_MONOTONIC);
}

/* --control, or the end of the delay; no name means all events. */
static void switch_events(void *context, const char *name, bool on)
{
	struct stat_run *run = context;

	if (on && !run->start_ns)
		begin(run);
	counters_switch(&run->counters, run->events, name, on);
	stat_bpf_set_running(run, on);
	if (!run->options.verbosity.quiet && !*name)
		fprintf(stderr, "Events %s\n", on ? "enabled" : "disabled");
}

/* The command is let go behind this. Its counters are enabled by its exec; others are by us. */
static void start(void *context)
{
	struct stat_run *run = context;

	run->start_ns = run->intervals = 0;
	if (run->options.delay_ms) {
		if (!run->options.verbosity.quiet)
			fprintf(stderr, "Events disabled\n");
		return;
	}
	if (run->bpf || !is_workload_target(run))
		counter_set_enable(&run->counters, run->events);
	stat_bpf_set_running(run, true);
	begin(run);
}

/* "sh: Segmentation fault", in the words of the kernel's perf. */
static void tell_death(const struct stat_run *run)
{
	struct strbuf name = {0};

	if (run->cut || run->signal || !run->workload.waited || !WIFSIGNALED(run->workload.status))
		return;
	text_add_safe(&name, run->command[0], strlen(run->command[0]));
	fprintf(stderr, "%s: %s\n", strbuf_str(&name), strsignal(WTERMSIG(run->workload.status)));
	strbuf_deinit(&name);
}

/* The end of a run: counters stop before anything that takes time. */
static struct error *finish(struct stat_run *run)
{
	uint64_t end_ns = clock_now_ns(CLOCK_MONOTONIC);
	const struct stat_options *options = &run->options;

	if (!run->start_ns)
		run->start_ns = run->shown_ns = end_ns; /* never enabled */
	stat_bpf_set_running(run, false);
	if (run->bpf || !is_workload_target(run) || !run->workload.waited)
		counter_set_disable(&run->counters, run->events);
	if (run->command) {
		tell_death(run);
		workload_stop(&run->workload);
	}
	read_counters(run);
	stat_waits_end(run);
	if (options->interval_ms && !(options->interval_count && run->intervals >= options->interval_count))
		stat_end_interval(run, end_ns);
	stat_end(run, end_ns);
	return stat_record_round(run, end_ns - run->start_ns, true);
}

/* Standard output carries a recording. */
static bool is_piped(const struct stat_run *run)
{
	return run->options.recorded && run->options.display.output && !strcmp(run->options.display.output, "-");
}

struct error *stat_measure(struct stat_run *run)
{
	const struct stat_options *options = &run->options;
	struct measurement_options measured = {
		.workload = run->command ? &run->workload : NULL,
		.threads = targets_are_tasks(&options->targets) && !run->command ? &run->threads : NULL,
		.events = run->events,
		.control = options->control,
		.interval_ns = options->interval_ms * 1000000u,
		.timeout_ns = options->timeout_ms * 1000000u,
		.delay_ns = options->delay_ms > 0 ? (uint64_t)options->delay_ms * 1000000u : 0,
		.begin = start,
		.switch_events = switch_events,
		.end_interval = end_interval,
		.context = run,
	};
	struct measurement measurement;
	struct error *error = run->command ? workload_start(&run->workload, run->command, is_piped(run)) : NULL;

	if (error)
		return error;
	error = measurement_open(&measured, &measurement);
	if (!error)
		error = open_counters(run);
	if (!error)
		error = stat_record_begin(run);
	if (!error)
		error = measurement_run(&measurement);
	run->signal = measurement.signal;
	run->stop |= measurement.stopped;
	run->cut |= measurement.cut;
	run->timed_out |= measurement.timed_out;
	if (!error)
		error = finish(run);
	measurement_close(&measurement);
	return error;
}
