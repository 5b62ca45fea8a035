/* Sleeping until something happens: descriptors, timers and signals in one epoll set. Signals are taken from a descriptor: no handlers, no
 * races. */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

struct poller {
	int epoll;
	int signals; /* -1 = none are taken */
	sigset_t old_mask;
};

/* Notes which signals are blocked, for poller_close(). */
void poller_open(struct poller *poller);
/* Gives signals back as they were before poller_take_signals(). Watched descriptors stay open. */
void poller_close(struct poller *poller);

/* `events` as of epoll; `tag` comes back in data.u64. Does nothing with fd -1. */
void poller_watch(struct poller *poller, int fd, uint32_t events, uint64_t tag);
/* Before the descriptor is closed. Does nothing with fd -1. */
void poller_unwatch(struct poller *poller, int fd);

/* The signals of a list that ends with 0, but not SIGHUP when whoever started us has set it to be ignored, as nohup(1) does: it would be
 * taken all the same, for signals that are blocked are kept (signal(7)). */
void poller_signal_set(const int *list, sigset_t *ret);
/* A descriptor from which these signals (a list as above) are read, which are blocked from now on; SIGPIPE is ignored. -1 = failed. The
 * caller closes it. */
int poller_signal_fd(const int *list);
/* Blocks these signals (a list as above) until poller_close(), and lets them wake up the poller. SIGPIPE is ignored from now on. */
void poller_take_signals(struct poller *poller, const int *list, uint64_t tag);
/* The next one that came; false = no more. */
int poller_next_signal(struct poller *poller, struct signalfd_siginfo *ret);

/* A timer: first after `first_ns`, then every `every_ns` (0 = once). Returns its descriptor, which the caller closes; -1 = failed. */
int poller_timer(struct poller *poller, uint64_t first_ns, uint64_t every_ns, uint64_t tag);

/* As epoll_wait(), without a limit of time. Interrupted calls return 0. */
int poller_wait(struct poller *poller, struct epoll_event *events, int most);
