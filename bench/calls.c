/* 500,000 write(2) to /dev/null; prints what one took: microseconds of wall and of CPU time. The workload of the bench cases of perf
 * trace. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 500000 };

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(void)
{
	int fd = open("/dev/null", O_WRONLY);
	char text[] = "some text";
	double begin = seconds(), cpu = cpu_seconds();

	for (int i = 0; i < CALLS; i++)
		if (write(fd, text, sizeof(text) - 1) < 0)
			return 1;
	printf("%.4f %.4f\n", (seconds() - begin) / CALLS * 1e6, (cpu_seconds() - cpu) / CALLS * 1e6);
	return 0;
}
