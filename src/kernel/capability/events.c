/* Probes of kinds of events: each is opened on ourselves, something known is done, and the count is looked at. */
#include "arch/arch.h"
#include "base/cleanup.h"
#include "kernel/capability/capability_internal.h"
#include "kernel/cgroups.h"
#include "kernel/fix.h"
#include "kernel/limits.h"
#include "kernel/measure.h"
#include "kernel/perf_open.h"
#include "kernel/proc.h"
#include "kernel/tracing/tracefs.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 10, PAGES = 64, PLACEHOLDER_FAULTS = 16, MANY_BREAKPOINTS = 32 };

/* Why it is not there: the right is missing, or `what`. */
static void lack_event(struct capability_context *context, struct capability_result *ret, int status, const char *what)
{
	if (status == -EACCES || status == -EPERM) {
		capability_found(ret, CAPABILITY_MISSING, "not for this user");
		capability_remedy_rights(context, ret, 2);
	} else {
		capability_found(ret, CAPABILITY_MISSING, "%s (%s)", what, strerror(-status));
	}
}

/* Whether what happens in the kernel counts for this user. Where it doesn't, events are opened without it, since they would be refused.
 * */
static bool may_measure_kernel(void)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true);

	return measure_can_open(&attr, 0, -1) == 0;
}

static const struct {
	const char *name;
	uint64_t config;
} software_events[] = {
	{"cpu-clock", PERF_COUNT_SW_CPU_CLOCK},
	{"task-clock", PERF_COUNT_SW_TASK_CLOCK},
	{"page-faults", PERF_COUNT_SW_PAGE_FAULTS},
	{"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS},
	{"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS},
	{"dummy", PERF_COUNT_SW_DUMMY},
	{"bpf-output", PERF_COUNT_SW_BPF_OUTPUT},
	{"cgroup-switches", PERF_COUNT_SW_CGROUP_SWITCHES}, /* Linux 5.13 */
};
enum { SOFTWARE_EVENT_COUNT = sizeof(software_events) / sizeof(software_events[0]) };

/* So many times; each should be a context switch. */
static void sleep_shortly(void *context)
{
	for (size_t i = *(size_t *)context; i; i--)
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* Opens each of them, and compares two counts with what is known: new pages touched, and sleeps. */
void probe_software(struct capability_context *context, struct capability_result *ret)
{
	bool kernel = may_measure_kernel();
	size_t found = 0, pages = PAGES, times = TIMES;
	uint64_t faults = 0, switches = 0;
	int status = 0;

	for (size_t i = 0; i < SOFTWARE_EVENT_COUNT; i++) {
		struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, software_events[i].config, kernel);
		status = measure_can_open(&attr, 0, -1);
		capability_fact_status(ret, software_events[i].name, status);
		found += status == 0;
	}
	if (!found) {
		lack_event(context, ret, status, "none can be opened");
		return;
	}
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, kernel);
	measure_count(&attr, measure_touch_pages, &pages, &faults, NULL);
	attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	measure_count(&attr, sleep_shortly, &times, &switches, NULL);
	capability_fact(ret, "faults_of_64_pages", "%llu", (unsigned long long)faults);
	capability_fact(ret, "switches_of_10_sleeps", "%llu", (unsigned long long)switches);
	bool exact = faults >= PAGES && faults <= PAGES + PLACEHOLDER_FAULTS;
	/* A sleep that is over before the scheduler is reached is no switch: on a slow machine some are missing. */
	if (exact && switches) {
		capability_found(ret, CAPABILITY_OK, "%zu of %d, and they count right", found, SOFTWARE_EVENT_COUNT);
	} else if (exact && !kernel) {
		capability_found(ret, CAPABILITY_LIMITED, "%zu of %d, for user code only", found, SOFTWARE_EVENT_COUNT);
		capability_cost(ret, "context-switches and cpu-migrations happen in the kernel: they count 0 for this user");
		capability_remedy_rights(context, ret, 1);
	} else {
		capability_found(ret, CAPABILITY_LIMITED, "%llu page faults counted for %d new pages, %llu context switches for %d sleeps",
				 (unsigned long long)faults, PAGES, (unsigned long long)switches, TIMES);
		capability_cost(ret, "these counts are not right on this kernel");
	}
}

/* TIMES writes to the number that is watched. */
static void write_number(void *context)
{
	for (int i = 0; i < TIMES; i++)
		*(volatile uint64_t *)context = (uint64_t)i;
}

static __attribute__((noinline)) void be_called(void)
{
	__asm__ volatile("" ::: "memory");
}

/* So many calls, through a pointer that the compiler doesn't see through. */
static void call_function(void *context)
{
	void (*volatile function)(void) = be_called;

	for (size_t i = *(size_t *)context; i; i--)
		function();
}

/* `type` is HW_BREAKPOINT_*. */
static struct perf_event_attr breakpoint_attr(uint32_t type, const void *address, uint64_t length)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_BREAKPOINT, 0, false);

	attr.bp_type = type;
	attr.bp_addr = (uintptr_t)address;
	attr.bp_len = length;
	return attr;
}

