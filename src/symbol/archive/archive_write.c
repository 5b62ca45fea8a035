/* Writing archives, by libarchive. Members have no owner and plain rights: the same files give the same archive. */
#include "symbol/archive/archive.h"

#include "base/cleanup.h"
#include "base/files/replacement.h"
#include "base/mem.h"
#include "base/text.h"

#include <archive.h>
#include <archive_entry.h>
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
	const char *why = archive_error_string(writer->archive);
	return error_new("%s: %s", what, why ? why : "the archive cannot be written");
}

/* A filter that libarchive has not itself would run a program: that is refused. */
static bool set_filter(struct archive *archive, const char *path)
{
	static const struct {
		const char *ending;
		int (*add)(struct archive *archive);
	} filters[] = {{".tar", archive_write_add_filter_none},	   {".tar.bz2", archive_write_add_filter_bzip2},
		       {".tbz2", archive_write_add_filter_bzip2},  {".tar.gz", archive_write_add_filter_gzip},
		       {".tgz", archive_write_add_filter_gzip},	   {".tar.xz", archive_write_add_filter_xz},
		       {".tar.zst", archive_write_add_filter_zstd}};
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
		if (str_ends_with(path, filters[i].ending))
			return filters[i].add(archive) == ARCHIVE_OK;
	return false;
}

struct error *archive_writer_open(const char *path, struct archive_writer **ret)
{
	struct archive_writer *writer = mem_zalloc(sizeof(*writer));
	writer->archive = archive_write_new();
	writer->path = path;
	struct error *error = NULL;
	if (!writer->archive)
		mem_exhausted();
	if (!set_filter(writer->archive, path))
		error = error_new_kind(ERROR_USAGE, "%s: the name must end in .tar.zst, .tar.bz2, .tar.xz, .tar.gz or .tar", path);
	if (!error)
		error = replacement_begin(path, &writer->output);
	/* Nothing is filled up behind the end: that would be garbage to decompressors. */
	if (!error && (archive_write_set_format_pax_restricted(writer->archive) != ARCHIVE_OK ||
		       archive_write_set_bytes_in_last_block(writer->archive, 1) != ARCHIVE_OK ||
		       archive_write_open_FILE(writer->archive, writer->output.file) != ARCHIVE_OK))
		error = failed(writer, path);
	if (error)
		return archive_writer_close(writer, error);
	*ret = writer;
	return NULL;
}

static struct error *put_header(struct archive_writer *writer, struct archive_entry *entry, const char *name)
{
	archive_entry_set_pathname(entry, name);
	int result = archive_write_header(writer->archive, entry);
	archive_entry_free(entry);
	return result == ARCHIVE_OK ? NULL : failed(writer, name);
}

/* Copies what is left of a file; of a shorter one than was announced the rest is zeros. */
static struct error *put_contents(struct archive_writer *writer, int from, const char *name)
{
	char block[65536];
	ssize_t length;
	while ((length = read(from, block, sizeof(block))) > 0)
		if (archive_write_data(writer->archive, block, (size_t)length) < 0)
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
	struct archive_entry *entry = archive_entry_new();
	if (!entry)
		mem_exhausted();
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, status.st_size);
	archive_entry_set_mtime(entry, sized >= 0 ? 0 : status.st_mtime, 0);
	error = put_header(writer, entry, name);
	return error ? error : put_contents(writer, sized >= 0 ? sized : fd, name);
}

struct error *archive_writer_link(struct archive_writer *writer, const char *name, const char *target)
{
	struct archive_entry *entry = archive_entry_new();
	if (!entry)
		mem_exhausted();
	archive_entry_set_filetype(entry, AE_IFLNK);
	archive_entry_set_perm(entry, 0777);
	archive_entry_set_symlink(entry, target);
	return put_header(writer, entry, name);
}

struct error *archive_writer_close(struct archive_writer *writer, struct error *error)
{
	if (!writer)
		return error;
	if (archive_write_close(writer->archive) != ARCHIVE_OK && !error)
		error = failed(writer, writer->path);
	archive_write_free(writer->archive);
	if (writer->output.file)
		error = replacement_end(&writer->output, error);
	free(writer);
	return error;
}
