/* The notes of the running kernel and of its modules are files in /sys: ELF notes as they are. */
#include "symbol/kernel/running_kernel.h"

#include "base/cleanup.h"
#include "symbol/elf/elf.h"

#include <fcntl.h>
#include <string.h>

static bool read_notes(const char *path, struct buildid *ret)
{
	char notes[16384];
	size_t size = 0;
	ssize_t got;
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && size < sizeof(notes) && (got = read(fd, notes + size, sizeof(notes) - size)) > 0)
		size += (size_t)got;
	return elf_notes_build_id(notes, size, false, ret);
}

bool running_kernel_build_id(struct buildid *ret)
{
	return read_notes("/sys/kernel/notes", ret);
}

bool running_module_build_id(const char *name, struct buildid *ret)
{
	char module[128], path[256];
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	base += *base == '[';
	size_t length = strcspn(base, ".]");
	if (!length || length >= sizeof(module))
		return false;
	for (size_t i = 0; i < length; i++)
		module[i] = base[i] == '-' ? '_' : base[i];
	module[length] = '\0';
	snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", module);
	return read_notes(path, ret);
}
