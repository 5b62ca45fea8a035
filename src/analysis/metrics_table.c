/* The metrics that every machine has, by what it can count. Clocks are in nanoseconds, duration_time in seconds. */
#include "analysis/metrics.h"

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

static const struct metric metrics[] = {
	{"CPI", "Summary", "cycles / instructions", NULL, 1, "", "Cycles for each instruction"},
	{"CPUs_utilized", "Default", CLOCK " / (duration_time * 1e9)", NULL, 1, "CPUs", "How many CPUs were busy on average"},
	{"IPC", "Summary", "instructions / cycles", NULL, 1, "", "Instructions in each cycle"},
	{"backend_bound", "TopdownL1", "stall_slot_backend / (#slots * cpu_cycles)", "backend_bound > 0.2", 100, "%",
	 "Share of the processor's slots lost to waiting for memory or execution units (Arm)"},
	{"backend_cycles_idle", "Default;Stalls", "stalled\\-cycles\\-backend / cycles", "backend_cycles_idle > 0.2", 1, "",
	 "Share of cycles that wait for memory or execution units"},
	{"bad_speculation", "TopdownL1", "(1 - op_retired / op_spec) * (1 - stall_slot / (#slots * cpu_cycles))", "bad_speculation > 0.1", 100,
	 "%", "Share of the processor's slots spent on work that was thrown away (Arm)"},
	{"branch_frequency", "Default;Branches", "branches / " CLOCK, NULL, 1000, "M/sec", "Branches in each second of running"},
	{"branch_miss_rate", "Default;Branches", "branch\\-misses / branches", "branch_miss_rate > 0.05", 100, "%",
	 "Share of branches that were guessed wrong"},
	{"branch_mpki", "Branches", "1000 * branch\\-misses / instructions", NULL, 1, "MPKI", "Wrongly guessed branches in 1000 instructions"},
	{"cache_miss_rate", "Cache", "cache\\-misses / cache\\-references", "cache_miss_rate > 0.2", 100, "%",
	 "Share of accesses to the last cache that go on to memory"},
	{"cache_mpki", "Cache", "1000 * cache\\-misses / instructions", NULL, 1, "MPKI", "Misses of the last cache in 1000 instructions"},
	{"cs_per_second", "Default;Software", "context\\-switches * 1e9 / " CLOCK, NULL, 1, "cs/sec",
	 "Context switches in each second of running"},
	{"cycles_frequency", "Default", "cycles / " CLOCK, NULL, 1, "GHz", "How fast the processor ran"},
	{"dtlb_miss_rate", "Cache;TLB", "dTLB\\-load\\-misses / dTLB\\-loads", "dtlb_miss_rate > 0.05", 100, "%",
	 "Share of data accesses whose address translation was not at hand"},
	{"frontend_bound", "TopdownL1", "stall_slot_frontend / (#slots * cpu_cycles)", "frontend_bound > 0.2", 100, "%",
	 "Share of the processor's slots lost to waiting for instructions (Arm)"},
	{"frontend_cycles_idle", "Default;Stalls", "stalled\\-cycles\\-frontend / cycles", "frontend_cycles_idle > 0.1", 1, "",
	 "Share of cycles that wait for instructions"},
	{"insn_per_cycle", "Default", "instructions / cycles", "insn_per_cycle < 1", 1, "instructions", "Instructions in each cycle"},
	{"itlb_miss_rate", "Cache;TLB", "iTLB\\-load\\-misses / iTLB\\-loads", "itlb_miss_rate > 0.05", 100, "%",
	 "Share of instruction fetches whose address translation was not at hand"},
	{"l1_prefetch_miss_rate", "Cache", "L1\\-dcache\\-prefetch\\-misses / L1\\-dcache\\-prefetches", "l1_prefetch_miss_rate > 0.05", 100,
	 "%", "Share of prefetches into the first data cache that miss it"},
	{"l1d_miss_rate", "Cache", "L1\\-dcache\\-load\\-misses / L1\\-dcache\\-loads", "l1d_miss_rate > 0.05", 100, "%",
	 "Share of loads that miss the first data cache"},
	{"l1d_mpki", "Cache", "1000 * L1\\-dcache\\-load\\-misses / instructions", NULL, 1, "MPKI",
	 "Loads that miss the first data cache in 1000 instructions"},
	{"l1i_miss_rate", "Cache", "L1\\-icache\\-load\\-misses / L1\\-icache\\-loads", "l1i_miss_rate > 0.05", 100, "%",
	 "Share of fetches that miss the first instruction cache"},
	{"llc_miss_rate", "Cache", "LLC\\-load\\-misses / LLC\\-loads", "llc_miss_rate > 0.05", 100, "%",
	 "Share of loads that miss the last cache"},
	{"migrations_per_second", "Default;Software", "cpu\\-migrations * 1e9 / " CLOCK, NULL, 1, "migrations/sec",
	 "Moves to another CPU in each second of running"},
	{"page_faults_per_second", "Default;Software", "page\\-faults * 1e9 / " CLOCK, NULL, 1, "faults/sec",
	 "Page faults in each second of running"},
	{"retiring", "TopdownL1", "op_retired / op_spec * (1 - stall_slot / (#slots * cpu_cycles))", NULL, 100, "%",
	 "Share of the processor's slots that did useful work (Arm)"},
	{"stalled_cycles_per_instruction", "Default;Stalls", "max(stalled\\-cycles\\-frontend, stalled\\-cycles\\-backend) / instructions", NULL,
	 1, "", "Cycles lost to waiting for each instruction"},
	{"tma_backend_bound", "TopdownL1", TMA("be"), "tma_backend_bound > 0.2", 100, "%",
	 "Share of the processor's slots lost to waiting for memory or execution units (Intel)"},
	{"tma_bad_speculation", "TopdownL1", TMA_OF("bad\\-spec"), "tma_bad_speculation > 0.15", 100, "%",
	 "Share of the processor's slots spent on work that was thrown away (Intel)"},
	{"tma_frontend_bound", "TopdownL1", TMA("fe"), "tma_frontend_bound > 0.15", 100, "%",
	 "Share of the processor's slots lost to waiting for instructions (Intel)"},
	{"tma_retiring", "TopdownL1", TMA_OF("retiring"), NULL, 100, "%", "Share of the processor's slots that did useful work (Intel)"},
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
