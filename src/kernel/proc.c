/* Reading /proc. Threads and processes come and go while it is read: who vanished is no error unless asked for by number. */
#include "kernel/proc.h"

#include "base/cleanup.h"
#include "base/number.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool proc_read_line(const char *path, char *buffer, size_t size)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t length = read(fd, buffer, size - 1);
	if (length < 0)
		return false;
	buffer[length] = '\0';
	buffer[strcspn(buffer, "\n")] = '\0';
	return true;
}

bool proc_read_int(const char *path, int64_t *ret)
{
	char text[64];
	return proc_read_line(path, text, sizeof(text)) && number_parse_s64(text, ret);
}

int proc_read_file(int dir, const char *path, struct strbuf *buffer)
{
	cleanup_close int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return strbuf_read(buffer, fd, SIZE_MAX);
}

/* Ascending, for qsort(). */
static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
	return (x > y) - (x < y);
}

/* Adds the entries of a directory that are numbers. */
static int add_numbers(const char *path, struct pid_list *list)
{
	DIR *dir = opendir(path);
	if (!dir)
		return -errno;
	for (const struct dirent *entry; (entry = readdir(dir));) {
		uint32_t pid;
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && number_parse_u32(entry->d_name, &pid))
			vec_push(list, (pid_t)pid);
	}
	closedir(dir);
	return 0;
}

static void sort_pids(struct pid_list *list)
{
	if (list->len > 1)
		qsort(list->data, list->len, sizeof(*list->data), compare_pids);
}

/* A thread that has run has run for more than 0 ns: a kernel that keeps no account says 0. */
bool proc_scheduled(pid_t thread, struct proc_scheduled *ret)
{
	char path[64], line[128], *end;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)thread);
	if (!proc_read_line(path, line, sizeof(line)))
		return false;
	ret->ran_ns = strtoull(line, &end, 10);
	ret->waited_ns = strtoull(end, &end, 10);
	return ret->ran_ns > 0;
}

/* proc(5): fields 14, 15 and 22 of stat: user and system time, and when it began, in ticks. The second field, the name in parentheses, may
 * hold anything. */
uint64_t proc_load(pid_t process)
{
	enum { AFTER_NAME = 3, USER = 14, SYSTEM = 15, BEGUN = 22, SECOND = 1000000 };
	char path[64], line[1024];
	uint64_t fields[BEGUN + 1] = {0}, ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec now;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
	if (!proc_read_line(path, line, sizeof(line)) || clock_gettime(CLOCK_BOOTTIME, &now))
		return 0;
	char *at = strrchr(line, ')');
	for (int field = AFTER_NAME; at && field <= BEGUN; field++) {
		at = strchr(at + 1, ' ');
		fields[field] = at ? strtoull(at, NULL, 10) : 0;
	}
	uint64_t age = (uint64_t)now.tv_sec * ticks - fields[BEGUN];
	return at ? (fields[USER] + fields[SYSTEM]) * SECOND / (age < ticks || age > INT64_MAX ? ticks : age) : 0;
}

struct error *proc_threads(pid_t pid, struct pid_list *ret)
{
	char path[64];
	struct pid_list list = {0};

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	int status = add_numbers(path, &list);
	if (status < 0 || !list.len) {
		vec_deinit(&list);
		if (status == -ENOENT || status == 0)
			return error_new("no such process %d", pid);
		return error_system(-status, "%s", path);
	}
	sort_pids(&list);
	for (size_t i = 0; i < list.len; i++)
		vec_push(ret, list.data[i]);
	vec_deinit(&list);
	return NULL;
}

struct error *proc_processes(struct pid_list *ret)
{
	int status = add_numbers("/proc", ret);
	if (status < 0)
		return error_system(-status, "/proc");
	sort_pids(ret);
	return NULL;
}

/* By the owner of the directories in /proc: the effective user. Processes that end meanwhile are left out. */
struct error *proc_threads_of_user(uid_t uid, struct pid_list *ret)
{
	struct pid_list all = {0};
	struct error *error = proc_processes(&all);

	for (size_t i = 0; !error && i < all.len; i++) {
		char path[64];
		struct stat status;
		snprintf(path, sizeof(path), "/proc/%d", all.data[i]);
		if (stat(path, &status) == 0 && status.st_uid == uid)
			error_free(proc_threads(all.data[i], ret)); /* ended meanwhile: fine */
	}
	vec_deinit(&all);
	if (!error && !ret->len)
		error = error_new("user %u has no processes", (unsigned int)uid);
	return error;
}

struct error *proc_all_threads(struct pid_list *ret)
{
	struct pid_list all = {0};
	struct error *error = proc_processes(&all);

	for (size_t i = 0; !error && i < all.len; i++)
		error_free(proc_threads(all.data[i], ret)); /* ended meanwhile: fine */
	vec_deinit(&all);
	return error;
}

/* One word of a list. A process stands for the threads that it has now. */
static struct error *add_pid(const char *word, bool threads, struct pid_list *ret)
{
	uint32_t pid;

	if (!number_parse_u32(word, &pid) || !pid || pid > INT32_MAX)
		return error_new_kind(ERROR_USAGE, "invalid id '%s': expected a %s number", word, threads ? "thread" : "process");
	if (!threads)
		return proc_threads((pid_t)pid, ret);
	char path[64];
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	if (access(path, F_OK) < 0)
		return error_new("no such thread %u", pid);
	vec_push(ret, (pid_t)pid);
	return NULL;
}

struct error *proc_parse_pids(const char *text, bool threads, struct pid_list *ret)
{
	cleanup_free char *copy = mem_strdup(text);
	struct error *error = NULL;
	char *rest = copy, *word;

	while (!error && (word = strsep(&rest, ",")))
		error = add_pid(word, threads, ret);
	if (error)
		return error;
	/* The same one twice would be counted twice. */
	sort_pids(ret);
	size_t kept = 0;
	for (size_t i = 0; i < ret->len; i++)
		if (!kept || ret->data[kept - 1] != ret->data[i])
			ret->data[kept++] = ret->data[i];
	ret->len = kept;
	return NULL;
}

/* Names win: a user may be called "1000". */
struct error *proc_parse_user(const char *text, uid_t *ret)
{
	uint32_t number;
	const struct passwd *user = getpwnam(text);

	if (user) {
		*ret = user->pw_uid;
		return NULL;
	}
	if (!number_parse_u32(text, &number))
		return error_new("unknown user '%s'", text);
	*ret = number;
	return NULL;
}
