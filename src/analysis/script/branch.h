/* Counters of branches (PERF_SAMPLE_BRANCH_COUNTERS, Linux 6.8): how often each event of a group that asks for it happened between a branch
 * and the one before it. The counts of a branch are packed into one word, that of the first such event of the group in its lowest bits. */
#pragma once

#include "base/strbuf.h"
#include "event/event.h"
#include "perfdata/features/features.h"

#include <stdbool.h>
#include <stdint.h>

bool script_has_branch_counters(const struct event_list *events);
/* Bits of each count: what the recorded PMU says of itself (caps/branch_counter_width); 2, which all processors that count so far have,
 * when the recording doesn't tell. */
unsigned int script_branch_counter_width(const struct features *features);
/* The event that the sample belongs to and its group: after `*at` (begin with 0) the next one that counts branches, or NULL. *ret_letter is
 * the one that stands for it: 'A' for the first of the recording, '?' beyond 'Z'. */
const struct event *script_next_branch_counter(const struct event_list *events, const struct event *event, unsigned int *at,
					       char *ret_letter);
/* What the letters mean, as comment lines. */
void script_branch_counter_legend(const struct event_list *events, struct strbuf *out);
