/* Two processes that send a byte to and fro over two pipes, on one CPU: a switch between threads each time. Prints the CPU time of both,
 * in seconds.
 *
 *	pingpong ROUNDS CPU */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(int who)
{
	struct rusage usage;
	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Sends what comes back, until nothing comes. */
static void answer(int from, int to)
{
	char byte;
	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		;
	_exit(0);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100000;
	int there[2], back[2];
	char byte = 0;
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(argc > 2 ? atoi(argv[2]) : 0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || pipe(there) || pipe(back))
		return 1;
	if (!fork()) {
		close(there[1]);
		answer(there[0], back[1]);
	}
	close(there[0]);
	for (long i = 0; i < rounds; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
	close(there[1]);
	wait(NULL);
	fprintf(stderr, "pingpong: %.4f\n", seconds(RUSAGE_SELF) + seconds(RUSAGE_CHILDREN));
	return 0;
}
