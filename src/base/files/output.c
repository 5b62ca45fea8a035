#include "base/files/output.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

struct error *output_write(int fd, const char *text, size_t size, const char *what, bool *ret_closed)
{
	while (size) {
		ssize_t written = write(fd, text, size);
		if (written >= 0) {
			text += written;
			size -= (size_t)written;
		} else if (errno == EPIPE) {
			*ret_closed = true;
			return NULL;
		} else if (errno != EINTR) {
			return error_system(errno, "writing %s", what);
		}
	}
	return NULL;
}

int output_failure(FILE *file)
{
	bool failed = ferror(file);
	errno = 0;
	if (!fflush(file) && !failed)
		return 0;
	if (!errno && fputc('\n', file) != EOF)
		fflush(file);
	return errno ? errno : EIO;
}

int output_close(FILE *file)
{
	int failure = output_failure(file);
	if (fclose(file) && !failure)
		failure = errno;
	return failure;
}
