/* The list of events that a command asked for or that a recording holds. Events live in the list's arena and never move. */
#include "event/event.h"

#include <linux/perf_event.h>
#include <string.h>

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

const char *event_trace_term(const struct event *event)
{
	return event->aux_output ? "aux-output" : event->aux_sample_size ? "aux-sample-size" : event->aux_action ? "aux-action" : NULL;
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

/* Gives each event the place that it has now; leaders are found by the places from before. */
static void renumber(struct event_list *list)
{
	struct event **events = list->events.data;

	for (size_t i = 0; i < list->events.len; i++) {
		size_t leader = 0;
		while (events[leader]->index != events[i]->leader)
			leader++;
		events[i]->leader = (unsigned int)leader;
	}
	for (size_t i = 0; i < list->events.len; i++)
		events[i]->index = (unsigned int)i;
}

void event_list_join_group(struct event_list *list, struct event *leader, struct event *event)
{
	struct event **events = list->events.data;
	size_t from = event->index, to = leader->index + leader->members;

	if (from < to) { /* it stands in front of the group, which moves up */
		to--;
		memmove(&events[from], &events[from + 1], (to - from) * sizeof(*events));
	} else {
		memmove(&events[to + 1], &events[to], (from - to) * sizeof(*events));
	}
	events[to] = event;
	event->leader = leader->index;
	event->members = 0;
	leader->members++;
	renumber(list);
}
