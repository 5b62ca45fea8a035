/* Checks of counting: events are opened on ourselves, and something is done whose count is known. */
#include "cmd/test/test.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/cgroups.h"
#include "kernel/measure.h"
#include "kernel/perf_open.h"
#include "kernel/tracing/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 111, PAGES = 64, PLACEHOLDER_FAULTS = 16, SPIN_NS = 20000000 };

/* The attribute of a system call's tracepoint; skips when there is none. */
static bool syscall_attr(struct check *check, const char *event, struct perf_event_attr *ret)
{
	int id;

	if (!check_has(check, "tracepoints"))
		return false;
	if (!tracefs_event_id(check->probes->tracefs, "syscalls", event, &id)) {
		check_skip(check, "this kernel has no events for system calls (CONFIG_FTRACE_SYSCALLS)");
		return false;
	}
	*ret = measure_attr(PERF_TYPE_TRACEPOINT, (uint64_t)id, check_is_ok(check, "kernel-code"));
	return true;
}

static struct perf_event_attr fault_attr(void)
{
	return measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false);
}

static void detect_syscalls(struct check *check)
{
	struct perf_event_attr attr;
	size_t calls = CALLS;
	uint64_t count = 0;

	if (!syscall_attr(check, "sys_enter_getppid", &attr))
		return;
	int status = measure_count(&attr, measure_call_getppid, &calls, &count, NULL);
	if (check_opened(check, status, &attr, "syscalls:sys_enter_getppid"))
		check_equal(check, "calls of getppid", count, CALLS);
}

/* A counter for each CPU, and one call more on each of them than on the one before. */
static void detect_syscalls_on_all_cpus(struct check *check)
{
	struct perf_event_attr attr;
	size_t cpus = check->probes->cpu_count;

	if (!syscall_attr(check, "sys_enter_getppid", &attr))
		return;
	attr.disabled = 0;
	for (size_t i = 0; i < cpus && i < 64; i++) {
		int cpu = check->probes->cpus[i];
		uint64_t count = 0;
		size_t calls = CALLS + i;
		measure_on_cpu(cpu);
		cleanup_close int fd = perf_open_raw(&attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (!check_opened(check, fd, &attr, "syscalls:sys_enter_getppid"))
			return;
		measure_call_getppid(&calls);
		measure_on_cpu(check->probes->cpus[i ? 0 : cpus - 1]);
		if (cpus > 1)
			measure_call_getppid(&calls); /* on another CPU: not counted */
		check_log(check, "CPU %d", cpu);
		if (read(fd, &count, sizeof(count)) != sizeof(count))
			check_fail(check, "the counter cannot be read");
		else
			check_equal(check, "calls of getppid", count, calls);
	}
}

static void read_null(void *context)
{
	char byte;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), high = fcntl(null, F_DUPFD_CLOEXEC, 77);

	for (size_t i = *(size_t *)context; i; i--) {
		if (read(null, &byte, 1) < 0 || read(high, &byte, 1) < 0)
			break;
	}
	close(null);
	close(high);
}

/* The kernel counts only what a filter lets through. */
static void filter(struct check *check)
{
	struct perf_event_attr attr;
	size_t times = CALLS;
	uint64_t count = 0;

	if (!syscall_attr(check, "sys_enter_read", &attr))
		return;
	cleanup_close int fd = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (!check_opened(check, fd, &attr, "syscalls:sys_enter_read"))
		return;
	if (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "fd >= 77 && count == 1") < 0) {
		check_fail(check, "the filter was refused: %s", strerror(errno));
		return;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	read_null(&times);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &count, sizeof(count)) == sizeof(count))
		check_equal(check, "calls of read on descriptors from 77", count, CALLS);
}

