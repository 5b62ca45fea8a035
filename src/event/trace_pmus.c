/* Who has PMUs that trace: by the kernel's drivers (arch/x86/events/intel, drivers/perf, drivers/hwtracing). */
#include "event/trace_pmus.h"

#include "base/number.h"
#include "base/strbuf.h"
#include "base/text.h"

#include <stddef.h>
#include <string.h>

static const struct trace_pmu {
	const char *name; /* or its beginning */
	enum trace_kind kind;
	const char *needs;
} PMUS[] = {
	{"intel_pt", TRACE_INTEL_PT,
	 "Intel's processors since Broadwell have it (intel_pt in /proc/cpuinfo); virtual machines only where the "
	 "hypervisor passes it on (kvm_intel.pt_mode=1)"},
	{"intel_bts", TRACE_INTEL_BTS,
	 "Intel's processors have it (bts in /proc/cpuinfo) where the kernel's page tables aren't isolated (nopti); "
	 "virtual machines don't"},
	{"arm_spe", TRACE_ARM_SPE,
	 "Arm's processors with the Statistical Profiling Extension have it (Neoverse N1 and newer), with the module "
	 "arm_spe_pmu and kpti=off; most virtual machines don't"},
	{"cs_etm", TRACE_CORESIGHT,
	 "Arm's processors whose firmware describes CoreSight have it, with the modules coresight-etm4x and "
	 "coresight-tmc; virtual machines don't"},
	{"hisi_ptt", TRACE_HISI_PTT, "HiSilicon's Kunpeng servers have it, with the module hisi_ptt"},
};

static const struct trace_pmu *find(const char *name)
{
	for (size_t i = 0; name && i < sizeof(PMUS) / sizeof(PMUS[0]); i++)
		if (str_starts_with(name, PMUS[i].name))
			return &PMUS[i];
	return NULL;
}

enum trace_kind trace_pmu_kind(const char *name)
{
	const struct trace_pmu *pmu = find(name);
	return pmu ? pmu->kind : TRACE_NONE;
}

const char *trace_pmu_needs(const char *name)
{
	const struct trace_pmu *pmu = find(name);
	return pmu ? pmu->needs : NULL;
}

/* The bit that is set nearest to `wanted`, below it where it can be; -1 = none is set. */
static int nearest_bit(uint64_t bits, int wanted)
{
	int found = -1;
	for (int bit = 0; bit < 64 && (found < 0 || bit <= wanted); bit++)
		if (bits >> bit & 1)
			found = bit;
	return found;
}

/* A period as a power of two, of those that `capability` lists as bits. */
static void add_period(const struct pmu *pmu, const char *enabling, const char *capability, const char *prefix, struct strbuf *out)
{
	enum { WANTED = 3 };
	const char *can = pmu_capability(pmu, enabling), *text = pmu_capability(pmu, capability);
	uint64_t bits;

	if (can && strcmp(can, "0") != 0 && text && number_parse_hex(text, &bits) && bits)
		strbuf_printf(out, ",%s=%d", prefix, nearest_bit(bits, WANTED));
}

const char *trace_pmu_defaults(const struct pmu *pmu, struct arena *arena)
{
	struct strbuf terms = {0};

	if (trace_pmu_kind(pmu->name) != TRACE_INTEL_PT)
		return NULL;
	strbuf_add_str(&terms, "tsc");
	add_period(pmu, "mtc", "mtc_periods", "mtc,mtc_period", &terms);
	add_period(pmu, "psb_cyc", "psb_periods", "psb_period", &terms);
	strbuf_add_str(&terms, ",pt,branch");
	const char *text = arena_strdup(arena, strbuf_str(&terms));
	strbuf_deinit(&terms);
	return text;
}
