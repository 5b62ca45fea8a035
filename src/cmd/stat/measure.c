/* One run of `perf stat`: start the command, open the counters on it, let it go, and sleep until it ends, a timer rings, somebody says
 * stop, or what is watched is gone. */
#include "cmd/stat/stat.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "capture/attached.h"
#include "kernel/poller.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum tag { TAG_SIGNAL = 1, TAG_INTERVAL, TAG_TIMEOUT, TAG_DELAY, TAG_CONTROL, TAG_THREAD };

struct measuring {
	struct stat_run *run;
	struct poller poller;
	struct control control;
	int timers[3];
	int thread;	  /* the one whose end is waited for; < 0 = none */
	size_t watched;	  /* threads that had their turn */
	bool unwatchable; /* among them are some whose end cannot be seen */
	bool done, interrupted;
	struct error *error; /* ends the measuring */
};

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
	stat_allocate_cells(run, target.cpu_count, target.thread_count);
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

/* A descriptor that becomes readable when the thread ends; -errno. Before Linux 6.9 there is none for a thread that isn't its process's
 * first. */
static int open_thread(pid_t thread)
{
	enum { PIDFD_OF_THREAD = O_EXCL }; /* linux/pidfd.h: PIDFD_THREAD */
	long fd = syscall(SYS_pidfd_open, thread, PIDFD_OF_THREAD);

	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_pidfd_open, thread, 0);
	return fd < 0 ? -errno : (int)fd;
}

/* One thread after the other, for as long as any of them lives: the end of the last is what counts. A counter without a ring cannot tell,
 * it always looks hung up. */
static void watch_next_thread(struct measuring *measuring)
{
	const struct pid_list *threads = &measuring->run->threads;

	if (measuring->thread >= 0) {
		poller_unwatch(&measuring->poller, measuring->thread);
		close(take_fd(measuring->thread));
	}
	while (measuring->thread < 0 && measuring->watched < threads->len) {
		measuring->thread = open_thread(threads->data[measuring->watched++]);
		measuring->unwatchable |= measuring->thread < 0 && measuring->thread != -ESRCH;
	}
	if (measuring->thread >= 0)
		poller_watch(&measuring->poller, measuring->thread, EPOLLIN, TAG_THREAD);
	else
		measuring->done |= !measuring->unwatchable;
}

static void read_counters(struct stat_run *run)
{
	if (run->bpf)
		stat_bpf_read(run);
	else if (run->programs)
		stat_programs_read(run);
	else
		counting_read(&run->counters, run->events, run->now);
}

/* What was counted up to now: shown and recorded. */
static struct error *finish_interval(struct stat_run *run, uint64_t time_ns)
{
	read_counters(run);
	struct error *error = stat_record_round(run, time_ns - run->start_ns, false);
	stat_end_interval(run, time_ns);
	return error;
}

static void take_signals(struct measuring *measuring)
{
	struct stat_run *run = measuring->run;
	struct signalfd_siginfo info;

	while (poller_next_signal(&measuring->poller, &info)) {
		if (info.ssi_signo == SIGCHLD) {
			measuring->done |= run->command && workload_ended(&run->workload);
			continue;
		}
		/* A command that got Ctrl-C as well may end in its own way; it is asked to only when the signal was for us alone: by
		 * SIGTERM, since shells start what runs in the background with SIGINT ignored. The second time nobody waits for it. */
		bool wait = run->command && !measuring->interrupted && !workload_ended(&run->workload);
		if (wait && info.ssi_code != SI_KERNEL)
			kill(run->workload.pid, SIGTERM);
		run->signal = (int)info.ssi_signo;
		run->stop = true;
		measuring->interrupted = true;
		measuring->done |= !wait;
	}
}

static void begin(struct stat_run *run)
{
	stat_waits_begin(run);
	run->start_ns = run->shown_ns = clock_now_ns(CLOCK_MONOTONIC);
}

static void switch_events(void *context, const char *name, bool on)
{
	struct stat_run *run = ((struct measuring *)context)->run;

	if (on && !run->start_ns)
		begin(run);
	counters_switch(&run->counters, run->events, name, on);
	stat_bpf_set_running(run, on);
	if (!run->options.verbosity.quiet && !*name)
		fprintf(stderr, "Events %s\n", on ? "enabled" : "disabled");
}

static void stop(void *context)
{
	struct measuring *measuring = context;

	measuring->done = measuring->run->stop = measuring->run->cut = true;
}

