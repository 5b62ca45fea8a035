// SPDX-License-Identifier: Dual MIT/GPL
/* Time off the CPU, with user stacks by frame pointers: runs on kernels without type information, too. */
#include "bpf/off_cpu/off_cpu.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
