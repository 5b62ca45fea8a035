/* perf bench syscall: what a system call costs: cheap ones, and those that make processes. */
#include "cmd/bench/bench.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct syscall_options {
	struct bench_common common;
	uint64_t loops; /* 0 = the benchmark's own number */
};

static const struct option table[] = {
	OPTION_U64('l', "loop", struct syscall_options, loops, "N", "calls (default: 10000000, of fork and execve 10000)"),
	BENCH_COMMON(struct syscall_options),
	OPTION_END,
};

static bool call_getppid(void)
{
	syscall(SYS_getppid);
	return true;
}

static bool call_getpgid(void)
{
	return syscall(SYS_getpgid, 0) >= 0;
}

static bool reap(pid_t pid)
{
	int status;
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool call_fork(void)
{
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	return reap(pid);
}

/* In a copy of ourselves, as shells do it. */
static bool call_execve(void)
{
	char path[] = "/bin/true";
	char *const argv[] = {path, NULL}, *const environment[] = {NULL};
	pid_t pid = fork();
	if (!pid) {
		execve(path, argv, environment);
		_exit(1);
	}
	return reap(pid);
}

static struct error *measure(const char *name, const char *call, uint64_t loops, bool (*make)(void), int argc, char **argv)
{
	struct syscall_options options = {.loops = loops};
	struct error *error = options_parse_alone(table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--loop", options.loops);
	if (error)
		return error;
	bench_begin(name, &options.common);
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < options.loops; i++)
		if (!make())
			return error_system(errno, "%s failed at call %" PRIu64, call, i + 1);
	uint64_t elapsed_ns = clock_now_ns(CLOCK_MONOTONIC) - begin;
	bench_say("# Executed %'" PRIu64 " %s calls\n", options.loops, call);
	bench_time(elapsed_ns, options.loops);
	bench_end();
	return NULL;
}

enum { MANY = 10000000, FEW = 10000 };

static struct error *run_basic(int argc, char **argv, int *ret_status)
{
	return measure("syscall/basic", "getppid()", MANY, call_getppid, argc, argv);
}

static struct error *run_getpgid(int argc, char **argv, int *ret_status)
{
	return measure("syscall/getpgid", "getpgid()", MANY, call_getpgid, argc, argv);
}

static struct error *run_fork(int argc, char **argv, int *ret_status)
{
	return measure("syscall/fork", "fork()", FEW, call_fork, argc, argv);
}

static struct error *run_execve(int argc, char **argv, int *ret_status)
{
	return measure("syscall/execve", "execve()", FEW, call_execve, argc, argv);
}

static const struct command basic = BENCH(syscall, "basic", "getppid(2)", table, run_basic);
static const struct command getpgid_command = BENCH(syscall, "getpgid", "getpgid(2)", table, run_getpgid);
static const struct command fork_command = BENCH(syscall, "fork", "fork(2), and waiting for the child", table, run_fork);
static const struct command execve_command = BENCH(syscall, "execve", "execve(2) of /bin/true", table, run_execve);
static const struct command *const benchmarks[] = {&basic, &getpgid_command, &fork_command, &execve_command, NULL};
BENCH_COLLECTION(syscall, "System calls", benchmarks);
