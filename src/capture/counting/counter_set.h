/* The counters of a list of events, opened with every fallback there is and refusals explained. For record, top, stat and trace. */
#pragma once

#include "base/error.h"
#include "event/event.h"
#include "kernel/counter.h"

struct counter_set {
	struct counter *each; /* one for each event, by index */
	size_t count;
	struct counter_target target; /* of events without a cgroup; its arrays belong to the caller */
	struct perf_open state;
	bool *absent;		 /* by event: this machine cannot count it; only after counter_set_open_present() */
	bool fell_back_to_clock; /* cycles cannot be counted here */
	bool fell_back_to_user;	 /* the kernel may not be measured */
};

/* Opens all events on the target, fills in their ids, and applies their filters. Attributes may have changed to what the kernel accepts,
 * and with them names. Nothing stays open after an error. */
struct error *counter_set_open(struct counter_set *counters, struct event_list *events, const struct counter_target *target);
/* The same, but events that this machine cannot count are only marked, as are the members of a group whose leader it cannot count. Events
 * that the tool counts itself are not opened. No other event is taken instead. */
struct error *counter_set_open_present(struct counter_set *counters, struct event_list *events, const struct counter_target *target);
void counter_set_close(struct counter_set *counters);
/* Frees the memory only: the descriptors are closed by the end of the process. */
void counters_abandon(struct counter_set *counters);
/* For a child that is to outlive us: closes every descriptor of the process but those of the counters. */
void counters_keep_only(const struct counter_set *counters);

/* Group leaders only: members follow. */
void counter_set_enable(struct counter_set *counters, const struct event_list *events);
void counter_set_disable(struct counter_set *counters, const struct event_list *events);
/* One event by its name, or all of them ("" as the name). */
void counters_switch(struct counter_set *counters, const struct event_list *events, const char *name, bool on);

/* Samples of an event that one of its counters had to drop since its opening (PERF_FORMAT_LOST); 0 where the kernel doesn't tell. */
uint64_t counters_lost(const struct counter *counter, const struct event_attr *attr, size_t slot);
