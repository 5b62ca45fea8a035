/* perf bench sched messaging: groups of 20 senders and 20 receivers; each sender writes messages to every receiver of its group. All wait
 * at a gate until everybody is there; what is measured begins when it opens and ends when the last has gone. */
#include "cmd/bench/bench.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PEERS = 20, MESSAGE_BYTES = 100 };

struct messaging_options {
	struct bench_common common;
	uint64_t groups, loops;
	bool pipes, threads;
};

struct crowd;

struct member {
	const struct crowd *crowd;
	int own;	  /* of a receiver: what it reads from */
	const int *peers; /* of a sender: PEERS descriptors to write to; NULL of a receiver */
	pthread_t thread;
	pid_t pid;
};

struct crowd {
	const struct messaging_options *options;
	int ready[2], gate[2]; /* who is ready writes a byte; readable when all may begin */
	struct member *members;
	size_t count;
	int (*peers)[PEERS], (*owns)[PEERS]; /* by group */
};

static bool write_all(int fd, const char *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t written = write(fd, data + done, size - done);
		if (written <= 0)
			return false;
		done += (size_t)written;
	}
	return true;
}

static void *play(void *argument)
{
	const struct member *member = argument;
	const struct crowd *crowd = member->crowd;
	struct pollfd polled = {.fd = crowd->gate[0], .events = POLLIN};
	char message[MESSAGE_BYTES] = {0};
	uint64_t loops = crowd->options->loops;
	if (!write_all(crowd->ready[1], message, 1) || poll(&polled, 1, -1) != 1)
		return NULL;
	for (uint64_t loop = 0; member->peers && loop < loops; loop++)
		for (size_t peer = 0; peer < PEERS; peer++)
			if (!write_all(member->peers[peer], message, sizeof(message)))
				return NULL;
	for (uint64_t expected = member->peers ? 0 : loops * PEERS * MESSAGE_BYTES; expected;) {
		ssize_t got = read(member->own, message, sizeof(message));
		if (got <= 0)
			break;
		expected -= (size_t)got;
	}
	return NULL;
}

static struct error *start(struct crowd *crowd, int own, const int *peers)
{
	struct member *member = &crowd->members[crowd->count];
	*member = (struct member){.crowd = crowd, .own = own, .peers = peers};
	if (crowd->options->threads) {
		pthread_attr_t attr;
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN); /* of a larger one the C library gives pages back at the end */
		int result = pthread_create(&member->thread, &attr, play, member);
		pthread_attr_destroy(&attr);
		if (result)
			return error_system(result, "cannot start thread %zu; use fewer groups (-g)", crowd->count + 1);
	} else {
		member->pid = fork();
		if (member->pid < 0)
			return error_system(errno, "cannot start process %zu; use fewer groups (-g)", crowd->count + 1);
		if (!member->pid) {
			play(member);
			_exit(0);
		}
	}
	crowd->count++;
	return NULL;
}

static struct error *start_group(struct crowd *crowd, size_t group)
{
	int *peers = crowd->peers[group], *owns = crowd->owns[group];
	struct error *error = NULL;
	for (size_t i = 0; i < PEERS && !error; i++) {
		int ends[2];
		if (crowd->options->pipes ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return error_system(errno,
					    "cannot connect group %zu; use fewer groups (-g) or a larger limit of open files (ulimit -n)",
					    group + 1);
		owns[i] = ends[0];
		peers[i] = ends[1];
		error = start(crowd, owns[i], NULL);
	}
	for (size_t i = 0; i < PEERS && !error; i++)
		error = start(crowd, -1, peers);
	return error;
}

/* Processes have copies of their own. */
static void close_group(struct crowd *crowd, size_t group)
{
	for (size_t i = 0; i < PEERS; i++) {
		if (crowd->owns[group][i])
			close(crowd->owns[group][i]);
		if (crowd->peers[group][i])
			close(crowd->peers[group][i]);
		crowd->owns[group][i] = crowd->peers[group][i] = 0;
	}
}

static void join(struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->count; i++)
		if (crowd->options->threads)
			pthread_join(crowd->members[i].thread, NULL);
		else
			waitpid(crowd->members[i].pid, NULL, 0);
}

