/* A thin layer over epoll, signalfd and timerfd. */
#include "kernel/poller.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

void poller_open(struct poller *poller)
{
	*poller = (struct poller){.epoll = epoll_create1(EPOLL_CLOEXEC), .signals = -1};
	sigprocmask(SIG_BLOCK, NULL, &poller->old_mask);
}

void poller_close(struct poller *poller)
{
	if (poller->epoll >= 0)
		close(poller->epoll);
	if (poller->signals >= 0)
		close(poller->signals);
	sigprocmask(SIG_SETMASK, &poller->old_mask, NULL);
	poller->epoll = poller->signals = -1;
}

void poller_watch(struct poller *poller, int fd, uint32_t events, uint64_t tag)
{
	struct epoll_event event = {.events = events, .data.u64 = tag};

	if (fd >= 0)
		epoll_ctl(poller->epoll, EPOLL_CTL_ADD, fd, &event);
}

void poller_unwatch(struct poller *poller, int fd)
{
	epoll_ctl(poller->epoll, EPOLL_CTL_DEL, fd, NULL);
}

void poller_signal_set(const int *list, sigset_t *ret)
{
	struct sigaction hangup;

	sigemptyset(ret);
	for (; *list; list++)
		sigaddset(ret, *list);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN)
		sigdelset(ret, SIGHUP);
}

int poller_signal_fd(const int *list)
{
	sigset_t set;

	poller_signal_set(list, &set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void poller_take_signals(struct poller *poller, const int *list, uint64_t tag)
{
	poller->signals = poller_signal_fd(list);
	poller_watch(poller, poller->signals, EPOLLIN, tag);
}

int poller_next_signal(struct poller *poller, struct signalfd_siginfo *ret)
{
	return poller->signals >= 0 && read(poller->signals, ret, sizeof(*ret)) == sizeof(*ret);
}

int poller_timer(struct poller *poller, uint64_t first_ns, uint64_t every_ns, uint64_t tag)
{
	struct itimerspec times = {.it_value = {(time_t)(first_ns / 1000000000u), (long)(first_ns % 1000000000u)},
				   .it_interval = {(time_t)(every_ns / 1000000000u), (long)(every_ns % 1000000000u)}};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return -1;
	timerfd_settime(fd, 0, &times, NULL);
	poller_watch(poller, fd, EPOLLIN, tag);
	return fd;
}

int poller_wait(struct poller *poller, struct epoll_event *events, int most)
{
	int count = epoll_wait(poller->epoll, events, most, -1);

	return count < 0 && errno == EINTR ? 0 : count;
}
