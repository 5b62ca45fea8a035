/* A process that writes files for one that may not (print_file.h).
 *
 *	size, kind, bytes ──pipe──► perf.hist.N.csv ──pipe──► N, or -errno
 *	… and a function's name     FUNCTION.annotation
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

enum { FUNCTION = 100, PATH = 160 };

/* What goes through the pipe, with the text behind it. */
struct request {
	uint64_t size;
	uint32_t kind;
	char function[FUNCTION]; /* "" = none */
};

/* What a function's name may be in a file's: nothing that leads to another folder, hides the file or surprises a shell. */
static void choose_function_name(const char *function, char ret[FUNCTION])
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:+@~-";
	size_t length = strnlen(function, FUNCTION - 1);
	for (size_t i = 0; i < length; i++)
		ret[i] = strchr(allowed, function[i]) && (i || !strchr(".-~", function[i])) ? function[i] : '_';
	ret[length] = '\0';
}

/* The name of the file with this number. */
static void add_path(const char *name, const struct request *request, int number, char path[PATH])
{
	enum { KINDS = sizeof(suffixes) / sizeof(*suffixes) };
	char function[FUNCTION];
	choose_function_name(request->function, function);
	if (!*function)
		snprintf(path, PATH, "%s.%d%s", name, number, suffixes[request->kind < KINDS ? request->kind : 0]);
	else if (number)
		snprintf(path, PATH, "%s.annotation.%d", function, number);
	else
		snprintf(path, PATH, "%s.annotation", function);
}

/* A file that nobody has yet. */
static int open_new(const char *name, const struct request *request, char path[PATH], int *ret_number)
{
	enum { MOST = 10000 };
	for (int number = 0; number < MOST; number++) {
		add_path(name, request, number, path);
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
	char path[PATH], part[65536];
	int result, fd = open_new(name, request, path, &result);
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

static int send(struct print_file *prints, const struct request *request, const void *text)
{
	int result;
	if (!prints)
		return -ESRCH;
	if (!whole_write(prints->texts, request, sizeof(*request)) || !whole_write(prints->texts, text, request->size) ||
	    !whole_read(prints->answers, &result, sizeof(result)))
		return -EPIPE;
	return result;
}

int print_file_write(struct print_file *prints, enum print_kind kind, const void *text, size_t size)
{
	return send(prints, &(struct request){.size = size, .kind = kind}, text);
}

static void send_and_tell(struct print_file *prints, const struct request *request, const void *text, struct strbuf *note)
{
	char path[PATH];
	int number = send(prints, request, text);
	strbuf_clear(note);
	if (number < 0) {
		strbuf_printf(note, "nothing was written: %s", strerror(-number));
		return;
	}
	add_path(prints->name, request, number, path);
	strbuf_printf(note, "written to %s", path);
}

void print_file_tell(struct print_file *prints, enum print_kind kind, const void *text, size_t size, struct strbuf *note)
{
	send_and_tell(prints, &(struct request){.size = size, .kind = kind}, text, note);
}

void print_file_tell_function(struct print_file *prints, const char *function, const void *text, size_t size, struct strbuf *note)
{
	struct request request = {.size = size};
	choose_function_name(function, request.function);
	send_and_tell(prints, &request, text, note);
}