/* Waits until all are ready, and lets them begin. */
static struct error *measure(struct crowd *crowd, uint64_t *ret_elapsed_ns)
{
	char byte;
	for (size_t i = 0; i < crowd->count; i++)
		if (read(crowd->ready[0], &byte, 1) != 1)
			return error_system(errno, "reading who is ready");
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
	if (!write_all(crowd->gate[1], "*", 1))
		return error_system(errno, "opening the gate");
	join(crowd);
	*ret_elapsed_ns = clock_now_ns(CLOCK_MONOTONIC) - begin;
	return NULL;
}

/* Those who wait already, when not all could be started. */
static void give_up(struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->count && !crowd->options->threads; i++)
		kill(crowd->members[i].pid, SIGKILL);
	if (crowd->options->threads) /* these can't be ended from outside: they play what they can, and the process ends with its error */
		return;
	join(crowd);
}

static struct error *run_crowd(const struct messaging_options *options, uint64_t *ret_elapsed_ns)
{
	struct crowd crowd = {.options = options};
	size_t groups = (size_t)options->groups, started = 0;
	if (pipe(crowd.ready) || pipe(crowd.gate))
		return error_system(errno, "cannot make a pipe");
	crowd.members = mem_zalloc_array(groups * 2 * PEERS, sizeof(*crowd.members));
	crowd.peers = mem_zalloc_array(groups, sizeof(*crowd.peers));
	crowd.owns = mem_zalloc_array(groups, sizeof(*crowd.owns));
	struct error *error = NULL;
	for (; started < groups && !error; started++) {
		error = start_group(&crowd, started);
		if (!options->threads)
			close_group(&crowd, started);
	}
	if (!error)
		error = measure(&crowd, ret_elapsed_ns);
	else
		give_up(&crowd);
	if (error && options->threads)
		return error; /* threads still use all this */
	for (size_t group = 0; group < started; group++)
		close_group(&crowd, group);
	for (int i = 0; i < 2; i++) {
		close(crowd.ready[i]);
		close(crowd.gate[i]);
	}
	free(crowd.members);
	free(crowd.peers);
	free(crowd.owns);
	return error;
}

static const struct option table[] = {
	OPTION_U64('g', "group", struct messaging_options, groups, "N", "groups of 20 senders and 20 receivers (default 10)"),
	OPTION_U64('l', "nr_loops", struct messaging_options, loops, "N", "messages from each sender to each receiver (default 100)"),
	OPTION_FLAG('p', "pipe", struct messaging_options, pipes, "pipes instead of sockets"),
	OPTION_FLAG('t', "thread", struct messaging_options, threads, "threads instead of processes"),
	BENCH_COMMON(struct messaging_options),
	OPTION_END,
};

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct messaging_options options = {.groups = 10, .loops = 100};
	uint64_t elapsed_ns = 0;
	struct error *error = options_parse_alone(table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--group", options.groups);
	if (!error && options.groups > 10000)
		error = error_new_kind(ERROR_USAGE, "--group: expected at most 10000");
	if (error)
		return error;
	bench_begin("sched/messaging", &options.common);
	error = run_crowd(&options, &elapsed_ns);
	if (error)
		return error;
	const char *kind = options.threads ? "threads" : "processes";
	bench_say("# %d sender and receiver %s per group\n# %" PRIu64 " groups == %" PRIu64 " %s run\n\n", PEERS, kind, options.groups,
		  options.groups * 2 * PEERS, kind);
	bench_total(elapsed_ns);
	bench_end();
	return NULL;
}

const struct command bench_sched_messaging = BENCH(sched, "messaging", "Many tasks that send messages to each other", table, run);
