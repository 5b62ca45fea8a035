/* CPU lists. Recording opens counters on online CPUs only; one that comes online later isn't seen. */
#include "kernel/cpus.h"

#include "base/mem.h"
#include "base/number.h"
#include "kernel/proc.h"

#include <stdbool.h>
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
		return error_new_kind(ERROR_USAGE, "'%s' is no list of CPUs (such as 0-3,7)", text);
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
