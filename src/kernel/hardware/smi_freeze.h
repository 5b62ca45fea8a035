/* Whether Intel's counters stand still while the firmware handles a system management interrupt: a switch of the kernel for all CPUs
 * (/sys/devices/cpu/freeze_on_smi, arch/x86/events/intel/core.c, since Linux 4.12). */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/* Makes them stand still. *ret_was_off: it was not so before, and smi_freeze_end() has to be called. ERROR_UNSUPPORTED where there is no
 * such switch, ERROR_PERMISSION where this user may not turn it. */
struct error *smi_freeze_begin(bool *ret_was_off);
/* As it was by default. */
void smi_freeze_end(void);
