/* Where groups are: distributions mount version 1 below /sys/fs/cgroup, version 2 on it or, beside version 1, in "unified". A directory of
 * another file system of the same name is none. */
#include "kernel/cgroups.h"

#include "base/cleanup.h"
#include "base/strbuf.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

int cgroups_open(const char *name, char *path, size_t size)
{
	static const char *const roots[] = {"/sys/fs/cgroup/perf_event", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	char candidate[4096];

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		struct statfs fs;
		snprintf(candidate, sizeof(candidate), "%s/%s", roots[i], name[0] == '/' ? name + 1 : name);
		int fd = open(candidate, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (fstatfs(fd, &fs) == 0 && (fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC)) {
			if (path)
				snprintf(path, size, "%s", candidate);
			return fd;
		}
		close(fd);
	}
	return -1;
}

/* Version 1 has release_agent in its root alone, version 2 lacks cgroup.type there. */
bool cgroups_is_root(int directory)
{
	struct statfs fs;

	if (fstatfs(directory, &fs) < 0)
		return false;
	if (fs.f_type == CGROUP2_SUPER_MAGIC)
		return faccessat(directory, "cgroup.type", F_OK, 0) < 0;
	return faccessat(directory, "release_agent", F_OK, 0) == 0;
}

/* Adds the groups below `path`, which ends with '/', that match. `prefix` bytes of paths are not part of a group's name. */
static void walk(const char *path, size_t prefix, const regex_t *pattern, struct cgroups_names *ret)
{
	DIR *dir = opendir(path);

	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		cleanup_free char *below = mem_printf("%s%s/", path, entry->d_name);
		cleanup_free char *name = mem_strndup(below + prefix, strlen(below) - prefix - 1);
		if (!regexec(pattern, name, 0, NULL, 0))
			vec_push(&ret->names, mem_strdup(name));
		walk(below, prefix, pattern, ret);
	}
	closedir(dir);
}

/* By name, for qsort(). */
static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct error *cgroups_find_below(const char *path, const char *pattern, struct cgroups_names *ret)
{
	regex_t compiled;
	int status = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB);

	if (status) {
		char reason[128];
		regerror(status, &compiled, reason, sizeof(reason));
		return error_new_kind(ERROR_USAGE, "'%s' is not a regular expression: %s", pattern, reason);
	}
	walk(path, strlen(path), &compiled, ret);
	if (ret->names.len)
		qsort(ret->names.data, ret->names.len, sizeof(*ret->names.data), compare);
	regfree(&compiled);
	return NULL;
}

struct error *cgroups_find(const char *pattern, struct cgroups_names *ret)
{
	char path[4096];
	cleanup_close int fd = cgroups_open("", path, sizeof(path));

	if (fd < 0)
		return error_new_kind(ERROR_UNSUPPORTED, "no control groups are mounted in /sys/fs/cgroup");
	return cgroups_find_below(path, pattern, ret);
}

void cgroups_names_deinit(struct cgroups_names *list)
{
	for (size_t i = 0; i < list->names.len; i++)
		free(list->names.data[i]);
	vec_deinit(&list->names);
}

struct visiting {
	void (*visit)(void *context, uint64_t id, const char *name);
	void *context;
	struct strbuf path;
	size_t root; /* length of the mount point in `path` */
};

/* Where the hierarchy is mounted: version 1 with the controller wins, for then events belong to it, and not to version 2. */
static bool mount_point(bool only_v2, struct strbuf *ret)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	bool found = false, found_v1 = false;

	for (const struct mntent *entry; mounts && !found_v1 && (entry = getmntent(mounts));) {
		bool v1 = !only_v2 && !strcmp(entry->mnt_type, "cgroup") && hasmntopt(entry, "perf_event");
		if (!v1 && (found || strcmp(entry->mnt_type, "cgroup2")))
			continue;
		strbuf_clear(ret);
		strbuf_add_str(ret, entry->mnt_dir);
		found = true;
		found_v1 = v1;
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

/* The id of a group is its directory's file handle (kernfs), which is what the kernel puts into samples. */
static void visit_one(struct visiting *visiting)
{
	struct {
		struct file_handle handle;
		uint64_t id;
	} file = {.handle.handle_bytes = sizeof(uint64_t)};
	const char *path = visiting->path.data;
	int mount;

	if (name_to_handle_at(AT_FDCWD, path, &file.handle, &mount, 0) == 0)
		visiting->visit(visiting->context, file.id, visiting->path.len > visiting->root ? path + visiting->root : "/");
}

/* Depth first, a group before those in it. `path` is extended for the time of a call. */
static void visit_below(struct visiting *visiting, unsigned int depth)
{
	struct strbuf *path = &visiting->path;
	visit_one(visiting);
	DIR *dir = depth < 64 ? opendir(path->data) : NULL;
	for (const struct dirent *entry; dir && (entry = readdir(dir));) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		size_t length = path->len;
		strbuf_add_char(path, '/');
		strbuf_add_str(path, entry->d_name);
		visit_below(visiting, depth + 1);
		path->len = length;
		path->data[length] = '\0';
	}
	if (dir)
		closedir(dir);
}

void cgroups_visit(bool only_v2, void (*visit)(void *context, uint64_t id, const char *name), void *context)
{
	struct visiting visiting = {.visit = visit, .context = context};

	if (mount_point(only_v2, &visiting.path)) {
		visiting.root = visiting.path.len;
		visit_below(&visiting, 0);
	}
	strbuf_deinit(&visiting.path);
}
