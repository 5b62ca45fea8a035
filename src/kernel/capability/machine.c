/* Probes of the machine and of the kernel as it is: nothing here depends on a setting that could be changed with a command, except what a
 * container keeps away. */
#include "base/clock.h"
#include "base/text.h"
#include "kernel/capability/capability_internal.h"
#include "kernel/container.h"
#include "kernel/fix.h"
#include "kernel/limits.h"
#include "kernel/measure.h"
#include "kernel/perf_open.h"
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

/* Says what runs here; missing only where the kernel has no perf events at all. */
void probe_kernel(struct capability_context *context, struct capability_result *ret)
{
	struct utsname names;

	uname(&names);
	capability_fact(ret, "release", "%s", names.release);
	capability_fact(ret, "machine", "%s", names.machine);
	capability_fact(ret, "cpus", "%zu", context->cpu_count);
	if (context->perf_absent)
		capability_found(ret, CAPABILITY_MISSING, "%s %s, %s, built without CONFIG_PERF_EVENTS", names.sysname, names.release,
				 names.machine);
	else
		capability_found(ret, CAPABILITY_OK, "%s %s, %s, %zu CPU%s%s%s", names.sysname, names.release, names.machine,
				 context->cpu_count, context->cpu_count == 1 ? "" : "s",
				 context->hypervisor ? ", a virtual machine of " : "", context->hypervisor ? context->hypervisor : "");
	capability_fact(ret, "hypervisor", "%s", context->hypervisor ? context->hypervisor : "none");
}

/* What answers in the kernel's place. */
static void add_answer(struct strbuf *out, const char *call, int blocked)
{
	if (blocked < 0)
		strbuf_printf(out, "%s() is answered by %s", call, capability_signal_name(-blocked));
	else
		strbuf_printf(out, "%s() is answered by %s", call, capability_errno_name(blocked));
}

