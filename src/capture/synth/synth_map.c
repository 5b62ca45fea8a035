/* A map of a process and the name of a thread as records. */
#include "capture/synth/synth_internal.h"

#include <string.h>
#include <sys/mman.h>

void synth_map(struct synth *synth, const struct map_description *map, bool kernel)
{
	const struct record_mmap2 record = {
		.header.misc = (kernel ? CPUMODE_KERNEL : CPUMODE_USER) | (map->prot & PROT_EXEC ? 0 : RECORD_MISC_MMAP_DATA),
		.pid = map->pid,
		.tid = map->tid,
		.start = map->start,
		.length = map->end - map->start,
		.pgoff = map->pgoff,
		.major = map->major,
		.minor = map->minor,
		.inode = map->inode,
		.inode_generation = map->inode_generation,
		.prot = map->prot,
		.flags = map->flags,
	};
	synth_put_mmap2(synth, record, &map->build_id, map->name, strlen(map->name));
}

void synth_comm(struct synth *synth, uint32_t pid, uint32_t tid, const char *name, size_t length)
{
	const struct record_comm record = {.header.type = RECORD_COMM, .pid = pid, .tid = tid};
	synth_put(synth, &record, sizeof(record), name, length);
}
