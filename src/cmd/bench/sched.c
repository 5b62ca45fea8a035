/* perf bench sched: how quickly tasks hand over to each other. Here: two that exchange a byte, and one whose system calls another
 * answers. */
#include "cmd/bench/bench.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "kernel/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
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
	int group; /* directory of its cgroup, or -1 */
	int from, to;
	bool first; /* it writes before it reads */
	int failed; /* errno, JOIN_FAILED with it for its cgroup; 0 = all is well. Written by its own task */
};

enum { JOIN_FAILED = 1 << 16 };

/* Of version 2 a process joins as a whole; single threads may where the groups are threaded. Of version 1 each thread is a task. */
static bool join_group(const struct end *end)
{
	const char *const names[] = {end->options->threads ? "cgroup.threads" : "cgroup.procs", "tasks"};
	int fd = -1;
	for (size_t i = 0; i < 2 && fd < 0; i++)
		fd = openat(end->group, names[i], O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool joined = write(fd, "0", 1) == 1;
	int reason = errno;
	close(fd);
	errno = reason;
	return joined;
}

/* Waits for it in read(2), or with epoll. Nothing to read any more is an error. */
static int read_message(int fd, int epoll, char message[sizeof(int)])
{
	struct epoll_event event;
	ssize_t got;
	do {
		if (epoll >= 0 && epoll_wait(epoll, &event, 1, -1) < 0)
			return errno;
		got = read(fd, message, sizeof(int));
	} while (got < 0 && errno == EAGAIN);
	return got == sizeof(int) ? 0 : got < 0 ? errno : EPIPE;
}

static int exchange_messages(const struct end *end, int epoll)
{
	char message[sizeof(int)] = {0};
	int failed = 0;
	for (uint64_t i = 0; i < end->options->loops && !failed; i++) {
		if (!end->first)
			failed = read_message(end->from, epoll, message);
		if (!failed && write(end->to, message, sizeof(message)) != sizeof(message))
			failed = errno;
		if (end->first && !failed)
			failed = read_message(end->from, epoll, message);
	}
	return failed;
}

/* A task's part. Its pipe is closed at the end, so that the other one isn't left waiting. */
static void *exchange(void *argument)
{
	struct end *end = argument;
	struct epoll_event event = {.events = EPOLLIN};
	cleanup_close int epoll = end->options->nonblocking ? epoll_create1(EPOLL_CLOEXEC) : -1;
	if (end->group >= 0 && !join_group(end))
		end->failed = errno | JOIN_FAILED;
	else if (epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, end->from, &event))
		end->failed = errno;
	else
		end->failed = exchange_messages(end, epoll);
	close(end->to);
	return NULL;
}

