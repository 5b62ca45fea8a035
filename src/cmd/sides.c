/* perf kvm and the commands that it runs: of which side of virtual machines they tell. */
#include "cmd/sides.h"

#include <string.h>

static const char *const names[] = {[SIDES_UNSAID] = "", [SIDES_BOTH] = "both", [SIDES_GUESTS] = "guests", [SIDES_HOST] = "host"};

const char *sides_name(enum machine_sides sides)
{
	return names[sides];
}

struct error *sides_option(const struct option *option, const char *argument, bool negated, void *field)
{
	for (unsigned int i = SIDES_BOTH; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(argument, names[i])) {
			*(enum machine_sides *)field = (enum machine_sides)i;
			return NULL;
		}
	return error_new_kind(ERROR_USAGE, "invalid value '%s': use guests, host or both", argument);
}

void sides_apply(enum machine_sides sides, const struct event_list *events)
{
	for (size_t i = 0; sides && i < events->events.len; i++) {
		struct event *event = events->events.data[i];
		if (event->exclude_sides_given)
			continue;
		event->attr.exclude_guest = sides == SIDES_HOST;
		event->attr.exclude_host = sides == SIDES_GUESTS;
	}
}
