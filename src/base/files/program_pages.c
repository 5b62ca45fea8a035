/* With each page that is touched the kernel maps the 64 KB around it, as far as they are in memory: after its start a program has nearly
 * all of itself and a part of each library. Only segments that nobody can write to are let go of: in others, relocations would be lost.
 */
#include "base/files/program_pages.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
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

void program_pages_forget(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	dl_iterate_phdr(forget, &page);
}
