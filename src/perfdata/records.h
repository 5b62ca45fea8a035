/* Records: the entries of a perf.data stream, as the kernel and the kernel's perf define them up to Linux 6.19.
 * What lies where in them is in perfdata/records.def.
 * Sources of the facts: include/uapi/linux/perf_event.h; tools/perf/Documentation/perf.data-file-format.txt. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct record_header {
	uint32_t type;
	uint16_t misc;
	uint16_t size; /* of the whole record, header included */
};

enum record_type {
#define RECORD(type, name, number, ...) RECORD_##type = number,
#define ALIKE(type, name, number, title) RECORD_##type = number,
#include "perfdata/records.def"
	RECORD_USER_MAX,
	RECORD_USER_START = 64, /* written by tools, not by the kernel */

	/* Others' numbers. */
	RECORD_SIMPLEPERF_TRACING_DATA = 32777,
};

/* What an EVENT_UPDATE says of an event: u64 of these, u64 id, the value. */
enum event_update { EVENT_UPDATE_UNIT, EVENT_UPDATE_SCALE, EVENT_UPDATE_NAME, EVENT_UPDATE_CPUS };

/* The terms of a STAT_CONFIG: u64 count, then pairs of u64. */
enum stat_config { STAT_CONFIG_AGGR_MODE, STAT_CONFIG_INTERVAL, STAT_CONFIG_SCALE, STAT_CONFIG_AGGR_LEVEL, STAT_CONFIG_TERMS };

/* record_header.misc */
enum {
	RECORD_MISC_CPUMODE = 7, /* mask of enum cpumode */
	RECORD_MISC_PROC_MAP_PARSE_TIMEOUT = 1 << 12,
	RECORD_MISC_MMAP_DATA = 1 << 13,
	RECORD_MISC_COMM_EXEC = 1 << 13,
	RECORD_MISC_FORK_EXEC =
		1 << 13, /* made up by the recorder for a process that ran already: the maps follow, don't copy the parent's */
	RECORD_MISC_SWITCH_OUT = 1 << 13,
	RECORD_MISC_EXACT_IP = 1 << 14,
	RECORD_MISC_SWITCH_OUT_PREEMPT = 1 << 14,
	RECORD_MISC_MMAP_BUILD_ID = 1 << 14,
};

/* struct record_mmap, record_comm, …: a record from its header on, native. What is OPTIONAL in a row may lie behind the record's end. */
#define U8(field) uint8_t field;
#define U16(field) uint16_t field;
#define U32(field) uint32_t field;
#define U64(field) uint64_t field;
#define S32(field) int32_t field;
#define BYTES(field, size) uint8_t field[size];
#define OPTIONAL(fields) fields
#define EITHER(bit, fields, other) \
	union {                    \
		struct {           \
			fields     \
		};                 \
		struct {           \
			other      \
		};                 \
	};
#define TEXT(field) char field[];
#define REST(field) uint8_t field[];
#define WORDS(field) uint64_t field[];
#define LIST(field, fields) \
	struct {            \
		fields      \
	} field[];
#define CPUS(field)            \
	uint16_t field##_form; \
	uint8_t field[];
#define RECORD(type, name, number, title, fields, dump, script) \
	struct record_##name {                                  \
		struct record_header header;                    \
		fields                                          \
	};
#include "perfdata/records.def"

enum cpumode { CPUMODE_UNKNOWN, CPUMODE_KERNEL, CPUMODE_USER, CPUMODE_HYPERVISOR, CPUMODE_GUEST_KERNEL, CPUMODE_GUEST_USER };

/* Whether a record tells of a guest: its processes are no host's. */
static inline bool record_is_of_guest(const struct record_header *header)
{
	const uint16_t mode = header->misc & RECORD_MISC_CPUMODE;
	return mode == CPUMODE_GUEST_KERNEL || mode == CPUMODE_GUEST_USER;
}

/* Entries of a call chain that are no addresses but say what the following ones are. */
#define CALLCHAIN_HYPERVISOR ((uint64_t)-32)
#define CALLCHAIN_KERNEL ((uint64_t)-128)
#define CALLCHAIN_USER ((uint64_t)-512)
#define CALLCHAIN_USER_DEFERRED ((uint64_t)-640)
#define CALLCHAIN_GUEST ((uint64_t)-2048)
#define CALLCHAIN_GUEST_KERNEL ((uint64_t)-2176)
#define CALLCHAIN_GUEST_USER ((uint64_t)-2560)
#define CALLCHAIN_CONTEXT_MAX ((uint64_t)-4095) /* everything from here up is a marker */

/* Whether a PERF_RECORD_MMAP2 names its file by a build-id. The bit of misc alone doesn't tell: Linux (seen in 6.18) sets it for those
 * who didn't ask for build-ids while somebody else did (perf_event_mmap_output()), and the record holds device and inode. So the size and
 * the zeros behind it have to fit, too. `header` is native; the fields behind it may be in either byte order. */
bool record_has_build_id(const struct record_header *header);
/* The name as the kernel's perf prints it in -D and in messages ("PERF_RECORD_MMAP2"), "UNKNOWN" for none. */
const char *record_type_name(uint32_t type);
