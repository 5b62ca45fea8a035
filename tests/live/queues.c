/* Four threads that want one CPU: all wait for it milliseconds at a time. They begin when the process gets SIGUSR1, and end when they have
 * run so many milliseconds. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 4, NS_PER_MS = 1000000 };

static long limit_ms;

static void *work(void *unused)
{
	struct timespec ran = {0};
	while (ran.tv_sec * 1000 + ran.tv_nsec / NS_PER_MS < limit_ms)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	sigset_t signals;
	cpu_set_t cpus, one;
	int number, cpu = 0;
	limit_ms = argc > 1 ? atol(argv[1]) : 1;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &cpus))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	sigwait(&signals, &number);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
