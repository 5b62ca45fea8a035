/* Probes of the machine and of the kernel as it is: nothing here depends on a setting that could be changed with a command, except what a
 * container keeps away. */
#include "base/text.h"
#include "kernel/confinement.h"
#include "kernel/limits.h"
#include "kernel/measure.h"
#include "kernel/mend.h"
#include "kernel/perf_open.h"
#include "kernel/probe_internal.h"
#include "kernel/proc.h"
#include "kernel/ring.h"
#include "kernel/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { MANY_COUNTERS = 32, SPIN_NS = 10000000, SAMPLE_PERIOD = 100000 };

void probe_kernel(struct probe_context *context, struct probe_result *ret)
{
	struct utsname names;

	uname(&names);
	probe_fact(ret, "release", "%s", names.release);
	probe_fact(ret, "machine", "%s", names.machine);
	probe_fact(ret, "cpus", "%zu", context->cpu_count);
	if (context->perf_absent)
		probe_found(ret, PROBE_MISSING, "%s %s, %s, built without CONFIG_PERF_EVENTS", names.sysname, names.release, names.machine);
	else
		probe_found(ret, PROBE_OK, "%s %s, %s, %zu CPU%s%s%s", names.sysname, names.release, names.machine, context->cpu_count,
			    context->cpu_count == 1 ? "" : "s", context->hypervisor ? ", a virtual machine of " : "",
			    context->hypervisor ? context->hypervisor : "");
	probe_fact(ret, "hypervisor", "%s", context->hypervisor ? context->hypervisor : "none");
}

/* What answers in the kernel's place. */
static void add_answer(struct strbuf *out, const char *call, int blocked)
{
	if (blocked < 0)
		strbuf_printf(out, "%s() is answered by SIG%s", call, sigabbrev_np(-blocked));
	else
		strbuf_printf(out, "%s() is answered by %s", call, probe_errno_name(blocked));
}

