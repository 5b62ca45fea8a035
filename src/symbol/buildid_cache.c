/* Writing, listing and emptying the build-id cache. Reading is debugfile.c's: it only needs to know a file's path. */
#include "symbol/buildid_cache.h"

#include "base/cleanup.h"
#include "base/files/replacement.h"
#include "base/mem.h"
#include "base/text.h"
#include "symbol/debugfile.h"
#include "symbol/elf/elf.h"
#include "symbol/elf/vdso.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- adding ---- */

static bool copy_bytes(int from, int to)
{
	char block[65536];
	ssize_t length;

	while ((length = read(from, block, sizeof(block))) > 0)
		for (ssize_t at = 0; at < length;) {
			ssize_t put = write(to, block + at, (size_t)(length - at));
			if (put <= 0)
				return false;
			at += put;
		}
	return length == 0;
}

/* A link where the file systems allow, else a copy that appears at once and whole. */
static bool put_file(const char *from, const char *to, bool may_link)
{
	if (may_link && link(from, to) == 0)
		return true;
	cleanup_close int in = open(from, O_RDONLY | O_CLOEXEC);
	cleanup_free char *partial = mem_printf("%s.%d", to, getpid());
	cleanup_close int out = in < 0 ? -1 : open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (out < 0)
		return false;
	if (copy_bytes(in, out) && rename(partial, to) == 0)
		return true;
	unlink(partial);
	return false;
}

static bool put_vdso(const char *to)
{
	static const struct buildid any;
	struct elf_file vdso;
	bool done = false;

	if (!vdso_open(&any, &vdso))
		return false;
	cleanup_close int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	done = out >= 0 && write(out, vdso.data, vdso.size) == (ssize_t)vdso.size;
	elf_close(&vdso);
	return done;
}

/* Where the copy of a file is: "DIR/usr/bin/ls/BUILDID". */
static char *entry_dir(const char *dir, const char *name, const char *id)
{
	return mem_printf("%s%s%s/%s", dir, *name == '/' ? "" : "/", name, id);
}

/* What stands behind a name without a file: the kernel's list of symbols, the code that it maps into processes. */
static bool put_anything(const char *file, const char *name, const char *path)
{
	if (path)
		return put_file(path, file, strcmp(path, "/proc/kallsyms") != 0);
	return !strcmp(name, "[vdso]") && put_vdso(file);
}

static struct error *put_entry(const char *dir, const char *file, const char *name, const char *path)
{
	if (!directories_make(dir, 0755))
		return error_system(errno, "%s", dir);
	if (put_anything(file, name, path))
		return NULL;
	struct error *error = error_system(errno, "cannot copy %s to %s", path ? path : name, file);
	rmdir(dir);
	return error;
}

static struct error *link_entry(const char *cache, const char *name, const char *id)
{
	cleanup_free char *link_dir = mem_printf("%s/.build-id/%.2s", cache, id);
	cleanup_free char *link_path = mem_printf("%s/%s", link_dir, id + 2);
	cleanup_free char *target = mem_printf("../..%s%s/%s", *name == '/' ? "" : "/", name, id);
	if (directories_make(link_dir, 0755) && (symlink(target, link_path) == 0 || errno == EEXIST))
		return NULL;
	return error_system(errno, "%s", link_path);
}

static struct error *add_as(const char *dir, const struct buildid *id, const char *name, const char *path, const char *what)
{
	char text[41];
	struct stat status;
	buildid_format(id, text);
	cleanup_free char *entry = entry_dir(dir, name, text);
	cleanup_free char *copy = mem_printf("%s/%s", entry, what);
	struct error *error = stat(copy, &status) == 0 ? NULL : put_entry(entry, copy, name, path);
	return error ? error : link_entry(dir, name, text);
}

static struct error *check_build_id(const char *path, const struct buildid *id)
{
	struct buildid own;
	if (elf_read_build_id(path, &own) && buildid_equal(&own, id))
		return NULL;
	return error_new("%s has a different build-id, or none", path);
}

/* Names come from recordings; ".." would lead out of the cache. */
static struct error *check_name(const char *name)
{
	for (const char *at = name; (at = strstr(at, "/..")); at += 3)
		if (!at[3] || at[3] == '/')
			return error_new("%s: names with '..' are not allowed in the build-id cache", name);
	return NULL;
}

struct error *buildid_cache_add(const char *dir, const struct buildid *id, const char *name, const char *path)
{
	bool kernel = !strcmp(name, "[kernel.kallsyms]"), file = *name == '/' || !strcmp(name, "[python]");
	if (!kernel && !file && strcmp(name, "[vdso]") != 0)
		return error_new("%s: no file", name);
	struct error *error = check_name(name);
	if (!error && file)
		error = check_build_id(path, id);
	const char *from = kernel ? "/proc/kallsyms" : file ? path : NULL;
	return error ? error : add_as(dir, id, name, from, kernel ? "kallsyms" : file ? "elf" : "vdso");
}

