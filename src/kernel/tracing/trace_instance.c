/* A private instance of tracefs and its guard (trace_instance.h). */
#include "kernel/tracing/trace_instance.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "kernel/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Writes a setting, and doesn't mind when this kernel hasn't got it. */
static void set(const char *folder, const char *name, const char *value)
{
	cleanup_free char *path = mem_printf("%s/%s", folder, name);
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, value, strlen(value)) < 0)
		return; /* it is gone, or will be removed all the same */
}

/* What is read may still be open for a moment when its reader was killed. */
static void remove_instance(const char *path)
{
	enum { TRIES = 500, PAUSE_US = 10000 };

	set(path, "tracing_on", "0");
	set(path, "current_tracer", "nop");
	for (int i = 0; i < TRIES && rmdir(path) < 0 && errno == EBUSY; i++)
		usleep(PAUSE_US);
}

/* What the kernel's own buffers will have when they are first used: "7 (expanded: 1408)"; 0 = they have their size. */
static uint64_t size_to_come(const char *tracefs)
{
	cleanup_free char *path = mem_printf("%s/buffer_size_kb", tracefs);
	char line[64], *at;

	return proc_read_line(path, line, sizeof(line)) && (at = strstr(line, "expanded: ")) ? strtoull(at + strlen("expanded: "), NULL, 10)
											     : 0;
}

/* Buffers for each CPU as large as the kernel's own. Older kernels then take the kernel's own for grown as well, which would stay tiny for
 * whoever uses them next: they get their size now. */
static void grow(const char *tracefs, const char *path)
{
	enum { DEFAULT_KB = 1408 }; /* TRACE_BUF_SIZE_DEFAULT */
	uint64_t before = size_to_come(tracefs);
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)(before ? before : DEFAULT_KB));
	set(path, "buffer_size_kb", text);
	if (before && !size_to_come(tracefs))
		set(tracefs, "buffer_size_kb", text);
}

/* In the child: nothing is kept open but the pipe that ends with its parent. */
static void guard(const char *path, int alive)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	char nothing;

	setsid(); /* a signal to our whole group would end both */
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_IGN);
	dup2(alive, STDIN_FILENO);
	for (int fd = STDOUT_FILENO; fd < (int)sysconf(_SC_OPEN_MAX) && fd < 4096; fd++)
		close(fd);
	while (read(STDIN_FILENO, &nothing, 1) < 0 && errno == EINTR)
		;
	remove_instance(path);
	_exit(0);
}

bool trace_instance_open(const char *tracefs, struct trace_instance *ret)
{
	char *path = mem_printf("%s/instances/perf-%d", tracefs, (int)getpid());
	int ends[2];

	/* One that is there already is another's: a process of the same number in another namespace of pids. */
	bool made = mkdir(path, 0700) == 0;

	if (!made || pipe2(ends, O_CLOEXEC) < 0) {
		if (made)
			rmdir(path);
		free(path);
		return false;
	}
	grow(tracefs, path);
	pid_t pid = fork();
	if (!pid) {
		close(ends[1]);
		guard(path, ends[0]);
	}
	close(ends[0]);
	*ret = (struct trace_instance){.path = path, .guard = pid, .alive = ends[1]};
	return true;
}

bool trace_instance_close(struct trace_instance *instance)
{
	if (!instance->path)
		return false;
	remove_instance(instance->path);
	close(instance->alive);
	while (instance->guard > 0 && waitpid(instance->guard, NULL, 0) < 0 && errno == EINTR)
		;
	free(instance->path);
	*instance = (struct trace_instance){0};
	return true;
}
