/* A process that writes files for one that may not (print_file.h).
 *
 *	size, bytes ──pipe──► perf.hist.N ──pipe──► N, or -errno
 */
#include "app/print_file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct print_file {
	const char *name;
	pid_t process;
	int texts, answers;
};

static bool read_all(int fd, void *data, size_t size)
{
	char *at = data;
	while (size) {
		ssize_t got = read(fd, at, size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		size -= (size_t)got;
	}
	return true;
}

static bool write_all(int fd, const void *data, size_t size)
{
	const char *at = data;
	while (size) {
		ssize_t put = write(fd, at, size);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		at += put;
		size -= (size_t)put;
	}
	return true;
}

/* A file that nobody has yet. */
static int open_new(const char *name, int *ret_number)
{
	enum { MOST = 10000 };
	for (int number = 0; number < MOST; number++) {
		char path[64];
		snprintf(path, sizeof(path), "%s.%d", name, number);
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		*ret_number = fd >= 0 ? number : -errno;
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

/* One text of `size` bytes from the pipe to a file; all of it is read, whatever happens to the file. */
static int take_text(int texts, uint64_t size, const char *name)
{
	int result, fd = open_new(name, &result);
	char part[65536];
	while (size) {
		size_t length = size < sizeof(part) ? (size_t)size : sizeof(part);
		if (!read_all(texts, part, length))
			_exit(0);
		if (fd >= 0 && result >= 0 && !write_all(fd, part, length))
			result = -errno;
		size -= length;
	}
	if (fd >= 0)
		close(fd);
	return result;
}

/* Until the other end is closed. */
static void serve(int texts, int answers, const char *name)
{
	uint64_t size;
	while (read_all(texts, &size, sizeof(size))) {
		int result = take_text(texts, size, name);
		if (!write_all(answers, &result, sizeof(result)))
			break;
	}
	_exit(0);
}

struct print_file *print_file_prepare(const char *name)
{
	int texts[2], answers[2];
	if (pipe2(texts, O_CLOEXEC))
		return NULL;
	if (pipe2(answers, O_CLOEXEC)) {
		close(texts[0]);
		close(texts[1]);
		return NULL;
	}
	fflush(stdout);
	pid_t process = fork();
	if (!process) {
		signal(SIGINT, SIG_IGN); /* the end of the pipe ends it */
		close(texts[1]);
		close(answers[0]);
		serve(texts[0], answers[1], name);
	}
	close(texts[0]);
	close(answers[1]);
	struct print_file *prints = mem_zalloc(sizeof(*prints));
	*prints = (struct print_file){.name = name, .process = process, .texts = texts[1], .answers = answers[0]};
	if (process > 0)
		return prints;
	print_file_end(prints);
	return NULL;
}

void print_file_end(struct print_file *prints)
{
	if (!prints)
		return;
	close(prints->texts);
	close(prints->answers);
	while (prints->process > 0 && waitpid(prints->process, NULL, 0) < 0 && errno == EINTR)
		;
	free(prints);
}

int print_file_write(struct print_file *prints, const void *text, size_t size)
{
	uint64_t length = size;
	int result;
	if (!prints)
		return -ESRCH;
	if (!write_all(prints->texts, &length, sizeof(length)) || !write_all(prints->texts, text, size) ||
	    !read_all(prints->answers, &result, sizeof(result)))
		return -EPIPE;
	return result;
}

void print_file_tell(struct print_file *prints, const void *text, size_t size, struct strbuf *note)
{
	int number = print_file_write(prints, text, size);
	strbuf_clear(note);
	if (number < 0)
		strbuf_printf(note, "nothing was written: %s", strerror(-number));
	else
		strbuf_printf(note, "written to %s.%d", prints->name, number);
}
