/* Our own vDSO: the kernel tells its address (AT_SYSINFO_EHDR), /proc/self/maps its size. */
#include "symbol/elf/vdso.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

static size_t vdso_size(unsigned long address)
{
	cleanup_fclose FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long start, end;
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start == address)
			return end - start;
	return 0;
}

bool vdso_open(const struct buildid *id, struct elf_file *ret)
{
	unsigned long address = getauxval(AT_SYSINFO_EHDR);
	size_t size = address ? vdso_size(address) : 0;
	if (!size)
		return false;
	void *copy = mem_alloc(size);
	memcpy(copy, (const void *)address, size);
	struct error *error = elf_open_memory(copy, size, "[vdso]", ret);
	if (error) {
		error_free(error);
		return false;
	}
	if (!id->size || buildid_equal(id, &ret->build_id))
		return true;
	elf_close(ret);
	return false;
}
