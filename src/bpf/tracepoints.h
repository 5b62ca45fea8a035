/* Whether this kernel's tracepoints of the scheduler have their fields where programs at them expect these (sched_tracepoints.bpf.h), and
 * what those programs need else. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* NULL when they have; an error says what differs, or why that can't be found out. */
struct error *bpf_tracepoints_check(void);
/* Our pid namespace, as bpf_get_ns_current_pid_tgid() wants it. */
struct error *bpf_pid_namespace(uint64_t *ret_device, uint64_t *ret_inode);
