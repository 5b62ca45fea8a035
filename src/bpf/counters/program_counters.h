/* Counts while certain BPF programs run, whoever runs them: perf stat -b.
 *
 *	bpf_program_counters_open(ids, count, events, &counters);
 *	bpf_program_counters_add_event(counters, event, cpu, fd);  // for each
 *	bpf_program_counters_start(counters);
 *	bpf_program_counters_set_running(counters, true);
 *	…
 *	bpf_program_counters_read(counters, event, cpu, &value);
 *	bpf_program_counters_close(counters);
 *
 * The kernel can't look into programs without type information (BTF), nor into those that trace other programs. */
#pragma once

#include "base/error.h"
#include "bpf/counters/program_counters_shared.h"
#include "bpf/counters/task_counters.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_program_counters;

/* `ids` as the kernel numbers programs (bpftool prog). An error names the program that it is about. */
struct error *bpf_program_counters_open(const uint32_t *ids, size_t count, uint32_t events, struct bpf_program_counters **ret);
/* NULL is fine. */
void bpf_program_counters_close(struct bpf_program_counters *counters);
/* `fd` is the event's counter for everything on `cpu`, without inheritance; it may be closed after bpf_program_counters_close(). */
struct error *bpf_program_counters_add_event(struct bpf_program_counters *counters, uint32_t event, int cpu, int fd);
struct error *bpf_program_counters_start(struct bpf_program_counters *counters);
/* To be told after the counters were enabled, and before they are disabled. */
void bpf_program_counters_set_running(struct bpf_program_counters *counters, bool running);
/* The sum over all the programs on a CPU since the start. */
void bpf_program_counters_read(struct bpf_program_counters *counters, uint32_t event, int cpu, struct bpf_task_counters_value *ret);
