/* Registers as perf_event_open() numbers them in sample_regs_user and sample_regs_intr.
 * Source of the facts: arch/ARCH/include/uapi/asm/perf_regs.h of the kernel. */
#pragma once

enum { REGISTER_LIMIT = 64 };

/* The name of register `number` ("AX", "sp"), as the kernel's perf prints and accepts it; NULL where there is none. `arch` is uname's
 * machine name of the recording ("x86_64", "aarch64", "armv7l", …); NULL means this machine's. */
const char *register_name(const char *arch, unsigned int number);
