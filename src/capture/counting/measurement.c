/* Sleeping while counters run (measurement.h). */
#include "capture/counting/measurement.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum tag { TAG_SIGNAL = 1, TAG_INTERVAL, TAG_TIMEOUT, TAG_DELAY, TAG_CONTROL, TAG_THREAD };
enum { TIMER_INTERVAL, TIMER_TIMEOUT, TIMER_DELAY };

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
static void watch_next_thread(struct measurement *measurement)
{
	const struct pid_list *threads = measurement->options->threads;

	if (measurement->thread >= 0) {
		poller_unwatch(&measurement->poller, measurement->thread);
		close(take_fd(measurement->thread));
	}
	while (measurement->thread < 0 && measurement->watched < threads->len) {
		measurement->thread = open_thread(threads->data[measurement->watched++]);
		measurement->unwatchable |= measurement->thread < 0 && measurement->thread != -ESRCH;
	}
	if (measurement->thread >= 0)
		poller_watch(&measurement->poller, measurement->thread, EPOLLIN, TAG_THREAD);
	else
		measurement->done |= !measurement->unwatchable;
}

static void take_signals(struct measurement *measurement)
{
	struct workload *workload = measurement->options->workload;
	struct signalfd_siginfo info;

	while (poller_next_signal(&measurement->poller, &info)) {
		if (info.ssi_signo == SIGCHLD) {
			measurement->done |= workload && workload_ended(workload);
			continue;
		}
		/* A command that got Ctrl-C as well may end in its own way; it is asked to only when the signal was for us alone: by
		 * SIGTERM, since shells start what runs in the background with SIGINT ignored. The second time nobody waits for it. */
		bool wait = workload && !measurement->interrupted && !workload_ended(workload);
		if (wait && info.ssi_code != SI_KERNEL)
			kill(workload->pid, SIGTERM);
		measurement->signal = (int)info.ssi_signo;
		measurement->stopped = true;
		measurement->interrupted = true;
		measurement->done |= !wait;
	}
}

static void stop(void *context)
{
	struct measurement *measurement = context;

	measurement->done = measurement->stopped = measurement->cut = true;
}

static void list_events(void *context)
{
	control_list_events(((struct measurement *)context)->options->events);
}

static void switch_events(void *context, const char *name, bool on)
{
	const struct measurement_options *options = ((struct measurement *)context)->options;

	options->switch_events(options->context, name, on);
}

static const struct control_actions control_actions = {.switch_events = switch_events, .stop = stop, .list = list_events};

static void take_event(struct measurement *measurement, const struct epoll_event *event)
{
	const struct measurement_options *options = measurement->options;
	bool enough = false;
	uint64_t ticks;

	switch ((enum tag)(uint32_t)event->data.u64) {
	case TAG_SIGNAL:
		take_signals(measurement);
		break;
	case TAG_INTERVAL:
		if (read(measurement->timers[TIMER_INTERVAL], &ticks, sizeof(ticks)) != sizeof(ticks))
			break;
		measurement->error = options->end_interval(options->context, &enough);
		if (enough)
			measurement->done = measurement->cut = true;
		break;
	case TAG_TIMEOUT:
		measurement->done = measurement->cut = measurement->timed_out = true;
		break;
	case TAG_DELAY:
		poller_unwatch(&measurement->poller, measurement->timers[TIMER_DELAY]);
		options->switch_events(options->context, "", true);
		break;
	case TAG_CONTROL:
		control_obey(&measurement->control, &measurement->poller, &control_actions, measurement);
		break;
	case TAG_THREAD:
		watch_next_thread(measurement);
		break;
	}
}

static struct error *wait_for_end(struct measurement *measurement)
{
	struct epoll_event events[16];

	while (!measurement->done && !measurement->error) {
		int count = poller_wait(&measurement->poller, events, 16);
		if (count < 0)
			return error_system(errno, "epoll_wait");
		for (int i = 0; i < count; i++)
			take_event(measurement, &events[i]);
	}
	return measurement->error;
}

struct error *measurement_open(const struct measurement_options *options, struct measurement *measurement)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, 0};
	struct error *error = NULL;

	*measurement = (struct measurement){.options = options, .timers = {-1, -1, -1}, .thread = -1};
	poller_open(&measurement->poller);
	poller_take_signals(&measurement->poller, signals, TAG_SIGNAL);
	control_init(&measurement->control);
	if (options->control)
		error = control_open(&measurement->control, options->control);
	poller_watch(&measurement->poller, measurement->control.in, EPOLLIN, TAG_CONTROL);
	return error;
}

struct error *measurement_run(struct measurement *measurement)
{
	const struct measurement_options *options = measurement->options;
	struct poller *poller = &measurement->poller;
	struct error *error = NULL;

	if (options->threads)
		watch_next_thread(measurement);
	if (options->timeout_ns)
		measurement->timers[TIMER_TIMEOUT] = poller_timer(poller, options->timeout_ns, 0, TAG_TIMEOUT);
	if (options->delay_ns)
		measurement->timers[TIMER_DELAY] = poller_timer(poller, options->delay_ns, 0, TAG_DELAY);
	options->begin(options->context);
	if (options->workload)
		error = workload_release(options->workload);
	if (options->interval_ns)
		measurement->timers[TIMER_INTERVAL] = poller_timer(poller, options->interval_ns, options->interval_ns, TAG_INTERVAL);
	return error ? error : wait_for_end(measurement);
}

void measurement_close(struct measurement *measurement)
{
	for (size_t i = 0; i < MEASUREMENT_TIMERS; i++)
		if (measurement->timers[i] >= 0)
			close(measurement->timers[i]);
	if (measurement->thread >= 0)
		close(measurement->thread);
	control_close(&measurement->control);
	poller_close(&measurement->poller);
}

struct error *measurement_take(const struct measurement_options *options, int *ret_signal)
{
	struct measurement measurement;
	struct error *error = measurement_open(options, &measurement);
	if (!error)
		error = measurement_run(&measurement);
	*ret_signal = measurement.signal;
	measurement_close(&measurement);
	return error;
}
