/* What the files that gather header features share. */
#pragma once

#include "capture/gather/gather.h"

/* The first line of the file root + path, in the arena; NULL when it cannot be read. */
const char *gather_line(struct features *features, const char *root, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A number in such a file (hexadecimal with 0x); `otherwise` when it cannot be read. */
int64_t gather_number(const char *root, int64_t otherwise, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* CPU_TOPOLOGY, CACHE for CPUs 0 … cpus-1; NUMA_TOPOLOGY and MEM_TOPOLOGY. */
void gather_cpu_topology(struct features *features, const char *root, uint32_t cpus);
void gather_caches(struct features *features, const char *root, uint32_t cpus);
void gather_numa(struct features *features, const char *root);
void gather_memory(struct features *features, const char *root);
