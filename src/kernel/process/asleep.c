/* /proc/PID/task/TID has `syscall` ("202 0x7f12 0x80 … 0x7ffd_SP 0x7f_IP", "running", "-1 SP IP" outside of system calls), `stack` (of
 * root: "[<0>] futex_do_wait+0x38/0x70" a line) and `wchan` (the innermost function, of everybody who may trace it):
 * Documentation/filesystems/proc.rst. The memory is read through process_vm_readv(2). */
#include "kernel/process/asleep.h"

#include "base/mem.h"
#include "base/strbuf.h"
#include "kernel/proc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PATH = 80, LINE = 400 };

static size_t read_memory(pid_t pid, uint64_t address, void *buffer, size_t size)
{
	const struct iovec here = {buffer, size}, there = {(void *)(uintptr_t)address, size}; /* NOLINT: the address is another process's */
	ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
	return got > 0 ? (size_t)got : 0;
}

/* "[<0>] futex_do_wait+0x38/0x70" → "futex_do_wait" */
static void add_function(const char *line, struct strbuf *out)
{
	const char *name = strchr(line, ' ');
	size_t length = name ? strcspn(name + 1, "+ ") : 0;
	if (!length)
		return;
	strbuf_add(out, name + 1, length);
	strbuf_add_char(out, '\n');
}

static char *read_functions(pid_t pid, pid_t tid)
{
	char path[PATH], line[LINE];
	struct strbuf text = {0}, names = {0};
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stack", (int)pid, (int)tid);
	if (proc_read_file(AT_FDCWD, path, &text) == 0 && text.len)
		for (char *rest = text.data, *row; (row = strsep(&rest, "\n"));)
			add_function(row, &names);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", (int)pid, (int)tid);
	if (!names.len && proc_read_line(path, line, sizeof(line)) && strcmp(line, "0") != 0)
		strbuf_printf(&names, "%s\n", line);
	strbuf_deinit(&text);
	return strbuf_detach(&names);
}

/* The parts of /proc/PID/task/TID/syscall; without a system call there are only the last two. */
static bool read_call(const char *line, struct asleep *ret)
{
	if (sscanf(line, "-1 0x%" SCNx64 " 0x%" SCNx64, &ret->sp, &ret->ip) == 2)
		return true;
	return sscanf(line, "%*d 0x%" SCNx64 " %*s %*s %*s %*s %*s 0x%" SCNx64 " 0x%" SCNx64, &ret->argument, &ret->sp, &ret->ip) == 3;
}

bool asleep_read(pid_t pid, pid_t tid, struct asleep *ret)
{
	char path[PATH], line[LINE];
	*ret = (struct asleep){0};
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	if (!proc_read_line(path, line, sizeof(line)) || !read_call(line, ret))
		return false;
	ret->functions = read_functions(pid, tid);
	if (!ret->sp)
		return true;
	/* A stack may end in the middle of what is asked for: its pages are readable up to there. */
	ret->stack = mem_alloc(ASLEEP_STACK);
	for (size_t size = ASLEEP_STACK; size >= ASLEEP_STACK / 8 && !ret->stack_len; size /= 2)
		ret->stack_len = read_memory(pid, ret->sp, ret->stack, size);
	return true;
}

void asleep_deinit(struct asleep *asleep)
{
	free(asleep->functions);
	free(asleep->stack);
}

/* A thread's number in its own pid namespace, if that isn't ours (of /proc/PID/status: "NSpid: 4711 12", ours is the first); 0 = it is. */
static uint32_t inner_number(pid_t pid, pid_t tid)
{
	char path[PATH];
	struct strbuf text = {0};
	uint32_t number = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	const char *found = proc_read_file(AT_FDCWD, path, &text) == 0 ? strstr(strbuf_str(&text), "\nNSpid:") : NULL;
	if (found) {
		const char *numbers = strchr(found, ':') + 1;
		size_t length = strcspn(numbers, "\n");
		while (length && numbers[length - 1] != '\t')
			length--;
		if (length > 1) /* a tab in front of the last one, and not only of the first */
			sscanf(numbers + length, "%" SCNu32, &number);
	}
	strbuf_deinit(&text);
	return number;
}

/* The thread that the process knows by this number; 0 = none. */
static pid_t find_thread(pid_t pid, uint32_t number)
{
	char path[PATH];
	struct pid_list threads = {0};
	pid_t found = 0;
	if (!inner_number(pid, pid)) {
		snprintf(path, sizeof(path), "/proc/%d/task/%" PRIu32, (int)pid, number);
		return number && access(path, F_OK) == 0 ? (pid_t)number : 0;
	}
	error_free(proc_threads(pid, &threads));
	for (size_t i = 0; number && !found && i < threads.len; i++)
		found = inner_number(pid, threads.data[i]) == number ? threads.data[i] : 0;
	vec_deinit(&threads);
	return found;
}

pid_t asleep_owner_of_mutex(pid_t pid, uint64_t address)
{
	uint32_t words[3]; /* __lock, __count, __owner: sysdeps/nptl/bits/struct_mutex.h */
	return read_memory(pid, address, words, sizeof(words)) == sizeof(words) && words[0] ? find_thread(pid, words[2]) : 0;
}

pid_t asleep_joined(pid_t pid, uint64_t address)
{
	uint32_t tid;
	return read_memory(pid, address, &tid, sizeof(tid)) == sizeof(tid) ? find_thread(pid, tid) : 0;
}
