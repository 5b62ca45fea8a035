/* Commands that mend what stands in a user's way: the one place where they are written, for messages and for `perf doctor`. Each function
 * adds a command that can be pasted into a shell, without a newline. */
#pragma once

#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

#define MEND_TRACEFS_MOUNT "sudo mount -t tracefs nodev /sys/kernel/tracing"
#define MEND_SCHEDSTATS "sudo sysctl kernel.sched_schedstats=1"
#define MEND_CGROUP_MOUNT "sudo mount -t cgroup2 none /sys/fs/cgroup"
#define MEND_NMI_WATCHDOG "sudo sysctl kernel.nmi_watchdog=0"

/* Options of a container that let perf_event_open() through, as docker and podman take them. */
#define MEND_CONTAINER "--cap-add PERFMON --security-opt seccomp=unconfined"

/* For everybody until the next boot. */
void mend_paranoid(struct strbuf *out, int level);
/* Lets this user's group read `tracefs`, the directory where it is mounted. Since Linux 5.16 what is below follows. */
void mend_tracefs_rights(struct strbuf *out, const char *tracefs);
/* Shows the kernel's addresses to everybody: changes only those of the two settings that stand in the way. */
void mend_kernel_addresses(struct strbuf *out);
/* Allows `kb` KB of rings for each CPU. */
void mend_mlock(struct strbuf *out, size_t kb);
/* Allows `rate` samples a second. */
void mend_sample_rate(struct strbuf *out, uint64_t rate);
/* Raises the limit of open files of the shell that it is typed in. */
void mend_files(struct strbuf *out, size_t count);
/* How to give a virtual machine a PMU, by the hypervisor's name (kernel/hypervisor.h); nothing where no way is known. */
void mend_pmu(struct strbuf *out, const char *hypervisor);
