/* Counters of branches (PERF_SAMPLE_BRANCH_COUNTERS, Linux 6.8): how often each event of a group that asks for it happened between a branch
 * and the one before it. The counts of a branch are packed into one word, that of the first such event of the group in its lowest bits. */
#pragma once

#include "base/arena.h"
#include "base/strbuf.h"
#include "event/event.h"
#include "perfdata/features/features.h"
#include "result/branch_counts.h"

#include <stdbool.h>
#include <stdint.h>

bool branch_counters_any(const struct event_list *events);
/* Bits of each count: what the recorded PMU says of itself (caps/branch_counter_width); 2, which all processors that count so far have,
 * when the recording doesn't tell. */
unsigned int branch_counters_width(const struct features *features);
/* The event that the sample belongs to and its group: after `*at` (begin with 0) the next one that counts branches, or NULL. *ret_letter
 * stands for it: 'A' for the first of the recording, '?' beyond 'Z'. */
const struct event *branch_counters_next(const struct event_list *events, const struct event *event, unsigned int *at, char *ret_letter);
/* All of the group of an event that counts branches itself, else none, in order; NULL: all of the recording. */
struct branch_counter *branch_counters_of(const struct event_list *events, const struct event *event, struct arena *arena,
					  size_t *ret_count);
/* What the letters of all of the recording mean, as comment lines. */
void branch_counters_legend(const struct event_list *events, struct strbuf *out);
