/* Asks the kernel to measure, and adds up what it tells of each program. */
#include "bpf/own/run_time.h"

#include "bpf/own/own_programs.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

int bpf_run_time_measure(void)
{
	union bpf_attr attr = {.enable_stats.type = BPF_STATS_RUN_TIME};
	long fd = syscall(SYS_bpf, BPF_ENABLE_STATS, &attr, sizeof(attr));
	return fd < 0 ? -1 : (int)fd;
}

static void add(void *context, uint64_t ns)
{
	*(uint64_t *)context += ns;
}

uint64_t bpf_run_time_own(void)
{
	uint64_t sum = 0;
	bpf_own_programs("run_time_ns:", add, &sum);
	return sum;
}
