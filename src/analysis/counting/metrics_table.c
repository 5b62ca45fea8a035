/* The metrics that every machine has, by what it can count. Clocks are in nanoseconds, duration_time in seconds. */
#include "analysis/counting/metrics.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The time that was measured: of the CPUs with -a and -C, else of the programs. */
#define CLOCK "(cpu\\-clock if #target_cpu else task\\-clock)"

/* The kernel's aliases for Intel's fixed counter of slots and its parts, which must be read as a group that it leads. */
#define TMA_OF(part) \
	"0 * slots + topdown\\-" part " / (topdown\\-retiring + topdown\\-bad\\-spec + topdown\\-fe\\-bound + topdown\\-be\\-bound)"
#define TMA(part) TMA_OF(part "\\-bound")
/* What the second level (since Sapphire Rapids) leaves of a part of the first. */
#define TMA_REST(part, of_it)                                                                                          \
	"0 * slots + max(0, topdown\\-" part " - topdown\\-" of_it ") / (topdown\\-retiring + topdown\\-bad\\-spec + " \
	"topdown\\-fe\\-bound + topdown\\-be\\-bound)"

static const struct metric metrics[] = {
	{"CPI", "Summary", "cycles / instructions", NULL, 1, "", "Cycles per instruction"},
	{"CPUs_utilized", "Default", CLOCK " / (duration_time * 1e9)", NULL, 1, "CPUs", "Average number of busy CPUs"},
	{"IPC", "Summary", "instructions / cycles", NULL, 1, "", "Instructions per cycle"},
	{"backend_bound", "TopdownL1", "stall_slot_backend / (#slots * cpu_cycles)", "backend_bound > 0.2", 100, "%",
	 "Share of slots lost to waiting for memory or execution units (Arm)"},
	{"backend_cycles_idle", "Default;Stalls", "stalled\\-cycles\\-backend / cycles", "backend_cycles_idle > 0.2", 1, "",
	 "Share of cycles stalled on memory or execution units"},
	{"bad_speculation", "TopdownL1", "(1 - op_retired / op_spec) * (1 - stall_slot / (#slots * cpu_cycles))", "bad_speculation > 0.1",
	 100, "%", "Share of slots spent on discarded work (Arm)"},
	{"branch_frequency", "Default;Branches", "branches / " CLOCK, NULL, 1000, "M/sec", "Branches per second of CPU time"},
	{"branch_miss_rate", "Default;Branches", "branch\\-misses / branches", "branch_miss_rate > 0.05", 100, "%",
	 "Share of branches that were mispredicted"},
	{"branch_mpki", "Branches", "1000 * branch\\-misses / instructions", NULL, 1, "MPKI",
	 "Mispredicted branches per 1000 instructions"},
	{"cache_miss_rate", "Cache", "cache\\-misses / cache\\-references", "cache_miss_rate > 0.2", 100, "%",
	 "Share of last-level cache accesses that miss"},
	{"cache_mpki", "Cache", "1000 * cache\\-misses / instructions", NULL, 1, "MPKI", "Last-level cache misses per 1000 instructions"},
	{"cs_per_second", "Default;Software", "context\\-switches * 1e9 / " CLOCK, NULL, 1, "cs/sec",
	 "Context switches per second of CPU time"},
	{"cycles_frequency", "Default", "cycles / " CLOCK, NULL, 1, "GHz", "Average frequency of the processor"},
	{"dtlb_miss_rate", "Cache;TLB", "dTLB\\-load\\-misses / dTLB\\-loads", "dtlb_miss_rate > 0.05", 100, "%",
	 "Share of data TLB accesses that miss"},
	{"frontend_bound", "TopdownL1", "stall_slot_frontend / (#slots * cpu_cycles)", "frontend_bound > 0.2", 100, "%",
	 "Share of slots lost to waiting for instructions (Arm)"},
	{"frontend_cycles_idle", "Default;Stalls", "stalled\\-cycles\\-frontend / cycles", "frontend_cycles_idle > 0.1", 1, "",
	 "Share of cycles stalled waiting for instructions"},
	{"insn_per_cycle", "Default", "instructions / cycles", "insn_per_cycle < 1", 1, "instructions", "Instructions per cycle"},
	{"itlb_miss_rate", "Cache;TLB", "iTLB\\-load\\-misses / iTLB\\-loads", "itlb_miss_rate > 0.05", 100, "%",
	 "Share of instruction TLB accesses that miss"},
	{"l1_prefetch_miss_rate", "Cache", "L1\\-dcache\\-prefetch\\-misses / L1\\-dcache\\-prefetches", "l1_prefetch_miss_rate > 0.05",
	 100, "%", "Share of L1 data cache prefetches that miss"},
	{"l1d_miss_rate", "Cache", "L1\\-dcache\\-load\\-misses / L1\\-dcache\\-loads", "l1d_miss_rate > 0.05", 100, "%",
	 "Share of L1 data cache loads that miss"},
	{"l1d_mpki", "Cache", "1000 * L1\\-dcache\\-load\\-misses / instructions", NULL, 1, "MPKI",
	 "L1 data cache load misses per 1000 instructions"},
	{"l1i_miss_rate", "Cache", "L1\\-icache\\-load\\-misses / L1\\-icache\\-loads", "l1i_miss_rate > 0.05", 100, "%",
	 "Share of L1 instruction cache fetches that miss"},
	{"llc_miss_rate", "Cache", "LLC\\-load\\-misses / LLC\\-loads", "llc_miss_rate > 0.05", 100, "%",
	 "Share of last-level cache loads that miss"},
	{"migrations_per_second", "Default;Software", "cpu\\-migrations * 1e9 / " CLOCK, NULL, 1, "migrations/sec",
	 "Migrations to another CPU per second of CPU time"},
	{"page_faults_per_second", "Default;Software", "page\\-faults * 1e9 / " CLOCK, NULL, 1, "faults/sec",
	 "Page faults per second of CPU time"},
	{"retiring", "TopdownL1", "op_retired / op_spec * (1 - stall_slot / (#slots * cpu_cycles))", NULL, 100, "%",
	 "Share of slots that did useful work (Arm)"},
	{"smi_cycles", "smi", "(msr@aperf@ - cycles) / msr@aperf@ if msr@smi@ > 0 else 0", "smi_cycles > 0.1", 100, "%",
	 "Share of time in system management interrupts; cycles must be frozen during them (freeze_on_smi)"},
	{"smi_num", "smi", "msr@smi@", NULL, 1, "SMI#", "System management interrupts"},
	{"stalled_cycles_per_instruction", "Default;Stalls", "max(stalled\\-cycles\\-frontend, stalled\\-cycles\\-backend) / instructions",
	 NULL, 1, "", "Stalled cycles per instruction"},
	{"tma_backend_bound", "TopdownL1", TMA("be"), "tma_backend_bound > 0.2", 100, "%",
	 "Share of slots lost to waiting for memory or execution units (Intel)"},
	{"tma_bad_speculation", "TopdownL1", TMA_OF("bad\\-spec"), "tma_bad_speculation > 0.15", 100, "%",
	 "Share of slots spent on discarded work (Intel)"},
	{"tma_branch_mispredicts", "TopdownL2", TMA_OF("br\\-mispredict"), "tma_branch_mispredicts > 0.1", 100, "%",
	 "Share of slots discarded after mispredicted branches (Intel)"},
	{"tma_core_bound", "TopdownL2", TMA_REST("be\\-bound", "mem\\-bound"), "tma_core_bound > 0.1", 100, "%",
	 "Share of slots lost to waiting for execution units (Intel)"},
	{"tma_fetch_bandwidth", "TopdownL2", TMA_REST("fe\\-bound", "fetch\\-lat"), "tma_fetch_bandwidth > 0.2", 100, "%",
	 "Share of slots lost to limited instruction fetch bandwidth (Intel)"},
	{"tma_fetch_latency", "TopdownL2", TMA_OF("fetch\\-lat"), "tma_fetch_latency > 0.1", 100, "%",
	 "Share of slots lost to instruction fetch latency (Intel)"},
	{"tma_frontend_bound", "TopdownL1", TMA("fe"), "tma_frontend_bound > 0.15", 100, "%",
	 "Share of slots lost to waiting for instructions (Intel)"},
	{"tma_heavy_operations", "TopdownL2", TMA_OF("heavy\\-ops"), "tma_heavy_operations > 0.1", 100, "%",
	 "Share of slots used by instructions of several micro-operations (Intel)"},
	{"tma_light_operations", "TopdownL2", TMA_REST("retiring", "heavy\\-ops"), "tma_light_operations > 0.6", 100, "%",
	 "Share of slots used by instructions of one micro-operation (Intel)"},
	{"tma_machine_clears", "TopdownL2", TMA_REST("bad\\-spec", "br\\-mispredict"), "tma_machine_clears > 0.1", 100, "%",
	 "Share of slots discarded for reasons other than branches (Intel)"},
	{"tma_memory_bound", "TopdownL2", TMA_OF("mem\\-bound"), "tma_memory_bound > 0.2", 100, "%",
	 "Share of slots lost to waiting for memory (Intel)"},
	{"tma_retiring", "TopdownL1", TMA_OF("retiring"), NULL, 100, "%", "Share of slots that did useful work (Intel)"},
};
enum { METRICS = sizeof(metrics) / sizeof(metrics[0]) };

const struct metric *metrics_all(size_t *ret_count)
{
	*ret_count = METRICS;
	return metrics;
}

const struct metric *metric_find(const char *name)
{
	for (size_t i = 0; i < METRICS; i++)
		if (!strcasecmp(metrics[i].name, name))
			return &metrics[i];
	return NULL;
}

bool metric_matches(const struct metric *metric, const char *name)
{
	size_t length = strlen(name);

	if (!strcasecmp(metric->name, name) || !strcasecmp(name, "all"))
		return true;
	for (const char *group = metric->groups; *group; group += strcspn(group, ";"), group += *group == ';')
		if (strcspn(group, ";") == length && !strncasecmp(group, name, length))
			return true;
	return false;
}
