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

struct held_root {
	uint32_t pid;
	int folder;
	bool other_mounts;
	dev_t device;
	ino_t inode;
};

static struct held {
	VEC(struct held_root) roots;
	size_t folders; /* that are open */
	bool only_these;
} held;

static int find_folder(const struct stat *status)
{
	for (size_t i = 0; i < held.roots.len; i++)
		if (held.roots.data[i].device == status->st_dev && held.roots.data[i].inode == status->st_ino)
			return held.roots.data[i].folder;
	return -1;
}

/* Of a process with other mounts than ours, or another root directory. */
static void hold(uint32_t pid)
{
	char path[PROCESS_ROOT_SIZE];
	struct stat status, ours;
	bool other_mounts = process_has_other_mounts("/proc", pid);
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return;
	int same = fstat(folder, &status) ? -1 : find_folder(&status);
	bool plain = !other_mounts && !stat("/", &ours) && status.st_dev == ours.st_dev && status.st_ino == ours.st_ino;
	if (plain || same >= 0 || held.folders == HELD_MOST) {
		close(folder);
		folder = plain ? -1 : same;
	} else {
		held.folders++;
	}
	if (folder >= 0)
		vec_push(&held.roots, (struct held_root){pid, folder, other_mounts, status.st_dev, status.st_ino});
}

void process_roots_keep(void)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	uint32_t pid;
	while (processes && (entry = readdir(processes)))
		if (number_parse_u32(entry->d_name, &pid))
			hold(pid);
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
