/* Records: the entries of a perf.data stream, as the kernel and the kernel's perf define them up to Linux 6.19.
 * Sources of the facts: include/uapi/linux/perf_event.h; tools/perf/Documentation/perf.data-file-format.txt. */
#pragma once

#include <stdint.h>

struct record_header {
	uint32_t type;
	uint16_t misc;
	uint16_t size; /* of the whole record, header included */
};

enum record_type {
	RECORD_MMAP = 1,
	RECORD_LOST = 2,
	RECORD_COMM = 3,
	RECORD_EXIT = 4,
	RECORD_THROTTLE = 5,
	RECORD_UNTHROTTLE = 6,
	RECORD_FORK = 7,
	RECORD_READ = 8,
	RECORD_SAMPLE = 9,
	RECORD_MMAP2 = 10,
	RECORD_AUX = 11,
	RECORD_ITRACE_START = 12,
	RECORD_LOST_SAMPLES = 13,
	RECORD_SWITCH = 14,
	RECORD_SWITCH_CPU_WIDE = 15,
	RECORD_NAMESPACES = 16,
	RECORD_KSYMBOL = 17,
	RECORD_BPF_EVENT = 18,
	RECORD_CGROUP = 19,
	RECORD_TEXT_POKE = 20,
	RECORD_AUX_OUTPUT_HW_ID = 21,
	RECORD_CALLCHAIN_DEFERRED = 22,
	RECORD_KERNEL_MAX,

	RECORD_USER_START = 64, /* written by tools, not by the kernel */
	RECORD_HEADER_ATTR = 64,
	RECORD_HEADER_EVENT_TYPE = 65,
	RECORD_HEADER_TRACING_DATA = 66,
	RECORD_HEADER_BUILD_ID = 67,
	RECORD_FINISHED_ROUND = 68,
	RECORD_ID_INDEX = 69,
	RECORD_AUXTRACE_INFO = 70,
	RECORD_AUXTRACE = 71, /* followed by `size` bytes of trace that its header doesn't count */
	RECORD_AUXTRACE_ERROR = 72,
	RECORD_THREAD_MAP = 73,
	RECORD_CPU_MAP = 74,
	RECORD_STAT_CONFIG = 75,
	RECORD_STAT = 76,
	RECORD_STAT_ROUND = 77,
	RECORD_EVENT_UPDATE = 78,
	RECORD_TIME_CONV = 79,
	RECORD_HEADER_FEATURE = 80,
	RECORD_COMPRESSED = 81,
	RECORD_FINISHED_INIT = 82,
	RECORD_COMPRESSED2 = 83,
	RECORD_BPF_METADATA = 84,
	RECORD_USER_MAX,

	/* Others' numbers. */
	RECORD_SIMPLEPERF_TRACING_DATA = 32777,
};

/* What an EVENT_UPDATE says of an event: u64 of these, u64 id, the value. */
enum event_update { EVENT_UPDATE_UNIT, EVENT_UPDATE_SCALE, EVENT_UPDATE_NAME, EVENT_UPDATE_CPUS };

/* The terms of a STAT_CONFIG: u64 count, then pairs of u64. */
enum stat_config { STAT_CONFIG_AGGR_MODE, STAT_CONFIG_INTERVAL, STAT_CONFIG_SCALE, STAT_CONFIG_AGGR_LEVEL, STAT_CONFIG_TERMS };

/* FORK and EXIT. */
struct record_task {
	struct record_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

/* LOST: so many records of the event found no room in its ring. */
struct record_lost {
	struct record_header header;
	uint64_t id, count;
};

/* What a counter has counted since the beginning. */
struct record_stat {
	struct record_header header;
	uint64_t id;
	int32_t cpu;	/* its number, -1 = any */
	int32_t thread; /* index into the THREAD_MAP */
	uint64_t value, enabled_ns, running_ns;
};

/* Ends a round of STAT records. */
struct record_stat_round {
	struct record_header header;
	uint64_t is_final; /* 0 = an interval */
	uint64_t time_ns;  /* since the beginning */
};

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

enum cpumode { CPUMODE_UNKNOWN, CPUMODE_KERNEL, CPUMODE_USER, CPUMODE_HYPERVISOR, CPUMODE_GUEST_KERNEL, CPUMODE_GUEST_USER };

/* Entries of a call chain that are no addresses but say what the following ones are. */
#define CALLCHAIN_HYPERVISOR ((uint64_t)-32)
#define CALLCHAIN_KERNEL ((uint64_t)-128)
#define CALLCHAIN_USER ((uint64_t)-512)
#define CALLCHAIN_USER_DEFERRED ((uint64_t)-640)
#define CALLCHAIN_GUEST ((uint64_t)-2048)
#define CALLCHAIN_GUEST_KERNEL ((uint64_t)-2176)
#define CALLCHAIN_GUEST_USER ((uint64_t)-2560)
#define CALLCHAIN_CONTEXT_MAX ((uint64_t)-4095) /* everything from here up is a marker */

/* The name as the kernel's perf prints it in -D and in messages ("PERF_RECORD_MMAP2"), "UNKNOWN" for none. */
const char *record_type_name(uint32_t type);
