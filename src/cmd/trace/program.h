/* The BPF program of system calls, set up as the options of perf trace say. */
#pragma once

#include "cmd/trace/source.h"
#include "cmd/trace/trace.h"

struct trace_program {
	struct bpf_syscalls *syscalls;
	struct trace_syscalls *calls; /* what its records mean */
	uint64_t ring_bytes;
	int *cpus;
	size_t cpu_count;
	int cgroup; /* descriptor */
};

/* Loads it; bpf_syscalls_start() is the caller's. `recorder`: 0, or the process that records beside it and starts the command: that isn't
 * traced itself.
 * *ret is to be closed also after an error. */
struct error *trace_program_open(struct trace *trace, pid_t recorder, struct trace_program *ret);
/* Says how many of its records were lost, if any. */
void trace_program_warn_of_losses(const struct trace_program *program);
void trace_program_close(struct trace_program *program);
