/* The pager (pager.h): a child process reads what we write to standard output. Its process id and the terminal's width are the only state,
 * kept for the process because standard output is the process's too. A signal that would end us closes the output first and waits for the
 * pager, so that the shell doesn't take the terminal from under it. */
#include "app/pager.h"

#include "app/config.h"
#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager_pid;
static unsigned int pager_columns;
static pid_t prepared_pid;
static int pager_waiting = -1, pager_input = -1;

/* The first word of a command line is a program that can be started. */
static bool is_runnable(const char *command)
{
	size_t len = strcspn(command, " \t|;&<>");
	const char *path = getenv("PATH");
	if (memchr(command, '/', len) || memchr(command, '=', len)) /* a path, or the shell's VARIABLE=VALUE */
		return true;
	for (const char *dir = path ? path : "/usr/bin:/bin"; dir; dir = strchr(dir, ':') ? strchr(dir, ':') + 1 : NULL) {
		cleanup_free char *file = mem_printf("%.*s/%.*s", (int)strcspn(dir, ":"), dir, (int)len, command);
		if (!access(file, X_OK))
			return true;
	}
	return false;
}

/* The command line of the pager; NULL when nothing is to be paged. Freed by the caller. */
static char *choose_pager(const char *command)
{
	struct config config = {0};
	error_free(config_open(&config));
	cleanup_free char *key = mem_printf("pager.%s", command);
	const char *mine = config_get(&config, key);
	const char *chosen = NULL;
	bool on = (config_get_bool(&config, key, true) && !config_get_bool(&config, "pager.off", false)) || getenv("PERF_PAGINATE");
	bool flag;
	if (mine && !config_parse_bool(mine, &flag))
		chosen = mine;
	if (!chosen)
		chosen = getenv("PERF_PAGER");
	if (!chosen)
		chosen = config_get(&config, "core.pager");
	if (!chosen)
		chosen = getenv("PAGER");
	if (!chosen)
		chosen = is_runnable("less") ? "less" : is_runnable("pager") ? "pager" : NULL;
	bool none = !on || !chosen || !*chosen || !strcmp(chosen, "cat") || !is_runnable(chosen);
	char *ret = none ? NULL : mem_strdup(chosen);
	config_close(&config);
	return ret;
}

static void finish_on_signal(int signal_number)
{
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	while (waitpid(pager_pid, NULL, 0) < 0 && errno == EINTR)
		;
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static unsigned int terminal_columns(void)
{
	struct winsize size;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	const char *columns = getenv("COLUMNS");
	int value = columns ? atoi(columns) : 0;
	return value > 0 ? (unsigned int)value : 80;
}

static void run_pager(const char *command_line, int input)
{
	dup2(input, STDIN_FILENO);
	setenv("LESS", "FRSX", 0); /* -S: rows of a table stay one line */
	setenv("LV", "-c", 0);
	if (strpbrk(command_line, " \t|;&<>$\"'\\*?()"))
		execlp("sh", "sh", "-c", command_line, (char *)NULL);
	else
		execlp(command_line, command_line, (char *)NULL);
	_exit(127);
}

/* The child becomes the pager when a byte comes through `start`, and ends when that is closed. */
static void wait_for_start(int start)
{
	char byte;
	ssize_t got;
	while ((got = read(start, &byte, 1)) < 0 && errno == EINTR)
		;
	if (got != 1)
		_exit(0);
}

void pager_prepare(const char *command)
{
	int ends[2], start[2];
	if (pager_pid || pager_waiting >= 0 || !isatty(STDOUT_FILENO))
		return;
	cleanup_free char *command_line = choose_pager(command);
	if (!command_line || pipe2(ends, O_CLOEXEC))
		return;
	if (pipe2(start, O_CLOEXEC)) {
		close(ends[0]);
		close(ends[1]);
		return;
	}
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		close(start[1]);
		close(ends[1]);
		wait_for_start(start[0]);
		run_pager(command_line, ends[0]);
	}
	close(ends[0]);
	close(start[0]);
	if (pid < 0) {
		close(ends[1]);
		close(start[1]);
		return;
	}
	prepared_pid = pid;
	pager_input = ends[1];
	pager_waiting = start[1];
}

void pager_start(const char *command)
{
	pager_prepare(command);
	if (pager_pid || pager_waiting < 0)
		return;
	fflush(stdout);
	unsigned int columns = terminal_columns();
	if (write(pager_waiting, "", 1) == 1) {
		pager_pid = prepared_pid;
		pager_columns = columns;
		dup2(pager_input, STDOUT_FILENO);
		if (isatty(STDERR_FILENO))
			dup2(pager_input, STDERR_FILENO);
		static const int signals[] = {SIGINT, SIGHUP, SIGTERM, SIGQUIT, SIGPIPE};
		for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
			signal(signals[i], finish_on_signal);
	}
	close(pager_input);
	close(pager_waiting);
	pager_input = pager_waiting = -1;
}

void pager_finish(void)
{
	if (!pager_pid)
		return;
	fflush(stdout);
	fflush(stderr);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	while (waitpid(pager_pid, NULL, 0) < 0 && errno == EINTR)
		;
	pager_pid = 0;
}

unsigned int output_columns(void)
{
	if (pager_pid)
		return pager_columns;
	return isatty(STDOUT_FILENO) ? terminal_columns() : 0;
}

bool terminal_takes_color(void)
{
	const char *terminal = getenv("TERM"), *refused = getenv("NO_COLOR");
	return terminal && strcmp(terminal, "dumb") && (!refused || !*refused);
}

bool output_color(void)
{
	return output_columns() && terminal_takes_color();
}
