/* Who has PMUs that trace: by the kernel's drivers (arch/x86/events/intel, drivers/perf, drivers/hwtracing). */
#include "event/trace_pmus.h"

#include "base/text.h"

#include <stddef.h>

const char *trace_pmu_needs(const char *name)
{
	static const struct {
		const char *name; /* or its beginning */
		const char *needs;
	} PMUS[] = {
		{"intel_pt", "Intel's processors since Broadwell have it (intel_pt in /proc/cpuinfo); virtual machines only where the "
			     "hypervisor passes it on (kvm_intel.pt_mode=1)"},
		{"intel_bts", "Intel's processors have it (bts in /proc/cpuinfo) where the kernel's page tables aren't isolated (nopti); "
			      "virtual machines don't"},
		{"arm_spe", "Arm's processors with the Statistical Profiling Extension have it (Neoverse N1 and newer), with the module "
			    "arm_spe_pmu and kpti=off; most virtual machines don't"},
		{"cs_etm", "Arm's processors whose firmware describes CoreSight have it, with the modules coresight-etm4x and "
			   "coresight-tmc; virtual machines don't"},
		{"hisi_ptt", "HiSilicon's Kunpeng servers have it, with the module hisi_ptt"},
	};
	for (size_t i = 0; i < sizeof(PMUS) / sizeof(PMUS[0]); i++)
		if (str_starts_with(name, PMUS[i].name))
			return PMUS[i].needs;
	return NULL;
}