static void add_namespaces(struct strbuf *out)
{
	static const char *const kinds[] = {"user", "pid", "cgroup", "ipc", "uts", "time"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (confinement_has_namespace(kinds[i]))
			strbuf_printf(out, "%s%s", out->len ? "," : "", kinds[i]);
}

static void describe_namespaces(struct probe_result *ret, bool container, const char *namespaces)
{
	bool pid = confinement_has_namespace("pid"), user = confinement_has_namespace("user");
	const char *who = container ? "a container" : "no container";

	if (!pid && !user) {
		probe_found(ret, PROBE_OK, "%s, %s", who,
			    confinement_seccomp_mode() ? "a seccomp filter that lets perf_event_open() and bpf() through"
						       : "no seccomp filter");
		return;
	}
	probe_found(ret, PROBE_LIMITED, "%s: own namespaces (%s), perf_event_open() gets through", who, namespaces);
	probe_cost(ret, "%s%s%s", user ? "capabilities of a user namespace do not count for measuring" : "", user && pid ? "; " : "",
		   pid ? "programs outside of the pid namespace appear as pid 0, without names (-a)" : "");
}

void probe_confinement(struct probe_context *context, struct probe_result *ret)
{
	bool container = confinement_is_container();
	struct strbuf answer = {0}, namespaces = {0};

	add_namespaces(&namespaces);
	probe_fact(ret, "container", "%s", container ? "true" : "false");
	probe_fact(ret, "seccomp", "%d", confinement_seccomp_mode());
	probe_fact(ret, "namespaces", "%s", strbuf_str(&namespaces));
	if (context->perf_blocked && !context->perf_absent) {
		add_answer(&answer, "perf_event_open", context->perf_blocked);
		probe_found(ret, PROBE_MISSING, "%s: %s, not by the kernel", container ? "a container" : "a sandbox", strbuf_str(&answer));
		probe_remedy(ret, "%s", container ? "start the container with " MEND_CONTAINER : "run perf outside of the sandbox");
	} else if (context->bpf_blocked && !context->bpf_absent) {
		add_answer(&answer, "bpf", context->bpf_blocked);
		probe_found(ret, PROBE_LIMITED, "%s: %s, not by the kernel", container ? "a container" : "a sandbox", strbuf_str(&answer));
		probe_cost(ret, "BPF programs");
		if (container)
			probe_remedy(ret, "start the container with --cap-add BPF " MEND_CONTAINER);
	} else {
		describe_namespaces(ret, container, strbuf_str(&namespaces));
	}
	strbuf_deinit(&answer);
	strbuf_deinit(&namespaces);
}

void probe_sandbox(struct probe_context *context, struct probe_result *ret)
{
	int landlock = sandbox_landlock_version();
	bool filters = sandbox_has_filters();

	probe_fact(ret, "landlock", "%d", landlock);
	if (landlock && filters) {
		probe_found(ret, PROBE_OK, "Landlock %d and seccomp: report, script and annotate give up writing files, starting programs and the network", landlock);
		return;
	}
	probe_found(ret, filters ? PROBE_LIMITED : PROBE_MISSING, filters ? "seccomp, but no Landlock (CONFIG_SECURITY_LANDLOCK, Linux 5.13)" : "no filters of system calls (seccomp)");
	probe_cost(ret, filters ? "report, script and annotate can still write the files that this user may write" : "nothing keeps report, script and annotate from using all rights of this user");
}

static const struct {
	const char *name;
	uint64_t config;
} hardware_events[] = {
	{"cycles", PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-references", PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache-misses", PERF_COUNT_HW_CACHE_MISSES},
	{"branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-misses", PERF_COUNT_HW_BRANCH_MISSES},
	{"bus-cycles", PERF_COUNT_HW_BUS_CYCLES},
	{"stalled-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	{"stalled-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
	{"ref-cycles", PERF_COUNT_HW_REF_CPU_CYCLES},
};
enum { HARDWARE_EVENT_COUNT = sizeof(hardware_events) / sizeof(hardware_events[0]) };

static struct perf_event_attr hardware_attr(uint64_t config)
{
	return measure_attr(PERF_TYPE_HARDWARE, config, false);
}

/* Enlarges a group of one event until the kernel says that the hardware cannot count it at once. Events that some processors count with a
 * counter of their own beside the others come last. */
static size_t count_counters(void)
{
	static const uint64_t configs[] = {PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_INSTRUCTIONS};
	int fds[MANY_COUNTERS];
	size_t count = 0;

	for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]) && !count; i++) {
		struct perf_event_attr attr = hardware_attr(configs[i]);
		attr.disabled = 0; /* arm64's driver takes no account of members that are off */
		while (count < MANY_COUNTERS) {
			fds[count] = perf_open_raw(&attr, 0, -1, count ? fds[0] : -1, PERF_FLAG_FD_CLOEXEC);
			if (fds[count] < 0)
				break;
			count++;
		}
	}
	for (size_t i = count; i; i--)
		close(fds[i - 1]);
	return count;
}

/* The `misc` of a sample of the event with its interrupt, asked for with `precise`; -1 when none comes, or -errno. */
static int sample_misc(uint64_t config, unsigned int precise)
{
	struct perf_event_attr attr = hardware_attr(config);
	struct strbuf records = {0};
	uint64_t spin = SPIN_NS;
	size_t at = 0;

	attr.sample_period = SAMPLE_PERIOD;
	attr.sample_type = PERF_SAMPLE_IP;
	attr.precise_ip = precise;
	int status = measure_records(&attr, -1, 8, measure_spin, &spin, &records);
	const struct perf_event_header *sample = status ? NULL : measure_find(&records, &at, PERF_RECORD_SAMPLE);
	int misc = sample ? sample->misc : status ? status : -1;
	strbuf_deinit(&records);
	return misc;
}

static void lack_pmu(struct probe_context *context, struct probe_result *ret, int status)
{
	const char *name = context->hypervisor;

	if (status == -EACCES || status == -EPERM) {
		probe_found(ret, PROBE_MISSING, "not for this user");
		probe_remedy_rights(context, ret, 2);
	} else if (name) {
		probe_found(ret, PROBE_MISSING, "none: the hypervisor of this virtual machine (%s) shows it none", name);
		mend_pmu(&ret->remedy, name);
	} else {
		probe_found(ret, PROBE_MISSING, "none: the kernel has no driver for them here (dmesg | grep -i perf)");
	}
}

