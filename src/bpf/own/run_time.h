/* How long our BPF programs ran: the kernel measures that for all programs of the machine while somebody wants it (Linux 5.8). */
#pragma once

#include <stdint.h>

/* It is measured until the descriptor is closed. -1: not possible here. */
int bpf_run_time_measure(void);
/* Nanoseconds of all programs that this process holds, so far. */
uint64_t bpf_run_time_own(void);