/* Different addresses: the same one twice may be one register. */
static size_t count_breakpoints(void)
{
	uint64_t words[MANY_BREAKPOINTS];
	int fds[MANY_BREAKPOINTS];
	size_t count = 0;

	for (; count < MANY_BREAKPOINTS; count++) {
		struct perf_event_attr attr = breakpoint_attr(HW_BREAKPOINT_W, &words[count], HW_BREAKPOINT_LEN_8);
		fds[count] = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fds[count] < 0)
			break;
	}
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	return count;
}

/* How many there are, and whether one on data and one on code notice all of TIMES accesses. */
void probe_breakpoints(struct capability_context *context, struct capability_result *ret)
{
	uint64_t watched = 0, writes = 0, calls = 0;
	size_t times = TIMES, count = count_breakpoints();
	const struct arch *own = arch_own();
	uint64_t length = own && own->breakpoint_on_code ? own->breakpoint_on_code : sizeof(long);
	struct perf_event_attr data = breakpoint_attr(HW_BREAKPOINT_W, &watched, HW_BREAKPOINT_LEN_8);
	struct perf_event_attr code = breakpoint_attr(HW_BREAKPOINT_X, (const void *)(uintptr_t)be_called, length);
	int data_status = measure_count(&data, write_number, &watched, &writes, NULL);
	int code_status = measure_count(&code, call_function, &times, &calls, NULL);

	capability_fact(ret, "count", "%zu", count);
	capability_fact(ret, "writes_of_10", "%llu", (unsigned long long)writes);
	capability_fact(ret, "calls_of_10", "%llu", (unsigned long long)calls);
	if (data_status < 0 && code_status < 0) {
		lack_event(context, ret, data_status, "this machine has none");
	} else if (writes == TIMES && calls == TIMES) {
		capability_found(ret, CAPABILITY_OK, "%zu for data, and for code (:x)", count);
	} else {
		capability_found(ret, CAPABILITY_LIMITED, "%llu of %d writes and %llu of %d calls were noticed", (unsigned long long)writes,
				 TIMES, (unsigned long long)calls, TIMES);
		capability_cost(ret, "mem: events miss accesses here");
	}
}

/* Where it is, and whether this user may read it. */
void probe_tracefs(struct capability_context *context, struct capability_result *ret)
{
	struct tracefs_names systems = {0};
	char *path = NULL;
	enum tracefs_state state = tracefs_look("", &path);

	capability_fact(ret, "path", "%s", path ? path : "");
	switch (state) {
	case TRACEFS_READABLE:
		error_free(tracefs_systems(path, &systems));
		capability_found(ret, CAPABILITY_OK, "%s, readable, %zu systems of events", path, systems.names.len);
		break;
	case TRACEFS_FORBIDDEN:
		capability_found(ret, CAPABILITY_MISSING, "%s is there, this user may not read it", path);
		fix_tracefs_rights(&ret->remedy, path);
		break;
	case TRACEFS_NOT_MOUNTED:
		capability_found(ret, CAPABILITY_MISSING, "not mounted");
		capability_remedy(ret, FIX_TRACEFS_MOUNT);
		break;
	case TRACEFS_ABSENT:
		capability_found(ret, CAPABILITY_MISSING, "this kernel has none (CONFIG_TRACING), or /sys is not mounted");
		break;
	}
	tracefs_names_deinit(&systems);
	free(path);
}

