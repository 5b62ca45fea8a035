/* The table of capabilities, what they share, and how a result is put together. A capability that needs a system call which a filter keeps
 * from us is not run: its row says so. */
#include "kernel/capability/capability.h"

#include "base/mem.h"
#include "kernel/capability/capability_internal.h"
#include "kernel/container.h"
#include "kernel/fix.h"
#include "kernel/hardware/cpus.h"
#include "kernel/hardware/hypervisor.h"
#include "kernel/limits.h"
#include "kernel/tracing/tracefs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MACHINE "Machine"
#define RIGHTS "Rights of this user"
#define EVENTS "Events"
#define BPF "BPF"
#define STACKS "Call graphs"

const struct capability kernel_capabilities[] = {
	{MACHINE, "kernel", "kernel", CAPABILITY_NEEDS_NOTHING, "nothing can be measured", probe_kernel},
	{MACHINE, "confinement", "container, seccomp", CAPABILITY_NEEDS_NOTHING, "nothing can be measured", probe_container},
	{MACHINE, "sandbox", "sandbox of readers", CAPABILITY_NEEDS_NOTHING,
	 "report, script, annotate and other readers keep all rights of this user while they read a recording", probe_sandbox},
	{MACHINE, "pmu", "hardware counters", CAPABILITY_NEEDS_PERF,
	 "cycles, instructions, cache and branch events; record samples by the CPU's clock (cpu-clock) instead", probe_pmu},
	{MACHINE, "precise", "precise sampling", CAPABILITY_NEEDS_PERF,
	 "samples may name an instruction some distance after the one that took the time (skid)", probe_precise},
	{MACHINE, "branches", "branch records", CAPABILITY_NEEDS_PERF, "record -b and -j: which branches led to a sample", probe_branches},
	{MACHINE, "clocks", "clocks", CAPABILITY_NEEDS_PERF, "-k: times of samples by a clock that other programs use too", probe_clocks},

	{RIGHTS, "own-programs", "own programs", CAPABILITY_NEEDS_PERF, "this user can measure nothing", probe_own_programs},
	{RIGHTS, "kernel-code", "kernel code", CAPABILITY_NEEDS_PERF,
	 "what own programs do inside the kernel: only their own code is sampled and counted", probe_kernel_code},
	{RIGHTS, "whole-system", "whole system", CAPABILITY_NEEDS_PERF, "-a and -C: whole CPUs, whoever runs there", probe_whole_system},
	{RIGHTS, "tracepoint-data", "tracepoint data", CAPABILITY_NEEDS_PERF,
	 "record and trace of tracepoints with their fields (those of own system calls aside)", probe_tracepoint_data},
	{RIGHTS, "kernel-addresses", "kernel addresses", CAPABILITY_NEEDS_NOTHING, "samples in the kernel have no function names",
	 probe_kernel_addresses},
	{RIGHTS, "buffers", "locked buffers", CAPABILITY_NEEDS_PERF,
	 "record takes smaller buffers, which lose samples sooner (it says how many)", probe_rings},
	{RIGHTS, "files", "open files", CAPABILITY_NEEDS_NOTHING, "hundreds of events at once: each takes a descriptor on each CPU",
	 probe_files},
	{RIGHTS, "sample-rate", "sample rate", CAPABILITY_NEEDS_PERF, "record samples at this rate, not at its 4000 a second",
	 probe_sample_rate},

	{EVENTS, "software", "software events", CAPABILITY_NEEDS_PERF, "cpu-clock, page-faults, context-switches …", probe_software},
	{EVENTS, "breakpoints", "breakpoints", CAPABILITY_NEEDS_PERF, "mem:ADDRESS events: who reads, writes or executes an address",
	 probe_breakpoints},
	{EVENTS, "tracefs", "tracefs", CAPABILITY_NEEDS_NOTHING, "tracepoints by name, their fields, perf trace, perf probe",
	 probe_tracefs},
	{EVENTS, "tracepoints", "tracepoints", CAPABILITY_NEEDS_PERF, "events like sched:sched_switch and syscalls:*, perf trace",
	 probe_tracepoints},
	{EVENTS, "kprobes", "kprobes", CAPABILITY_NEEDS_PERF, "events on any kernel function (perf probe NAME)", probe_kprobes},
	{EVENTS, "uprobes", "uprobes", CAPABILITY_NEEDS_PERF, "events on any function of a program (perf probe -x PROGRAM NAME)",
	 probe_uprobes},
	{EVENTS, "cgroups", "control groups", CAPABILITY_NEEDS_PERF, "-G: counts of one container or service", probe_cgroups},
	{EVENTS, "schedstats", "sched statistics", CAPABILITY_NEEDS_NOTHING,
	 "sched:sched_stat_sleep, _wait, _blocked and _iowait count nothing; sched:sched_switch needs none", probe_schedstats},

	{BPF, "bpf", "BPF programs", CAPABILITY_NEEDS_BPF,
	 "what is summed up inside the kernel; recording every event does instead, at more cost", probe_bpf},
	{BPF, "bpf-others", "BPF of others", CAPABILITY_NEEDS_NOTHING, "events that such a program drops are neither counted nor recorded",
	 probe_bpf_attached},
	{BPF, "btf", "kernel types (BTF)", CAPABILITY_NEEDS_NOTHING, "BPF programs that fit every kernel, and names in structures",
	 probe_btf},

	{STACKS, "auto", "complete (-g)", CAPABILITY_NEEDS_PERF, "record -g: who called, also in programs without frame pointers",
	 probe_stack_auto},
	{STACKS, "fp", "frame pointers", CAPABILITY_NEEDS_PERF, "record --call-graph fp: who called", probe_stack_fp},
	{STACKS, "dwarf", "dwarf", CAPABILITY_NEEDS_PERF, "record --call-graph dwarf: stacks of programs without frame pointers",
	 probe_stack_dwarf},
	{STACKS, "lbr", "lbr", CAPABILITY_NEEDS_PERF, "record --call-graph lbr; --call-graph dwarf finds the same stacks at more cost",
	 probe_stack_lbr},
	{NULL, NULL, NULL, CAPABILITY_NEEDS_NOTHING, NULL, NULL},
};

