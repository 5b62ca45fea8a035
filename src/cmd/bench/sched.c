/* perf bench sched: how quickly tasks hand over to each other. Here: two that exchange a byte, and one whose system calls another
 * answers. */
#include "cmd/bench/bench.h"
#include "cmd/bench/suites.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* linux/seccomp.h, from Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS _IOW('!', 4, uint64_t)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1ull << 0)
#endif

/* ---- pipe ---- */

struct pipe_options {
	struct bench_common common;
	uint64_t loops;
	bool threads, nonblocking;
	const char *cgroups; /* "SENDER,RECEIVER" */
};

struct end {
	const struct pipe_options *options;
	const char *cgroup; /* or NULL */
	int from, to;
	bool first;  /* it writes before it reads */
	bool failed; /* written by its own thread */
};

static bool join_cgroup(const char *name)
{
	if (!name)
		return true;
	cleanup_free char *path = mem_printf("/sys/fs/cgroup/%s/%s", name, "cgroup.threads");
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, "0", 1) == 1;
}

/* A byte, or what poll(2) says of the descriptor until there is one. */
static bool read_byte(int fd, int epoll, char *ret)
{
	struct epoll_event event;
	ssize_t got;
	do {
		if (epoll >= 0 && epoll_wait(epoll, &event, 1, -1) < 0)
			return false;
		got = read(fd, ret, sizeof(int));
	} while (got < 0 && errno == EAGAIN);
	return got == sizeof(int);
}

static void *exchange(void *argument)
{
	struct end *end = argument;
	char message[sizeof(int)] = {0};
	struct epoll_event event = {.events = EPOLLIN};
	cleanup_close int epoll = end->options->nonblocking ? epoll_create1(EPOLL_CLOEXEC) : -1;
	end->failed = !join_cgroup(end->cgroup) || (epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, end->from, &event));
	for (uint64_t i = 0; i < end->options->loops && !end->failed; i++) {
		if (!end->first)
			end->failed = !read_byte(end->from, epoll, message);
		end->failed |= write(end->to, message, sizeof(message)) != sizeof(message);
		if (end->first && !end->failed)
			end->failed = !read_byte(end->from, epoll, message);
	}
	return NULL;
}

static bool exchange_by_processes(struct end ends[2])
{
	int status = 0;
	pid_t pid = fork();
	if (!pid) {
		close(ends[0].to); /* so that the other's end is told */
		exchange(&ends[1]);
		_exit(ends[1].failed);
	}
	if (pid < 0)
		return false;
	exchange(&ends[0]);
	if (ends[0].failed)
		close(ends[0].to);
	waitpid(pid, &status, 0);
	return !status && !ends[0].failed;
}

static bool exchange_by_threads(struct end ends[2])
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, exchange, &ends[i]))
			return false;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return !ends[0].failed && !ends[1].failed;
}

static const struct option pipe_table[] = {
	OPTION_U64('l', "loop", struct pipe_options, loops, "N", "round trips (default 1000000)"),
	OPTION_FLAG('T', "threaded", struct pipe_options, threads, "two threads instead of two processes"),
	OPTION_FLAG('n', "nonblocking", struct pipe_options, nonblocking, "wait with epoll(7) instead of in read(2)"),
	OPTION_STRING('G', "cgroups", struct pipe_options, cgroups, "SENDER,RECEIVER", "put the two tasks into these cgroups"),
	BENCH_COMMON(struct pipe_options),
	OPTION_END,
};