static void software_events(struct check *check)
{
	struct perf_event_attr attr = fault_attr();
	size_t pages = PAGES;
	uint64_t count = 0, spin = SPIN_NS;

	int status = measure_count(&attr, measure_touch_pages, &pages, &count, NULL);
	if (!check_opened(check, status, &attr, "page-faults"))
		return;
	check_range(check, "page faults of 64 new pages", count, PAGES, PAGES + PLACEHOLDER_FAULTS);
	attr.config = PERF_COUNT_SW_TASK_CLOCK;
	/* A hypervisor may hold us up at any place: the thread's own account of its time, which includes that, is the measure. */
	uint64_t begin = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
	status = measure_count(&attr, measure_spin, &spin, &count, NULL);
	uint64_t spent = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	if (check_opened(check, status, &attr, "task-clock"))
		check_range(check, "ns of computing for at least 20 ms", count, SPIN_NS / 20, spent * 2);
}

static void hardware_events(struct check *check)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false);
	uint64_t short_count = 0, long_count = 0;
	size_t calls = 1000;

	int status = measure_count(&attr, measure_call_getppid, &calls, &short_count, NULL);
	if (!check_opened(check, status, &attr, "instructions"))
		return;
	calls *= 10;
	measure_count(&attr, measure_call_getppid, &calls, &long_count, NULL);
	check_log(check, "instructions of 1000 calls: %llu", (unsigned long long)short_count);
	check_range(check, "instructions of 10000 calls", long_count, short_count * 9, short_count * 11);
}

static void breakpoints(struct check *check)
{
	if (check_has(check, "breakpoints") && !check_is_ok(check, "breakpoints"))
		check_fail(check, "accesses were missed: 'perf doctor -v breakpoints'");
}

/* Takes all debug registers of this thread that are free and gives them back; returns how many. */
static size_t take_breakpoints(struct check *check)
{
	enum { MANY = 64 };
	uint64_t words[MANY];
	int fds[MANY];
	size_t count = 0;

	while (count < MANY) {
		struct perf_event_attr attr = measure_attr(PERF_TYPE_BREAKPOINT, 0, false);
		attr.bp_type = 2; /* HW_BREAKPOINT_W */
		attr.bp_addr = (uintptr_t)&words[count];
		attr.bp_len = sizeof(words[0]);
		int fd = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && fd != -ENOSPC)
			check_fail(check, "refused with %s instead of ENOSPC", strerror(-fd));
		if (fd < 0)
			break;
		fds[count++] = fd;
	}
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	check_range(check, "breakpoints at a time", count, 0, MANY - 1);
	return count;
}

/* All registers can be taken, not one more, and all again afterwards. Others may hold some for a while: the largest number is awaited until
 * it comes a second time, which it never does when registers get lost. */
static void breakpoint_accounting(struct check *check)
{
	enum { ROUNDS = 600, PAUSE_US = 50000 };
	size_t most = 0;

	if (!check_has(check, "breakpoints"))
		return;
	for (int round = 0; round < ROUNDS; round++) {
		size_t count = take_breakpoints(check);
		if (count && count == most)
			return;
		most = count > most ? count : most;
		if (round)
			usleep(PAUSE_US);
	}
	check_fail(check, "%zu breakpoints at a time never became available again", most);
}

/* value, enabled, running */
static bool read_times(struct check *check, int fd, uint64_t ret[3])
{
	if (read(fd, ret, 3 * sizeof(*ret)) == (ssize_t)(3 * sizeof(*ret)))
		return true;
	check_fail(check, "the counter cannot be read");
	return false;
}

/* The times that counts are scaled by. */
static void event_times(struct check *check)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false);
	uint64_t spin = SPIN_NS, before[3], between[3], after[3];

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	cleanup_close int fd = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (!check_opened(check, fd, &attr, "task-clock"))
		return;
	measure_spin(&spin);
	bool read = read_times(check, fd, before);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	measure_spin(&spin);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	read &= read_times(check, fd, between);
	measure_spin(&spin);
	if (!read || !read_times(check, fd, after))
		return;
	check_equal(check, "enabled before", before[1], 0);
	check_range(check, "enabled, ns", between[1], SPIN_NS / 20, UINT64_MAX);
	check_equal(check, "running", between[2], between[1]);
	check_equal(check, "enabled afterwards", after[1], between[1]);
}

