/* Two threads that wait for one another, in two known ways, one after the other:
 *
 *	the other thread has a mutex while it sleeps, SLEEPS times 100 ms, and main waits for it;
 *	then they pass a byte to and fro through pipes, TIMES times.
 *
 * Prints how many nanoseconds the sleeps took, and how often the kernel says that main and the other thread have waited. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static int to_other[2], to_main[2];
static long sleeps, times, slept, waits_of_other;

static long now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000l + at.tv_nsec;
}

static long waits(void)
{
	struct rusage usage;
	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

__attribute__((noinline)) static void hold_mutex(void)
{
	pthread_mutex_lock(&table_mutex);
	pthread_barrier_wait(&both);
	long before = now();
	usleep(100000);
	slept += now() - before;
	pthread_mutex_unlock(&table_mutex);
	pthread_barrier_wait(&both);
}

static void *other(void *unused)
{
	char byte;
	for (long i = 0; i < sleeps; i++)
		hold_mutex();
	for (long i = 0; i < times; i++)
		if (read(to_other[0], &byte, 1) != 1 || write(to_main[1], &byte, 1) != 1)
			abort();
	waits_of_other = waits();
	return unused;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: waits SLEEPS TIMES\n");
		return 2;
	}
	sleeps = atol(argv[1]);
	times = atol(argv[2]);
	long before = waits();
	pthread_t thread;
	char byte = 0;
	if (pthread_barrier_init(&both, NULL, 2) || pipe(to_other) || pipe(to_main) || pthread_create(&thread, NULL, other, NULL))
		return 1;
	for (long i = 0; i < sleeps; i++) {
		pthread_barrier_wait(&both);
		pthread_mutex_lock(&table_mutex);
		pthread_mutex_unlock(&table_mutex);
		pthread_barrier_wait(&both);
	}
	for (long i = 0; i < times; i++)
		if (write(to_other[1], &byte, 1) != 1 || read(to_main[0], &byte, 1) != 1)
			return 1;
	pthread_join(thread, NULL);
	printf("slept %ld main %ld other %ld\n", slept, waits() - before, waits_of_other);
	return 0;
}
