/* Unpacking archives of others into the build-id cache, by libarchive.
 *
 *	member ──► its name is one of the cache's? ──► a file without a name that others know ──► buildid_cache_take(): its build-id is right?
 *
 * Archives of all (perf.all-….tar.bz2 of the kernel's tool) have another one for the cache in them. */
#include "symbol/archive/archive.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "symbol/archive/library.h"
#include "symbol/buildid_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No file of a cache is larger, nor all that an archive holds, with the recording. */
static const int64_t LARGEST = (int64_t)8 << 30, LARGEST_OF_ALL = (int64_t)64 << 30;

static const char too_large[] = "is larger than any file of a build-id cache";

struct unpacking {
	struct archive_unpacking *wanted;
	const char *path;
	int64_t bytes; /* so far */
};

static struct error *refuse(const struct unpacking *unpacking, const char *name, const char *why)
{
	return error_new("%s: the member '%s' %s; it and what follows are not unpacked", unpacking->path, name, why);
}

/* ---- contents ---- */

/* Counts bytes as they come, whatever the header says. */
static struct error *copy_member(struct unpacking *unpacking, struct archive *archive, const char *name, int64_t most, int to)
{
	char block[65536];
	la_ssize_t length;
	int64_t written = 0;
	while ((length = libarchive()->read_data(archive, block, sizeof(block))) > 0) {
		written += length;
		unpacking->bytes += length;
		if (written > most)
			return refuse(unpacking, name, too_large);
		if (unpacking->bytes > LARGEST_OF_ALL)
			return refuse(unpacking, name, "makes it all larger than any archive of a recording");
		if (write(to, block, (size_t)length) != length)
			return error_system(errno ? errno : ENOSPC, "%s: '%s'", unpacking->path, name);
	}
	if (length < 0)
		return error_new("%s: '%s': %s", unpacking->path, name, libarchive()->error_string(archive));
	return NULL;
}

static struct error *take_recording(struct unpacking *unpacking, struct archive *archive, const char *name)
{
	struct archive_unpacking *wanted = unpacking->wanted;
	if (wanted->has_recording)
		return refuse(unpacking, name, "is a second recording");
	wanted->has_recording = true;
	if (wanted->recording < 0)
		return NULL;
	int64_t before = unpacking->bytes;
	struct error *error = copy_member(unpacking, archive, name, LARGEST_OF_ALL, wanted->recording);
	wanted->recorded = (uint64_t)(unpacking->bytes - before);
	return error;
}

/* ---- files of the cache ---- */

/* A member "usr/bin/ls/BUILDID/elf" taken apart, in a copy of its name. */
struct member {
	char *copy;
	const char *name; /* "/usr/bin/ls", "[kernel.kallsyms]" */
	const char *kind;
	struct buildid id;
};

static bool parse_member(const char *text, struct member *ret)
{
	char *copy = mem_printf("/%s", text), *kind = strrchr(copy, '/');
	*ret = (struct member){.copy = copy, .kind = kind + 1};
	*kind = 0;
	char *id = strrchr(copy, '/');
	if (!id || id == copy || !buildid_parse(id + 1, strlen(id + 1), &ret->id))
		return false;
	*id = 0;
	ret->name = copy[1] == '[' ? copy + 1 : copy;
	return true;
}

static struct error *take_file(struct unpacking *unpacking, struct archive *archive, const char *name, const struct member *member)
{
	const char *cache = unpacking->wanted->cache;
	cleanup_free char *beside = mem_printf("%s/.unpacked-XXXXXX", cache);
	cleanup_close int fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0)
		return error_system(errno, "%s", cache);
	struct error *error = copy_member(unpacking, archive, name, LARGEST, fd);
	if (!error)
		error = error_wrap(buildid_cache_take(cache, &member->id, member->name, member->kind, beside), "%s: '%s'", unpacking->path,
				   name);
	unlink(beside);
	unpacking->wanted->files += !error;
	return error;
}

static bool is_hostile(const char *name)
{
	size_t len = strlen(name);
	return *name == '/' || !strncmp(name, "../", 3) || strstr(name, "/../") || (len >= 3 && !strcmp(name + len - 3, "/..")) ||
	       !strcmp(name, "..") || !text_is_safe(name, len);
}

