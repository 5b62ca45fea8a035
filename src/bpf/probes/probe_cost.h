/* BPF programs that do next to nothing, at a function of a file: what a uprobe costs (perf bench uprobe). */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct bpf_probe_cost;

/* For calls by process `pid`. `prints`: a line for the kernel's trace each time; `at_return`: where the function returns. */
struct error *bpf_probe_cost_open(const char *path, const char *function, pid_t pid, bool prints, bool at_return,
				  struct bpf_probe_cost **ret);
/* NULL is fine. */
void bpf_probe_cost_close(struct bpf_probe_cost *cost);
