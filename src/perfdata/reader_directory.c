/* The directory form, which recorders with several writing threads make: perf.data/data is a recording of the file form, perf.data/data.N
 * hold records without a head. All are read as one stream, one after another; order by time is made of them later. */
#include "perfdata/reader_internal.h"

#include "base/cleanup.h"
#include "base/files/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of the directory, which somebody else may have put there; *ret_fd is -1 when there is none. */
static struct error *open_file(int directory, const char *name, bool force, int *ret_fd)
{
	struct stat status;
	cleanup_close int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	*ret_fd = -1;
	if (fd < 0)
		return errno == ENOENT ? NULL : error_system(errno, "its file '%s'", name);
	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		return error_new_kind(ERROR_FORMAT, "its file '%s' is not a regular file", name);
	if (!force && !owner_is_trusted(status.st_uid))
		return error_new_kind(ERROR_PERMISSION, "its file '%s' belongs to another user; use --force to read it anyway", name);
	*ret_fd = take_fd(fd);
	return NULL;
}

struct error *reader_open_directory(struct reader *reader, int directory, bool force, int *ret_fd)
{
	cleanup_close int data = -1;
	struct error *error = open_file(directory, "data", force, &data);
	if (error || data < 0)
		return error ? error : error_system(ENOENT, "it is a directory, and its file 'data' cannot be opened");
	for (unsigned int i = 0;; i++) {
		char name[32];
		snprintf(name, sizeof(name), "data.%u", i);
		cleanup_close int fd = -1;
		if ((error = open_file(directory, name, force, &fd)))
			return error;
		if (fd < 0)
			break;
		struct mapping mapping;
		if ((error = mapping_open_fd(fd, name, &mapping)))
			return error;
		if (mapping.size)
			vec_push(&reader->private->directory_files, mapping);
	}
	reader->unordered = reader->private->directory_files.len > 0;
	*ret_fd = take_fd(data);
	return NULL;
}
