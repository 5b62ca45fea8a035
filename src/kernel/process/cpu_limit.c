/* Version 2 has `cpu.max` ("20000 100000", "max 100000"), version 1 `cpu.cfs_quota_us` and `cpu.cfs_period_us`; both `cpu.stat`, with
 * throttled_usec or throttled_time (Documentation/admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst). Groups without the controller lack
 * these files. In a container the group that has the limit may be the root of what is mounted there, under a name of the host's
 * (/docker/ID) or none (/). */
#include "kernel/process/cpu_limit.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "kernel/proc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool read_quota(const char *directory, double *ret)
{
	char path[PATH_MAX + 32], line[80];
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
	char path[PATH_MAX + 32];
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

/* ---- where groups are ---- */

/* A line of /proc/self/mountinfo: "30 25 0:26 /root /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct". */
struct mount {
	char *root, *point; /* the group at its root, and where that is */
	const char *options;
	bool is_v2;
};

/* The kernel writes blanks and backslashes as \NNN. */
static void unescape(char *text)
{
	char *to = text;
	for (const char *from = text; *from; to++) {
		unsigned int code;
		bool escaped = *from == '\\' && sscanf(from + 1, "%3o", &code) == 1;
		*to = escaped ? (char)code : *from;
		from += escaped ? 4 : 1;
	}
	*to = '\0';
}

static bool parse_mount(char *line, struct mount *ret)
{
	enum { ROOT = 3, POINT, FIELDS };
	char *fields[FIELDS];
	for (size_t i = 0; i < FIELDS; i++)
		if (!(fields[i] = strsep(&line, " ")))
			return false;
	char *rest = line ? strstr(line, " - ") : NULL;
	if (!rest)
		return false;
	rest += strlen(" - ");
	const char *type = strsep(&rest, " ");
	if (!rest || !(ret->options = strchr(rest, ' ')) || (strcmp(type, "cgroup") != 0 && strcmp(type, "cgroup2") != 0))
		return false;
	unescape(fields[ROOT]);
	unescape(fields[POINT]);
	ret->root = fields[ROOT];
	ret->point = fields[POINT];
	ret->options++;
	ret->is_v2 = !strcmp(type, "cgroup2");
	return true;
}

/* "rw,cpu,cpuacct" */
static bool has_cpu(const char *list, size_t length)
{
	static const char wanted[] = "cpu";
	for (const char *word = list, *end = list + length; word < end;) {
		const char *comma = memchr(word, ',', (size_t)(end - word));
		size_t letters = (size_t)((comma ? comma : end) - word);
		if (letters == strlen(wanted) && !memcmp(word, wanted, letters))
			return true;
		word += letters + 1;
	}
	return false;
}

/* From the group to the mount's root, the innermost first. */
static bool look_upwards(const struct mount *mount, const char *group, struct cpu_limit *ret)
{
	size_t top = mount->root[1] ? strlen(mount->root) : 0, length = group[1] ? strlen(group) : 0;
	if (strncmp(group, mount->root, top) != 0 || (group[top] && group[top] != '/'))
		return false;
	if (!strncmp(group + top, "/..", 3) && (!group[top + 3] || group[top + 3] == '/'))
		return false; /* outside of what a container sees */
	for (;;) {
		int all = snprintf(ret->directory, sizeof(ret->directory), "%s%.*s", mount->point, (int)(length - top), group + top);
		if (length >= sizeof(ret->group) || (size_t)all >= sizeof(ret->directory))
			return false;
		if (cpu_limit_read(ret)) {
			snprintf(ret->group, sizeof(ret->group), "%.*s", length ? (int)length : 1, group);
			return true;
		}
		if (length <= top)
			return false;
		while (group[--length] != '/')
			;
	}
}

/* "4:cpu,cpuacct:/group", "0::/group" */
static bool look_at(const char *mounts, const char *line, struct cpu_limit *ret)
{
	const char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group || group[1] != '/')
		return false;
	bool is_v2 = group == controllers + 1, found = false;
	if (!is_v2 && !has_cpu(controllers + 1, (size_t)(group - controllers - 1)))
		return false;
	cleanup_free char *text = mem_strdup(mounts);
	for (char *rest = text, *next; !found && (next = strsep(&rest, "\n"));) {
		struct mount mount;
		found = parse_mount(next, &mount) && mount.is_v2 == is_v2 && (is_v2 || has_cpu(mount.options, strlen(mount.options))) &&
			look_upwards(&mount, group + 1, ret);
	}
	return found;
}

bool cpu_limit_find(const char *mounts, const char *groups, struct cpu_limit *ret)
{
	bool found = false;
	cleanup_free char *text = mem_strdup(groups);
	for (char *rest = text, *line; !found && (line = strsep(&rest, "\n"));)
		found = look_at(mounts, line, ret);
	return found;
}

bool cpu_limit_of(const char *mounts, pid_t pid, struct cpu_limit *ret)
{
	char path[64];
	struct strbuf text = {0};
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	bool found = proc_read_file(AT_FDCWD, path, &text) == 0 && cpu_limit_find(mounts, strbuf_str(&text), ret);
	strbuf_deinit(&text);
	return found;
}
