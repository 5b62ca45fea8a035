/* The catalog: what this machine can measure beyond the built-in names. PMUs and tracepoints are looked up when first asked for. */
#pragma once

#include "base/error.h"
#include "kernel/pmu_sysfs.h"
#include "kernel/tracefs.h"

struct event_catalog;

/* `root` is put before /sys; "" = this machine, tests give a fake tree. */
struct event_catalog *event_catalog_create(const char *root);
void event_catalog_destroy(struct event_catalog *catalog);

/* Every PMU; pmu_load() reads the details of one. Lives as long as the catalog. */
struct pmu_list *event_catalog_pmus(struct event_catalog *catalog);

/* Where tracefs is; the error says why there is none. Lives as long as the catalog. */
struct error *event_catalog_tracefs(struct event_catalog *catalog, const char **ret_path);
