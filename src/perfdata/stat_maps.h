/* What the records in front of counts tell (recordings of `perf stat record`): which CPUs and threads were counted, and how. Records are in
 * native byte order. Facts: include/perf/event.h of the kernel tool's library, and recordings. */
#pragma once

#include "perfdata/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a CPU_MAP: their numbers, -1 = any, freed by the caller. At most 65536. */
int *stat_map_cpus(const struct record_header *header, size_t *ret_count);

struct stat_map_thread {
	int32_t tid;	  /* -1 = any */
	const char *name; /* in the record, not terminated */
	size_t name_length;
};
/* The thread at `index` of a THREAD_MAP; false when there is none. */
bool stat_map_thread(const struct record_header *header, size_t index, struct stat_map_thread *ret);

/* Of a STAT_CONFIG: the value of a term (enum stat_config); false when it isn't told. */
bool stat_map_config(const struct record_header *header, uint64_t term, uint64_t *ret);
