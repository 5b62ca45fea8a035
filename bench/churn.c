/* Processes that come and go, for bench/agent_soak.py: `churn FOLDER PER-SECOND PART MICROSECONDS` starts so many a second, one after the
 * other. PART of 100 are files of ever new names, which are removed when they have run; the others are one file. Each works for so long.
 * Writes how many there were when its input ends. */
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static __attribute__((noinline)) unsigned int work(uint64_t ns)
{
	unsigned int sum = 0;
	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < ns)
		for (unsigned int i = 0; i < 1000; i++)
			sum = sum * 31 + i;
	return sum;
}

static int copy(int from, const char *name)
{
	struct stat status;
	off_t offset = 0;
	int to = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	if (to < 0 || fstat(from, &status) || sendfile(to, from, &offset, (size_t)status.st_size) != status.st_size)
		return -1;
	return close(to);
}

static int run(char *name, char *microseconds)
{
	char *const words[] = {name, microseconds, NULL};
	pid_t pid;
	int status;
	return posix_spawn(&pid, name, NULL, NULL, words, environ) || waitpid(pid, &status, 0) < 0 || status;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return work(1000 * strtoull(argv[1], NULL, 10)) == 1;
	if (argc != 5)
		return 1;
	const uint64_t between_ns = 1000000000 / strtoull(argv[2], NULL, 10), part = strtoull(argv[3], NULL, 10),
		       begin = now_ns(CLOCK_MONOTONIC);
	int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct pollfd input = {.fd = 0, .events = POLLIN};
	uint64_t count = 0;
	char name[4096];
	for (; poll(&input, 1, 0) == 0; count++) {
		snprintf(name, sizeof(name), "%s/job-%u-%llu", argv[1], getpid(), (unsigned long long)count);
		int isnt = count % 100 < part ? copy(own, name) || run(name, argv[4]) || unlink(name) : run(argv[0], argv[4]);
		if (isnt)
			return 1;
		uint64_t next = begin + (count + 1) * between_ns, now = now_ns(CLOCK_MONOTONIC);
		if (next > now)
			usleep((useconds_t)((next - now) / 1000));
	}
	printf("%llu\n", (unsigned long long)count);
	return 0;
}
