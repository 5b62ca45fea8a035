/* Explaining refusals. The kernel gives one number; what it means follows from the attribute, the sysctls, the capabilities and whether we
 * are confined. Facts: kernel/events/core.c (SYSCALL_DEFINE5(perf_event_open) and perf_allow_*),
 * Documentation/admin-guide/perf-security.rst. */
#include "kernel/refusal.h"

#include "base/strbuf.h"
#include "kernel/container.h"
#include "kernel/fix.h"
#include "kernel/hardware/hypervisor.h"
#include "kernel/limits.h"
#include "kernel/measure.h"
#include "kernel/perf_open.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { MANY_FILES = 1000000 };

/* What somebody without a capability may do at a level of kernel.perf_event_paranoid. */
static const char *allowed_at(int level)
{
	if (level < 0)
		return "everything";
	if (level == 0)
		return "everything but raw tracepoint data of other users";
	if (level == 1)
		return "their own processes in user and kernel space, but not whole CPUs (-a, -C) nor tracepoints of others";
	/* Mainline kernels take higher levels as 2; those of Debian, Ubuntu and Android allow nothing. */
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false);
	if (level > 2 && measure_can_open(&attr, 0, -1) < 0)
		return "nothing on this kernel";
	return "their own processes in user space only (cycles:u, cpu-clock:u), no kernel space, no whole CPUs (-a, -C)";
}

/* The highest level at which what was asked for would be allowed. */
static int needed_level(const struct refusal *refusal)
{
	if (refusal->attr->type == PERF_TYPE_TRACEPOINT && (refusal->attr->sample_type & PERF_SAMPLE_RAW))
		return -1;
	if (refusal->pid == -1)
		return 0;
	return refusal->attr->exclude_kernel ? 2 : 1;
}

/* What kernel.perf_event_paranoid forbids, and the three ways out, one a line. */
static void add_paranoid(struct strbuf *text, const struct refusal *refusal)
{
	int level = limits_paranoid(), need = needed_level(refusal);

	strbuf_printf(text, "kernel.perf_event_paranoid is %d, which allows users without CAP_PERFMON %s.\n", level, allowed_at(level));
	strbuf_add_str(text, "To allow this for all users until the next boot:  ");
	fix_paranoid(text, need);
	strbuf_add_char(text, '\n');
	strbuf_add_str(text, "To allow it for this program only:  sudo setcap cap_perfmon,cap_sys_ptrace,cap_syslog+ep \"$(readlink -f "
			     "\"$(command -v perf)\")\"\n");
	strbuf_add_str(text, "Or run it with sudo");
}

/* Some tracepoints lie on the way of sampling itself (irq_vectors:irq_work_*): the kernel samples them for nobody, though it counts them.
 */
