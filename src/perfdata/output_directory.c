/* Recordings that are directories: `data` and its companions in a directory of their own. An existing one becomes NAME.old like a file; for
 * that what is NAME.old already has to go, and only files that recordings consist of are ever removed. */
#include "base/cleanup.h"
#include "base/mem.h"
#include "perfdata/output.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_part(const char *name)
{
	static const char *const parts[] = {"data", "kcore", "kallsyms", "modules"};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strcmp(parts[i], name))
			return true;
	return !strncmp(name, "data.", 5) && name[5] && strspn(name + 5, "0123456789") == strlen(name + 5);
}

/* Removes the parts of a recording in the directory `name`, and itself when it is empty then. */
static void remove_directory(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(directory));) {
		if (is_part(entry->d_name))
			unlinkat(fd, entry->d_name, 0);
		else if (!strcmp(entry->d_name, "kcore_dir"))
			remove_directory(fd, entry->d_name);
	}
	closedir(directory);
	unlinkat(at, name, AT_REMOVEDIR);
}

bool output_is_recording_directory(const char *path)
{
	cleanup_free char *data = mem_printf("%s/data", path);
	struct stat st;
	return lstat(data, &st) == 0 && S_ISREG(st.st_mode);
}

/* A directory of somebody else isn't touched by root: what is in it could be replaced meanwhile. */
static bool may_touch(const struct stat *st)
{
	return geteuid() != 0 || st->st_uid == 0;
}

void output_remove_old(const char *path)
{
	cleanup_free char *old = mem_printf("%s.old", path);
	struct stat mine, theirs;
	if (lstat(old, &theirs) < 0 || lstat(path, &mine) < 0 || S_ISDIR(mine.st_mode) + S_ISDIR(theirs.st_mode) == 0 ||
	    !may_touch(&theirs))
		return;
	if (!S_ISDIR(theirs.st_mode))
		unlink(old);
	else if (output_is_recording_directory(old))
		remove_directory(AT_FDCWD, old);
}

struct error *output_open_directory(const char *path, bool keep_old, struct output *ret)
{
	struct stat st;
	if (lstat(path, &st) == 0) {
		if (!may_touch(&st))
			return error_new_kind(
				ERROR_PERMISSION,
				"%s exists and belongs to user %u: not replaced as root, since that user could misuse it; remove "
				"it (rm -r %s) or choose another name with -o",
				path, (unsigned int)st.st_uid, path);
		if (!S_ISREG(st.st_mode) && !(S_ISDIR(st.st_mode) && output_is_recording_directory(path)))
			return error_new("%s exists and is not a recording; remove it or choose another name with -o", path);
		struct error *error = output_move_aside(path);
		if (error)
			return error;
	}
	if (mkdir(path, 0700) < 0)
		return error_system(errno, "cannot create %s", path);
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = directory < 0 ? -1 : openat(directory, "data", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int code = errno;
	if (directory >= 0)
		close(directory);
	if (fd < 0)
		return error_system(code, "cannot create %s/data", path);
	*ret = (struct output){.fd = fd};
	return NULL;
}
