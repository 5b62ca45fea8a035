/* The set of header features: bits, names, and the end of its life. */
#include "perfdata/features.h"

#include <string.h>

#define NAME(feature) [FEATURE_##feature] = #feature

static const char *const names[FEATURE_COUNT] = {
	NAME(TRACING_DATA),  NAME(BUILD_ID),	  NAME(HOSTNAME),     NAME(OSRELEASE),	  NAME(VERSION),    NAME(ARCH),
	NAME(NRCPUS),	     NAME(CPUDESC),	  NAME(CPUID),	      NAME(TOTAL_MEM),	  NAME(CMDLINE),    NAME(EVENT_DESC),
	NAME(CPU_TOPOLOGY),  NAME(NUMA_TOPOLOGY), NAME(BRANCH_STACK), NAME(PMU_MAPPINGS), NAME(GROUP_DESC), NAME(AUXTRACE),
	NAME(STAT),	     NAME(CACHE),	  NAME(SAMPLE_TIME),  NAME(MEM_TOPOLOGY), NAME(CLOCKID),    NAME(DIR_FORMAT),
	NAME(BPF_PROG_INFO), NAME(BPF_BTF),	  NAME(COMPRESSED),   NAME(CPU_PMU_CAPS), NAME(CLOCK_DATA), NAME(HYBRID_TOPOLOGY),
	NAME(PMU_CAPS),
};

const char *feature_name(unsigned int feature)
{
	return feature < FEATURE_COUNT ? names[feature] : NULL;
}

bool features_has(const struct features *features, unsigned int feature)
{
	return feature < 256 && (features->present[feature / 64] >> feature % 64 & 1);
}

void features_set(struct features *features, unsigned int feature)
{
	if (feature < 256)
		features->present[feature / 64] |= (uint64_t)1 << feature % 64;
}

void features_deinit(struct features *features)
{
	vec_deinit(&features->build_ids);
	vec_deinit(&features->cpus);
	vec_deinit(&features->numa_nodes);
	vec_deinit(&features->pmus);
	vec_deinit(&features->groups);
	vec_deinit(&features->caches);
	vec_deinit(&features->memory_nodes);
	vec_deinit(&features->bpf_progs);
	vec_deinit(&features->btfs);
	vec_deinit(&features->pmu_caps);
	vec_deinit(&features->hybrids);
	vec_deinit(&features->event_descs);
	arena_deinit(&features->arena);
	memset(features, 0, sizeof(*features));
}
