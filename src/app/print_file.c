/* A process that writes files for one that may not (print_file.h).
 *
 *	size, kind, bytes ──pipe──► perf.hist.N.csv ──pipe──► N, or -errno
 */
#include "app/print_file.h"

#include "base/files/whole.h"
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

/* By enum print_kind. */
static const char *const suffixes[] = {"", ".csv", ".json", ".folded", ".html"};

/* What goes through the pipe, with the text behind it. */
struct request {
	uint64_t size;
	uint32_t kind;
};

enum { PATH = 64 };

/* A file that nobody has yet. */
static int open_new(const char *name, const char *suffix, char path[PATH], int *ret_number)
{
	enum { MOST = 10000 };
	for (int number = 0; number < MOST; number++) {
		snprintf(path, PATH, "%s.%d%s", name, number, suffix);
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		*ret_number = fd >= 0 ? number : -errno;
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

/* A text from the pipe to a file, which is gone if not all of it gets there; all of it is read, whatever happens to the file. */
static int take_text(int texts, const struct request *request, const char *name)
{
	enum { KINDS = sizeof(suffixes) / sizeof(*suffixes) };
	char path[PATH], part[65536];
	int result, fd = open_new(name, suffixes[request->kind < KINDS ? request->kind : 0], path, &result);
	uint64_t size = request->size;
	while (size) {
		size_t length = size < sizeof(part) ? (size_t)size : sizeof(part);
		if (!whole_read(texts, part, length)) {
			if (fd >= 0)
				unlink(path);
			_exit(0);
		}
		if (fd >= 0 && result >= 0 && !whole_write(fd, part, length))
			result = -errno;
		size -= length;
	}
	if (fd >= 0 && close(fd) && result >= 0)
		result = -errno;
	if (fd >= 0 && result < 0)
		unlink(path);
	return result;
}

/* Until the other end is closed. */
static void serve(int texts, int answers, const char *name)
{
	struct request request;
	while (whole_read(texts, &request, sizeof(request))) {
		int result = take_text(texts, &request, name);
		if (!whole_write(answers, &result, sizeof(result)))
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

int print_file_write(struct print_file *prints, enum print_kind kind, const void *text, size_t size)
{
	const struct request request = {.size = size, .kind = kind};
	int result;
	if (!prints)
		return -ESRCH;
	if (!whole_write(prints->texts, &request, sizeof(request)) || !whole_write(prints->texts, text, size) ||
	    !whole_read(prints->answers, &result, sizeof(result)))
		return -EPIPE;
	return result;
}

void print_file_tell(struct print_file *prints, enum print_kind kind, const void *text, size_t size, struct strbuf *note)
{
	int number = print_file_write(prints, kind, text, size);
	strbuf_clear(note);
	if (number < 0)
		strbuf_printf(note, "nothing was written: %s", strerror(-number));
	else
		strbuf_printf(note, "written to %s.%d%s", prints->name, number, suffixes[kind]);
}
