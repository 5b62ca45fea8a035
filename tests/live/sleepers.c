/* Threads that wait in one way each: "naps" in nanosleep(), "polls" in poll(), "reads" in read() of a pipe, to which "writes" writes
 * after each nap. They begin when the process gets SIGUSR1, wait so often, and tell how many nanoseconds the calls took: what a wait
 * can't exceed. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000, WAIT_NS = 2000000 };

struct way {
	const char *name;
	void (*wait)(void);
	long ns;
};

static long times;
static int ends[2];

static void nap(void)
{
	nanosleep(&(struct timespec){0, WAIT_NS}, NULL);
}

static void poll_nothing(void)
{
	ppoll(NULL, 0, &(struct timespec){0, WAIT_NS}, NULL);
}

static void read_byte(void)
{
	char byte;
	if (read(ends[0], &byte, 1) != 1)
		abort();
}

static void nap_and_write(void)
{
	nap();
	if (write(ends[1], "x", 1) != 1)
		abort();
}

static struct way ways[] = {{"naps", nap}, {"polls", poll_nothing}, {"reads", read_byte}, {"writes", nap_and_write}};
enum { WAYS = sizeof(ways) / sizeof(*ways) };

static long now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * NS_PER_S + at.tv_nsec;
}

static void *work(void *argument)
{
	struct way *way = argument;
	pthread_setname_np(pthread_self(), way->name);
	for (long i = 0; i < times; i++) {
		long begun = now();
		way->wait();
		way->ns += now() - begun;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[WAYS];
	sigset_t signals;
	int number;
	times = argc > 1 ? atol(argv[1]) : 1;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (pipe(ends))
		return 1;
	sigwait(&signals, &number);
	for (int i = 0; i < WAYS; i++)
		pthread_create(&threads[i], NULL, work, &ways[i]);
	for (int i = 0; i < WAYS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < WAYS; i++)
		printf("%s %ld\n", ways[i].name, ways[i].ns);
	return 0;
}
