/* Files of other processes. */
#include "base/process_file.h"

#include "base/cleanup.h"
#include "base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

bool process_has_other_mounts(const char *proc, uint32_t pid)
{
	char path[64];
	struct stat theirs, ours;
	snprintf(path, sizeof(path), "%s/%u/ns/mnt", proc, pid);
	if (stat(path, &theirs))
		return false;
	snprintf(path, sizeof(path), "%s/self/ns/mnt", proc);
	return !stat(path, &ours) && (theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino);
}

int process_file_open(const char *path, bool any_owner, bool *ret_foreign)
{
	struct stat status;
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode))
		return -1;
	if (any_owner || !status.st_uid || status.st_uid == geteuid())
		return take_fd(fd);
	log_warning("%s belongs to another user and is not used; -f uses it all the same", path);
	*ret_foreign = true;
	return -1;
}
