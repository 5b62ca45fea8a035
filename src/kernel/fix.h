/* Commands that fix what stands in a user's way: the one place where they are written, for messages and for `perf doctor`. Each function
 * adds a command that can be pasted into a shell, without a newline. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

#define FIX_TRACEFS_MOUNT "sudo mount -t tracefs nodev /sys/kernel/tracing"
/* Yama: processes may look at others of the same user. */
#define FIX_PTRACE "sudo sysctl kernel.yama.ptrace_scope=0"
#define FIX_SCHEDSTATS "sudo sysctl kernel.sched_schedstats=1"
#define FIX_CGROUP_MOUNT "sudo mount -t cgroup2 none /sys/fs/cgroup"
/* For a machine whose settings aren't known: both that can hide the kernel's addresses. */
#define FIX_KERNEL_ADDRESSES "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1"
#define FIX_NMI_WATCHDOG "sudo sysctl kernel.nmi_watchdog=0"

/* Options of a container that let perf_event_open() through, as docker and podman take them. */
#define FIX_CONTAINER "--cap-add PERFMON --security-opt seccomp=unconfined"

/* For everybody until the next boot. */
void fix_paranoid(struct strbuf *out, int level);
/* Lets a group of its own, "tracing", read `tracefs`, the directory where it is mounted, puts the user into it and starts a shell that is
 * in it: the group that a user already has may be shared with others (nogroup, users). Typed once more, by whomever, it does no harm. Since
 * Linux 5.16 what is below the directory follows. */
void fix_tracefs_rights(struct strbuf *out, const char *tracefs);
/* Shows this kernel's addresses to everybody: changes only those of the two settings that stand in the way. */
void fix_kernel_addresses(struct strbuf *out);
/* An error that says that they are hidden, with that command. */
struct error *fix_error_of_hidden_addresses(void);
/* Allows `kb` KB of rings for each CPU. */
void fix_mlock(struct strbuf *out, size_t kb);
/* Allows `rate` samples a second. */
void fix_sample_rate(struct strbuf *out, uint64_t rate);
/* Raises the limit of open files of the shell that it is typed in. */
void fix_files(struct strbuf *out, size_t count);
/* How to give a virtual machine a PMU, by the hypervisor's name (kernel/hardware/hypervisor.h); nothing where no way is known. */
void fix_pmu(struct strbuf *out, const char *hypervisor);
