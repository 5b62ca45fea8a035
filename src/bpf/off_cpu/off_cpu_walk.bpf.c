// SPDX-License-Identifier: Dual MIT/GPL
/* Time off the CPU, with user stacks by call frame information. */
#define OFF_CPU_WALKS
#include "bpf/off_cpu/off_cpu.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
