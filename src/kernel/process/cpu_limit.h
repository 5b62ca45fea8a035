/* How much CPU time a control group may use (cpu.max), and how often it was made to wait because it had used it up. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_limit {
	char group[PATH_MAX];	  /* "/system.slice/x.service"; whatever somebody called it: not safe to print */
	char directory[PATH_MAX]; /* where its files are */
	double cpus;		  /* so many may it have busy */
	uint64_t throttled;	  /* times that it was held back */
	uint64_t throttled_ns;	  /* … for so long, added up over CPUs */
};

/* The innermost group around the process that has a limit; false when none has, or that can't be read. `mounts`: the text of
 * /proc/self/mountinfo, which tells where groups are. */
bool cpu_limit_of(const char *mounts, pid_t pid, struct cpu_limit *ret);
/* The same by the text of its /proc/PID/cgroup. */
bool cpu_limit_find(const char *mounts, const char *groups, struct cpu_limit *ret);
/* Its numbers now, by `directory`. */
bool cpu_limit_read(struct cpu_limit *limit);
