/* A map of a process as a record. */
#include "capture/synth_internal.h"

#include <string.h>
#include <sys/mman.h>

void synth_map(struct synth *synth, const struct map_description *map, bool kernel)
{
	uint16_t misc = kernel ? CPUMODE_KERNEL : CPUMODE_USER;
	misc |= map->prot & PROT_EXEC ? 0 : RECORD_MISC_MMAP_DATA;
	misc |= map->build_id.size ? RECORD_MISC_MMAP_BUILD_ID : 0;
	size_t begin = synth_begin(synth, RECORD_MMAP2, misc);
	synth_put_u32(synth, map->pid);
	synth_put_u32(synth, map->tid);
	synth_put_u64(synth, map->start);
	synth_put_u64(synth, map->end - map->start);
	synth_put_u64(synth, map->pgoff);
	if (map->build_id.size) {
		synth_put_build_id(synth, &map->build_id);
	} else {
		synth_put_u32(synth, map->major);
		synth_put_u32(synth, map->minor);
		synth_put_u64(synth, map->inode);
		synth_put_u64(synth, map->inode_generation);
	}
	synth_put_u32(synth, map->prot);
	synth_put_u32(synth, map->flags);
	synth_put_string(synth, map->name, strlen(map->name));
	synth_end(synth, begin);
}
