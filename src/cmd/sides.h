/* What perf kvm asks other commands for: guests, their host, or both. An option of theirs that isn't listed: for people there are
 * perf kvm --guest and --host. */
#pragma once

#include "analysis/sides.h"
#include "app/options.h"
#include "event/event.h"

#define OPTION_SIDES(type, field) \
	OPTION_CUSTOM_FLAGS(0, "sides", type, field, "WHAT", "guests, host or both", sides_option, OPTION_HIDDEN | OPTION_NO_NEGATION)
option_parse_fn sides_option;
/* As words for it. */
const char *sides_name(enum machine_sides sides);

/* Events that don't say themselves what they measure. */
void sides_apply(enum machine_sides sides, const struct event_list *events);
