/* Seccomp filters look at the number of a system call (and at its arguments, never at what they point to) before the kernel does. So a call
 * that the kernel itself would refuse with a certain errno tells, by another errno, that a filter stands before it: perf_event_open() with
 * flags that don't exist gives EINVAL before any right is checked; bpf() with a structure of many pages gives E2BIG, or EPERM from kernels
 * before 5.19 that check first whether everybody may use it. Filters may also kill the caller, so a child tries. */
#include "kernel/container.h"

#include "base/strbuf.h"
#include "kernel/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* 0, or the errno by which a filter answered. Runs in the child. */
static int try_call(enum container_call call)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	union bpf_attr nothing = {0};

	if (call == CONTAINER_PERF_EVENT_OPEN) {
		long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, ~0ul);
		return fd >= 0 ? ENOSYS : errno == EINVAL ? 0 : errno;
	}
	long status = syscall(SYS_bpf, BPF_OBJ_GET, &nothing, 1u << 20);
	return status >= 0 ? ENOSYS : errno == E2BIG ? 0 : errno;
}

/* Before 5.19 the kernel itself refuses all of bpf() to a user without rights, with the errno that filters like best. */
static bool is_kernels_own_refusal(enum container_call call, int error)
{
	int64_t unprivileged = 0;

	return call == CONTAINER_BPF && error == EPERM && container_seccomp_mode() == 0 &&
	       proc_read_int("/proc/sys/kernel/unprivileged_bpf_disabled", &unprivileged) && unprivileged != 0;
}

/* Where no child can be made nothing is known, and nothing is claimed. */
int container_probe(enum container_call call)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		const struct rlimit none = {0, 0};
		setrlimit(RLIMIT_CORE, &none); /* killed without leaving a dump */
		_exit(try_call(call));
	}
	if (pid < 0)
		return 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	if (WIFSIGNALED(status))
		return -WTERMSIG(status);
	int error = WEXITSTATUS(status);
	return is_kernels_own_refusal(call, error) ? 0 : error;
}

int container_seccomp_mode(void)
{
	struct strbuf status = {0};
	int mode = 0;

	if (proc_read_file(AT_FDCWD, "/proc/self/status", &status) == 0) {
		const char *line = strstr(strbuf_str(&status), "\nSeccomp:");
		mode = line ? (int)strtol(line + strlen("\nSeccomp:"), NULL, 10) : 0;
	}
	strbuf_deinit(&status);
	return mode;
}

/* The inode numbers of the first namespaces are constants (include/linux/proc_ns.h). */
bool container_has_namespace(const char *kind)
{
	static const struct {
		const char *kind;
		ino_t first;
	} known[] = {
		{"ipc", 0xEFFFFFFF}, {"uts", 0xEFFFFFFE},    {"user", 0xEFFFFFFD},
		{"pid", 0xEFFFFFFC}, {"cgroup", 0xEFFFFFFB}, {"time", 0xEFFFFFFA},
	};
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].kind, kind))
			return stat(path, &status) == 0 && status.st_ino != known[i].first;
	return false;
}

bool container_is_inside(void)
{
	static const char *const kinds[] = {"pid", "user", "cgroup", "ipc", "uts"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (container_has_namespace(kinds[i]))
			return true;
	return false;
}
