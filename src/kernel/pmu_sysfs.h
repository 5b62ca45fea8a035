/* PMUs as /sys/bus/event_source/devices describes them: type numbers, formats of their config words, named events, CPUs, capabilities. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a named value goes: its bit 0 to the lowest set bit of `mask`, and so on upwards. */
struct pmu_format {
	const char *name;
	uint32_t word; /* 0 = config, 1 = config1, 2 = config2, 3 = config3 */
	uint64_t mask;
};

/* A named event: events/NAME and its companions NAME.unit, NAME.scale, NAME.per-pkg, NAME.snapshot. */
struct pmu_alias {
	const char *name;
	const char *terms; /* "event=0x3c,umask=0x1" */
	const char *unit;  /* NULL = none */
	double scale;	   /* 1 = none */
	bool per_package, snapshot;
};

struct pmu_capability {
	const char *name, *value;
};

struct pmu {
	const char *name;
	const char *path; /* of its directory */
	uint32_t type;
	/* Filled by pmu_load_head(): */
	const char *cpus;	/* "cpumask" (uncore: where to open) or "cpus" (a core kind of a hybrid machine), NULL = any CPU */
	bool is_core;		/* counts what a CPU's core executes */
	const char *other_name; /* the file "alias": a second name (HiSilicon, s390), or NULL */
	VEC(struct pmu_capability) capabilities; /* in the order of the directory */
	/* Filled by pmu_load(), sorted by name: */
	VEC(struct pmu_format) formats;
	VEC(struct pmu_alias) aliases;
	bool head_loaded, loaded;
};

struct pmu_list {
	struct arena arena;
	VEC(struct pmu *) pmus; /* by name, numbers in it by value: uncore_imc_2 before uncore_imc_10 */
};

/* Reads names and types from `root`/sys/bus/event_source/devices (`root` "" = this machine). A machine without it has an empty list. */
struct pmu_list *pmu_list_load(const char *root);
/* NULL is fine. What was found in the list goes with it. */
void pmu_list_destroy(struct pmu_list *list);
/* Reads CPUs and capabilities of one PMU; does nothing the second time. */
void pmu_load_head(struct pmu_list *list, struct pmu *pmu);
/* Reads all of it. */
void pmu_load(struct pmu_list *list, struct pmu *pmu);
/* By its name in sysfs; NULL when there is none. */
struct pmu *pmu_by_name(const struct pmu_list *list, const char *name);
/* By its name or its second name; NULL when there is none. */
struct pmu *pmu_find(struct pmu_list *list, const char *name);

/* More kinds of cores than any machine has. */
enum { PMU_CORE_KINDS_MAX = 16 };

/* The PMUs that describe a kind of cores: one on most machines, several where cores differ (Intel's cpu_core and cpu_atom, big.LITTLE);
 * none without hardware counters. Writes at most `max` and returns how many there are. */
size_t pmu_core_kinds(struct pmu_list *list, struct pmu **ret, size_t max);
/* Bytes of a PMU's name without what numbers its instances: "uncore_imc" of uncore_imc_0, "mrvl_ddr_pmu" of mrvl_ddr_pmu_87e1b0000000. */
size_t pmu_stem(const char *name);
/* The hash that a tracer's driver gave one of its trace sinks (sinks/NAME of CoreSight); false when the PMU has no such sink. */
bool pmu_sink(const struct pmu *pmu, const char *name, uint64_t *ret);

/* The text of caps/NAME; NULL when there is none. `pmu` has its head loaded. */
const char *pmu_capability(const struct pmu *pmu, const char *name);
/* NULL when `pmu` has none of that name (the case of letters does not matter for aliases). `pmu` must be loaded. */
const struct pmu_format *pmu_format(const struct pmu *pmu, const char *name);
const struct pmu_alias *pmu_alias(const struct pmu *pmu, const char *name);
