/* Root directories of processes in other mount namespaces: found in /proc, or held open since process_roots_keep(). */
#include "base/files/process_file.h"

#include "base/number.h"
#include "base/vec.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors are few: processes with one root directory share one, and more different ones than that aren't held. */
enum { HELD_MOST = 256 };

/* Where a process's files are. Mount namespaces have the same root directory in common where only what is mounted below it differs. */
struct place {
	struct stat mounts, root;
	bool has_mounts; /* it was allowed to look at the mount namespace */
};

struct held_root {
	uint32_t pid;
	int folder;
	bool other_mounts;
	struct place place;
};

static struct held {
	VEC(struct held_root) roots;
	size_t folders; /* that are open */
	bool only_these;
} held;

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int find_folder(const struct place *place)
{
	for (size_t i = 0; i < held.roots.len && place->has_mounts; i++) {
		const struct place *other = &held.roots.data[i].place;
		if (other->has_mounts && is_same(&other->mounts, &place->mounts) && is_same(&other->root, &place->root))
			return held.roots.data[i].folder;
	}
	return -1;
}

/* False when we may not look there. */
static bool look_at(uint32_t pid, struct place *ret)
{
	char path[PROCESS_ROOT_SIZE];
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	if (stat(path, &ret->root))
		return false;
	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	ret->has_mounts = !stat(path, &ret->mounts);
	return true;
}

/* Of a process with other mounts than ours, or another root directory. */
static void hold(uint32_t pid, const struct place *theirs, const struct place *ours)
{
	char path[PROCESS_ROOT_SIZE];
	bool other_mounts = theirs->has_mounts && ours->has_mounts && !is_same(&theirs->mounts, &ours->mounts);
	if (!other_mounts && is_same(&theirs->root, &ours->root))
		return;
	int folder = find_folder(theirs);
	if (folder < 0 && held.folders < HELD_MOST) {
		snprintf(path, sizeof(path), "/proc/%u/root", pid);
		folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		held.folders += folder >= 0;
	}
	if (folder >= 0)
		vec_push(&held.roots, (struct held_root){pid, folder, other_mounts, *theirs});
}

void process_roots_keep(void)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	struct place ours, theirs;
	uint32_t pid;
	bool known = look_at((uint32_t)getpid(), &ours);
	while (processes && known && (entry = readdir(processes)))
		if (number_parse_u32(entry->d_name, &pid) && look_at(pid, &theirs))
			hold(pid, &theirs, &ours);
	if (processes)
		closedir(processes);
	held.only_these = true;
}

/* What is held of the process, or NULL. */
static const struct held_root *find_held(uint32_t pid)
{
	for (size_t i = 0; i < held.roots.len; i++)
		if (held.roots.data[i].pid == pid)
			return &held.roots.data[i];
	return NULL;
}

void process_any_root(const char *proc, uint32_t pid, char root[PROCESS_ROOT_SIZE])
{
	const struct held_root *found = find_held(pid);
	if (!held.only_these || strcmp(proc, "/proc"))
		snprintf(root, PROCESS_ROOT_SIZE, "%s/%u/root", proc, pid);
	else if (found)
		snprintf(root, PROCESS_ROOT_SIZE, "/proc/self/fd/%d", found->folder);
	else
		*root = '\0';
}

bool process_root(const char *proc, uint32_t pid, char root[PROCESS_ROOT_SIZE])
{
	const struct held_root *found = find_held(pid);
	process_any_root(proc, pid, root);
	if (!held.only_these || strcmp(proc, "/proc"))
		return process_has_other_mounts(proc, pid);
	return found && found->other_mounts;
}