/* The second is a child, which sends its error at last. */
static void exchange_by_processes(struct end ends[2])
{
	int report[2];
	if (pipe2(report, O_CLOEXEC)) {
		ends[0].failed = errno;
		return;
	}
	pid_t pid = fork();
	if (!pid) {
		close(ends[0].to);
		exchange(&ends[1]);
		_exit(write(report[1], &ends[1].failed, sizeof(int)) != sizeof(int));
	}
	close(ends[1].to);
	close(report[1]);
	if (pid < 0)
		ends[0].failed = errno;
	else
		exchange(&ends[0]);
	if (pid > 0 && read(report[0], &ends[1].failed, sizeof(int)) != sizeof(int))
		ends[1].failed = ECHILD;
	close(report[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void exchange_by_threads(struct end ends[2])
{
	pthread_t other;
	ends[1].failed = pthread_create(&other, NULL, exchange, &ends[1]);
	if (ends[1].failed)
		return;
	exchange(&ends[0]);
	pthread_join(other, NULL);
}

static const struct option pipe_table[] = {
	OPTION_U64('l', "loop", struct pipe_options, loops, "N", "round trips (default 1000000)"),
	OPTION_FLAG('T', "threaded", struct pipe_options, threads, "two threads instead of two processes"),
	OPTION_FLAG('n', "nonblocking", struct pipe_options, nonblocking, "wait with epoll(7) instead of in read(2)"),
	OPTION_STRING('G', "cgroups", struct pipe_options, cgroups, "SENDER,RECEIVER", "put the two tasks into these cgroups"),
	BENCH_COMMON(struct pipe_options),
	OPTION_END,
};

/* "SENDER,RECEIVER": opens the directories. */
static struct error *open_groups(const char *text, int groups[2])
{
	cleanup_free char *first = mem_strdup(text);
	char *second = strchr(first, ',');
	if (!second)
		return error_new_kind(ERROR_USAGE, "--cgroups %s: expected SENDER,RECEIVER", text);
	*second++ = '\0';
	for (int i = 0; i < 2; i++) {
		const char *name = i ? second : first;
		groups[i] = cgroups_open(name, NULL, 0);
		if (groups[i] < 0)
			return error_new("there is no cgroup '%s'; 'systemd-cgls' lists them", name);
	}
	return NULL;
}

/* That a cgroup could not be joined is the cause when the other task had nobody to talk to. */
static struct error *explain(const struct end ends[2])
{
	for (int i = 0; i < 2; i++)
		if (ends[i].failed & JOIN_FAILED)
			return error_system(ends[i].failed & ~JOIN_FAILED, "the %s cannot join its cgroup%s", i ? "receiver" : "sender",
					    ends[i].options->threads ? " (threads only join threaded groups, or those of version 1)" : "");
	for (int i = 0; i < 2; i++)
		if (ends[i].failed)
			return error_system(ends[i].failed, "the two tasks could not exchange their bytes");
	return NULL;
}

static struct error *measure_pipe(const struct pipe_options *options, const int groups[2], uint64_t *ret_elapsed_ns)
{
	int there[2], back[2], flags = options->nonblocking ? O_NONBLOCK : 0;
	if (pipe2(there, flags) || pipe2(back, flags))
		return error_system(errno, "cannot make a pipe");
	struct end ends[2] = {
		{.options = options, .group = groups[0], .from = back[0], .to = there[1], .first = true},
		{.options = options, .group = groups[1], .from = there[0], .to = back[1]},
	};
	void (*old)(int) = signal(SIGPIPE, SIG_IGN); /* the other one may have ended */
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
	if (options->threads)
		exchange_by_threads(ends);
	else
		exchange_by_processes(ends);
	*ret_elapsed_ns = clock_now_ns(CLOCK_MONOTONIC) - begin;
	signal(SIGPIPE, old);
	close(there[0]);
	close(back[0]);
	return explain(ends);
}

static struct error *run_pipe(int argc, char **argv, int *ret_status)
{
	struct pipe_options options = {.loops = 1000000};
	uint64_t elapsed_ns = 0;
	int groups[2] = {-1, -1};
	struct error *error = options_parse_alone(pipe_table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--loop", options.loops);
	if (!error && options.cgroups)
		error = open_groups(options.cgroups, groups);
	if (!error) {
		bench_begin("sched/pipe", &options.common);
		error = measure_pipe(&options, groups, &elapsed_ns);
	}
	for (int i = 0; i < 2; i++)
		if (groups[i] >= 0)
			close(groups[i]);
	if (error)
		return error;
	bench_say("# Executed %" PRIu64 " pipe operations between two %s\n\n", options.loops, options.threads ? "threads" : "processes");
	bench_time(elapsed_ns, options.loops);
	bench_end();
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

enum seccomp_step { STEP_CHILD, STEP_FILTER, STEP_SYNC, STEP_ASKER, STEP_ANSWERS, STEP_DONE };

struct seccomp_result {
	enum seccomp_step step; /* that failed */
	int failed;		/* errno */
	uint64_t elapsed_ns;
};

/* A filter stays, and children have it, too: so both tasks are children of ours. */
static struct seccomp_result answer_a_child(const struct seccomp_options *options)
{
	struct seccomp_result result = {.step = STEP_FILTER};
	int fd = install_filter();
	if (fd < 0)
		goto failed;
	result.step = STEP_SYNC;
	if (options->sync && ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP))
		goto failed;
	result.step = STEP_ASKER;
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
	pid_t asker = fork();
	if (asker < 0)
		goto failed;
	if (!asker) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd);			  /* it is the other task's alone: with it end the answers */
		while (syscall(SYS_getppid) >= 0) /* until nobody answers any more */
			;
		_exit(0);
	}
	result.step = STEP_ANSWERS;
	bool answered = answer(fd, options->loops);
	result.failed = errno;
	result.elapsed_ns = clock_now_ns(CLOCK_MONOTONIC) - begin;
	kill(asker, SIGKILL);
	waitpid(asker, NULL, 0);
	result.step = answered ? STEP_DONE : STEP_ANSWERS;
	return result;
failed:
	result.failed = errno;
	return result;
}

static struct error *measure_seccomp(const struct seccomp_options *options, uint64_t *ret_elapsed_ns)
{
	int told[2];
	struct seccomp_result result = {.step = STEP_ASKER};
	if (pipe2(told, O_CLOEXEC))
		return error_system(errno, "cannot make a pipe");
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		result = answer_a_child(options);
		_exit(write(told[1], &result, sizeof(result)) != sizeof(result));
	}
	close(told[1]);
	if (pid < 0)
		result.failed = errno;
	else if (read(told[0], &result, sizeof(result)) != sizeof(result))
		result = (struct seccomp_result){.step = STEP_CHILD};
	close(told[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	*ret_elapsed_ns = result.elapsed_ns;
	if (result.step == STEP_CHILD)
		return error_new("the process that answers has ended early");
	static const char *const texts[] = {
		[STEP_FILTER] = "this kernel does not let tasks answer each other's system calls (seccomp, requires Linux 5.0)",
		[STEP_SYNC] = "--sync-mode requires Linux 6.6",
		[STEP_ASKER] = "cannot start a process",
		[STEP_ANSWERS] = "answering system calls"};
	return result.step == STEP_DONE ? NULL : error_system(result.failed, "%s", texts[result.step]);
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
