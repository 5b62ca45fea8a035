/* What program_counters.bpf.c and its loader share. */
#pragma once

#include "bpf/counters/event_counters_shared.h"

#include <stdint.h>

struct program_counters_config {
	uint32_t events; /* <= EVENT_COUNTERS_MOST */
	uint32_t cpus;	 /* possible ones */
};