static bool is_only_for_counting(const struct refusal *refusal)
{
	struct perf_event_attr attr = {
		.size = PERF_ATTR_SIZE_VER5, .type = refusal->attr->type, .config = refusal->attr->config, .disabled = 1};
	int fd = refusal->attr->type == PERF_TYPE_TRACEPOINT ? perf_open_raw(&attr, 0, -1, -1, 0) : -1;

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* For who is confined by a seccomp filter. */
static void explain_container(struct strbuf *text)
{
	strbuf_add_str(text, "not allowed in this container or sandbox: a seccomp filter keeps perf_event_open() from the kernel.\n"
			     "Start the container with " FIX_CONTAINER);
}

/* EACCES and EPERM: a filter, a tracepoint that sampling itself triggers, a security module, another user's process, or
 * perf_event_paranoid; in this order, since each explains all of it. */
static void explain_permission(struct strbuf *text, const struct refusal *refusal)
{
	bool capable = limits_has_perfmon();

	if (container_probe(CONTAINER_PERF_EVENT_OPEN)) {
		explain_container(text);
		return;
	}
	if (capable && is_only_for_counting(refusal)) {
		strbuf_add_str(text, "the kernel does not sample this tracepoint, because sampling itself triggers it");
		return;
	}
	if (capable) {
		strbuf_add_str(text, "not permitted although this user has CAP_PERFMON: a security module (SELinux, AppArmor, "
				     "lockdown) forbids it; see dmesg");
		return;
	}
	if (refusal->pid > 0 && limits_paranoid() < needed_level(refusal) + 1 && refusal->attr->type != PERF_TYPE_TRACEPOINT) {
		strbuf_printf(text, "process %d belongs to another user, or tracing it is not permitted.\n", refusal->pid);
		strbuf_add_str(text, "Run perf as that user, with sudo, or give it CAP_PERFMON and CAP_SYS_PTRACE");
		return;
	}
	strbuf_add_str(text, "not allowed. ");
	add_paranoid(text, refusal);
}

/* Names the hypervisor, which is the commonest reason, and what works anyway. */
static void explain_no_counter(struct strbuf *text)
{
	char buffer[64];
	const char *hypervisor = hypervisor_name(buffer, sizeof(buffer));

	strbuf_add_str(text, "this machine has no hardware counter for it");
	if (hypervisor)
		strbuf_printf(text, " (a virtual machine of %s: see 'perf doctor pmu')", hypervisor);
	strbuf_add_str(text, ". cpu-clock, task-clock, page-faults, context-switches and tracepoints work everywhere");
}

/* ENOENT and its like: the attribute tells which part of it the machine hasn't. */
static void explain_unsupported(struct strbuf *text, const struct refusal *refusal)
{
	const struct perf_event_attr *attr = refusal->attr;

	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		strbuf_add_str(
			text,
			"branch stacks (-b, -j, --call-graph lbr) need branch recording hardware (LBR, BRBE), which this event or machine "
			"does not have. For call chains use -g (frame pointers) or --call-graph dwarf");
	else if (attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE || attr->type == PERF_TYPE_RAW)
		explain_no_counter(text);
	else if (attr->precise_ip)
		strbuf_add_str(text, "precise sampling (:p, :pp, :ppp) is not supported for it here; remove the modifier p");
	else if (attr->type == PERF_TYPE_BREAKPOINT)
		strbuf_add_str(text, "this machine does not support such a hardware breakpoint");
	else
		strbuf_add_str(text, "not supported by this kernel or machine");
}

/* True when the kernel counts the event where it wouldn't sample it, or wouldn't count it for a process: on `cpu` for `pid`. */
static bool can_count(const struct perf_event_attr *asked, pid_t pid, int cpu)
{
	struct perf_event_attr attr = {.type = asked->type,
				       .size = asked->size,
				       .config = asked->config,
				       .config1 = asked->config1,
				       .config2 = asked->config2,
				       .disabled = 1};

	return !measure_can_open(&attr, pid, cpu);
}

/* PMUs of other parts of the chip, and some clocks, know no samples, or no processes. */
static bool explain_counting_only(struct strbuf *text, const struct refusal *refusal)
{
	const struct perf_event_attr *attr = refusal->attr;
	bool sampled = attr->sample_period, of_process = refusal->pid > 0;
	int cpu = refusal->cpu < 0 ? 0 : refusal->cpu;

	if (sampled && can_count(attr, refusal->pid, refusal->cpu))
		strbuf_printf(text, "it can be counted, but not sampled:  perf stat -e %s", refusal->event);
	else if (of_process && can_count(attr, -1, cpu))
		strbuf_printf(text, "it counts whole CPUs, not single processes%s:  perf stat -a -e %s",
			      sampled ? ", and cannot be sampled" : "", refusal->event);
	else
		return false;
	return true;
}

/* The member behind aux_sample_size, which older headers don't name. */
static uint32_t aux_action(const struct perf_event_attr *attr)
{
	uint32_t value;

	memcpy(&value, (const char *)attr + offsetof(struct perf_event_attr, aux_sample_size) + sizeof(value), sizeof(value));
	return value;
}

/* EINVAL says nothing of which member it means: those that newer kernels brought are named first, with the version. */
static void explain_invalid(struct strbuf *text, const struct refusal *refusal)
{
	const struct perf_event_attr *attr = refusal->attr;

	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		explain_unsupported(text, refusal);
	else if (attr->type == PERF_TYPE_BREAKPOINT)
		strbuf_add_str(
			text,
			"the kernel cannot set this breakpoint: the address must be a multiple of the length (1, 2, 4, 8); :x has length 8");
	else if (attr->precise_ip)
		strbuf_add_str(text, "precise sampling (:p, :pp, :ppp) is not supported for it here; remove the modifier p");
	else if (attr->use_clockid)
		strbuf_add_str(text, "this kernel does not support the clock of -k for it; try -k mono");
	else if (aux_action(attr))
		strbuf_add_str(text, "aux-action requires Linux 6.13");
	else if (attr->build_id)
		strbuf_add_str(text, "--buildid-mmap requires Linux 5.12");
	else if (attr->cgroup)
		strbuf_add_str(text, "--all-cgroups requires Linux 5.7 and CONFIG_CGROUP_PERF");
	else if (attr->namespaces)
		strbuf_add_str(text, "--namespaces requires Linux 4.12");
	else if (attr->write_backward)
		strbuf_add_str(text, "--overwrite requires Linux 4.7");
	else if (attr->sample_type & (PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE))
		strbuf_add_str(text, "--data-page-size and --code-page-size require Linux 5.11");
	else if (!refusal->group && explain_counting_only(text, refusal))
		return;
	else if (refusal->group)
		strbuf_add_str(text, "it cannot be counted in this group (too many events for the hardware, or of different kinds)");
	else
		strbuf_add_str(text, "the kernel does not accept this event with these options");
}

struct error *refusal_explain(const struct refusal *refusal)
{
	struct strbuf text = {0};
	enum error_kind kind = ERROR_UNSUPPORTED;

	strbuf_printf(&text, "%s: ", refusal->event);
	switch (refusal->error) {
	case EACCES:
	case EPERM:
		kind = ERROR_PERMISSION;
		explain_permission(&text, refusal);
		break;
	case ENOENT:
	case ENXIO:
	case EOPNOTSUPP:
		explain_unsupported(&text, refusal);
		break;
	case ENODEV:
		if (refusal->cpu >= 0)
			strbuf_printf(&text, "CPU %d is offline, or has no hardware for this event", refusal->cpu);
		else
			explain_unsupported(&text, refusal);
		break;
	case ENOSYS:
		if (access("/proc/sys/kernel/perf_event_paranoid", F_OK) == 0)
			explain_container(&text);
		else
			strbuf_add_str(&text, "this kernel has no perf_event_open() (built without CONFIG_PERF_EVENTS)");
		break;
	case EMFILE:
		strbuf_add_str(&text, "too many open files: each event uses one file descriptor per CPU and thread.\nRaise the limit:  ");
		fix_files(&text, MANY_FILES);
		break;
	case ENOSPC:
		strbuf_add_str(&text,
			       refusal->attr->type == PERF_TYPE_BREAKPOINT
				       ? "all hardware breakpoints are in use (x86 has 4)"
				       : "the kernel is out of resources (kernel.perf_event_max_stack too high, or counters in use)");
		break;
	case EBUSY:
		strbuf_add_str(&text, "the counter is in use (by another profiler, or the NMI watchdog: " FIX_NMI_WATCHDOG ")");
		break;
	case ESRCH:
		strbuf_printf(&text, "process %d has ended", refusal->pid);
		break;
	case EOVERFLOW:
		strbuf_add_str(&text, "the requested call chains exceed kernel.perf_event_max_stack");
		break;
	case EINVAL:
	case E2BIG:
		explain_invalid(&text, refusal);
		break;
	default:
		kind = ERROR_SYSTEM;
		strbuf_printf(&text, "perf_event_open: %s", strerror(refusal->error));
	}
	struct error *error = error_new_kind(kind, "%s", strbuf_str(&text));
	strbuf_deinit(&text);
	return error;
}

struct error *refusal_explain_ring(int error, size_t pages, size_t rings)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t kb = (pages + 1) * page / 1024;

	if (error != EPERM)
		return error_system(error, "mapping %zu buffers of %zu KB", rings, kb);
	struct strbuf remedy = {0};
	fix_mlock(&remedy, kb);
	struct error *result = error_new_kind(
		ERROR_PERMISSION,
		"%zu buffers of %zu KB exceed the memory that this user may lock (kernel.perf_event_mlock_kb is %zu per CPU, plus "
		"ulimit -l).\nUse a smaller -m, or:  %s",
		rings, kb, limits_mlock_bytes() / 1024, strbuf_str(&remedy));
	strbuf_deinit(&remedy);
	return result;
}
