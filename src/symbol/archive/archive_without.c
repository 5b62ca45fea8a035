/* Builds without libarchive. */
#include "symbol/archive/archive.h"

#include <stddef.h>

static struct error *missing(void)
{
	return error_new_kind(ERROR_UNSUPPORTED, "this perf was built without libarchive; install libarchive-dev and build it anew");
}

struct error *archive_writer_open(const char *path, struct archive_writer **ret)
{
	return missing();
}

struct error *archive_writer_add(struct archive_writer *writer, const char *path, const char *name)
{
	return missing();
}

struct error *archive_writer_link(struct archive_writer *writer, const char *name, const char *target)
{
	return missing();
}

struct error *archive_writer_close(struct archive_writer *writer, struct error *error)
{
	return error;
}

struct error *archive_unpack(const char *path, struct archive_unpacking *unpacking)
{
	return missing();
}
