/* Reading the kernel's limits, and raising the one that is ours to raise. */
#include "kernel/limits.h"

#include "kernel/container.h"
#include "kernel/proc.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PERFMON = 38, BPF = 39 };

/* A number of /proc/sys, or `otherwise` where it cannot be read. */
static int64_t sysctl(const char *path, int64_t otherwise)
{
	int64_t value;
	return proc_read_int(path, &value) ? value : otherwise;
}

int limits_paranoid(void)
{
	return (int)sysctl("/proc/sys/kernel/perf_event_paranoid", 2);
}

uint64_t limits_max_sample_rate(void)
{
	int64_t rate = sysctl("/proc/sys/kernel/perf_event_max_sample_rate", 0);
	return rate < 0 ? 0 : (uint64_t)rate;
}

size_t limits_mlock_bytes(void)
{
	int64_t kb = sysctl("/proc/sys/kernel/perf_event_mlock_kb", 512 + sysconf(_SC_PAGESIZE) / 1024);
	return kb < 0 ? 0 : (size_t)kb * 1024;
}

int limits_kptr_restrict(void)
{
	return (int)sysctl("/proc/sys/kernel/kptr_restrict", 0);
}

/* Effective ones count. Where the kernel doesn't tell, root has all. */
static bool has_capability(int number)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &header, data) < 0)
		return geteuid() == 0;
	return data[number / 32].effective & (1u << (number % 32));
}

/* perfmon_capable(), bpf_capable(): capabilities of a user namespace don't count. */
static bool has_capability_here(int number)
{
	return (has_capability(number) || has_capability(CAP_SYS_ADMIN)) && !container_has_namespace("user");
}

bool limits_has_perfmon(void)
{
	return has_capability_here(PERFMON);
}

bool limits_has_bpf(void)
{
	return has_capability_here(PERFMON) && has_capability_here(BPF);
}

bool limits_can_profile_kernel(void)
{
	return limits_has_perfmon() || limits_paranoid() < 2;
}

void limits_raise_files(size_t more)
{
	struct rlimit limit;
	rlim_t need = (rlim_t)more + 256;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= need)
		return;
	if (need > limit.rlim_max && has_capability(CAP_SYS_RESOURCE)) {
		struct rlimit higher = {need, need};
		if (setrlimit(RLIMIT_NOFILE, &higher) == 0)
			return;
	}
	limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
