/* Sets of events. */
#include "event/event_set.h"

static bool has_groups(const struct event_list *list)
{
	for (size_t i = 0; i < list->events.len; i++)
		if (list->events.data[i]->members > 1)
			return true;
	return false;
}

bool event_sets_together(const struct event_list *list, enum group_choice choice)
{
	return choice == GROUPS_WANTED || (choice == GROUPS_IF_RECORDED && has_groups(list));
}

void event_set_deinit(struct event_set *set)
{
	vec_deinit(&set->events);
}

/* In a recording with groups, single events stay alone. */
static void add_members(const struct event_list *list, const struct event *leader, struct event_set *set)
{
	size_t most = set->groups ? leader->members : SIZE_MAX;
	vec_push(&set->events, leader);
	for (size_t i = leader->index + 1; set->events.len < most && i < list->events.len; i++)
		if (!set->groups || list->events.data[i]->leader == leader->index)
			vec_push(&set->events, list->events.data[i]);
}

bool event_set_next(const struct event_list *list, bool together, struct event_set *set)
{
	if (!set->next)
		set->groups = together && has_groups(list);
	set->events.len = 0;
	while (set->next < list->events.len) {
		const struct event *event = list->events.data[set->next++];
		if (set->groups && event->leader != event->index)
			continue;
		if (together)
			add_members(list, event, set);
		else
			vec_push(&set->events, event);
		if (together && !set->groups)
			set->next = list->events.len;
		return true;
	}
	return false;
}

void event_set_add_name(const struct event *const *events, size_t count, struct strbuf *out)
{
	const struct event *leader = events[0];
	bool group = count > 1 && leader->members > 1;
	if (group)
		strbuf_printf(out, "%s { ", leader->group_name ? leader->group_name : "anon group");
	for (size_t i = 0; i < count; i++)
		strbuf_printf(out, "%s%s", i ? ", " : "", events[i]->name);
	if (group)
		strbuf_add_str(out, " }");
}
