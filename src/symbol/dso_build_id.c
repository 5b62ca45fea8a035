/* By the kind of what is mapped: each keeps its build-id elsewhere. */
#include "symbol/dso_build_id.h"

#include "base/cleanup.h"
#include "base/files/process_file.h"
#include "base/mem.h"
#include "symbol/elf/elf.h"
#include "symbol/elf/vdso.h"
#include "symbol/kernel/running_kernel.h"

#include <stdlib.h>
#include <unistd.h>

/* Where the file is for us: below /proc/PID/root when its process sees another file system. */
static char *visible_path(const struct dso *dso)
{
	char root[PROCESS_ROOT_SIZE];
	if (!dso->pid || !process_root("/proc", dso->pid, root))
		return mem_strdup(dso->name);
	char *inside = process_root_path(root, dso->name, NULL);
	/* What the kernel says of a process in a chroot begins outside of it. */
	if (inside && access(inside, F_OK) == 0)
		return inside;
	free(inside);
	return mem_strdup(dso->name);
}

bool dso_read_build_id(const struct dso *dso, struct buildid *ret)
{
	static const struct buildid any;
	struct elf_file vdso;

	if (dso->build_id.size) {
		*ret = dso->build_id;
		return true;
	}
	if (dso->guest_pid) /* what is here says nothing of what is there */
		return false;
	switch (dso->kind) {
	case DSO_KERNEL:
		return running_kernel_build_id(ret);
	case DSO_KERNEL_MODULE:
		return running_module_build_id(dso->name, ret);
	case DSO_VDSO:
		if (!vdso_open(&any, &vdso))
			return false;
		*ret = vdso.build_id;
		elf_close(&vdso);
		return ret->size > 0;
	case DSO_FILE: {
		cleanup_free char *path = visible_path(dso);
		return elf_read_build_id(path, ret);
	}
	default:
		return false;
	}
}

/* It says no more about which file the dso is than a header's table would. */
void dso_learn_build_id(struct dso *dso)
{
	struct buildid id;
	if (dso->build_id.size || !dso_read_build_id(dso, &id))
		return;
	dso->build_id = id;
	dso->header_build_id = true;
}
