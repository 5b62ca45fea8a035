/* Which CPUs there are, as /sys/devices/system/cpu says. */
#pragma once

#include "base/error.h"

#include <sched.h>
#include <stddef.h>

/* The online CPUs, sorted. Without sysfs: 0 … sysconf(_SC_NPROCESSORS_ONLN) - 1. The caller frees the array. */
void cpus_online(int **ret, size_t *ret_count);

/* What CPUs have in common. */
enum cpus_unit { CPUS_SINGLE, CPUS_OF_CORE, CPUS_OF_PACKAGE, CPUS_OF_NODE };
/* Adds the CPUs that are in the same unit as `cpu` to the set, itself too. */
void cpus_mates(int cpu, enum cpus_unit unit, cpu_set_t *set);

/* A list as people type it ("0-3,7"), checked against the online ones. */
struct error *cpus_parse(const char *text, int **ret, size_t *ret_count);
