/* The events of a recording: made of attributes, event descriptions, group descriptions and tracepoint formats, from wherever they come;
 * and the way from a record to its event. */
#include "perfdata/event_name.h"
#include "perfdata/reader_internal.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

void reader_events_changed(struct reader *reader)
{
	reader->private->tables_outdated = true;
	reader->private->names_outdated = true;
}

struct event *reader_add_event(struct reader *reader, const struct event_attr *attr)
{
	if (reader->events.events.len >= READER_EVENTS_MAX)
		return NULL;
	struct event *event = event_list_add(&reader->events, "");
	event->attr = *attr;
	reader_events_changed(reader);
	return event;
}

/* Descriptions are in the order of the events. */
static void merge_descriptions(struct reader *reader)
{
	const struct features *features = &reader->features;
	struct event_list *list = &reader->events;
	for (size_t i = 0; i < features->event_descs.len && i < list->events.len; i++) {
		const struct feature_event_desc *desc = &features->event_descs.data[i];
		struct event *event = list->events.data[i];
		if (!*event->name && desc->name)
			event->name = arena_strdup(&list->arena, desc->name);
		if (!event->ids.len)
			for (uint32_t j = 0; j < desc->id_count; j++)
				vec_push(&event->ids, desc->ids[j]);
	}
}

/* Results have a column for each event of a group. What claims to be a larger one is a damaged or hostile file: its events stay single. */
enum { GROUP_MAX = 128 };

/* Recorders list groups in the order of the events. */
static void merge_groups(struct reader *reader)
{
	struct event_list *list = &reader->events;
	uint64_t end = 0;
	for (size_t i = 0; i < reader->features.groups.len; i++) {
		const struct feature_group *group = &reader->features.groups.data[i];
		uint64_t next = (uint64_t)group->leader + group->members;
		if (group->leader < end || group->members < 2 || group->members > GROUP_MAX || next > list->events.len)
			continue;
		end = next;
		struct event *leader = list->events.data[group->leader];
		leader->members = group->members;
		if (strcmp(group->name, "{anon_group}"))
			leader->group_name = arena_strdup(&list->arena, group->name);
		for (uint32_t j = 1; j < group->members; j++) {
			list->events.data[group->leader + j]->leader = group->leader;
			list->events.data[group->leader + j]->members = 0;
		}
	}
}

static void merge_tracepoint(struct reader *reader, struct event *event)
{
	struct arena *arena = &reader->events.arena;
	if (event->attr.type != PERF_TYPE_TRACEPOINT)
		return;
	const struct tracepoint *tracepoint = reader->formats ? tracepoint_by_id(reader->formats, (int)event->attr.config) : NULL;
	event->tracepoint = tracepoint;
	if (tracepoint) {
		event->tp_system = tracepoint->system;
		event->tp_name = tracepoint->name;
		if (!*event->name)
			event->name = arena_printf(arena, "%s:%s", tracepoint->system, tracepoint->name);
		return;
	}
	const char *colon = strchr(event->name, ':');
	if (!colon || event->tp_system)
		return;
	event->tp_system = arena_strndup(arena, event->name, (size_t)(colon - event->name));
	event->tp_name = arena_strndup(arena, colon + 1, strcspn(colon + 1, ":"));
}

void reader_merge_features(struct reader *reader)
{
	struct event_list *list = &reader->events;
	merge_descriptions(reader);
	merge_groups(reader);
	for (size_t i = 0; i < list->events.len; i++) {
		struct event *event = list->events.data[i];
		merge_tracepoint(reader, event);
		if (*event->name)
			continue;
		struct strbuf name = {0};
		event_name_from_attr(&event->attr, &name);
		event->name = arena_strdup(&list->arena, strbuf_str(&name));
		strbuf_deinit(&name);
	}
	reader->private->names_outdated = false;
	reader->private->tables_outdated = true; /* descriptions bring ids */
}

/* A table by id where ids lie close together, which they do: the kernel counts them up. */
static void update_near(struct reader_private *private, uint64_t lowest, uint64_t highest, const struct event_list *list, size_t count)
{
	free(private->near);
	private->near = NULL;
	private->near_count = 0;
	if (!count || highest - lowest >= 4 * (uint64_t)count + 1024)
		return;
	private->near_base = lowest;
	private->near_count = highest - lowest + 1;
	private->near = mem_zalloc_array(private->near_count, sizeof(*private->near));
	for (size_t i = 0; i < list->events.len; i++) {
		const struct event *event = list->events.data[i];
		for (size_t j = 0; j < event->ids.len; j++)
		private->near[event->ids.data[j] - lowest] = event->index + 1;
	}
}