static void list_events(void *context)
{
	control_list_events(((struct measuring *)context)->run->events);
}

static const struct control_actions control_actions = {.switch_events = switch_events, .stop = stop, .list = list_events};

static void take_event(struct measuring *measuring, const struct epoll_event *event)
{
	struct stat_run *run = measuring->run;
	uint64_t ticks;

	switch ((enum tag)(uint32_t)event->data.u64) {
	case TAG_SIGNAL:
		take_signals(measuring);
		break;
	case TAG_INTERVAL:
		if (read(measuring->timers[0], &ticks, sizeof(ticks)) != sizeof(ticks) || !run->start_ns)
			break;
		measuring->error = finish_interval(run, clock_now_ns(CLOCK_MONOTONIC));
		if (run->options.interval_count && run->intervals == run->options.interval_count)
			measuring->done = run->cut = true;
		break;
	case TAG_TIMEOUT:
		measuring->done = run->cut = run->timed_out = true;
		break;
	case TAG_DELAY:
		poller_unwatch(&measuring->poller, measuring->timers[2]);
		switch_events(measuring, "", true);
		break;
	case TAG_CONTROL:
		control_obey(&measuring->control, &measuring->poller, &control_actions, measuring);
		break;
	case TAG_THREAD:
		watch_next_thread(measuring);
		break;
	}
}

static struct error *start(struct measuring *measuring)
{
	struct stat_run *run = measuring->run;
	const struct stat_options *options = &run->options;
	struct poller *poller = &measuring->poller;
	struct error *error = NULL;

	if (options->timeout_ms)
		measuring->timers[1] = poller_timer(poller, options->timeout_ms * 1000000u, 0, TAG_TIMEOUT);
	if (options->delay_ms > 0)
		measuring->timers[2] = poller_timer(poller, (uint64_t)options->delay_ms * 1000000u, 0, TAG_DELAY);
	run->start_ns = run->intervals = 0;
	if (options->delay_ms) {
		if (!options->verbosity.quiet)
			fprintf(stderr, "Events disabled\n");
	} else {
		if (run->bpf || !is_workload_target(run))
			counter_set_enable(&run->counters, run->events);
		stat_bpf_set_running(run, true);
		begin(run);
	}
	if (run->command)
		error = workload_release(&run->workload);
	if (options->interval_ms)
		measuring->timers[0] = poller_timer(poller, options->interval_ms * 1000000u, options->interval_ms * 1000000u, TAG_INTERVAL);
	return error;
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

static struct error *wait_for_end(struct measuring *measuring)
{
	struct epoll_event events[16];

	while (!measuring->done && !measuring->error) {
		int count = poller_wait(&measuring->poller, events, 16);
		if (count < 0)
			return error_system(errno, "epoll_wait");
		for (int i = 0; i < count; i++)
			take_event(measuring, &events[i]);
	}
	return measuring->error;
}

/* Standard output carries a recording. */
static bool is_piped(const struct stat_run *run)
{
	return run->options.recorded && run->options.display.output && !strcmp(run->options.display.output, "-");
}

struct error *stat_measure(struct stat_run *run)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, 0};
	struct measuring measuring = {.run = run, .timers = {-1, -1, -1}, .thread = -1};
	struct error *error = run->command ? workload_start(&run->workload, run->command, is_piped(run)) : NULL;

	if (error)
		return error;
	poller_open(&measuring.poller);
	poller_take_signals(&measuring.poller, signals, TAG_SIGNAL);
	control_init(&measuring.control);
	if (run->options.control)
		error = control_open(&measuring.control, run->options.control);
	poller_watch(&measuring.poller, measuring.control.in, EPOLLIN, TAG_CONTROL);
	if (!error)
		error = open_counters(run);
	if (!error)
		error = stat_record_begin(run);
	if (!error) {
		if (targets_are_tasks(&run->options.targets) && !run->command)
			watch_next_thread(&measuring);
		error = start(&measuring);
	}
	if (!error)
		error = wait_for_end(&measuring);
	if (!error)
		error = finish(run);
	for (size_t i = 0; i < 3; i++)
		if (measuring.timers[i] >= 0)
			close(measuring.timers[i]);
	if (measuring.thread >= 0)
		close(measuring.thread);
	control_close(&measuring.control);
	poller_close(&measuring.poller);
	return error;
}
