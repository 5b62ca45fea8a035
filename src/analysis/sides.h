/* Samples of a host and of its guests. */
#pragma once

#include "model/machine.h"
#include "perfdata/records.h"

#include <stdbool.h>
#include <stdint.h>

/* Nobody said anything: both, to reports; events measure what they do by default. */
enum machine_sides { SIDES_UNSAID, SIDES_BOTH, SIDES_GUESTS, SIDES_HOST };

/* The host's counters tell by the mode what a guest ran; of its own samples, which were put into the recording, the thread does. */
static inline bool sides_have(enum machine_sides sides, uint8_t cpumode, const struct thread *thread)
{
	bool of_guest = cpumode == CPUMODE_GUEST_KERNEL || cpumode == CPUMODE_GUEST_USER || thread->process->machine->host;
	return sides <= SIDES_BOTH || of_guest == (sides == SIDES_GUESTS);
}
