/* Files of other processes. */
#include "base/files/process_file.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

bool owner_is_trusted(uid_t owner)
{
	return !owner || owner == geteuid();
}

bool own_directory(const char *directory, const char *name)
{
	struct stat link, status;
	cleanup_free char *path = mem_printf("%s/%s", directory, name);
	if (lstat(path, &link))
		return stat(directory, &status) || owner_is_trusted(status.st_uid);
	return owner_is_trusted(link.st_uid) && (stat(path, &status) || owner_is_trusted(status.st_uid));
}

char *home_cache_directory(bool *ret_foreign)
{
	const char *home = getenv("HOME");
	bool own = home && *home && own_directory(home, ".debug");
	if (ret_foreign)
		*ret_foreign = home && *home && !own;
	return own ? mem_printf("%s/.debug", home) : NULL;
}

bool process_has_other_mounts(const char *proc, uint32_t pid)
{
	char path[64];
	struct stat theirs, ours;
	snprintf(path, sizeof(path), "%s/%u/ns/mnt", proc, pid);
	if (stat(path, &theirs))
		return false;
	snprintf(path, sizeof(path), "%s/self/ns/mnt", proc);
	return !stat(path, &ours) && (theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino);
}

/* ---- paths below another root ---- */

enum { LINKS_MAX = 40 }; /* as the kernel has it */

struct walk {
	struct strbuf path; /* of what was passed: no links in it */
	size_t root;	    /* length of the root's path */
	char *rest;	    /* still to go */
	unsigned int links;
	bool foreign;
};

/* Goes on with what the link at the end of the path says. False when it is one too many. */
static bool follow(struct walk *walk, size_t parent, const struct stat *status)
{
	char target[PATH_MAX];
	ssize_t length = readlink(walk->path.data, target, sizeof(target) - 1);
	if (length <= 0 || ++walk->links > LINKS_MAX)
		return false;
	target[length] = '\0';
	walk->foreign |= !owner_is_trusted(status->st_uid);
	walk->path.len = *target == '/' ? walk->root : parent;
	strbuf_add_str(&walk->path, "");
	char *rest = mem_printf("%s/%s", target, walk->rest);
	free(walk->rest);
	walk->rest = rest;
	return true;
}

/* Takes the next part of the path: "..", which stops at the root, a name, or a link. */
static bool step(struct walk *walk)
{
	struct stat status;
	size_t parent = walk->path.len, slashes = strspn(walk->rest, "/"), length = strcspn(walk->rest + slashes, "/");
	const char *part = walk->rest + slashes;
	bool up = length == 2 && !memcmp(part, "..", 2), here = !length || (length == 1 && *part == '.');
	if (up)
		while (walk->path.len > walk->root && walk->path.data[--walk->path.len] != '/')
			;
	else if (!here)
		strbuf_printf(&walk->path, "/%.*s", (int)length, part);
	strbuf_add_str(&walk->path, "");
	memmove(walk->rest, part + length, strlen(part + length) + 1);
	if (up || here || lstat(walk->path.data, &status) || !S_ISLNK(status.st_mode))
		return true;
	return follow(walk, parent, &status);
}

char *process_root_path(const char *root, const char *name, bool *ret_foreign)
{
	struct walk walk = {.root = strlen(root), .rest = mem_strdup(name)};
	bool good = true;
	strbuf_add_str(&walk.path, root);
	while (good && *walk.rest)
		good = step(&walk);
	free(walk.rest);
	if (ret_foreign)
		*ret_foreign = walk.foreign;
	if (good)
		return strbuf_detach(&walk.path);
	strbuf_deinit(&walk.path);
	return NULL;
}

/* The kernel resolves the path where it can (Linux 5.6), so that nobody can exchange a directory for a link meanwhile. */
static int open_below(const char *root, const char *name, const char *resolved)
{
	enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, TRIES = 1000 };
	if (!*root)
		return open(resolved, FLAGS | O_NOFOLLOW);
	cleanup_close int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct open_how how = {.flags = FLAGS, .resolve = RESOLVE_IN_ROOT};
	int fd = -1;
	/* EAGAIN: something was renamed meanwhile, anywhere on the machine. */
	for (int i = 0; directory >= 0 && i < TRIES && (!i || (fd < 0 && errno == EAGAIN)); i++)
		fd = (int)syscall(__NR_openat2, directory, name, &how, sizeof(how));
	return directory < 0 || fd >= 0 || (errno != ENOSYS && errno != EPERM) ? fd : open(resolved, FLAGS | O_NOFOLLOW);
}

int process_file_open(const char *root, const char *name, bool any_owner, bool *ret_foreign)
{
	struct stat status;
	bool foreign_link;
	cleanup_free char *resolved = process_root_path(root, name, &foreign_link);
	cleanup_close int fd = resolved ? open_below(root, name, resolved) : -1;
	if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode))
		return -1;
	if (any_owner || (owner_is_trusted(status.st_uid) && !foreign_link))
		return take_fd(fd);
	log_warning("%s%s %s and is not used; -f uses it anyway", root, name,
		    foreign_link ? "is a symbolic link of another user" : "belongs to another user");
	*ret_foreign = true;
	return -1;
}
