/* When hints are given (hint.h). A hint of the day leaves an empty file behind, named after the terminal's device, whose time says when it
 * was given. */
#include "app/hint.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool hint_is_wanted(int fd)
{
	return log_level() >= LOG_INFO || (log_level() >= LOG_WARNING && isatty(fd));
}

/* The folder of the files, made if it isn't there; -1 when there is none of our own: in another user's home (sudo keeps $HOME) nothing is
 * left behind. */
static int open_cache(void)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	struct stat about;

	if (!(xdg && *xdg == '/') && !(home && *home == '/'))
		return -1;
	cleanup_free char *cache = xdg && *xdg == '/' ? mem_strdup(xdg) : mem_printf("%s/.cache", home);
	cleanup_free char *folder = mem_printf("%s/perf-ng", cache);
	if (stat(xdg && *xdg == '/' ? cache : home, &about) < 0 || about.st_uid != geteuid())
		return -1;
	mkdir(cache, 0700);
	mkdir(folder, 0700);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &about) < 0 || about.st_uid != geteuid())) {
		close(fd);
		return -1;
	}
	return fd;
}

bool hint_is_due(const char *name)
{
	static const time_t day = 24 * 60 * 60;
	struct stat terminal, about;

	if (!hint_is_wanted(STDERR_FILENO))
		return false;
	cleanup_close int folder = log_level() >= LOG_INFO || fstat(STDERR_FILENO, &terminal) < 0 ? -1 : open_cache();
	if (folder < 0)
		return true;
	cleanup_free char *file = mem_printf("hint-%s-%llx", name, (unsigned long long)terminal.st_rdev);
	time_t age = fstatat(folder, file, &about, AT_SYMLINK_NOFOLLOW) == 0 ? time(NULL) - about.st_mtime : day;
	if (age >= 0 && age < day)
		return false;
	cleanup_close int stamp = openat(folder, file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (stamp >= 0)
		futimens(stamp, NULL);
	return true;
}
