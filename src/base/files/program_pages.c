/* With each page that is touched the kernel maps the 64 KB around it, as far as they are in memory: after its start a program has nearly
 * all of itself and a part of each library. Mappings with pages of their own are left alone: in these, breakpoints of a debugger, probes
 * and relocations would be lost.
 */
#include "base/files/program_pages.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <sys/mman.h>

void program_pages_forget(void)
{
	cleanup_fclose FILE *maps = fopen("/proc/self/smaps", "re");
	unsigned long begin = 0, end = 0, inode, own_kb;
	char line[512], flags[5];
	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;
		if (sscanf(line, "%lx-%lx %4s %*x %*s %lu", &from, &to, flags, &inode) == 4) {
			begin = from;
			end = inode && flags[1] == '-' && flags[3] == 'p' ? to : from;
		} else if (sscanf(line, "Anonymous: %lu kB", &own_kb) == 1 && !own_kb && begin < end) {
			madvise((void *)begin, end - begin, MADV_DONTNEED);
		}
	}
}
