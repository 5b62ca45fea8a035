/* Reading the topology of single CPUs. Facts: Documentation/admin-guide/cputopology.rst,
 * Documentation/ABI/testing/sysfs-devices-system-cpu. */
#include "kernel/hardware/topology.h"

#include "base/number.h"
#include "kernel/proc.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One id of a CPU's topology directory, -1 = unknown. */
static int read_id(const char *root, int cpu, const char *file)
{
	char path[512];
	int64_t value;

	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%d/topology/%s", root, cpu, file);
	/* Unknown ids are -1, those of clusters 65535. */
	return proc_read_int(path, &value) && value >= 0 && value < 65535 ? (int)value : -1;
}

/* A CPU's directory has a link to its node. */
static int read_node(const char *root, int cpu)
{
	char path[512];
	int node = -1;

	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%d", root, cpu);
	DIR *dir = opendir(path);
	struct dirent *entry;
	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "node", 4) && entry->d_name[4] >= '0' && entry->d_name[4] <= '9')
			node = atoi(entry->d_name + 4);
	if (dir)
		closedir(dir);
	return node;
}

void topology_of_cpu(const char *root, int cpu, struct cpu_topology *ret)
{
	*ret = (struct cpu_topology){
		.socket = read_id(root, cpu, "physical_package_id"),
		.die = read_id(root, cpu, "die_id"),
		.cluster = read_id(root, cpu, "cluster_id"),
		.core = read_id(root, cpu, "core_id"),
		.node = read_node(root, cpu),
	};
}

bool topology_cache(const char *root, int cpu, int level, int *ret_level, int *ret_first_cpu)
{
	int best = 0;

	for (int index = 0; index < 16; index++) {
		char path[512], line[4096];
		int64_t value;
		int *cpus;
		size_t count;
		snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%d/cache/index%d/level", root, cpu, index);
		if (!proc_read_int(path, &value))
			break;
		if ((level && value != level) || (!level && value <= best))
			continue;
		snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", root, cpu, index);
		if (!proc_read_line(path, line, sizeof(line)) || !number_parse_list(line, &cpus, &count))
			continue;
		best = (int)value;
		*ret_level = best;
		*ret_first_cpu = count ? cpus[0] : cpu;
		free(cpus);
	}
	return best > 0;
}