struct capability_context *capability_context_create(void)
{
	struct capability_context *context = mem_zalloc(sizeof(*context));

	context->paranoid = limits_paranoid();
	context->perfmon = limits_has_perfmon();
	context->perf_blocked = container_probe(CONTAINER_PERF_EVENT_OPEN);
	context->bpf_blocked = container_probe(CONTAINER_BPF);
	/* These files are there if, and only if, the kernel has the system call. */
	context->perf_absent = context->perf_blocked == ENOSYS && access("/proc/sys/kernel/perf_event_paranoid", F_OK) < 0;
	context->bpf_absent = context->bpf_blocked == ENOSYS && access("/proc/sys/kernel/unprivileged_bpf_disabled", F_OK) < 0;
	context->pmus = pmu_list_load("");
	for (size_t i = 0; i < context->pmus->pmus.len; i++) {
		pmu_load_head(context->pmus, context->pmus->pmus.data[i]);
		context->has_cpu_pmu |= context->pmus->pmus.data[i]->is_core;
	}
	context->tracefs_error = tracefs_find("", &context->tracefs);
	cpus_online(&context->cpus, &context->cpu_count);
	context->hypervisor = hypervisor_name(context->hypervisor_buffer, sizeof(context->hypervisor_buffer));
	return context;
}

void capability_context_destroy(struct capability_context *context)
{
	if (!context)
		return;
	for (size_t i = 0; i < context->descriptors.len; i++)
		close(context->descriptors.data[i]);
	vec_deinit(&context->descriptors);
	pmu_list_destroy(context->pmus);
	free(context->tracefs);
	if (context->tracefs_error)
		error_free(context->tracefs_error);
	free(context->cpus);
	free(context);
}

void capability_result_deinit(struct capability_result *result)
{
	strbuf_deinit(&result->found);
	strbuf_deinit(&result->cost);
	strbuf_deinit(&result->remedy);
	for (size_t i = 0; i < result->facts.len; i++) {
		free(result->facts.data[i].name);
		free(result->facts.data[i].value);
	}
	vec_deinit(&result->facts);
}

const struct capability *capability_by_id(const char *id)
{
	for (const struct capability *capability = kernel_capabilities; capability->id; capability++)
		if (!strcmp(capability->id, id))
			return capability;
	return NULL;
}

const char *capability_state_name(enum capability_state state)
{
	static const char *const names[] = {"OK", "limited", "missing"};

	return names[state];
}

