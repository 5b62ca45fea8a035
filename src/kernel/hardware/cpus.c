/* CPU lists. Recording opens counters on online CPUs only; one that comes online later isn't seen. */
#include "kernel/hardware/cpus.h"

#include "base/mem.h"
#include "base/number.h"
#include "kernel/proc.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void cpus_online(int **ret, size_t *ret_count)
{
	char text[4096];

	if (proc_read_line("/sys/devices/system/cpu/online", text, sizeof(text)) && number_parse_list(text, ret, ret_count) && *ret_count)
		return;
	long count = sysconf(_SC_NPROCESSORS_ONLN);
	*ret_count = count < 1 ? 1 : (size_t)count;
	*ret = mem_alloc_array(*ret_count, sizeof(**ret));
	for (size_t i = 0; i < *ret_count; i++)
		(*ret)[i] = (int)i;
}

/* /sys/devices/system/cpu/cpuN has a link "nodeM". */
static int node_of(int cpu)
{
	char path[64];
	int node = -1;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d", cpu);
	DIR *directory = opendir(path);
	for (struct dirent *entry; directory && (entry = readdir(directory));)
		if (sscanf(entry->d_name, "node%d", &node) == 1)
			break;
	if (directory)
		closedir(directory);
	return node;
}

void cpus_mates(int cpu, enum cpus_unit unit, cpu_set_t *set)
{
	char path[96], text[4096];
	int *list;
	size_t count;

	CPU_SET((size_t)cpu, set);
	if (unit == CPUS_SINGLE)
		return;
	if (unit == CPUS_OF_NODE)
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node_of(cpu));
	else
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu,
			 unit == CPUS_OF_CORE ? "thread_siblings_list" : "core_siblings_list");
	if (!proc_read_line(path, text, sizeof(text)) || !number_parse_list(text, &list, &count))
		return;
	for (size_t i = 0; i < count; i++)
		CPU_SET((size_t)list[i], set);
	free(list);
}

/* Lists are short: as many as CPUs. */
static bool list_has(const int *list, size_t count, int value)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == value)
			return true;
	return false;
}

struct error *cpus_parse(const char *text, int **ret, size_t *ret_count)
{
	int *online, *list;
	size_t online_count, count;
	struct error *error = NULL;

	if (!number_parse_list(text, &list, &count) || !count)
		return error_new_kind(ERROR_USAGE, "invalid list of CPUs '%s': expected a list such as 0-3,7", text);
	cpus_online(&online, &online_count);
	for (size_t i = 0; i < count && !error; i++)
		if (!list_has(online, online_count, list[i]))
			error = error_new("CPU %d is not online here (see /sys/devices/system/cpu/online)", list[i]);
	free(online);
	if (error) {
		free(list);
		return error;
	}
	*ret = list;
	*ret_count = count;
	return NULL;
}
