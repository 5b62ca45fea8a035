/* Starting a program in two steps: fork, then exec on command. Between the steps counters are attached to the child's pid with
 * enable_on_exec, so that not one instruction of ours is measured as the program's. A second pipe, closed by a successful exec, brings the
 * errno of a failed one. */
#include "kernel/workload.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child: waits for the byte, then becomes the command. When that fails its parent is told the errno. */
static void child_run(char *const *argv, bool piped, int release, int failure)
{
	char byte;
	ssize_t got;

	prctl(PR_SET_NAME, "perf-exec");
	if (piped)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	do
		got = read(release, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1) /* the recorder gave up */
		_exit(127);
	execvp(argv[0], argv);
	int code = errno;
	if (write(failure, &code, sizeof(code)) != sizeof(code))
		_exit(126);
	_exit(127);
}

/* 0, or the errno of executing this file. */
static int try_file(const char *path)
{
	struct stat status;

	if (access(path, X_OK) < 0 || stat(path, &status) < 0)
		return errno;
	return S_ISDIR(status.st_mode) ? EISDIR : 0;
}

/* 0, or why the command cannot be run: found out before anything else is set up for it. */
static int look_for(const char *name)
{
	const char *path = getenv("PATH");
	int reason = ENOENT;

	if (strchr(name, '/') || !path)
		return try_file(name);
	for (const char *at = path;; at++) {
		size_t length = strcspn(at, ":");
		char file[4096];
		snprintf(file, sizeof(file), "%.*s/%s", length ? (int)length : 1, length ? at : ".", name);
		int status = try_file(file);
		if (!status)
			return 0;
		if (status == EACCES)
			reason = EACCES;
		at += length;
		if (!*at)
			return reason;
	}
}

/* A number in the place of a command is a process that was to be measured. */
static struct error *refuse_command(const char *name, int reason)
{
	if (reason == ENOENT && *name && !name[strspn(name, "0123456789")])
		return error_system(reason, "cannot start '%s' (did you mean -p %s?)", name, name);
	return error_system(reason, "cannot start '%s'", name);
}

/* What can be known before (no such command, no right) is an error before anything is forked. */
struct error *workload_start(struct workload *workload, char *const *argv, bool piped)
{
	int release[2], failure[2];

	*workload = (struct workload){.release = -1, .failure = -1};
	int reason = look_for(argv[0]);
	if (reason)
		return refuse_command(argv[0], reason);
	if (pipe2(release, O_CLOEXEC) < 0)
		return error_system(errno, "pipe");
	if (pipe2(failure, O_CLOEXEC) < 0) {
		close(release[0]);
		close(release[1]);
		return error_system(errno, "pipe");
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(release[1]);
		close(failure[0]);
		child_run(argv, piped, release[0], failure[1]);
	}
	int code = errno;
	close(release[0]);
	close(failure[1]);
	if (pid < 0) {
		close(release[1]);
		close(failure[0]);
		return error_system(code, "fork");
	}
	workload->pid = pid;
	workload->program = argv[0];
	workload->release = release[1];
	workload->failure = failure[0];
	return NULL;
}

struct error *workload_release(struct workload *workload)
{
	int code = 0;
	ssize_t got;

	if (write(workload->release, "", 1) != 1)
		return error_system(errno, "starting the command");
	close(take_fd(workload->release));
	do
		got = read(workload->failure, &code, sizeof(code));
	while (got < 0 && errno == EINTR);
	close(take_fd(workload->failure));
	if (got == sizeof(code))
		return error_system(code, "cannot start the command");
	return NULL;
}

/* What is only known between its end and our waiting for it. */
static void note_end(struct workload *workload)
{
	siginfo_t info = {.si_pid = 0};

	if (waitid(P_PID, (id_t)workload->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == workload->pid)
		proc_scheduled(workload->pid, &workload->scheduled);
}

/* Notes what the kernel knows of it only until it is waited for. */
bool workload_ended(struct workload *workload)
{
	if (!workload->pid || workload->waited)
		return true;
	note_end(workload);
	if (wait4(workload->pid, &workload->status, WNOHANG, &workload->usage) == workload->pid)
		workload->waited = true;
	return workload->waited;
}

void workload_stop(struct workload *workload)
{
	if (!workload->pid || workload_ended(workload))
		return;
	if (workload->release >= 0)
		close(take_fd(workload->release)); /* still held: it ends by itself */
	else
		kill(workload->pid, SIGTERM);
	while (wait4(workload->pid, &workload->status, 0, &workload->usage) < 0 && errno == EINTR)
		;
	workload->waited = true;
}

void workload_deinit(struct workload *workload)
{
	if (!workload->pid)
		return;
	workload_stop(workload);
	if (workload->failure >= 0)
		close(take_fd(workload->failure));
}
