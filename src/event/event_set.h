/* Which events are shown together: the members of each recorded group, or all events of a recording without groups. */
#pragma once

#include "base/strbuf.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>

enum group_choice { GROUPS_IF_RECORDED, GROUPS_WANTED, GROUPS_NEVER };

/* Whether events are shown together at all. */
bool event_sets_together(const struct event_list *list, enum group_choice choice);

/* All zero is one before the first. */
struct event_set {
	VEC(const struct event *) events; /* the leader first */
	size_t next;			  /* private: where to go on in the list */
	bool groups;			  /* private: together are the members of recorded groups */
};

void event_set_deinit(struct event_set *set);
/* The next set of events; `together` false: each alone. False after the last. */
bool event_set_next(const struct event_list *list, bool together, struct event_set *set);
/* "cycles", "cycles, instructions", "anon group { cycles, instructions }": names as recorded, unsafe bytes still in them. */
void event_set_add_name(const struct event *const *events, size_t count, struct strbuf *out);
