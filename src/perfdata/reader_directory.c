/* The directory form, which recorders with several writing threads make: perf.data/data is a recording of the file form, perf.data/data.N
 * hold records without a head. All are read as one stream, one after another; order by time is made of them later. */
#include "perfdata/reader_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

struct error *reader_open_directory(struct reader *reader, int directory, int *ret_fd)
{
	int data = openat(directory, "data", O_RDONLY | O_CLOEXEC);
	if (data < 0)
		return error_system(errno, "it is a directory, and its file `data` cannot be opened");
	for (unsigned int i = 0;; i++) {
		char name[32];
		snprintf(name, sizeof(name), "data.%u", i);
		int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			break;
		struct mapping mapping;
		struct error *error = mapping_open_fd(fd, name, &mapping);
		close(fd);
		if (error) {
			close(data);
			return error;
		}
		if (mapping.size)
			vec_push(&reader->private->directory_files, mapping);
	}
	reader->unordered = reader->private->directory_files.len > 0;
	*ret_fd = data;
	return NULL;
}
