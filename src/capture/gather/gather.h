/* What `record` notes about this machine in a recording's header. All but uname() and the program's own path comes from files under `root`,
 * so it is tested on a fake tree. */
#pragma once

#include "event/catalog.h"
#include "event/event.h"
#include "perfdata/features/features.h"

#include <time.h>

struct gather_options {
	const char *root;	       /* in front of /proc and /sys; "" or NULL = this machine */
	const char *const *arguments;  /* of the command ("record", "-a", …), NULL-terminated; NULL = not noted */
	struct event_catalog *catalog; /* PMUs */
};

/* Fills and sets HOSTNAME, OSRELEASE, VERSION, ARCH, NRCPUS, CPUDESC, CPUID, TOTAL_MEM, CMDLINE, CPU_TOPOLOGY, NUMA_TOPOLOGY, PMU_MAPPINGS,
 * CACHE, MEM_TOPOLOGY, CPU_PMU_CAPS, HYBRID_TOPOLOGY and PMU_CAPS, each where this machine has it. Nothing can fail: what cannot be read is
 * not noted. */
void gather_features(const struct gather_options *options, struct features *features);

/* The same for TRACING_DATA: the formats of the tracepoints among `events`. */
struct error *gather_tracing_data(struct event_catalog *catalog, const struct event_list *events, struct features *features);

/* CLOCKID and CLOCK_DATA, for recordings with a clock of their own (-k): its resolution, and one moment by it and by the wall clock. Call
 * it when the recording starts. */
void gather_clock(clockid_t clock, struct features *features);

/* BPF_PROG_INFO and BPF_BTF: the programs that are loaded now. */
void gather_bpf(struct features *features);
