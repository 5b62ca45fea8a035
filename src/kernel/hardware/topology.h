/* Where a CPU sits, as /sys/devices/system describes it. */
#pragma once

#include <stdbool.h>

struct cpu_topology {
	/* -1 = the kernel doesn't say. A core is numbered within its die or socket; a cluster (cores that share an L2 or the like) has
	 * numbers of its own. */
	int socket, die, cluster, core;
	int node; /* of memory */
};

/* `root` is put before /sys; "" = this machine. */
void topology_of_cpu(const char *root, int cpu, struct cpu_topology *ret);

/* The cache of this level (0 = the last one) that the CPU uses: its level, and the lowest CPU that shares it. False when there is none. */
bool topology_cache(const char *root, int cpu, int level, int *ret_level, int *ret_first_cpu);