static struct error *run_pipe(int argc, char **argv, int *ret_status)
{
	struct pipe_options options = {.loops = 1000000};
	struct error *error = options_parse_alone(pipe_table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--loop", options.loops);
	cleanup_free char *sender = options.cgroups ? mem_strdup(options.cgroups) : NULL;
	char *receiver = sender ? strchr(sender, ',') : NULL;
	if (receiver)
		*receiver++ = '\0';
	if (!error && sender && !receiver)
		error = error_new_kind(ERROR_USAGE, "--cgroups %s: expected SENDER,RECEIVER", options.cgroups);
	if (error)
		return error;
	int there[2], back[2], flags = options.nonblocking ? O_NONBLOCK : 0;
	if (pipe2(there, flags) || pipe2(back, flags))
		return error_system(errno, "cannot make a pipe");
	struct end ends[2] = {
		{.options = &options, .cgroup = sender, .from = back[0], .to = there[1], .first = true},
		{.options = &options, .cgroup = receiver, .from = there[0], .to = back[1]},
	};
	bench_begin("sched/pipe", &options.common);
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
	bool done = options.threads ? exchange_by_threads(ends) : exchange_by_processes(ends);
	uint64_t elapsed_ns = clock_now_ns(CLOCK_MONOTONIC) - begin;
	if (!done)
		return error_new("the two %s could not exchange their bytes%s", options.threads ? "threads" : "processes",
				 sender ? ": is each cgroup there, below /sys/fs/cgroup, and may you write to it?" : "");
	bench_say("# Executed %" PRIu64 " pipe operations between two %s\n\n", options.loops, options.threads ? "threads" : "processes");
	bench_time(elapsed_ns, options.loops);
	bench_end();
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	return NULL;
}

static const struct command pipe_command = BENCH(sched, "pipe", "Two tasks that exchange a byte through pipes", pipe_table, run_pipe);

/* ---- seccomp-notify ---- */

struct seccomp_options {
	struct bench_common common;
	uint64_t loops;
	bool sync;
};

/* Has another task asked about each getppid(2) of this one. The descriptor to answer at, or -1 with errno set. */
static int install_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* Answers each call with its own number, without that the kernel makes it. */
static bool answer(int fd, uint64_t loops)
{
	for (uint64_t i = 0; i < loops; i++) {
		struct seccomp_notif question = {0};
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &question))
			return false;
		struct seccomp_notif_resp reply = {.id = question.id, .val = (int64_t)i};
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &reply))
			return false;
	}
	return true;
}

struct asker {
	uint64_t loops;
	int ready[2]; /* it sends the number of its descriptor, which both share: it is a thread */
};

/* Filters are each thread's own, so that only this one is asked about. */
static void *ask(void *argument)
{
	const struct asker *asker = argument;
	int result[2] = {install_filter(), 0};
	result[1] = result[0] < 0 ? errno : 0;
	if (write(asker->ready[1], result, sizeof(result)) != sizeof(result) || result[0] < 0)
		return NULL;
	for (uint64_t i = 0; i < asker->loops; i++)
		syscall(SYS_getppid);
	return NULL;
}

static struct error *measure_seccomp(const struct seccomp_options *options, uint64_t *ret_elapsed_ns)
{
	struct asker asker = {.loops = options->loops};
	pthread_t thread;
	int result[2];
	if (pipe2(asker.ready, O_CLOEXEC))
		return error_system(errno, "cannot make a pipe");
	int failed = pthread_create(&thread, NULL, ask, &asker);
	if (failed)
		return error_system(failed, "cannot start a thread");
	struct error *error = NULL;
	if (read(asker.ready[0], result, sizeof(result)) != sizeof(result) || result[0] < 0)
		error = error_system(result[1],
				     "this kernel does not let tasks answer each other's system calls (seccomp, requires Linux 5.0)");
	if (!error && options->sync && ioctl(result[0], SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP))
		error = error_system(errno, "--sync-mode requires Linux 6.6");
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
	if (!error && !answer(result[0], options->loops))
		error = error_system(errno, "answering system calls");
	*ret_elapsed_ns = clock_now_ns(CLOCK_MONOTONIC) - begin;
	if (result[0] >= 0)
		close(result[0]); /* calls that nobody answers any more fail */
	pthread_join(thread, NULL);
	close(asker.ready[0]);
	close(asker.ready[1]);
	return error;
}

static const struct option seccomp_table[] = {
	OPTION_U64('l', "loop", struct seccomp_options, loops, "N", "system calls (default 1000000)"),
	OPTION_FLAG('s', "sync-mode", struct seccomp_options, sync, "wake up the other task on the same CPU (Linux 6.6)"),
	BENCH_COMMON(struct seccomp_options),
	OPTION_END,
};

static struct error *run_seccomp(int argc, char **argv, int *ret_status)
{
	struct seccomp_options options = {.loops = 1000000};
	uint64_t elapsed_ns = 0;
	struct error *error = options_parse_alone(seccomp_table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--loop", options.loops);
	if (error)
		return error;
	bench_begin("sched/seccomp-notify", &options.common);
	error = measure_seccomp(&options, &elapsed_ns);
	if (error)
		return error;
	bench_say("# Executed %" PRIu64 " system calls\n\n", options.loops);
	bench_time(elapsed_ns, options.loops);
	bench_end();
	return NULL;
}

static const struct command seccomp =
	BENCH(sched, "seccomp-notify", "A task whose system calls another one answers", seccomp_table, run_seccomp);

static const struct command *const benchmarks[] = {&bench_sched_messaging, &pipe_command, &seccomp, NULL};
BENCH_COLLECTION(sched, "The scheduler: tasks that wake each other", benchmarks);
