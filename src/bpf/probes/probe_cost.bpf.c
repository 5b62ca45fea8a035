// SPDX-License-Identifier: Dual MIT/GPL
/* What perf bench uprobe attaches to a function: programs that do nothing, or write a line to the kernel's trace. */
#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("uprobe")
int nothing(void *context)
{
	return 0;
}

SEC("uprobe")
int print(void *context)
{
	static const char text[] = "perf bench uprobe\n";
	bpf_trace_printk(text, sizeof(text));
	return 0;
}
