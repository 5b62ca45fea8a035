/* What samples that are made of a hardware trace tell of calls: which function, and how deep. */
#pragma once

#include "perfdata/layout.h"
#include "symbol/resolve.h"

struct flow_place {
	const struct event *event;
	const struct sample *sample;
	const struct thread *thread;
	uint64_t model_time;
};

/* The function that a branch calls, or returns from. NULL: it has no name, or this is neither; *ret_address is where it is then, or 0. */
const char *flow_function(struct resolver *resolver, const struct flow_place *place, uint64_t *ret_address);
