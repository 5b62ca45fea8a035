/* Switching a screen to another recording (screen_switch.h). */
#include "cmd/report/screen_switch.h"

#include "base/files/whole.h"
#include "base/mem.h"
#include "cmd/report/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;
	return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

void screen_switch_init(struct screen_switch *choice, const char *path)
{
	*choice = (struct screen_switch){.first = path, .path = path, .wish = -1};
}

void screen_switch_deinit(struct screen_switch *choice)
{
	free(choice->name);
	choice->name = NULL;
	if (choice->wish >= 0)
		close(choice->wish);
	choice->wish = -1;
}

/* A recording of the current folder, and no pipe. */
static bool is_choice(const char *name)
{
	struct stat status;
	return name[0] != '.' && !strchr(name, '/') && !stat(name, &status) && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) &&
	       report_is_recording(name);
}

void screen_switch_look(const struct screen_switch *choice, struct screen_recordings *ret)
{
	DIR *folder = opendir(".");
	bool known = false;
	*ret = (struct screen_recordings){0};
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		if (!is_choice(entry->d_name))
			continue;
		bool same = !known && is_same_file(entry->d_name, choice->first);
		known |= same;
		vec_push(&ret->paths, mem_strdup(same ? choice->first : entry->d_name));
	}
	if (folder)
		closedir(folder);
	if (!known)
		vec_push(&ret->paths, mem_strdup(choice->first));
	qsort(ret->paths.data, ret->paths.len, sizeof(*ret->paths.data), by_name);
	for (size_t i = 0; i < ret->paths.len; i++)
		if (!strcmp(ret->paths.data[i], choice->path))
			ret->current = i;
}

void screen_recordings_deinit(struct screen_recordings *recordings)
{
	for (size_t i = 0; i < recordings->paths.len; i++)
		free(recordings->paths.data[i]);
	vec_deinit(&recordings->paths);
}

static int wait_for(pid_t process)
{
	int status = 0;
	while (waitpid(process, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Its length and a name; none is the first recording. What asks may have been taken over by a recording: it gets nothing but recordings of
 * this folder. */
static bool take_wish(struct screen_switch *choice, int wishes)
{
	char name[NAME_MAX + 1];
	uint32_t length;
	if (!whole_read(wishes, &length, sizeof(length)) || length >= sizeof(name) || !whole_read(wishes, name, length))
		return false;
	name[length] = '\0';
	if (length && !is_choice(name))
		return false;
	free(choice->name);
	choice->name = length ? mem_strdup(name) : NULL;
	choice->path = length ? choice->name : choice->first;
	return true;
}

/* Ctrl-Z is for both processes: the shell takes the terminal when this one has stopped, so this one stops after who shows has left the
 * screen. Its own signal is blocked and pending meanwhile. */
static void stop_after(pid_t process)
{
	siginfo_t state = {0};
	if (waitid(P_PID, (id_t)process, &state, WSTOPPED | WNOHANG) || state.si_pid != process || state.si_status != SIGTSTP)
		return;
	sigset_t stops;
	sigemptyset(&stops);
	sigaddset(&stops, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stops, NULL); /* stopped here */
	sigprocmask(SIG_BLOCK, &stops, NULL);
	kill(process, SIGCONT);
}

/* The wish or the end of who shows, who is told of signals that are to end us: it has the terminal, and puts it in order first. */
static bool wait_for_wish(struct screen_switch *choice, int wishes, int signals, pid_t process)
{
	struct pollfd polled[] = {{.fd = wishes, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
	struct signalfd_siginfo info;
	for (;;) {
		if (poll(polled, 2, -1) < 0)
			continue; /* interrupted */
		if (polled[1].revents && read(signals, &info, sizeof(info)) == sizeof(info)) {
			if (info.ssi_signo == SIGCHLD)
				stop_after(process);
			else
				kill(process, (int)info.ssi_signo);
		}
		if (polled[0].revents)
			return take_wish(choice, wishes);
	}
}

bool screen_switch_next(struct screen_switch *choice, int *ret_status)
{
	sigset_t taken, blocked, usual_mask;
	sigemptyset(&taken);
	sigaddset(&taken, SIGTERM);
	sigaddset(&taken, SIGHUP);
	sigaddset(&taken, SIGCHLD);
	blocked = taken;
	sigaddset(&blocked, SIGTSTP);
	for (;;) {
		int ends[2];
		if (pipe2(ends, O_CLOEXEC))
			return true; /* without another one */
		fflush(stdout);
		pid_t parent = getpid();
		void (*usual)(int) = signal(SIGINT, SIG_IGN); /* Ctrl-C is for who shows */
		sigprocmask(SIG_BLOCK, &blocked, &usual_mask);
		int signals = signalfd(-1, &taken, SFD_CLOEXEC);
		pid_t process = fork();
		if (process <= 0) {
			close(signals);
			sigprocmask(SIG_SETMASK, &usual_mask, NULL);
			signal(SIGINT, usual);
			close(ends[0]);
			if (process < 0) {
				close(ends[1]); /* this process shows it, and nobody waits for what is next */
				return true;
			}
			prctl(PR_SET_PDEATHSIG, SIGTERM); /* who was started is who is ended */
			if (getppid() != parent)
				_exit(1);
			choice->wish = ends[1];
			return true;
		}
		close(ends[1]);
		bool wished = wait_for_wish(choice, ends[0], signals, process);
		close(ends[0]);
		*ret_status = wait_for(process);
		close(signals);
		sigprocmask(SIG_SETMASK, &usual_mask, NULL);
		signal(SIGINT, usual);
		if (!wished || *ret_status)
			return false;
	}
}

void screen_switch_wish(const struct screen_switch *choice, const char *path)
{
	uint32_t length = strcmp(path, choice->first) != 0 ? (uint32_t)strlen(path) : 0;
	if (whole_write(choice->wish, &length, sizeof(length)))
		whole_write(choice->wish, path, length);
}