/* What is wrong with counters that can be opened. */
static void examine_pmu(struct probe_context *context, struct probe_result *ret, const char *pmu, size_t found)
{
	uint64_t count = 0, spin = SPIN_NS;
	int64_t watchdog = 0;
	struct perf_event_attr attr = hardware_attr(PERF_COUNT_HW_INSTRUCTIONS);
	size_t counters = count_counters();
	bool counts = measure_count(&attr, measure_spin, &spin, &count, NULL) == 0 && count > 0;
	bool samples = sample_misc(PERF_COUNT_HW_CPU_CYCLES, 0) >= 0;

	if (proc_read_int("/proc/sys/kernel/nmi_watchdog", &watchdog) && watchdog)
		probe_fact(ret, "nmi_watchdog", "true");
	probe_fact(ret, "counters", "%zu", counters);
	probe_fact(ret, "counts", "%s", counts ? "true" : "false");
	probe_fact(ret, "interrupts", "%s", samples ? "true" : "false");
	probe_found(ret, counts && samples && !watchdog ? PROBE_OK : PROBE_LIMITED, "%s: %zu of %d general events, %zu counters%s%s%s", pmu,
		    found, HARDWARE_EVENT_COUNT, counters, counts ? "" : ", which count nothing", samples ? "" : ", no interrupts",
		    watchdog ? ", one used by the NMI watchdog" : "");
	if (!counts) {
		probe_cost(ret, "instructions are not counted%s", context->hypervisor ? ": the hypervisor's counters stand still" : "");
	} else if (!samples) {
		probe_cost(ret, "counting (stat) works, sampling (record) does not: record -e cpu-clock samples by the clock");
	} else if (watchdog) {
		probe_cost(ret, "more multiplexing: one counter less");
		probe_remedy(ret, MEND_NMI_WATCHDOG);
	}
}

void probe_pmu(struct probe_context *context, struct probe_result *ret)
{
	size_t found = 0;
	int refused = -ENOENT;
	const char *pmu = "cpu";

	for (size_t i = 0; i < context->pmus->pmus.len; i++)
		if (context->pmus->pmus.data[i]->is_core)
			pmu = context->pmus->pmus.data[i]->name;
	for (size_t i = 0; i < HARDWARE_EVENT_COUNT; i++) {
		struct perf_event_attr attr = hardware_attr(hardware_events[i].config);
		int status = measure_can_open(&attr, 0, -1);
		probe_fact_status(ret, hardware_events[i].name, status);
		if (status == -EACCES || status == -EPERM)
			refused = status;
		found += status == 0;
	}
	if (found)
		examine_pmu(context, ret, pmu, found);
	else
		lack_pmu(context, ret, context->has_cpu_pmu || refused == -ENOENT ? refused : -ENOENT);
}

/* The rest of a row about a special ability of the hardware, when cycles themselves are not there, or with `status`. */
static void lack_ability(struct probe_context *context, struct probe_result *ret, int status, const char *what)
{
	struct perf_event_attr attr = hardware_attr(PERF_COUNT_HW_CPU_CYCLES);
	bool refused = status == -EACCES || status == -EPERM;

	if (refused ? !context->has_cpu_pmu : measure_can_open(&attr, 0, -1) < 0) {
		probe_found(ret, PROBE_MISSING, "no hardware counters: see 'hardware counters'");
	} else if (refused) {
		probe_found(ret, PROBE_MISSING, "this user may not try");
		probe_remedy_rights(context, ret, 2);
	} else {
		probe_found(ret, PROBE_MISSING, "%s", what);
	}
}

void probe_precise(struct probe_context *context, struct probe_result *ret)
{
	unsigned int level = 0;
	int refused = 0;

	/* Drivers that know nothing of it may accept it: only a sample that is marked as exact proves it. */
	for (unsigned int i = 1; i <= 3; i++) {
		int misc = sample_misc(PERF_COUNT_HW_CPU_CYCLES, i);
		if (misc >= 0 && (misc & PERF_RECORD_MISC_EXACT_IP))
			level = i;
		else if (misc < -1)
			refused = misc;
	}
	probe_fact(ret, "level", "%u", level);
	if (level)
		probe_found(ret, PROBE_OK, "cycles:%.*s", (int)level, "ppp");
	else
		lack_ability(context, ret, refused,
			     refused ? "this processor's counters have none" : "cycles:p is accepted, but its samples are not exact");
}