/* A table of our own: the C library's (strerrorname_np, sigabbrev_np) came with 2.32, and one program is to run with older ones, too. */
const char *capability_errno_name(int error)
{
	/* clang-format off */
	static const char *const names[] = {
		NULL, "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD", "EAGAIN", "ENOMEM", "EACCES", "EFAULT",
		"ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV", "ENOTDIR", "EISDIR", "EINVAL", "ENFILE", "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC",
		"ESPIPE", "EROFS", "EMLINK", "EPIPE", "EDOM", "ERANGE",
		[ENOSYS] = "ENOSYS", [ELOOP] = "ELOOP", [ENODATA] = "ENODATA", [EOVERFLOW] = "EOVERFLOW", [EUSERS] = "EUSERS",
		[EOPNOTSUPP] = "EOPNOTSUPP", [ENOBUFS] = "ENOBUFS", [ETIMEDOUT] = "ETIMEDOUT", [ECANCELED] = "ECANCELED",
		[524] = "ENOTSUPP", /* the kernel's own (include/linux/errno.h), but gets out of bpf() */
	};
	/* clang-format on */
	const char *name = error > 0 && (size_t)error < sizeof(names) / sizeof(*names) ? names[error] : NULL;

	return name ? name : "an unknown errno";
}

const char *capability_signal_name(int number)
{
	/* clang-format off */
	static const char *const names[] = {
		[SIGHUP] = "SIGHUP", [SIGINT] = "SIGINT", [SIGQUIT] = "SIGQUIT", [SIGILL] = "SIGILL", [SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT",
		[SIGBUS] = "SIGBUS", [SIGFPE] = "SIGFPE", [SIGKILL] = "SIGKILL", [SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
		[SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM", [SIGXCPU] = "SIGXCPU", [SIGSYS] = "SIGSYS",
	};
	/* clang-format on */
	const char *name = number > 0 && (size_t)number < sizeof(names) / sizeof(*names) ? names[number] : NULL;

	return name ? name : "a signal";
}

/* What cannot be done is told with everything that isn't OK: by the capability itself, or by its row. */
void capability_run(const struct capability *capability, struct capability_context *context, struct capability_result *ret)
{
	*ret = (struct capability_result){0};
	if (capability->need == CAPABILITY_NEEDS_PERF && context->perf_absent)
		capability_found(ret, CAPABILITY_MISSING, "this kernel has no perf_event_open(): see 'kernel'");
	else if (capability->need == CAPABILITY_NEEDS_PERF && context->perf_blocked)
		capability_found(ret, CAPABILITY_MISSING, "perf_event_open() does not get through to the kernel: see 'container, seccomp'");
	else if (capability->need == CAPABILITY_NEEDS_BPF && context->bpf_absent)
		capability_found(ret, CAPABILITY_MISSING, "this kernel has no bpf() (CONFIG_BPF_SYSCALL)");
	else if (capability->need == CAPABILITY_NEEDS_BPF && context->bpf_blocked)
		capability_found(ret, CAPABILITY_MISSING, "bpf() does not get through to the kernel: see 'container, seccomp'");
	else
		capability->run(context, ret);
	if (ret->state != CAPABILITY_OK && !ret->cost.len)
		strbuf_add_str(&ret->cost, capability->cost);
}

void capability_found(struct capability_result *result, enum capability_state state, const char *format, ...)
{
	va_list args;

	result->state = state;
	strbuf_clear(&result->found);
	va_start(args, format);
	strbuf_vprintf(&result->found, format, args);
	va_end(args);
}

void capability_cost(struct capability_result *result, const char *format, ...)
{
	va_list args;

	strbuf_clear(&result->cost);
	va_start(args, format);
	strbuf_vprintf(&result->cost, format, args);
	va_end(args);
}

void capability_remedy(struct capability_result *result, const char *format, ...)
{
	va_list args;

	strbuf_clear(&result->remedy);
	va_start(args, format);
	strbuf_vprintf(&result->remedy, format, args);
	va_end(args);
}

void capability_fact(struct capability_result *result, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vec_push(&result->facts, (struct capability_fact){.name = mem_strdup(name), .value = mem_vprintf(format, args)});
	va_end(args);
}

void capability_fact_status(struct capability_result *result, const char *name, int status)
{
	capability_fact(result, name, "%s", status < 0 ? capability_errno_name(-status) : "yes");
}

void capability_remedy_rights(const struct capability_context *context, struct capability_result *result, int level)
{
	if (!context->perfmon && context->paranoid > level)
		fix_paranoid(&result->remedy, level);
}
