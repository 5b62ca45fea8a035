/* Which CPUs there are, as /sys/devices/system/cpu says. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* The online CPUs, sorted. Without sysfs: 0 … sysconf(_SC_NPROCESSORS_ONLN) - 1. The caller frees the array. */
void cpus_online(int **ret, size_t *ret_count);

/* A list as people type it ("0-3,7"), checked against the online ones. */
struct error *cpus_parse(const char *text, int **ret, size_t *ret_count);
