/* Tables of the generic events. The numbers are the kernel's (include/uapi/linux/perf_event.h); the spellings are those of the kernel's
 * perf. */
#include "event/builtin.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HARDWARE(name, alias, number, description)                                                    \
	{                                                                                             \
		name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##number, EVENT_TOOL_NONE, description \
	}
#define SOFTWARE(name, alias, number, description)                                                    \
	{                                                                                             \
		name, alias, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##number, EVENT_TOOL_NONE, description \
	}
#define TOOL(name, number, description)                                                               \
	{                                                                                             \
		name, NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, EVENT_TOOL_##number, description \
	}

static const struct builtin_event events[] = {
	HARDWARE("branch-instructions", "branches", BRANCH_INSTRUCTIONS, "Branch instructions retired"),
	HARDWARE("branch-misses", NULL, BRANCH_MISSES, "Mispredicted branches"),
	HARDWARE("bus-cycles", NULL, BUS_CYCLES, "Bus cycles, independent of the core's frequency"),
	HARDWARE("cache-misses", NULL, CACHE_MISSES, "Cache misses, usually of the last level"),
	HARDWARE("cache-references", NULL, CACHE_REFERENCES, "Cache accesses, usually to the last level"),
	HARDWARE("cpu-cycles", "cycles", CPU_CYCLES, "Core cycles, at the current frequency"),
	HARDWARE("instructions", NULL, INSTRUCTIONS, "Instructions retired"),
	HARDWARE("ref-cycles", NULL, REF_CPU_CYCLES, "Reference cycles, independent of the core's frequency"),
	HARDWARE("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND, "Cycles stalled on operands or execution units"),
	HARDWARE("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND,
		 "Cycles in which fetch and decode delivered no instructions"),
	SOFTWARE("alignment-faults", NULL, ALIGNMENT_FAULTS, "Unaligned accesses emulated by the kernel (none on x86)"),
	SOFTWARE("bpf-output", NULL, BPF_OUTPUT, "Output of BPF programs; counts nothing by itself"),
	SOFTWARE("cgroup-switches", NULL, CGROUP_SWITCHES, "Context switches to a task of another control group"),
	SOFTWARE("context-switches", "cs", CONTEXT_SWITCHES, "Context switches on a CPU"),
	SOFTWARE("cpu-clock", NULL, CPU_CLOCK, "CPU clock in nanoseconds, for sampling without hardware counters"),
	SOFTWARE("cpu-migrations", "migrations", CPU_MIGRATIONS, "Migrations of a task to another CPU"),
	SOFTWARE("dummy", NULL, DUMMY, "Counts nothing; carries side-band records about processes and files"),
	SOFTWARE("emulation-faults", NULL, EMULATION_FAULTS, "Instructions emulated by the kernel"),
	SOFTWARE("major-faults", NULL, PAGE_FAULTS_MAJ, "Page faults that required disk access"),
	SOFTWARE("minor-faults", NULL, PAGE_FAULTS_MIN, "Page faults served from memory"),
	SOFTWARE("page-faults", "faults", PAGE_FAULTS, "Page faults of both kinds"),
	SOFTWARE("task-clock", NULL, TASK_CLOCK, "CPU time of the task, in nanoseconds"),
	TOOL("duration_time", DURATION_TIME, "Elapsed time of the measurement, in nanoseconds (perf stat)"),
	TOOL("user_time", USER_TIME, "User CPU time of the command and its children, in nanoseconds (perf stat)"),
	TOOL("system_time", SYSTEM_TIME, "System CPU time of the command and its children, in nanoseconds (perf stat)"),
};

const struct builtin_event *builtin_events(size_t *ret_count)
{
	*ret_count = sizeof(events) / sizeof(events[0]);
	return events;
}

static bool is_name(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && !memcmp(name, text, len);
}

const struct builtin_event *builtin_find(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (is_name(events[i].name, name, len) || is_name(events[i].alias, name, len))
			return &events[i];
	return NULL;
}

/* Spellings of one number of each part of a cache event; the first is the usual one. */
#define SPELLINGS 8

static const char *const caches[PERF_COUNT_HW_CACHE_MAX][SPELLINGS] = {
	[PERF_COUNT_HW_CACHE_L1D] = {"L1-dcache", "l1-d", "l1d", "L1-data"},
	[PERF_COUNT_HW_CACHE_L1I] = {"L1-icache", "l1-i", "l1i", "L1-instruction"},
	[PERF_COUNT_HW_CACHE_LL] = {"LLC", "L2"},
	[PERF_COUNT_HW_CACHE_DTLB] = {"dTLB", "d-tlb", "Data-TLB"},
	[PERF_COUNT_HW_CACHE_ITLB] = {"iTLB", "i-tlb", "Instruction-TLB"},
	[PERF_COUNT_HW_CACHE_BPU] = {"branch", "branches", "bpu", "btb", "bpc"},
	[PERF_COUNT_HW_CACHE_NODE] = {"node"},
};

static const char *const operations[PERF_COUNT_HW_CACHE_OP_MAX][SPELLINGS] = {
	[PERF_COUNT_HW_CACHE_OP_READ] = {"load", "loads", "read"},
	[PERF_COUNT_HW_CACHE_OP_WRITE] = {"store", "stores", "write"},
	[PERF_COUNT_HW_CACHE_OP_PREFETCH] = {"prefetch", "prefetches", "speculative-read", "speculative-load"},
};

static const char *const results[PERF_COUNT_HW_CACHE_RESULT_MAX][SPELLINGS] = {
	[PERF_COUNT_HW_CACHE_RESULT_ACCESS] = {"refs", "Reference", "ops", "access"},
	[PERF_COUNT_HW_CACHE_RESULT_MISS] = {"misses", "miss"},
};

/* Which operations a cache knows: bits of 1 << PERF_COUNT_HW_CACHE_OP_*. */
static const unsigned int valid_operations[PERF_COUNT_HW_CACHE_MAX] = {
	[PERF_COUNT_HW_CACHE_L1D] = 7,	[PERF_COUNT_HW_CACHE_L1I] = 5, [PERF_COUNT_HW_CACHE_LL] = 7,   [PERF_COUNT_HW_CACHE_DTLB] = 7,
	[PERF_COUNT_HW_CACHE_ITLB] = 1, [PERF_COUNT_HW_CACHE_BPU] = 1, [PERF_COUNT_HW_CACHE_NODE] = 7,
};

/* The longest spelling that `text` starts with and after which a '-' or the end comes. Returns its length, 0 for none. */
static size_t match_part(const char *text, size_t len, const char *const table[][SPELLINGS], unsigned int rows, unsigned int *ret)
{
	size_t best = 0;

	for (unsigned int row = 0; row < rows; row++)
		for (unsigned int i = 0; i < SPELLINGS && table[row][i]; i++) {
			size_t size = strlen(table[row][i]);
			if (size <= best || size > len || strncasecmp(text, table[row][i], size) || (size < len && text[size] != '-'))
				continue;
			best = size;
			*ret = row;
		}
	return best;
}

bool builtin_find_cache(const char *name, size_t len, uint64_t *ret_config)
{
	unsigned int cache, operation = 0, result = 0, value;
	bool have_operation = false, have_result = false;
	size_t at = match_part(name, len, caches, PERF_COUNT_HW_CACHE_MAX, &cache);

	if (!at)
		return false;
	while (at < len) {
		const char *part = name + at + 1;
		size_t left = len - at - 1, size;
		if (!have_operation && (size = match_part(part, left, operations, PERF_COUNT_HW_CACHE_OP_MAX, &value))) {
			operation = value;
			have_operation = true;
		} else if (!have_result && (size = match_part(part, left, results, PERF_COUNT_HW_CACHE_RESULT_MAX, &value))) {
			result = value;
			have_result = true;
		} else {
			return false;
		}
		at += 1 + size;
	}
	*ret_config = cache | (uint64_t)operation << 8 | (uint64_t)result << 16;
	return (valid_operations[cache] >> operation) & 1;
}

void builtin_visit_cache(void (*visit)(void *context, const char *name, uint64_t config), void *context)
{
	for (unsigned int cache = 0; cache < PERF_COUNT_HW_CACHE_MAX; cache++)
		for (unsigned int operation = 0; operation < PERF_COUNT_HW_CACHE_OP_MAX; operation++)
			for (unsigned int result = 0; result < PERF_COUNT_HW_CACHE_RESULT_MAX; result++) {
				char name[64];
				if (!((valid_operations[cache] >> operation) & 1))
					continue;
				if (result == PERF_COUNT_HW_CACHE_RESULT_MISS)
					snprintf(name, sizeof(name), "%s-%s-misses", caches[cache][0], operations[operation][0]);
				else
					snprintf(name, sizeof(name), "%s-%s", caches[cache][0], operations[operation][1]);
				visit(context, name, cache | (uint64_t)operation << 8 | (uint64_t)result << 16);
			}
}

void builtin_describe_cache(uint64_t config, char *buffer, size_t size)
{
	static const char *const verbs[] = {"Loads from", "Stores to", "Prefetches into"};
	static const char *const objects[PERF_COUNT_HW_CACHE_MAX] = {
		[PERF_COUNT_HW_CACHE_L1D] = "the level 1 data cache",
		[PERF_COUNT_HW_CACHE_L1I] = "the level 1 instruction cache",
		[PERF_COUNT_HW_CACHE_LL] = "the last level cache",
		[PERF_COUNT_HW_CACHE_DTLB] = "the data TLB",
		[PERF_COUNT_HW_CACHE_ITLB] = "the instruction TLB",
		[PERF_COUNT_HW_CACHE_BPU] = "the branch predictor",
		[PERF_COUNT_HW_CACHE_NODE] = "the memory of the local NUMA node",
	};
	uint64_t cache = config & 0xff, operation = config >> 8 & 0xff, result = config >> 16 & 0xff;

	snprintf(buffer, size, "%s %s%s", verbs[operation], objects[cache],
		 result == PERF_COUNT_HW_CACHE_RESULT_MISS ? " that missed" : "");
}
