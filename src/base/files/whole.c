/* Reading and writing until all is done (whole.h): signals and pipes cut calls short. */
#include "base/files/whole.h"

#include <errno.h>
#include <unistd.h>

bool whole_read(int fd, void *data, size_t size)
{
	char *at = data;
	while (size) {
		ssize_t got = read(fd, at, size);
		if (got < 0 && errno == EINTR)
			continue;
		if (!got)
			errno = 0;
		if (got <= 0)
			return false;
		at += got;
		size -= (size_t)got;
	}
	return true;
}

bool whole_write(int fd, const void *data, size_t size)
{
	const char *at = data;
	while (size) {
		ssize_t put = write(fd, at, size);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		at += put;
		size -= (size_t)put;
	}
	return true;
}
