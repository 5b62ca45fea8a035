/* With each page that is touched the kernel maps the 64 KB around it, as far as they are in memory: after its start a program has nearly
 * all of itself and a part of each library. Only segments that nobody can write to are let go of: in others, relocations would be lost.
 */
#include "base/files/program_pages.h"

#include "base/cleanup.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int forget(struct dl_phdr_info *info, size_t size, void *context)
{
	uintptr_t page = *(const uintptr_t *)context;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr, end = (begin + segment->p_memsz + page - 1) & ~(page - 1);
		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W))
			continue;
		begin &= ~(page - 1);
		madvise((void *)begin, end - begin, MADV_DONTNEED); /* not the kernel's vDSO, which refuses */
	}
	return 0;
}

/* A debugger's breakpoints are in pages that are a process's own. */
static bool is_debugged(void)
{
	cleanup_fclose FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	unsigned int tracer = 0;
	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "TracerPid: %u", &tracer) == 1)
			break;
	return tracer;
}

void program_pages_forget(void)
{
	if (is_debugged())
		return;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	dl_iterate_phdr(forget, &page);
}
