/* Version 2 has `cpu.max` ("20000 100000", "max 100000"), version 1 `cpu.cfs_quota_us` and `cpu.cfs_period_us`; both `cpu.stat`, with
 * throttled_usec or throttled_time (Documentation/admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst). Groups without the controller lack
 * these files. */
#include "kernel/process/cpu_limit.h"

#include "base/strbuf.h"
#include "kernel/proc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool read_quota(const char *directory, double *ret)
{
	char path[PATH_MAX], line[80];
	int64_t quota, period;
	snprintf(path, sizeof(path), "%s/cpu.max", directory);
	if (proc_read_line(path, line, sizeof(line))) {
		if (sscanf(line, "%" SCNd64 " %" SCNd64, &quota, &period) != 2)
			return false;
	} else {
		snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", directory);
		if (!proc_read_int(path, &quota))
			return false;
		snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", directory);
		if (!proc_read_int(path, &period))
			return false;
	}
	*ret = period > 0 ? (double)quota / (double)period : 0;
	return quota > 0 && period > 0;
}

static uint64_t number_behind(const char *text, const char *key)
{
	uint64_t value = 0;
	const char *found = strstr(text, key);
	if (found)
		sscanf(found + strlen(key), "%" SCNu64, &value);
	return value;
}

bool cpu_limit_read(struct cpu_limit *limit)
{
	char path[PATH_MAX];
	struct strbuf text = {0};
	snprintf(path, sizeof(path), "%s/cpu.stat", limit->directory);
	bool done = read_quota(limit->directory, &limit->cpus) && proc_read_file(AT_FDCWD, path, &text) == 0;
	if (done) {
		limit->throttled = number_behind(strbuf_str(&text), "nr_throttled ");
		limit->throttled_ns =
			number_behind(strbuf_str(&text), "throttled_time ") + number_behind(strbuf_str(&text), "throttled_usec ") * 1000;
	}
	strbuf_deinit(&text);
	return done;
}

/* From the group to the root, the innermost first. */
static bool look_upwards(const char *mount, const char *group, struct cpu_limit *ret)
{
	snprintf(ret->group, sizeof(ret->group), "%s", group);
	while (strlen(ret->group) > 1) {
		snprintf(ret->directory, sizeof(ret->directory), "%s%s", mount, ret->group);
		if (cpu_limit_read(ret))
			return true;
		char *last = strrchr(ret->group, '/');
		if (!last)
			return false;
		*last = '\0';
	}
	return false;
}

/* "4:cpu,cpuacct:/group", "0::/group" */
static bool look_at(const char *line, struct cpu_limit *ret)
{
	const char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group || group[1] != '/')
		return false;
	if (group == controllers + 1)
		return look_upwards("/sys/fs/cgroup", group + 1, ret) || look_upwards("/sys/fs/cgroup/unified", group + 1, ret);
	char list[100];
	size_t length = (size_t)(group - controllers - 1);
	snprintf(list, sizeof(list), ",%.*s,", (int)(length < 90 ? length : 90), controllers + 1);
	return strstr(list, ",cpu,") &&
	       (look_upwards("/sys/fs/cgroup/cpu", group + 1, ret) || look_upwards("/sys/fs/cgroup/cpu,cpuacct", group + 1, ret));
}

bool cpu_limit_of(pid_t pid, struct cpu_limit *ret)
{
	char path[64];
	struct strbuf text = {0};
	bool found = false;
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (proc_read_file(AT_FDCWD, path, &text) == 0 && text.len)
		for (char *rest = text.data, *line; !found && (line = strsep(&rest, "\n"));)
			found = look_at(line, ret);
	strbuf_deinit(&text);
	return found;
}
