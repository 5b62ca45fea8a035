/* The capabilities' functions, for the table in capability.c. */
#pragma once

#include "kernel/capability/capability.h"

typedef void capability_function(struct capability_context *context, struct capability_result *ret);

/* machine.c */
capability_function probe_kernel, probe_container, probe_sandbox, probe_pmu, probe_precise, probe_branches, probe_clocks;
/* rights.c */
capability_function probe_own_programs, probe_kernel_code, probe_whole_system, probe_tracepoint_data, probe_kernel_addresses, probe_rings,
	probe_files, probe_sample_rate;
/* events.c */
capability_function probe_software, probe_breakpoints, probe_tracefs, probe_tracepoints, probe_kprobes, probe_uprobes, probe_cgroups,
	probe_schedstats;
/* bpf.c */
capability_function probe_bpf, probe_btf, probe_bpf_attached, probe_stack_auto;
/* stacks.c */
capability_function probe_stack_fp, probe_stack_dwarf, probe_stack_lbr;