/* `kernel`: tracepoints in the kernel's code count for this user. */
static void answer_tracepoints(struct capability_context *context, struct capability_result *ret, const char *name, uint64_t count,
			       bool kernel)
{
	capability_fact(ret, "counted_of_10", "%llu", (unsigned long long)count);
	if (count != TIMES) {
		capability_found(ret, CAPABILITY_LIMITED, "%s counted %llu of %d calls", name, (unsigned long long)count, TIMES);
		capability_cost(ret, "counts of tracepoints are not right on this kernel");
	} else if (kernel) {
		capability_found(ret, CAPABILITY_OK, "%s counted %d of %d calls", name, TIMES, TIMES);
	} else {
		capability_found(ret, CAPABILITY_LIMITED, "system calls of own programs only");
		capability_cost(ret, "all other tracepoints lie in the kernel's code and count 0 for this user");
		capability_remedy_rights(context, ret, 1);
	}
}

/* Counts a system call that nothing else of ours makes. */
void probe_tracepoints(struct capability_context *context, struct capability_result *ret)
{
	bool kernel = may_measure_kernel();
	size_t times = TIMES;
	uint64_t count = 0;
	int id, fd = -1;
	const char *name = "syscalls:sys_enter_getppid";

	if (!context->tracefs) {
		capability_found(ret, CAPABILITY_MISSING, "their numbers are in tracefs: see 'tracefs'");
		return;
	}
	bool syscalls = tracefs_event_id(context->tracefs, "syscalls", "sys_enter_getppid", &id);
	if (!syscalls && !tracefs_event_id(context->tracefs, "sched", "sched_switch", &id)) {
		capability_found(ret, CAPABILITY_MISSING, "this kernel has none");
		return;
	}
	struct perf_event_attr attr = measure_attr(PERF_TYPE_TRACEPOINT, (uint64_t)id, kernel);
	int status = measure_count(&attr, measure_call_getppid, &times, &count, &fd);
	if (fd >= 0)
		vec_push(&context->descriptors, fd);
	capability_fact(ret, "syscalls", "%s", syscalls ? "true" : "false");
	if (status < 0) {
		lack_event(context, ret, status, "they cannot be opened");
	} else if (syscalls) {
		answer_tracepoints(context, ret, name, count, kernel);
	} else {
		capability_found(ret, CAPABILITY_LIMITED,
				 "all but system calls: this kernel has no events for those (CONFIG_FTRACE_SYSCALLS)");
		capability_cost(ret, "perf trace, syscalls:*");
	}
}

/* What goes with dynamic capabilities whose PMU is there. */
static void answer_capabilities(struct capability_context *context, struct capability_result *ret, int status, uint64_t count,
				const char *what)
{
	capability_fact_status(ret, "open", status);
	capability_fact(ret, "counted_of_10", "%llu", (unsigned long long)count);
	if (status == -EACCES || status == -EPERM) {
		capability_found(ret, CAPABILITY_MISSING, "only for root and CAP_PERFMON");
		capability_remedy(ret, "sudo perf …");
	} else if (status < 0) {
		capability_found(ret, CAPABILITY_MISSING, "the kernel does not set one on %s: %s", what, strerror(-status));
	} else if (count == TIMES) {
		capability_found(ret, CAPABILITY_OK, "one on %s counted %d of %d calls", what, TIMES, TIMES);
	} else {
		capability_found(ret, CAPABILITY_LIMITED, "one on %s counted %llu of %d calls", what, (unsigned long long)count, TIMES);
		capability_cost(ret, "counts of probes are not right on this kernel");
	}
}