static struct error *unpack_all(struct unpacking *unpacking, struct archive *archive, bool nested);

/* ---- archives in archives ---- */

struct inner {
	struct archive *outer;
	char block[65536];
};

static la_ssize_t read_inner(struct archive *archive, void *context, const void **ret)
{
	struct inner *inner = context;
	*ret = inner->block;
	return libarchive()->read_data(inner->outer, inner->block, sizeof(inner->block));
}

static struct archive *open_reader(void)
{
	struct archive *archive = libarchive()->read_new();
	if (!archive)
		mem_exhausted();
	libarchive()->read_support_format_tar(archive);
	libarchive()->read_support_filter_bzip2(archive);
	libarchive()->read_support_filter_gzip(archive);
	libarchive()->read_support_filter_xz(archive);
	libarchive()->read_support_filter_zstd(archive);
	return archive;
}

static struct error *unpack_inner(struct unpacking *unpacking, struct archive *outer, const char *name)
{
	struct inner *inner = mem_zalloc(sizeof(*inner));
	struct archive *archive = open_reader();
	inner->outer = outer;
	struct error *error = NULL;
	if (libarchive()->read_open(archive, inner, NULL, read_inner, NULL) != ARCHIVE_OK)
		error = error_new("%s: '%s': %s", unpacking->path, name, libarchive()->error_string(archive));
	if (!error)
		error = unpack_all(unpacking, archive, true);
	libarchive()->read_free(archive);
	free(inner);
	return error;
}

/* ---- */

/* Files that the kernel's tool puts beside these, and that say nothing of a recording. */
static bool is_needless(const char *kind)
{
	return !strcmp(kind, "probes");
}

static struct error *unpack_member(struct unpacking *unpacking, struct archive *archive, struct archive_entry *entry, bool nested)
{
	const char *name = libarchive()->entry_pathname(entry);
	struct member member = {0};
	struct error *error = NULL;
	if (name && !strncmp(name, "./", 2))
		name += 2;
	if (!name || is_hostile(name))
		return refuse(unpacking, name && text_is_safe(name, strlen(name)) ? name : "?",
			      "has a name that leads out of the build-id cache, or none");
	if (libarchive()->entry_filetype(entry) == AE_IFDIR ||
	    (libarchive()->entry_filetype(entry) == AE_IFLNK && str_starts_with(name, ".build-id/")))
		return NULL;
	if (libarchive()->entry_filetype(entry) != AE_IFREG || libarchive()->entry_hardlink(entry) || libarchive()->entry_symlink(entry))
		return refuse(unpacking, name, "is a link or a device");
	if (!nested && !strcmp(name, "perf.data"))
		return take_recording(unpacking, archive, name);
	if (libarchive()->entry_size(entry) > LARGEST)
		return refuse(unpacking, name, too_large);
	if (!nested && str_starts_with(name, "perf.symbols.tar"))
		return unpack_inner(unpacking, archive, name);
	if (!parse_member(name, &member))
		error = refuse(unpacking, name, "is not a file of a build-id cache");
	else if (!is_needless(member.kind))
		error = take_file(unpacking, archive, name, &member);
	free(member.copy);
	return error;
}

static struct error *unpack_all(struct unpacking *unpacking, struct archive *archive, bool nested)
{
	struct archive_entry *entry;
	struct error *error = NULL;
	int result = ARCHIVE_OK;
	while (!error && (result = libarchive()->read_next_header(archive, &entry)) == ARCHIVE_OK)
		error = unpack_member(unpacking, archive, entry, nested);
	if (!error && result != ARCHIVE_EOF)
		error = error_new("%s: %s", unpacking->path, libarchive()->error_string(archive));
	return error;
}

struct error *archive_unpack(const char *path, struct archive_unpacking *wanted)
{
	struct unpacking unpacking = {.wanted = wanted, .path = path};
	struct error *error = libarchive_load();
	if (error)
		return error;
	struct archive *archive = open_reader();
	if (libarchive()->read_open_filename(archive, path, 1 << 16) != ARCHIVE_OK)
		error = error_new("%s: %s", path, libarchive()->error_string(archive));
	if (!error)
		error = unpack_all(&unpacking, archive, false);
	libarchive()->read_free(archive);
	return error;
}
