/* Where groups are: distributions mount version 1 below /sys/fs/cgroup, version 2 on it or, beside version 1, in "unified". A directory of
 * another file system of the same name is none. */
#include "kernel/cgroups.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
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
