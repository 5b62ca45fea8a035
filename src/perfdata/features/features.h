/* Header features of a perf.data: what the recorder noted about the machine. The same structure is read and written.
 * Absent ones are NULL, 0 or empty; `present` has their bits. Strings are owned by `arena`. */
#pragma once

#include "base/arena.h"
#include "base/buildid.h"
#include "base/vec.h"
#include "event/attr.h"

#include <stdbool.h>
#include <stdint.h>

enum feature {
#define PLAIN(type, number, fields, text) FEATURE_##type = number,
#define SHOWN(type, number, fields, print) FEATURE_##type = number,
#define LISTED(type, number, fields, print, detailed) FEATURE_##type = number,
#define CODED(type, number, read, write, print, detailed) FEATURE_##type = number,
#include "perfdata/features/features.def"
	FEATURE_COUNT,
};

enum { FEATURE_CARRIED_MAX = 64 << 20 };

struct feature_build_id {
	uint16_t misc; /* CPUMODE_* of the record header */
	int32_t pid;   /* -1 = host */
	struct buildid id;
	const char *filename;
};

struct feature_cpu {
	int32_t core_id, socket_id, die_id; /* -1 = unknown */
};

/* struct feature_node (memory in kB, `cpus` a list as text), feature_pmu (`type` as of perf_event_attr), feature_cache (bytes; as texts its
 * size and `map`, the CPUs that share it), feature_hybrid (a PMU of one kind of cores, and its CPUs as text). */
#define U32(member) uint32_t member;
#define U64(member) uint64_t member;
#define TEXT(member) const char *member;
#define ITEM(type, fields) \
	struct type {      \
		fields     \
	};
#include "perfdata/features/features.def"
#undef U32
#undef U64
#undef TEXT

struct feature_group {
	const char *name;
	uint32_t leader, members;
};

struct feature_mem_node {
	uint64_t node;
	uint64_t bits;		/* size of the bitmap in bits */
	const uint64_t *bitmap; /* (bits + 63) / 64 words */
};

struct feature_pmu_caps {
	const char *pmu_name; /* "cpu" for FEATURE_CPU_PMU_CAPS */
	const char *const *names;
	const char *const *values;
	uint32_t count;
};

struct feature_bpf_prog {
	const void *data; /* struct perf_bpil-like: info length, data length, arrays mask, bpf_prog_info, data */
	uint64_t size;
	uint32_t id; /* from its info */
};

struct feature_btf {
	uint32_t id;
	const void *data;
	uint32_t size;
};

/* Where in the file a record of hardware trace is, and its size without the trace. */
struct feature_trace {
	uint64_t offset, size;
};

/* One event as FEATURE_EVENT_DESC describes it; reader.events has the same, merged with what else is known. */
struct feature_event_desc {
	const char *name;
	struct event_attr attr;
	const uint64_t *ids;
	uint32_t id_count;
};

struct features {
	struct arena arena;
	uint64_t present[4]; /* 256 bits by enum feature */
	const char *hostname, *os_release, *version, *arch, *cpu_desc, *cpuid;
	uint32_t cpus_online, cpus_available;
	uint64_t total_memory_kb;
	const char **command_line; /* NULL-terminated */
	uint32_t command_line_count;
	VEC(struct feature_build_id) build_ids;
	const char **core_siblings, **die_siblings, **thread_siblings; /* lists as text, NULL-terminated or NULL */
	VEC(struct feature_cpu) cpus;				       /* by CPU number */
	bool has_dies;
	VEC(struct feature_node) numa_nodes;
	VEC(struct feature_pmu) pmus;
	VEC(struct feature_group) groups;
	VEC(struct feature_cache) caches;
	uint64_t first_sample_ns, last_sample_ns;
	uint64_t memory_block_size;
	VEC(struct feature_mem_node) memory_nodes;
	uint64_t clock_resolution_ns; /* FEATURE_CLOCKID */
	uint32_t clock_id;	      /* FEATURE_CLOCK_DATA */
	uint64_t clock_wall_ns, clock_clockid_ns;
	uint64_t dir_version;
	VEC(struct feature_bpf_prog) bpf_progs;
	VEC(struct feature_btf) btfs;
	uint32_t compress_type, compress_level, compress_ratio, compress_mmap_len;
	VEC(struct feature_pmu_caps) pmu_caps; /* CPU_PMU_CAPS and PMU_CAPS */
	VEC(struct feature_hybrid) hybrids;
	VEC(struct feature_trace) traces;	    /* FEATURE_AUXTRACE: writing only, by the writer */
	VEC(struct feature_event_desc) event_descs; /* reading only: the writer makes them from its events */
	/* FEATURE_TRACING_DATA: formats of tracepoints as trace-cmd's files hold them. Writing: owned by the arena. Reading: lives as long
	 * as the reader; the parsed form is reader.formats. */
	const void *tracing_data;
	uint64_t tracing_data_size;
	/* FEATURE_SELF_CONTAINED: what the recording brings of the files that were hit (symbol/carried/carried.h): not looked into here.
	 * Compressed in the file; damaged, or above FEATURE_CARRIED_MAX bytes, it is NULL. */
	const void *carried;
	uint64_t carried_size;
};

bool features_has(const struct features *features, unsigned int feature);
void features_set(struct features *features, unsigned int feature);
void features_deinit(struct features *features);
/* "HOSTNAME" …; NULL for an unknown bit. */
const char *feature_name(unsigned int feature);