/* Kinds of namespaces that aren't the system's own, with commas. */
static void add_namespaces(struct strbuf *out)
{
	static const char *const kinds[] = {"user", "pid", "cgroup", "ipc", "uts", "time"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (container_has_namespace(kinds[i]))
			strbuf_printf(out, "%s%s", out->len ? "," : "", kinds[i]);
}

/* Nothing is blocked: what namespaces change all the same. */
static void describe_namespaces(struct capability_result *ret, bool container, const char *namespaces)
{
	bool pid = container_has_namespace("pid"), user = container_has_namespace("user");
	const char *who = container ? "a container" : "no container";

	if (!pid && !user) {
		capability_found(ret, CAPABILITY_OK, "%s, %s", who,
				 container_seccomp_mode() ? "a seccomp filter that lets perf_event_open() and bpf() through"
							  : "no seccomp filter");
		return;
	}
	capability_found(ret, CAPABILITY_LIMITED, "%s: own namespaces (%s), perf_event_open() gets through", who, namespaces);
	capability_cost(ret, "%s%s%s", user ? "capabilities of a user namespace do not count for measuring" : "", user && pid ? "; " : "",
			pid ? "programs outside of the pid namespace appear as pid 0, without names (-a)" : "");
}

/* Whether system calls get through to the kernel; else who answers them. */
void probe_container(struct capability_context *context, struct capability_result *ret)
{
	bool container = container_is_inside();
	struct strbuf answer = {0}, namespaces = {0};

	add_namespaces(&namespaces);
	capability_fact(ret, "container", "%s", container ? "true" : "false");
	capability_fact(ret, "seccomp", "%d", container_seccomp_mode());
	capability_fact(ret, "namespaces", "%s", strbuf_str(&namespaces));
	if (context->perf_blocked && !context->perf_absent) {
		add_answer(&answer, "perf_event_open", context->perf_blocked);
		capability_found(ret, CAPABILITY_MISSING, "%s: %s, not by the kernel", container ? "a container" : "a sandbox",
				 strbuf_str(&answer));
		capability_remedy(ret, "%s", container ? "start the container with " FIX_CONTAINER : "run perf outside of the sandbox");
	} else if (context->bpf_blocked && !context->bpf_absent) {
		add_answer(&answer, "bpf", context->bpf_blocked);
		capability_found(ret, CAPABILITY_LIMITED, "%s: %s, not by the kernel", container ? "a container" : "a sandbox",
				 strbuf_str(&answer));
		capability_cost(ret, "BPF programs");
		if (container)
			capability_remedy(ret, "start the container with --cap-add BPF " FIX_CONTAINER);
	} else {
		describe_namespaces(ret, container, strbuf_str(&namespaces));
	}
	strbuf_deinit(&answer);
	strbuf_deinit(&namespaces);
}

/* Whether readers of recordings can give up their rights (kernel/sandbox.h). Nothing is entered here. */
void probe_sandbox(struct capability_context *context, struct capability_result *ret)
{
	int landlock = sandbox_landlock_version();
	bool filters = sandbox_has_filters();

	capability_fact(ret, "landlock", "%d", landlock);
	if (landlock && filters) {
		capability_found(
			ret, CAPABILITY_OK,
			"Landlock %d and seccomp: who reads a recording writes its output and temporary files only, starts no program, and has no network but for "
			"DEBUGINFOD_URLS (all commands but script -s and script --dlfilter, which run programs of your own)",
			landlock);
		return;
	}
	capability_found(ret, filters ? CAPABILITY_LIMITED : CAPABILITY_MISSING,
			 filters ? "seccomp, but no Landlock (CONFIG_SECURITY_LANDLOCK, Linux 5.13)"
				 : "no filters of system calls (seccomp)");
	capability_cost(ret, filters ? "commands that read a recording can still write the files that this user may write"
				     : "nothing keeps commands that read a recording from using all rights of this user");
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

/* A general hardware event, in user code alone: everybody may count that. */
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

/* Why no hardware event can be opened: the right, the hypervisor, or the driver. */
static void lack_pmu(struct capability_context *context, struct capability_result *ret, int status)
{
	const char *name = context->hypervisor;

	if (status == -EACCES || status == -EPERM) {
		capability_found(ret, CAPABILITY_MISSING, "not for this user");
		capability_remedy_rights(context, ret, 2);
	} else if (name) {
		capability_found(ret, CAPABILITY_MISSING, "none: the hypervisor of this virtual machine (%s) shows it none", name);
		fix_pmu(&ret->remedy, name);
	} else {
		capability_found(ret, CAPABILITY_MISSING, "none: the kernel has no driver for them here (dmesg | grep -i perf)");
	}
}

/* What is wrong with counters that can be opened. */
static void examine_pmu(struct capability_context *context, struct capability_result *ret, const char *pmu, size_t found)
{
	uint64_t count = 0, spin = SPIN_NS;
	int64_t watchdog = 0;
	struct perf_event_attr attr = hardware_attr(PERF_COUNT_HW_INSTRUCTIONS);
	size_t counters = count_counters();
	bool counts = measure_count(&attr, measure_spin, &spin, &count, NULL) == 0 && count > 0;
	bool samples = sample_misc(PERF_COUNT_HW_CPU_CYCLES, 0) >= 0;

	if (proc_read_int("/proc/sys/kernel/nmi_watchdog", &watchdog) && watchdog)
		capability_fact(ret, "nmi_watchdog", "true");
	capability_fact(ret, "counters", "%zu", counters);
	capability_fact(ret, "counts", "%s", counts ? "true" : "false");
	capability_fact(ret, "interrupts", "%s", samples ? "true" : "false");
	capability_found(ret, counts && samples && !watchdog ? CAPABILITY_OK : CAPABILITY_LIMITED,
			 "%s: %zu of %d general events, %zu counters%s%s%s", pmu, found, HARDWARE_EVENT_COUNT, counters,
			 counts ? "" : ", which count nothing", samples ? "" : ", no interrupts",
			 watchdog ? ", one used by the NMI watchdog" : "");
	if (!counts) {
		capability_cost(ret, "instructions are not counted%s",
				context->hypervisor ? ": the hypervisor's counters stand still" : "");
	} else if (!samples) {
		capability_cost(ret, "counting (stat) works, sampling (record) does not: record -e cpu-clock samples by the clock");
	} else if (watchdog) {
		capability_cost(ret, "more multiplexing: one counter less");
		capability_remedy(ret, FIX_NMI_WATCHDOG);
	}
}

/* Opens each general event; where some can be had, counts and samples with them. */
void probe_pmu(struct capability_context *context, struct capability_result *ret)
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
		capability_fact_status(ret, hardware_events[i].name, status);
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
static void lack_ability(struct capability_context *context, struct capability_result *ret, int status, const char *what)
{
	struct perf_event_attr attr = hardware_attr(PERF_COUNT_HW_CPU_CYCLES);
	bool refused = status == -EACCES || status == -EPERM;

	if (refused ? !context->has_cpu_pmu : measure_can_open(&attr, 0, -1) < 0) {
		capability_found(ret, CAPABILITY_MISSING, "no hardware counters: see 'hardware counters'");
	} else if (refused) {
		capability_found(ret, CAPABILITY_MISSING, "this user may not try");
		capability_remedy_rights(context, ret, 2);
	} else {
		capability_found(ret, CAPABILITY_MISSING, "%s", what);
	}
}

/* The highest level whose samples are exact in truth. */
void probe_precise(struct capability_context *context, struct capability_result *ret)
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
	capability_fact(ret, "level", "%u", level);
	if (level)
		capability_found(ret, CAPABILITY_OK, "cycles:%.*s", (int)level, "ppp");
	else
		lack_ability(context, ret, refused,
			     refused ? "this processor's counters have none" : "cycles:p is accepted, but its samples are not exact");
}

/* 0 or -errno of opening cycles with a stack of branches; `kind` is PERF_SAMPLE_BRANCH_*. */
static int try_branches(uint64_t kind)
{
	struct perf_event_attr attr = hardware_attr(PERF_COUNT_HW_CPU_CYCLES);

	attr.sample_period = SAMPLE_PERIOD;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = kind | PERF_SAMPLE_BRANCH_USER;
	return measure_can_open(&attr, 0, -1);
}

/* Whether it can be opened: that branches come depends on the program. */
void probe_branches(struct capability_context *context, struct capability_result *ret)
{
	int status = try_branches(PERF_SAMPLE_BRANCH_ANY);

	capability_fact_status(ret, "any", status);
	if (status == 0)
		capability_found(ret, CAPABILITY_OK, "record -b");
	else
		lack_ability(context, ret, status, "this machine has no branch recording hardware (LBR, BRBE)");
}

/* The same with branches that the hardware keeps as a stack of calls. */
void probe_stack_lbr(struct capability_context *context, struct capability_result *ret)
{
	int status = try_branches(PERF_SAMPLE_BRANCH_CALL_STACK);

	capability_fact_status(ret, "call_stack", status);
	if (status == 0)
		capability_found(ret, CAPABILITY_OK, "record --call-graph lbr");
	else
		lack_ability(context, ret, status, "this machine has no branch recording hardware that follows calls (LBR)");
}

static const struct {
	const char *name;
	clockid_t id;
} clock_names[] = {
	{"mono", CLOCK_MONOTONIC}, {"raw", CLOCK_MONOTONIC_RAW}, {"boot", CLOCK_BOOTTIME}, {"real", CLOCK_REALTIME}, {"tai", CLOCK_TAI},
};

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
	before = clock_now_ns(id);
	int status = measure_records(&attr, -1, 8, measure_touch_pages, &pages, &records);
	after = clock_now_ns(id);
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

/* A sample's time by each clock has to lie between two readings of that clock. */
void probe_clocks(struct capability_context *context, struct capability_result *ret)
{
	struct strbuf names = {0};
	char source[64] = "";
	bool user_time = has_user_time();
	int agreeing = 0, mono = 0;

	for (size_t i = 0; i < sizeof(clock_names) / sizeof(clock_names[0]); i++) {
		int status = clock_agrees(clock_names[i].id);
		if (!i)
			mono = status;
		capability_fact(ret, clock_names[i].name, "%s", status < 0 ? capability_errno_name(-status) : status ? "yes" : "wrong");
		if (status > 0)
			strbuf_printf(&names, "%s%s", agreeing++ ? " " : "", clock_names[i].name);
	}
	proc_read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source));
	capability_fact(ret, "clocksource", "%s", source);
	capability_fact(ret, "user_time", "%s", user_time ? "true" : "false");
	if (agreeing)
		capability_found(ret, mono > 0 ? CAPABILITY_OK : CAPABILITY_LIMITED,
				 "-k %s; clocksource %s; the CPU's own counter can%s be converted to time", strbuf_str(&names),
				 *source ? source : "unknown", user_time ? "" : "not");
	else
		capability_found(ret, CAPABILITY_MISSING, "%s",
				 mono == -EACCES || mono == -EPERM ? "not for this user" : "times of samples follow none of -k");
	if (mono == -EACCES || mono == -EPERM)
		capability_remedy_rights(context, ret, 2);
	strbuf_deinit(&names);
}
