/* Waits for a mutex that are known: a thread takes it, sees the other one asleep in futex(), lets at least PAUSE_MS pass and releases it;
 * ROUNDS times. Prints as JSON what there is to be found: the lock's address, the threads, and the sum of the other's waits, which it has
 * measured itself. Nothing else waits for a lock but the end for its thread.
 *
 *	futex_waits [pi] [FILE]		pi: the mutex inherits priority; FILE: wait for it before the first round */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 12, PAUSE_MS = 3 };

pthread_mutex_t table_lock;
static int go[2], done[2];
static atomic_int waiter_tid;
static long long waited_ns;

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static long long now_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int sleeps_in_futex(int tid)
{
	char path[64], line[64] = "";
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	FILE *file = fopen(path, "r");
	int asleep = file && fgets(line, sizeof(line), file) && atoi(line) == SYS_futex;
	if (file)
		fclose(file);
	return asleep;
}

__attribute__((noinline)) void take_table(void)
{
	long long begin = now_ns();
	pthread_mutex_lock(&table_lock);
	waited_ns += now_ns() - begin;
	pthread_mutex_unlock(&table_lock);
}

__attribute__((noinline)) void release_table(void)
{
	pthread_mutex_unlock(&table_lock);
	__asm__ volatile("");
}

static void *wait_for_it(void *unused)
{
	char byte;
	pthread_setname_np(pthread_self(), "taker");
	waiter_tid = (int)syscall(SYS_gettid);
	for (int i = 0; i < ROUNDS; i++) {
		if (read(go[0], &byte, 1) != 1)
			abort();
		take_table();
		if (write(done[1], "", 1) != 1)
			abort();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t attributes;
	pthread_t thread;
	char byte;
	int pi = argc > 1 && !strcmp(argv[1], "pi");
	while (argc > 1 + pi && access(argv[1 + pi], F_OK))
		pause_ms(1);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, pi ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
	pthread_mutex_init(&table_lock, &attributes);
	if (pipe(go) || pipe(done))
		abort();
	pthread_create(&thread, NULL, wait_for_it, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&table_lock);
		if (write(go[1], "", 1) != 1)
			abort();
		while (!waiter_tid || !sleeps_in_futex(waiter_tid))
			pause_ms(1);
		pause_ms(PAUSE_MS);
		release_table();
		if (read(done[0], &byte, 1) != 1)
			abort();
	}
	pthread_join(thread, NULL);
	printf("{\"address\": %lu, \"holder\": %d, \"taker\": %d, \"waits\": %d, \"least_ns\": %lld, \"most_ns\": %lld}\n",
	       (unsigned long)&table_lock, (int)getpid(), (int)waiter_tid, ROUNDS, ROUNDS * PAUSE_MS * 1000000LL, waited_ns);
	return 0;
}
