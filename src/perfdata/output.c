/* What a path may be, and what is done then:
 *
 *	nothing yet            created, readable by its owner only
 *	a regular file         renamed to NAME.old or cut to zero; as root only when it belongs to root
 *	a symbolic link        followed, but as root only to devices and pipes (/dev/stdout)
 *	a FIFO                 gets the pipe format
 *	a device (/dev/null)   written like a file; a disk is refused
 *	a directory            a recording is renamed to NAME.old, others are refused
 */
#include "perfdata/output.h"
#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static struct error *open_stdout(struct output *ret)
{
	if (isatty(STDOUT_FILENO))
		return error_new_kind(ERROR_USAGE,
				      "refusing to write a recording to a terminal: use -o FILE, or a pipe to another program");
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return error_system(errno, "standard output");
	*ret = (struct output){.fd = fd, .pipe = true};
	return NULL;
}

/* A file that could not be made or moved because of where it is. */
static struct error *refuse_place(const char *what, const char *path, int reason)
{
	if (reason != EACCES && reason != EPERM && reason != EROFS)
		return error_system(reason, "%s %s", what, path);
	return error_new_kind(ERROR_PERMISSION, "%s %s: %s. Write it elsewhere, for example with  -o %s", what, path, strerror(reason),
			      access("/tmp/perf.data", F_OK) ? "/tmp/perf.data" : "FILE");
}

static struct error *check_regular(const char *path, const struct stat *st)
{
	if (geteuid() == 0 && st->st_uid != 0)
		return error_new_kind(
			ERROR_PERMISSION,
			"%s exists and belongs to user %u: not overwritten as root, since that user could misuse it; remove it "
			"(rm %s) or choose another file with -o",
			path, (unsigned int)st->st_uid, path);
	return NULL;
}

struct error *output_move_aside(const char *path)
{
	output_remove_old(path);
	cleanup_free char *old = mem_printf("%s.old", path);
	if (rename(path, old) < 0)
		return refuse_place("cannot rename the existing recording to", old, errno);
	return NULL;
}

static struct error *open_regular(const char *path, const struct stat *st, bool keep_old, struct output *ret)
{
	struct stat now;
	int flags = O_RDWR | O_CREAT | O_CLOEXEC;
	struct error *error = st ? check_regular(path, st) : NULL;
	if (error)
		return error;
	if (st && keep_old && st->st_size > 0) {
		if ((error = output_move_aside(path)))
			return error;
		st = NULL;
	}
	/* Nothing may slip in between the look and the opening. */
	if (!st)
		flags |= O_EXCL;
	if (geteuid() == 0)
		flags |= O_NOFOLLOW;
	int fd = open(path, flags, 0600);
	if (fd < 0)
		return refuse_place("cannot create", path, errno);
	if (fstat(fd, &now) == 0 && S_ISREG(now.st_mode) && (error = check_regular(path, &now))) {
		close(fd);
		return error;
	}
	if (ftruncate(fd, 0) < 0) {
		error = error_system(errno, "cannot truncate %s", path);
		close(fd);
		return error;
	}
	*ret = (struct output){.fd = fd};
	return NULL;
}

/* Opens the device or pipe that `st` was found to be: what was put in its place since then is left alone. */
static struct error *open_special(const char *path, const struct stat *st, struct output *ret)
{
	struct stat now;
	bool pipe = S_ISFIFO(st->st_mode);
	int fd = open(path, (pipe ? O_WRONLY : O_RDWR) | O_CLOEXEC);
	if (fd < 0)
		return error_system(errno, "cannot open %s", path);
	if (fstat(fd, &now) < 0 || now.st_dev != st->st_dev || now.st_ino != st->st_ino || now.st_mode != st->st_mode) {
		close(fd);
		return error_new_kind(ERROR_PERMISSION, "%s was replaced while it was opened: not written", path);
	}
	*ret = (struct output){.fd = fd, .pipe = pipe};
	return NULL;
}

struct error *output_open(const char *path, bool keep_old, struct output *ret)
{
	struct stat link, st;
	if (!strcmp(path, "-"))
		return open_stdout(ret);
	if (lstat(path, &link) < 0) {
		if (errno != ENOENT)
			return error_system(errno, "cannot create %s", path);
		return open_regular(path, NULL, keep_old, ret);
	}
	bool dangling = stat(path, &st) < 0;
	if (S_ISLNK(link.st_mode) && geteuid() == 0 && (dangling || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return error_new_kind(
			ERROR_PERMISSION,
			"%s is a symbolic link: not written through it as root, since whoever made it could choose the file that "
			"is overwritten; remove it (rm %s) or name its target with -o",
			path, path);
	if (dangling)
		return open_regular(path, &link, false, ret);
	if (S_ISDIR(st.st_mode) && !S_ISLNK(link.st_mode) && keep_old && output_is_recording_directory(path) &&
	    (geteuid() != 0 || st.st_uid == 0)) {
		struct error *error = output_move_aside(path);
		return error ? error : open_regular(path, NULL, keep_old, ret);
	}
	if (S_ISDIR(st.st_mode))
		return error_new("%s is a directory; remove it or choose another file with -o", path);
	if (S_ISREG(st.st_mode))
		return open_regular(path, &st, keep_old, ret);
	if (S_ISBLK(st.st_mode))
		return error_new("%s is a disk; choose a file with -o", path);
	return open_special(path, &st, ret);
}
