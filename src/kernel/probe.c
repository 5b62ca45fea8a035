/* The table of probes, what they share, and how a result is put together. A probe that needs a system call which a filter keeps from us is
 * not run: its row says so. */
#include "kernel/probe.h"

#include "base/mem.h"
#include "kernel/confinement.h"
#include "kernel/cpus.h"
#include "kernel/hypervisor.h"
#include "kernel/limits.h"
#include "kernel/mend.h"
#include "kernel/probe_internal.h"
#include "kernel/tracefs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MACHINE "Machine"
#define RIGHTS "Rights of this user"
#define EVENTS "Events"
#define BPF "BPF"
#define STACKS "Call graphs"

const struct probe kernel_probes[] = {
	{MACHINE, "kernel", "kernel", PROBE_NEEDS_NOTHING, "nothing can be measured", probe_kernel},
	{MACHINE, "confinement", "container, seccomp", PROBE_NEEDS_NOTHING, "nothing can be measured", probe_confinement},
	{MACHINE, "sandbox", "sandbox of readers", PROBE_NEEDS_NOTHING, "report, script, annotate and other readers keep all rights of this user while they read a recording", probe_sandbox},
	{MACHINE, "pmu", "hardware counters", PROBE_NEEDS_PERF,
	 "cycles, instructions, cache and branch events; record samples by the CPU's clock (cpu-clock) instead", probe_pmu},
	{MACHINE, "precise", "precise sampling", PROBE_NEEDS_PERF,
	 "samples may name an instruction some way behind the one that took the time (skid)", probe_precise},
	{MACHINE, "branches", "branch records", PROBE_NEEDS_PERF, "record -b and -j: which branches led to a sample", probe_branches},
	{MACHINE, "clocks", "clocks", PROBE_NEEDS_PERF, "-k: times of samples by a clock that other programs use too", probe_clocks},

	{RIGHTS, "own-programs", "own programs", PROBE_NEEDS_PERF, "this user can measure nothing", probe_own_programs},
	{RIGHTS, "kernel-code", "kernel code", PROBE_NEEDS_PERF,
	 "what own programs do inside the kernel: only their own code is sampled and counted", probe_kernel_code},
	{RIGHTS, "whole-system", "whole system", PROBE_NEEDS_PERF, "-a and -C: whole CPUs, whoever runs there", probe_whole_system},
	{RIGHTS, "tracepoint-data", "tracepoint data", PROBE_NEEDS_PERF,
	 "record and trace of tracepoints with their fields (those of own system calls aside)", probe_tracepoint_data},
	{RIGHTS, "kernel-addresses", "kernel addresses", PROBE_NEEDS_NOTHING, "samples in the kernel have no function names",
	 probe_kernel_addresses},
	{RIGHTS, "buffers", "locked buffers", PROBE_NEEDS_PERF,
	 "record takes smaller buffers, which lose samples sooner (it says how many)", probe_rings},
	{RIGHTS, "files", "open files", PROBE_NEEDS_NOTHING, "hundreds of events at once: each takes a descriptor on each CPU",
	 probe_files},
	{RIGHTS, "sample-rate", "sample rate", PROBE_NEEDS_PERF, "record samples at this rate, not at its 4000 a second",
	 probe_sample_rate},

	{EVENTS, "software", "software events", PROBE_NEEDS_PERF, "cpu-clock, page-faults, context-switches …", probe_software},
	{EVENTS, "breakpoints", "breakpoints", PROBE_NEEDS_PERF, "mem:ADDRESS events: who reads, writes or executes an address",
	 probe_breakpoints},
	{EVENTS, "tracefs", "tracefs", PROBE_NEEDS_NOTHING, "tracepoints by name, their fields, perf trace, perf probe", probe_tracefs},
	{EVENTS, "tracepoints", "tracepoints", PROBE_NEEDS_PERF, "events like sched:sched_switch and syscalls:*, perf trace",
	 probe_tracepoints},
	{EVENTS, "kprobes", "kprobes", PROBE_NEEDS_PERF, "events on any kernel function (perf probe NAME)", probe_kprobes},
	{EVENTS, "uprobes", "uprobes", PROBE_NEEDS_PERF, "events on any function of a program (perf probe -x PROGRAM NAME)", probe_uprobes},
	{EVENTS, "cgroups", "control groups", PROBE_NEEDS_PERF, "-G: counts of one container or service", probe_cgroups},
	{EVENTS, "schedstats", "sched statistics", PROBE_NEEDS_NOTHING,
	 "sched:sched_stat_sleep, _wait, _blocked and _iowait count nothing; sched:sched_switch needs none", probe_schedstats},

	{BPF, "bpf", "BPF programs", PROBE_NEEDS_BPF,
	 "what is summed up inside the kernel; recording every event does instead, at more cost", probe_bpf},
	{BPF, "bpf-others", "BPF of others", PROBE_NEEDS_NOTHING, "events that such a program drops are neither counted nor recorded", probe_bpf_attached},
	{BPF, "btf", "kernel types (BTF)", PROBE_NEEDS_NOTHING, "BPF programs that fit every kernel, and names in structures", probe_btf},

	{STACKS, "fp", "frame pointers (-g)", PROBE_NEEDS_PERF, "record -g: who called", probe_stack_fp},
	{STACKS, "dwarf", "dwarf", PROBE_NEEDS_PERF, "record --call-graph dwarf: stacks of programs without frame pointers",
	 probe_stack_dwarf},
	{STACKS, "lbr", "lbr", PROBE_NEEDS_PERF, "record --call-graph lbr; --call-graph dwarf finds the same stacks at more cost",
	 probe_stack_lbr},
	{NULL, NULL, NULL, PROBE_NEEDS_NOTHING, NULL, NULL},
};

