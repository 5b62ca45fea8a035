/* Names of soft interrupts: the numbers are those of include/linux/interrupt.h, which tracepoints made part of what programs rely on. */
#pragma once

#include <stdint.h>

/* NULL for an unknown one. */
static inline const char *kwork_softirq_name(uint64_t number)
{
	static const char *const names[] = {"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"};
	return number < sizeof(names) / sizeof(*names) ? names[number] : (const char *)0;
}
