/* Events in control groups: what --for-each-cgroup makes of a list of events. */
#pragma once

#include "base/error.h"
#include "event/event.h"

/* --for-each-cgroup "a,b": the events once for each control group, all of the first group first. A text with characters of regular
 * expressions stands for the groups whose path matches. Groups of events are kept, `part_of` too. */
struct error *event_for_each_cgroup(struct event_list *list, const char *text);