static void in_child(measure_work *work, void *context)
{
	pid_t pid = fork();

	if (pid == 0) {
		work(context);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void touch_in_child(void *context)
{
	in_child(measure_touch_pages, context);
}

/* Children count for their parent when asked to, and only then. */
static void inheritance(struct check *check)
{
	struct perf_event_attr attr = fault_attr();
	size_t pages = 16 * PAGES;
	uint64_t alone = 0, together = 0;

	int status = measure_count(&attr, touch_in_child, &pages, &alone, NULL);
	if (!check_opened(check, status, &attr, "page-faults"))
		return;
	attr.inherit = 1;
	measure_count(&attr, touch_in_child, &pages, &together, NULL);
	check_range(check, "page faults without the child", alone, 0, 8 * PAGES);
	check_range(check, "page faults with it", together, 16 * PAGES, UINT64_MAX);
}

/* A group is read at once, its members with their ids, and is enabled and disabled by its leader. */
static void groups(struct check *check)
{
	struct perf_event_attr attr = fault_attr();
	struct {
		uint64_t count;
		struct {
			uint64_t value, id;
		} members[3];
	} data;
	size_t pages = PAGES;

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	cleanup_close int leader = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (!check_opened(check, leader, &attr, "page-faults"))
		return;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	attr.disabled = 0;
	cleanup_close int member = perf_open_raw(&attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
	if (!check_opened(check, member, &attr, "minor-faults"))
		return;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ;
	cleanup_close int third = perf_open_raw(&attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
	if (!check_opened(check, third, &attr, "major-faults"))
		return;
	measure_touch_pages(&pages);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	measure_touch_pages(&pages);
	ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	if (read(leader, &data, sizeof(data)) != sizeof(data)) {
		check_fail(check, "the group cannot be read");
		return;
	}
	check_equal(check, "members", data.count, 3);
	check_range(check, "page-faults", data.members[0].value, PAGES, PAGES + PLACEHOLDER_FAULTS);
	/* Code of ours that was written back to make room comes from the disk. */
	check_equal(check, "minor-faults and major-faults", data.members[1].value + data.members[2].value, data.members[0].value);
	check_equal(check, "id of the leader", data.members[0].id, perf_open_id(leader));
	check_equal(check, "id of the second", data.members[1].id, perf_open_id(member));
	check_equal(check, "id of the third", data.members[2].id, perf_open_id(third));
}

static void cgroup_events(struct check *check)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false);
	uint64_t spin = SPIN_NS, count = 0;
	cleanup_close int directory = cgroups_open("/", NULL, 0);

	if (directory < 0 || !check_has(check, "cgroups"))
		return;
	int cpu = check->probes->cpus[0];
	measure_on_cpu(cpu);
	cleanup_close int fd = perf_open_raw(&attr, directory, cpu, -1, PERF_FLAG_FD_CLOEXEC | PERF_FLAG_PID_CGROUP);
	if (!check_opened(check, fd, &attr, "cpu-clock"))
		return;
	/* Others of the group compute on this CPU meanwhile: up to all of the time that passes. */
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	measure_spin(&spin);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	uint64_t passed = clock_now_ns(CLOCK_MONOTONIC) - begin;
	if (read(fd, &count, sizeof(count)) == sizeof(count))
		check_range(check, "ns of 20 ms in a group of all", count, SPIN_NS / 2, passed + passed / 10);
}

const struct check_row count_checks[] = {
	{"Detect syscall events", detect_syscalls},
	{"Detect syscall events on all CPUs", detect_syscalls_on_all_cpus},
	{"Filter of a tracepoint", filter},
	{"Software events count", software_events},
	{"Hardware events count", hardware_events},
	{"Breakpoints on data and code", breakpoints},
	{"Breakpoint accounting", breakpoint_accounting},
	{"Event times", event_times},
	{"Children count for their parent", inheritance},
	{"Groups are read at once", groups},
	{"Control group events", cgroup_events},
	{NULL, NULL},
};
