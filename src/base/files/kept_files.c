/* Folders whose oldest files go (kept_files.h). */
#include "base/files/kept_files.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { TIME_LENGTH = 15 };

struct kept {
	char *name;
	uint64_t size;
};

static int newest_first(const void *a, const void *b)
{
	return strcmp(((const struct kept *)b)->name, ((const struct kept *)a)->name);
}

typedef VEC(struct kept) kept_list;

static void list_files(DIR *dir, bool (*is_ours)(const void *context, const char *name), const void *context, kept_list *ret)
{
	struct stat st;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (is_ours(context, entry->d_name) && !fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			vec_push(ret, (struct kept){mem_strdup(entry->d_name), (uint64_t)st.st_size});
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), newest_first);
}

void kept_files_remove_all(const char *folder, bool (*is_ours)(const void *context, const char *name), const void *context)
{
	DIR *dir = opendir(folder);
	kept_list files = {0};
	if (!dir)
		return;
	list_files(dir, is_ours, context, &files);
	for (size_t i = 0; i < files.len; i++) {
		unlinkat(dirfd(dir), files.data[i].name, 0);
		free(files.data[i].name);
	}
	vec_deinit(&files);
	closedir(dir);
}

void kept_files_remove_oldest(const char *folder, bool (*is_ours)(const void *context, const char *name), const void *context,
			      size_t together, uint64_t count, uint64_t bytes)
{
	DIR *dir = opendir(folder);
	kept_list files = {0};
	uint64_t sum = 0, groups = 0;
	if (!dir)
		return;
	list_files(dir, is_ours, context, &files);
	for (size_t first = 0, end = 0; first < files.len; first = end, groups++) {
		for (; end < files.len && !strncmp(files.data[end].name, files.data[first].name, together); end++)
			sum += files.data[end].size;
		for (size_t i = first; i < end; i++) {
			if (first && (groups >= count || sum > bytes))
				unlinkat(dirfd(dir), files.data[i].name, 0);
			free(files.data[i].name);
		}
	}
	vec_deinit(&files);
	closedir(dir);
}

struct error *kept_files_settle(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || fsync(fd) ? error_system(errno, "%s", path) : NULL;
}

bool kept_files_begins_with_time(const char *name, char next)
{
	for (size_t i = 0; i < TIME_LENGTH; i++)
		if (i == 8 ? name[i] != 'T' : !isdigit((unsigned char)name[i]))
			return false;
	return name[TIME_LENGTH] == next;
}