static int try_branches(uint64_t kind)
{
	struct perf_event_attr attr = hardware_attr(PERF_COUNT_HW_CPU_CYCLES);

	attr.sample_period = SAMPLE_PERIOD;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = kind | PERF_SAMPLE_BRANCH_USER;
	return measure_can_open(&attr, 0, -1);
}

void probe_branches(struct probe_context *context, struct probe_result *ret)
{
	int status = try_branches(PERF_SAMPLE_BRANCH_ANY);

	probe_fact_status(ret, "any", status);
	if (status == 0)
		probe_found(ret, PROBE_OK, "record -b");
	else
		lack_ability(context, ret, status, "this machine has no branch recording hardware (LBR, BRBE)");
}

void probe_stack_lbr(struct probe_context *context, struct probe_result *ret)
{
	int status = try_branches(PERF_SAMPLE_BRANCH_CALL_STACK);

	probe_fact_status(ret, "call_stack", status);
	if (status == 0)
		probe_found(ret, PROBE_OK, "record --call-graph lbr");
	else
		lack_ability(context, ret, status, "this machine has no branch recording hardware that follows calls (LBR)");
}

static const struct {
	const char *name;
	clockid_t id;
} clock_names[] = {
	{"mono", CLOCK_MONOTONIC}, {"raw", CLOCK_MONOTONIC_RAW}, {"boot", CLOCK_BOOTTIME}, {"real", CLOCK_REALTIME}, {"tai", CLOCK_TAI},
};

static uint64_t read_clock(clockid_t id)
{
	struct timespec now = {0};

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Samples one page fault and looks whether its time is between two readings of the clock. 1 yes, 0 no, or -errno. */
static int clock_agrees(clockid_t id)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false);
	struct strbuf records = {0};
	size_t pages = 1, at = 0;
	uint64_t before, after, time = 0;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TIME;
	attr.use_clockid = 1;
	attr.clockid = id;
	before = read_clock(id);
	int status = measure_records(&attr, -1, 8, measure_touch_pages, &pages, &records);
	after = read_clock(id);
	const struct perf_event_header *sample = status ? NULL : measure_find(&records, &at, PERF_RECORD_SAMPLE);
	if (sample && sample->size >= sizeof(*sample) + sizeof(time))
		memcpy(&time, sample + 1, sizeof(time));
	strbuf_deinit(&records);
	return status < 0 ? status : time >= before && time <= after;
}

/* Can the CPU's own counter of time be converted to the times of samples? */
static bool has_user_time(void)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, false);
	struct ring ring;
	bool has = false;
	int fd = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return false;
	if (ring_open(&ring, fd, -1, 1, false) == 0) {
		has = ring.page->cap_user_time_zero;
		ring_close(&ring);
	}
	close(fd);
	return has;
}

void probe_clocks(struct probe_context *context, struct probe_result *ret)
{
	struct strbuf names = {0};
	char source[64] = "";
	bool user_time = has_user_time();
	int agreeing = 0, mono = 0;

	for (size_t i = 0; i < sizeof(clock_names) / sizeof(clock_names[0]); i++) {
		int status = clock_agrees(clock_names[i].id);
		if (!i)
			mono = status;
		probe_fact(ret, clock_names[i].name, "%s", status < 0 ? probe_errno_name(-status) : status ? "yes" : "wrong");
		if (status > 0)
			strbuf_printf(&names, "%s%s", agreeing++ ? " " : "", clock_names[i].name);
	}
	proc_read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source));
	probe_fact(ret, "clocksource", "%s", source);
	probe_fact(ret, "user_time", "%s", user_time ? "true" : "false");
	if (agreeing)
		probe_found(ret, mono > 0 ? PROBE_OK : PROBE_LIMITED, "-k %s; clocksource %s; the CPU's own counter can%s be told as time",
			    strbuf_str(&names), *source ? source : "unknown", user_time ? "" : "not");
	else
		probe_found(ret, PROBE_MISSING, "%s",
			    mono == -EACCES || mono == -EPERM ? "not for this user" : "times of samples follow none of -k");
	if (mono == -EACCES || mono == -EPERM)
		probe_remedy_rights(context, ret, 2);
	strbuf_deinit(&names);
}
