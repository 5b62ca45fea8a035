/* What takes long and nobody has to wait for, left to a child that outlives us: the prompt is back at once.
 *
 * Closing a tracepoint's last descriptor takes the kernel tens of milliseconds, since it waits until all CPUs have passed a quiet state;
 * hundreds of them, half a minute. So when counting is over, the child keeps the descriptors until we have ended: ours are never the
 * last. */
#pragma once

#include "capture/counting/counter_set.h"
#include "event/event.h"

#include <stdbool.h>

/* Some event closes slowly. */
bool afterwards_is_needed(const struct event_list *events);
/* Leaves the counters to a child. Returns at once; the caller ends soon without closing the counters (counters_abandon). The child has no
 * output and no directory of ours. */
void afterwards_leave(const struct counter_set *counters);
