/* The catalog: what this machine can measure beyond the built-in names. PMUs and tracepoints are looked up when first asked for. */
#pragma once

#include "base/error.h"
#include "event/tracepoint/tracepoint.h"
#include "kernel/pmu_sysfs.h"
#include "kernel/tracing/tracefs.h"

struct event_catalog;

/* `root` is put before /sys; "" = this machine, tests give a fake tree. */
struct event_catalog *event_catalog_create(const char *root);
void event_catalog_destroy(struct event_catalog *catalog);

/* Every PMU; pmu_load() reads the details of one. Lives as long as the catalog. */
struct pmu_list *event_catalog_pmus(struct event_catalog *catalog);

/* --cputype: events of the cores are only those of one kind of cores, by its PMU's name, with or without "cpu_" (core, atom). An error when
 * there is no such kind. */
struct error *event_catalog_choose_cores(struct event_catalog *catalog, const char *kind);
/* The PMUs of the kinds of cores when there are several, only the chosen one then; writes at most `max` and returns how many. 0 on machines
 * where all cores are of one kind. */
size_t event_catalog_core_kinds(struct event_catalog *catalog, struct pmu **ret, size_t max);

/* False for a kind of cores that was not chosen. `pmu` has its head loaded. */
bool event_catalog_is_chosen(const struct event_catalog *catalog, const struct pmu *pmu);

/* Where tracefs is; the error says why there is none. Lives as long as the catalog. */
struct error *event_catalog_tracefs(struct event_catalog *catalog, const char **ret_path);
/* Adds the running kernel's format of a tracepoint to `formats`. */
struct error *event_catalog_add_format(struct event_catalog *catalog, const char *system, const char *name,
				       struct tracepoint_formats *formats);
