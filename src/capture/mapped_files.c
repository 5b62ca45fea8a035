#include "capture/mapped_files.h"

#include "base/mem.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is mapped can be opened by who has CAP_CHECKPOINT_RESTORE, or CAP_SYS_ADMIN before Linux 5.9; the program that a process runs by
 * whoever may look at the process. */
char *mapped_files_path(const struct dso *dso)
{
	const struct dso_place *place = &dso->place;
	struct stat status;

	if (!place->pid)
		return NULL;
	char *path =
		mem_printf("/proc/%u/map_files/%llx-%llx", place->pid, (unsigned long long)place->start, (unsigned long long)place->end);
	if (!access(path, R_OK))
		return path;
	free(path);
	path = mem_printf("/proc/%u/exe", place->pid);
	if (!stat(path, &status) && status.st_ino == dso->inode)
		return path;
	free(path);
	return NULL;
}
