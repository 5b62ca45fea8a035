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
	struct statx root;
	struct stat mounts;
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

static bool is_same_root(const struct statx *a, const struct statx *b)
{
	return a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor && a->stx_ino == b->stx_ino;
}

static bool is_same_namespace(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Of one mount, which is in one namespace: then the namespaces are the same, too. */
static bool is_same_mount(const struct statx *a, const struct statx *b)
{
	return a->stx_mask & b->stx_mask & STATX_MNT_ID && a->stx_mnt_id == b->stx_mnt_id;
}

static int find_folder(const struct place *place)
{
	for (size_t i = 0; i < held.roots.len && place->has_mounts; i++) {
		const struct place *other = &held.roots.data[i].place;
		if (other->has_mounts && is_same_namespace(&other->mounts, &place->mounts) && is_same_root(&other->root, &place->root))
			return held.roots.data[i].folder;
	}
	return -1;
}

/* Both are looked up from `proc`, an open /proc, since this is done for each process of the machine. False when we may not look there. */
static bool look_at_root(int proc, uint32_t pid, struct place *ret)
{
	char path[PROCESS_ROOT_SIZE];
	snprintf(path, sizeof(path), "%u/root", pid);
	return !statx(proc, path, 0, STATX_INO | STATX_MNT_ID, &ret->root);
}

static void look_at_mounts(int proc, uint32_t pid, struct place *ret)
{
	char path[PROCESS_ROOT_SIZE];
	snprintf(path, sizeof(path), "%u/ns/mnt", pid);
	ret->has_mounts = !fstatat(proc, path, &ret->mounts, 0);
}

/* Of a process with other mounts than ours, or another root directory. */
static void hold(uint32_t pid, const struct place *theirs, const struct place *ours)
{
	char path[PROCESS_ROOT_SIZE];
	bool other_mounts = theirs->has_mounts && ours->has_mounts && !is_same_namespace(&theirs->mounts, &ours->mounts);
	if (!other_mounts && is_same_root(&theirs->root, &ours->root))
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
	int proc = processes ? dirfd(processes) : -1;
	struct dirent *entry;
	struct place ours, theirs;
	uint32_t pid = (uint32_t)getpid();
	bool known = processes && look_at_root(proc, pid, &ours);
	if (known)
		look_at_mounts(proc, pid, &ours);
	while (known && (entry = readdir(processes))) {
		if (!number_parse_u32(entry->d_name, &pid) || !look_at_root(proc, pid, &theirs))
			continue;
		if (is_same_mount(&theirs.root, &ours.root) && is_same_root(&theirs.root, &ours.root))
			continue; /* as most are: there is no more to look at */
		look_at_mounts(proc, pid, &theirs);
		hold(pid, &theirs, &ours);
	}
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
