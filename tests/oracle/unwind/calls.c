/* Library calls, signal handlers, deep recursion, calls through pointers, variable-length frames, threads: compiled in several ways. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile double sink;
static volatile int ticks;

static int compare(const void *a, const void *b)
{
	for (int i = 0; i < 5; i++)
		sink += sin(i);
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void sort(void)
{
	int numbers[300];
	for (int i = 0; i < 300; i++)
		numbers[i] = rand();
	qsort(numbers, 300, sizeof(*numbers), compare);
	sink += numbers[7];
}

/* Each level's frame has another size. */
__attribute__((noinline)) static void deep(int n, void (*bottom)(void))
{
	char bytes[n % 7 * 16 + 1];
	memset(bytes, n, sizeof(bytes));
	if (n)
		deep(n - 1, bottom);
	else
		bottom();
	sink += bytes[n % 7 * 16];
}

static void print(void)
{
	char text[200];
	for (int i = 0; i < 300; i++)
		sink += snprintf(text, sizeof(text), "%f %s %d", sink, "abc", i);
}

static void on_signal(int number)
{
	(void)number;
	for (int i = 0; i < 20000; i++)
		sink += sqrt(i);
	ticks++;
}

static void raised(void)
{
	raise(SIGUSR1);
}

static void *thread(void *argument)
{
	for (int i = 0; i < 10; i++)
		deep(i, sort);
	return argument;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	struct itimerval every = {.it_interval = {.tv_usec = 3000}, .it_value = {.tv_usec = 3000}};
	pthread_t other;
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	pthread_create(&other, NULL, thread, NULL);
	for (int i = 0; i < rounds; i++) {
		deep(i % 40, sort);
		deep(i % 40, print);
		deep(i % 5, raised);
	}
	pthread_join(other, NULL);
	return 0;
}
