/* The list of events that a command asked for or that a recording holds. Events live in the list's arena and never move. */
#include "event/event.h"

#include <linux/perf_event.h>

void event_list_deinit(struct event_list *list)
{
	for (size_t i = 0; i < list->events.len; i++)
		vec_deinit(&list->events.data[i]->ids);
	vec_deinit(&list->events);
	arena_deinit(&list->arena);
}

bool event_is_dummy(const struct event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_DUMMY;
}

struct event *event_list_add(struct event_list *list, const char *name)
{
	struct event *event = arena_zalloc(&list->arena, sizeof(*event));

	event->name = arena_strdup(&list->arena, name);
	event->index = (unsigned int)list->events.len;
	event->leader = event->index;
	event->members = 1;
	event->unit = "";
	event->scale = 1;
	event->attr.size = sizeof(event->attr);
	vec_push(&list->events, event);
	return event;
}
