/* Writing archives, by libarchive. Members have no owner and plain rights: the same files give the same archive. */
#include "symbol/archive/archive.h"

#include "base/cleanup.h"
#include "base/files/replacement.h"
#include "base/mem.h"
#include "base/text.h"
#include "symbol/archive/library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct archive_writer {
	struct archive *archive;
	struct replacement output;
	const char *path;
};

static struct error *failed(struct archive_writer *writer, const char *what)
{
	const char *why = libarchive()->error_string(writer->archive);
	return error_new("%s: %s", what, why ? why : "the archive cannot be written");
}

/* A filter that libarchive has not itself would run a program: that is refused. */
static bool set_filter(struct archive *archive, const char *path)
{
	const struct {
		const char *ending;
		int (*add)(struct archive *archive);
	} filters[] = {{".tar", libarchive()->write_add_filter_none},	 {".tar.bz2", libarchive()->write_add_filter_bzip2},
		       {".tbz2", libarchive()->write_add_filter_bzip2},	 {".tar.gz", libarchive()->write_add_filter_gzip},
		       {".tgz", libarchive()->write_add_filter_gzip},	 {".tar.xz", libarchive()->write_add_filter_xz},
		       {".tar.zst", libarchive()->write_add_filter_zstd}};
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
		if (str_ends_with(path, filters[i].ending))
			return filters[i].add(archive) == ARCHIVE_OK;
	return false;
}

struct error *archive_writer_open(const char *path, struct archive_writer **ret)
{
	struct error *error = libarchive_load();
	if (error)
		return error;
	struct archive_writer *writer = mem_zalloc(sizeof(*writer));
	writer->archive = libarchive()->write_new();
	writer->path = path;
	if (!writer->archive)
		mem_exhausted();
	if (!set_filter(writer->archive, path))
		error = error_new_kind(ERROR_USAGE, "%s: the name must end in .tar.zst, .tar.bz2, .tar.xz, .tar.gz or .tar", path);
	if (!error)
		error = replacement_begin(path, &writer->output);
	/* Nothing is filled up behind the end: that would be garbage to decompressors. */
	if (!error && (libarchive()->write_set_format_pax_restricted(writer->archive) != ARCHIVE_OK ||
		       libarchive()->write_set_bytes_in_last_block(writer->archive, 1) != ARCHIVE_OK ||
		       libarchive()->write_open_FILE(writer->archive, writer->output.file) != ARCHIVE_OK))
		error = failed(writer, path);
	if (error)
		return archive_writer_close(writer, error);
	*ret = writer;
	return NULL;
}

static struct error *put_header(struct archive_writer *writer, struct archive_entry *entry, const char *name)
{
	libarchive()->entry_set_pathname(entry, name);
	int result = libarchive()->write_header(writer->archive, entry);
	libarchive()->entry_free(entry);
	return result == ARCHIVE_OK ? NULL : failed(writer, name);
}

/* Copies what is left of a file; of a shorter one than was announced the rest is zeros. */
static struct error *put_contents(struct archive_writer *writer, int from, const char *name)
{
	char block[65536];
	ssize_t length;
	while ((length = read(from, block, sizeof(block))) > 0)
		if (libarchive()->write_data(writer->archive, block, (size_t)length) < 0)
			return failed(writer, name);
	return length < 0 ? error_system(errno, "%s", name) : NULL;
}

/* Files of /proc don't tell their size: a copy in memory does. Half a one would be worse than none. */
static struct error *sized_copy(int from, const char *path, int *ret)
{
	char block[65536];
	ssize_t length = -1;
	cleanup_close int fd = memfd_create("perf-archive", MFD_CLOEXEC);
	while (fd >= 0 && (length = read(from, block, sizeof(block))) > 0)
		if (write(fd, block, (size_t)length) != length)
			return error_system(errno ? errno : ENOSPC, "%s", path);
	if (length < 0)
		return error_system(errno, "%s", path);
	lseek(fd, 0, SEEK_SET);
	*ret = take_fd(fd);
	return NULL;
}

struct error *archive_writer_add(struct archive_writer *writer, const char *path, const char *name)
{
	struct stat status;
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status))
		return error_system(errno, "%s", path);
	if (!S_ISREG(status.st_mode))
		return error_new("%s: not a regular file", path);
	cleanup_close int sized = -1;
	struct error *error = status.st_size ? NULL : sized_copy(fd, path, &sized);
	if (error)
		return error;
	if (sized >= 0)
		fstat(sized, &status);
	struct archive_entry *entry = libarchive()->entry_new();
	if (!entry)
		mem_exhausted();
	libarchive()->entry_set_filetype(entry, AE_IFREG);
	libarchive()->entry_set_perm(entry, 0644);
	libarchive()->entry_set_size(entry, status.st_size);
	libarchive()->entry_set_mtime(entry, sized >= 0 ? 0 : status.st_mtime, 0);
	error = put_header(writer, entry, name);
	return error ? error : put_contents(writer, sized >= 0 ? sized : fd, name);
}

struct error *archive_writer_link(struct archive_writer *writer, const char *name, const char *target)
{
	struct archive_entry *entry = libarchive()->entry_new();
	if (!entry)
		mem_exhausted();
	libarchive()->entry_set_filetype(entry, AE_IFLNK);
	libarchive()->entry_set_perm(entry, 0777);
	libarchive()->entry_set_symlink(entry, target);
	return put_header(writer, entry, name);
}

struct error *archive_writer_close(struct archive_writer *writer, struct error *error)
{
	if (!writer)
		return error;
	if (libarchive()->write_close(writer->archive) != ARCHIVE_OK && !error)
		error = failed(writer, writer->path);
	libarchive()->write_free(writer->archive);
	if (writer->output.file)
		error = replacement_end(&writer->output, error);
	free(writer);
	return error;
}