/* Puts one on a system call, whose function is called otherwise on each architecture. */
void probe_kprobes(struct capability_context *context, struct capability_result *ret)
{
	static const char *const functions[] = {"__x64_sys_getppid", "__arm64_sys_getppid", "__se_sys_getppid", "sys_getppid"};
	const struct pmu *pmu = pmu_by_name(context->pmus, "kprobe");
	size_t times = TIMES, i = 0;
	uint64_t count = 0;
	int status = -ENOENT, fd = -1;

	if (!pmu) {
		capability_found(ret, CAPABILITY_MISSING, "this kernel has none (CONFIG_KPROBES is off)");
		return;
	}
	for (; i < sizeof(functions) / sizeof(functions[0]); i++) {
		struct perf_event_attr attr = measure_attr(pmu->type, 0, true);
		attr.kprobe_func = (uintptr_t)functions[i];
		status = measure_count(&attr, measure_call_getppid, &times, &count, &fd);
		if (status == 0 || status == -EACCES || status == -EPERM)
			break;
	}
	if (fd >= 0)
		vec_push(&context->descriptors, fd);
	answer_capabilities(context, ret, status, count, status == 0 ? functions[i] : "a system call");
}

/* Where `address` is in our own executable file. */
static bool file_offset(uintptr_t address, uint64_t *ret)
{
	cleanup_fclose FILE *maps = fopen("/proc/self/maps", "re");
	char line[4352];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long start, end, offset;
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3 || address < start || address >= end)
			continue;
		*ret = address - start + offset;
		return true;
	}
	return false;
}

/* Puts one on a function of ours, in our own file. */
void probe_uprobes(struct capability_context *context, struct capability_result *ret)
{
	const struct pmu *pmu = pmu_by_name(context->pmus, "uprobe");
	size_t times = TIMES;
	uint64_t count = 0, offset = 0;
	char path[4096];
	int fd = -1;

	if (!pmu) {
		capability_found(ret, CAPABILITY_MISSING, "this kernel has none (CONFIG_UPROBES is off)");
		return;
	}
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (length < 0 || !file_offset((uintptr_t)be_called, &offset)) {
		capability_found(ret, CAPABILITY_MISSING, "/proc is not mounted: perf cannot find its own file to try one");
		return;
	}
	path[length] = '\0';
	struct perf_event_attr attr = measure_attr(pmu->type, 0, true);
	attr.uprobe_path = (uintptr_t)path;
	attr.probe_offset = offset;
	int status = measure_count(&attr, call_function, &times, &count, &fd);
	if (fd >= 0)
		vec_push(&context->descriptors, fd);
	answer_capabilities(context, ret, status, count, "a function of perf's own");
}

/* Opens a counter of the root group on one CPU. */
void probe_cgroups(struct capability_context *context, struct capability_result *ret)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false);
	char path[4096];
	cleanup_close int directory = cgroups_open("/", path, sizeof(path));

	capability_fact(ret, "path", "%s", directory >= 0 ? path : "");
	if (directory < 0) {
		capability_found(ret, CAPABILITY_MISSING, "no hierarchy of control groups that counters know is mounted in /sys/fs/cgroup");
		capability_remedy(ret, FIX_CGROUP_MOUNT);
		return;
	}
	int fd = perf_open_raw(&attr, directory, context->cpus[0], -1, PERF_FLAG_FD_CLOEXEC | PERF_FLAG_PID_CGROUP);
	if (fd >= 0)
		close(fd);
	capability_fact_status(ret, "open", fd < 0 ? fd : 0);
	if (fd >= 0) {
		capability_found(ret, CAPABILITY_OK, "%s", path);
	} else if (fd == -EACCES || fd == -EPERM) {
		capability_found(ret, CAPABILITY_MISSING, "they are counted on whole CPUs, which this user may not");
		capability_remedy_rights(context, ret, 0);
	} else {
		capability_found(ret, CAPABILITY_MISSING, "this kernel cannot count by them (CONFIG_CGROUP_PERF)");
	}
}

/* The setting alone: the tracepoints are there without it, and count nothing. */
void probe_schedstats(struct capability_context *context, struct capability_result *ret)
{
	int64_t on = 0;

	if (!proc_read_int("/proc/sys/kernel/sched_schedstats", &on)) {
		capability_found(ret, CAPABILITY_MISSING, "this kernel keeps none (CONFIG_SCHEDSTATS is off)");
		return;
	}
	capability_fact(ret, "schedstats", "%lld", (long long)on);
	if (on) {
		capability_found(ret, CAPABILITY_OK, "on: kernel.sched_schedstats is %lld", (long long)on);
	} else {
		capability_found(ret, CAPABILITY_LIMITED, "off: kernel.sched_schedstats is 0");
		capability_remedy(ret, FIX_SCHEDSTATS);
	}
}