static void update_ids(struct reader *reader)
{
	struct reader_private *private = reader->private;
	const struct event_list *list = &reader->events;
	uint64_t lowest = UINT64_MAX, highest = 0;
	size_t count = 0;
	map64_deinit(&private->ids);
	private->ids = (struct map64){0};
	for (size_t i = 0; i < list->events.len; i++) {
		const struct event *event = list->events.data[i];
		for (size_t j = 0; j < event->ids.len; j++) {
			uint64_t id = event->ids.data[j];
			*map64_insert(&private->ids, id, NULL) = i;
			lowest = id < lowest ? id : lowest;
			highest = id > highest ? id : highest;
			count++;
		}
	}
	update_near(private, lowest, highest, list, count);
}

/* Whether the kernel may write another event's id into the samples of this one: when a page fault, a context switch or the like happens, it
 * prepares one sample for all events that count it, whoever opened them, and those after the first keep the first one's id (seen in Linux
 * 6.18). Clocks have samples of their own. */
static bool shares_samples(const struct event_attr *attr)
{
	if (attr->type != PERF_TYPE_SOFTWARE)
		return false;
	switch (attr->config) {
	case PERF_COUNT_SW_CPU_CLOCK:
	case PERF_COUNT_SW_TASK_CLOCK:
	case PERF_COUNT_SW_DUMMY:
	case PERF_COUNT_SW_BPF_OUTPUT:
		return false;
	}
	return true;
}

/* Finds the event whose sample it must be when the id is nobody's; none where it could be that of several. */
static void find_mistaken(struct reader_private *private, const struct event_list *list)
{
	struct event *found = NULL;
	size_t count = 0;
	for (size_t i = 0; i < list->events.len; i++) {
		struct event *event = list->events.data[i];
		if (shares_samples(&event->attr)) {
			found = event;
			count++;
		}
	}
	private->mistakable = count;
	private->mistaken = count == 1 ? found : NULL;
}

void reader_update_events(struct reader *reader)
{
	struct reader_private *private = reader->private;
	const struct event_list *list = &reader->events;
	if (!private->tables_outdated)
		return;
	private->tables_outdated = false;
	private->settled++;
	private->layouts.len = 0;
	reader->has_times = list->events.len > 0;
	for (size_t i = 0; i < list->events.len; i++) {
		const struct event_attr *attr = &list->events.data[i]->attr;
		sample_layout_init(vec_add(&private->layouts), attr);
		vec_last(&private->layouts)->guests = reader_guests_of(reader, list->events.data[i]);
		if (!(attr->sample_type & PERF_SAMPLE_TIME))
			reader->has_times = false;
	}
	reader->layouts = private->layouts.data;
	private->sample_id_offset = private->trailer_id_offset = 0;
	if (list->events.len) {
		const struct sample_layout *first = &private->layouts.data[0];
		private->sample_id_offset = first->identifier ? first->identifier : first->id;
		private->trailer = first->trailer;
		private->trailer_id_offset = first->trailer_identifier ? first->trailer_identifier : first->trailer_id;
	}
	update_ids(reader);
	find_mistaken(private, list);
	reader->ids = (struct reader_ids){.first = private->near_base, .count = private->near_count, .offset = private->sample_id_offset};
	if (list->events.len > 1 && private->sample_id_offset && private->near_base) /* an id 0 means another thing */
		reader->ids.events = private->near;
}

static inline struct event *event_by_id(const struct reader *reader, uint64_t id)
{
	const struct reader_private *private = reader->private;
	if (private->near) {
		uint64_t at = id - private->near_base;
		if (at >= private->near_count || !private->near[at])
			return NULL;
		return reader->events.events.data[private->near[at] - 1];
	}
	const uint64_t *index = map64_find(&private->ids, id);
	return index ? reader->events.events.data[*index] : NULL;
}

struct event *reader_event_by_id(const struct reader *reader, uint64_t id)
{
	return event_by_id(reader, id);
}

struct event *reader_event(const struct reader *reader, const struct record_header *header)
{
	const struct reader_private *private = reader->private;
	const struct event_list *list = &reader->events;
	uint64_t id;
	if (list->events.len <= 1)
		return list->events.len ? list->events.data[0] : NULL;
	if (header->type == RECORD_SAMPLE) {
		if (!private->sample_id_offset)
			return list->events.data[0];
		if (header->size < private->sample_id_offset + sizeof(id))
			return NULL;
		memcpy(&id, (const uint8_t *)header + private->sample_id_offset, sizeof(id));
	} else {
		if (!private->trailer_id_offset)
			return list->events.data[0];
		if (header->size < sizeof(*header) + private->trailer_id_offset)
			return NULL;
		size_t end = header->size - record_excess(header, private->trailer);
		memcpy(&id, (const uint8_t *)header + end - private->trailer_id_offset, sizeof(id));
	}
	/* Records that were made up by the recorder have the id 0. */
	struct event *event = id ? event_by_id(reader, id) : list->events.data[0];
	return event || header->type != RECORD_SAMPLE ? event : private->mistaken;
}

const char *reader_unknown_event_reason(const struct reader *reader)
{
	return reader->private->mistakable ? "sample with the event id of another recorder, as the kernel mixes them up when two record "
					     "page faults, context switches or the like"
					   : "sample of an unknown event";
}