struct error *buildid_cache_add_debug(const char *dir, const struct buildid *id, const char *name, const char *path)
{
	struct error *error = *name == '/' ? check_name(name) : error_new("%s: no file", name);
	if (!error)
		error = check_build_id(path, id);
	return error ? error : add_as(dir, id, name, path, "debug");
}

/* A list of symbols begins with an address. */
static struct error *check_kallsyms(const char *path)
{
	char begun[17] = "";
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_list = fd >= 0 && read(fd, begun, sizeof(begun)) == sizeof(begun) && begun[16] == ' ' &&
		       strspn(begun, "0123456789abcdef") == sizeof(begun) - 1;
	return is_list ? NULL : error_new("%s is not a list of kernel symbols", path);
}

struct error *buildid_cache_take(const char *dir, const struct buildid *id, const char *name, const char *kind, const char *path)
{
	static const struct {
		const char *kind, *name; /* NULL = an absolute path */
	} kinds[] = {{"elf", NULL}, {"debug", NULL}, {"vdso", "[vdso]"}, {"kallsyms", "[kernel.kallsyms]"}};
	bool fits = false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		fits |= !strcmp(kind, kinds[i].kind) && (kinds[i].name ? !strcmp(name, kinds[i].name) : *name == '/');
	if (!fits || str_starts_with(name, "/.build-id/"))
		return error_new("%s: does not belong into the build-id cache as '%s'", name, kind);
	struct error *error = check_name(name);
	if (!error)
		error = !strcmp(kind, "kallsyms") ? check_kallsyms(path) : check_build_id(path, id);
	return error ? error : add_as(dir, id, name, path, kind);
}

/* ---- looking, removing ---- */

bool buildid_cache_has(const char *dir, const struct buildid *id)
{
	static const char *const files[] = {"elf", "vdso", "kallsyms", "debug"};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		cleanup_free char *path = buildid_cache_path(dir, id, files[i]);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/* Removes a directory of files, and those above it that are empty then, up to the cache's. */
static void remove_entry(const char *cache, char *dir)
{
	DIR *stream = opendir(dir);
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		if (*entry->d_name == '.')
			continue;
		cleanup_free char *path = mem_printf("%s/%s", dir, entry->d_name);
		unlink(path);
	}
	if (stream)
		closedir(stream);
	for (size_t top = strlen(cache); strlen(dir) > top && rmdir(dir) == 0;) {
		char *slash = strrchr(dir, '/');
		*slash = '\0';
	}
}

/* What a link of .build-id says: the entry's name, "/usr/bin/ls"; NULL when it isn't one of ours. Its build-id must be the link's. */
static char *name_of_link(const char *path, const char *id)
{
	char target[4096];
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return NULL;
	target[length] = '\0';
	char *slash = strrchr(target, '/');
	if (!str_starts_with(target, "../../") || slash < target + 6 || strcmp(slash + 1, id) != 0 || strstr(target + 5, "/../"))
		return NULL;
	*slash = '\0';
	return mem_strdup(target[6] == '[' ? target + 6 : target + 5);
}

bool buildid_cache_remove(const char *dir, const char *id)
{
	cleanup_free char *link = mem_printf("%s/.build-id/%.2s/%s", dir, id, id + 2);
	cleanup_free char *name = name_of_link(link, id);
	if (!name)
		return false;
	cleanup_free char *entry = entry_dir(dir, name, id);
	if (unlink(link) < 0)
		return false;
	remove_entry(dir, entry);
	cleanup_free char *parent = mem_printf("%s/.build-id/%.2s", dir, id);
	rmdir(parent);
	return true;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct buildid_cache_entry *)a)->id, ((const struct buildid_cache_entry *)b)->id);
}

static void list_directory(const char *path, const char *start, struct buildid_cache_list *list)
{
	DIR *stream = opendir(path);
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		struct buildid_cache_entry found;
		size_t length = strlen(entry->d_name);
		if (*entry->d_name == '.' || length + 2 >= sizeof(found.id))
			continue;
		memcpy(found.id, start, 2);
		memcpy(found.id + 2, entry->d_name, length + 1);
		cleanup_free char *link = mem_printf("%s/%s", path, entry->d_name);
		found.name = name_of_link(link, found.id);
		if (found.name)
			vec_push(&list->entries, found);
	}
	if (stream)
		closedir(stream);
}

void buildid_cache_list(const char *dir, struct buildid_cache_list *ret)
{
	*ret = (struct buildid_cache_list){0};
	cleanup_free char *top = mem_printf("%s/.build-id", dir);
	DIR *stream = opendir(top);
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		cleanup_free char *path = mem_printf("%s/%s", top, entry->d_name);
		if (*entry->d_name != '.' && strlen(entry->d_name) == 2)
			list_directory(path, entry->d_name, ret);
	}
	if (stream)
		closedir(stream);
	if (ret->entries.len)
		qsort(ret->entries.data, ret->entries.len, sizeof(*ret->entries.data), compare);
}

void buildid_cache_list_deinit(struct buildid_cache_list *list)
{
	for (size_t i = 0; i < list->entries.len; i++)
		free(list->entries.data[i].name);
	vec_deinit(&list->entries);
}
