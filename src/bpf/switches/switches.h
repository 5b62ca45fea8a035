/* Each switch between threads of all CPUs, with what has woken up who comes, and the stack of who leaves.
 *
 *	bpf_switches_open(&switches);
 *	bpf_switches_direct(switches, output, cpu, counter);	// for each counter of two events (PERF_COUNT_SW_BPF_OUTPUT)
 *	bpf_switches_start(switches);
 *	… bpf_switches_next(switches, until, &record, &cpu) …
 *	bpf_switches_close(switches);
 *
 * The events' samples tell of stacks: their raw data is a struct bpf_switch_stack. Those of SWITCHES_WHOLE have call chain, registers and
 * stack as well. A sample is older than `time` + `took` of each switch with its stack. */
#pragma once

#include "base/error.h"
#include "bpf/switches/switches_shared.h"

#include <stdbool.h>

struct bpf_switches;

enum switches_output { SWITCHES_WHOLE, SWITCHES_PARTS };

/* Loads the program; an error says why that isn't possible here. */
struct error *bpf_switches_open(struct bpf_switches **ret);
/* NULL is fine. */
void bpf_switches_close(struct bpf_switches *switches);
/* Where samples of a CPU go. */
struct error *bpf_switches_direct(struct bpf_switches *switches, enum switches_output output, int cpu, int counter);
void bpf_switches_start(struct bpf_switches *switches);
/* No switch after this one. */
void bpf_switches_stop(struct bpf_switches *switches);
/* The next switch of any CPU before `until` (`time` + `took`), in that order; false when there is none. */
bool bpf_switches_next(struct bpf_switches *switches, uint64_t until, struct bpf_switch *ret, uint32_t *ret_cpu);
/* Switches for which there was no room in the rings, or whose thread was one too many. */
uint64_t bpf_switches_lost(const struct bpf_switches *switches);
