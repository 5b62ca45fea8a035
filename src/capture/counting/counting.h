/* Counting: what `stat` makes of events' attributes, and reading the counters. Opening is
 * capture/counting/counter_set.h's (counter_set_open_present). */
#pragma once

#include "capture/counting/counter_set.h"
#include "event/counter_value.h"
#include "event/event.h"

#include <stdbool.h>
#include <stdint.h>

struct counting_scope {
	bool no_inherit; /* children and new threads aren't followed */
	bool all_user, all_kernel;
	bool by_cpu;	 /* whole CPUs */
	bool workload;	 /* nothing but a command that we start: its exec enables the counters */
	bool delayed;	 /* enabled later, by us */
	bool identified; /* counters get ids, for a recording */
	bool no_bundles; /* no groups but those that were asked for: events are switched one by one (--control), recorded, or inherited meanwhile */
};

/* Sets the attributes of all events to plain counting, and gives those that count time their unit. Events that the tool counts itself leave
 * their groups. Runs of single events of the kernel's own (software, tracepoints) become groups, so that they are switched and read
 * together; the hardware has no say in whether such a group fits. */
void counting_configure(struct event_list *events, const struct counting_scope *scope);

/* Gives an event that counts time its unit and scale. */
void counting_set_unit(struct event *event);

/* Reads everything. cells[event] has one element for each CPU × thread of the target; those of events that aren't open stay as they are. */
void counting_read(const struct counter_set *counters, const struct event_list *events, struct counter_value *const *cells);
