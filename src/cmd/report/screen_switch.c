/* Switching a screen to another recording (screen_switch.h). */
#include "cmd/report/screen_switch.h"

#include "base/files/whole.h"
#include "base/mem.h"
#include "cmd/report/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	DIR *folder = opendir(".");
	bool known = false;
	*choice = (struct screen_switch){.wish = -1};
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		struct stat status;
		if (entry->d_name[0] == '.' || stat(entry->d_name, &status) || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) ||
		    !report_is_recording(entry->d_name))
			continue;
		bool same = !known && is_same_file(entry->d_name, path);
		known |= same;
		vec_push(&choice->paths, mem_strdup(same ? path : entry->d_name));
	}
	if (folder)
		closedir(folder);
	if (!known)
		vec_push(&choice->paths, mem_strdup(path));
	qsort(choice->paths.data, choice->paths.len, sizeof(*choice->paths.data), by_name);
	while (strcmp(choice->paths.data[choice->current], path) != 0)
		choice->current++;
}

void screen_switch_deinit(struct screen_switch *choice)
{
	for (size_t i = 0; i < choice->paths.len; i++)
		free(choice->paths.data[i]);
	vec_deinit(&choice->paths);
	if (choice->wish >= 0)
		close(choice->wish);
	choice->wish = -1;
}

static int wait_for(pid_t process)
{
	int status = 0;
	while (waitpid(process, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool screen_switch_next(struct screen_switch *choice, int *ret_status)
{
	for (;;) {
		uint32_t number;
		int ends[2];
		if (choice->paths.len < 2 || pipe2(ends, O_CLOEXEC))
			return true; /* nothing to switch to */
		fflush(stdout);
		void (*usual)(int) = signal(SIGINT, SIG_IGN); /* Ctrl-C is for who shows */
		pid_t process = fork();
		if (process <= 0) {
			signal(SIGINT, usual);
			close(ends[0]);
			if (process < 0)
				close(ends[1]); /* this process shows it, and nobody waits for what is next */
			else
				choice->wish = ends[1];
			return true;
		}
		close(ends[1]);
		bool wished = whole_read(ends[0], &number, sizeof(number));
		close(ends[0]);
		*ret_status = wait_for(process);
		signal(SIGINT, usual);
		if (!wished || *ret_status || number >= choice->paths.len)
			return false;
		choice->current = number;
	}
}

void screen_switch_wish(const struct screen_switch *choice, size_t number)
{
	uint32_t wish = (uint32_t)number;
	whole_write(choice->wish, &wish, sizeof(wish));
}