struct probe_context *probe_context_create(void)
{
	struct probe_context *context = mem_zalloc(sizeof(*context));

	context->paranoid = limits_paranoid();
	context->perfmon = limits_has_perfmon();
	context->perf_blocked = confinement_probe(CONFINEMENT_PERF_EVENT_OPEN);
	context->bpf_blocked = confinement_probe(CONFINEMENT_BPF);
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

void probe_context_destroy(struct probe_context *context)
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

void probe_result_deinit(struct probe_result *result)
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

const struct probe *probe_by_id(const char *id)
{
	for (const struct probe *probe = kernel_probes; probe->id; probe++)
		if (!strcmp(probe->id, id))
			return probe;
	return NULL;
}

const char *probe_state_name(enum probe_state state)
{
	static const char *const names[] = {"OK", "limited", "missing"};

	return names[state];
}

const char *probe_errno_name(int error)
{
	/* ENOTSUPP is the kernel's own (include/linux/errno.h), but gets out of bpf(). */
	const char *name = error == 524 ? "ENOTSUPP" : strerrorname_np(error);

	return name ? name : "an unknown errno";
}

void probe_run(const struct probe *probe, struct probe_context *context, struct probe_result *ret)
{
	*ret = (struct probe_result){0};
	if (probe->need == PROBE_NEEDS_PERF && context->perf_absent)
		probe_found(ret, PROBE_MISSING, "this kernel has no perf_event_open(): see 'kernel'");
	else if (probe->need == PROBE_NEEDS_PERF && context->perf_blocked)
		probe_found(ret, PROBE_MISSING, "perf_event_open() does not get through to the kernel: see 'container, seccomp'");
	else if (probe->need == PROBE_NEEDS_BPF && context->bpf_absent)
		probe_found(ret, PROBE_MISSING, "this kernel has no bpf() (CONFIG_BPF_SYSCALL)");
	else if (probe->need == PROBE_NEEDS_BPF && context->bpf_blocked)
		probe_found(ret, PROBE_MISSING, "bpf() does not get through to the kernel: see 'container, seccomp'");
	else
		probe->run(context, ret);
	if (ret->state != PROBE_OK && !ret->cost.len)
		strbuf_add_str(&ret->cost, probe->cost);
}

void probe_found(struct probe_result *result, enum probe_state state, const char *format, ...)
{
	va_list args;

	result->state = state;
	strbuf_clear(&result->found);
	va_start(args, format);
	strbuf_vprintf(&result->found, format, args);
	va_end(args);
}

void probe_cost(struct probe_result *result, const char *format, ...)
{
	va_list args;

	strbuf_clear(&result->cost);
	va_start(args, format);
	strbuf_vprintf(&result->cost, format, args);
	va_end(args);
}

void probe_remedy(struct probe_result *result, const char *format, ...)
{
	va_list args;

	strbuf_clear(&result->remedy);
	va_start(args, format);
	strbuf_vprintf(&result->remedy, format, args);
	va_end(args);
}

void probe_fact(struct probe_result *result, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vec_push(&result->facts, (struct probe_fact){.name = mem_strdup(name), .value = mem_vprintf(format, args)});
	va_end(args);
}

void probe_fact_status(struct probe_result *result, const char *name, int status)
{
	probe_fact(result, name, "%s", status < 0 ? probe_errno_name(-status) : "yes");
}

void probe_remedy_rights(const struct probe_context *context, struct probe_result *result, int level)
{
	if (!context->perfmon && context->paranoid > level)
		mend_paranoid(&result->remedy, level);
}
