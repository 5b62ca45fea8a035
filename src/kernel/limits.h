/* Limits that stand between a user and perf_event_open(), and what we can do about them ourselves. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* kernel.perf_event_paranoid; 2 when it cannot be read. */
int limits_paranoid(void);
/* kernel.perf_event_max_sample_rate in Hz; 0 = unknown. */
uint64_t limits_max_sample_rate(void);
/* kernel.perf_event_mlock_kb in bytes; 512 KB + a page when unknown. */
size_t limits_mlock_bytes(void);
/* kernel.kptr_restrict; 0 when it cannot be read. */
int limits_kptr_restrict(void);
/* May this process measure like root: CAP_PERFMON or CAP_SYS_ADMIN is effective. */
bool limits_has_perfmon(void);
/* May this process load BPF programs that look at the kernel: CAP_BPF with CAP_PERFMON, or CAP_SYS_ADMIN. */
bool limits_has_bpf(void);
/* May kernel space be sampled: capability or perf_event_paranoid < 2. */
bool limits_can_profile_kernel(void);
/* Raises the limit of open files to hold `more` descriptors than now, as far as allowed. */
void limits_raise_files(size_t more);
