/* Binding of handlers to the events of a session (tracker.h). Events that come late, as in a stream, are bound at their first record. */
#include "analysis/tracker.h"

#include "base/mem.h"
#include "base/vec.h"
#include "event/tracepoint/tracepoint.h"

#include <stdlib.h>
#include <string.h>

/* How a field's integer is read: of the eight bytes from `offset` on what is left when `shift` bits were shifted out at the top. */
struct place {
	uint32_t offset; /* UINT32_MAX: by tracepoint_read() */
	uint8_t shift;
	bool is_signed;
};

struct binding {
	bool bound;
	const struct tracker_handler *handler; /* NULL = nobody wants its records */
	const struct tracepoint_field *fields[TRACKER_FIELDS];
	struct place places[TRACKER_FIELDS];
	size_t count; /* fields of the handler */
};

struct tracker {
	struct session *session;
	const struct tracker_handler *handlers;
	void *context;
	VEC(struct binding) bindings; /* by event index */
	struct sample sample;	      /* decoded last */
	uint64_t sample_type;	      /* of its event */
};

static bool is_named(const struct event *event, const char *name)
{
	const char *colon = strchr(name, ':'), *star = strchr(name, '*');
	if (!event->tp_system || !event->tp_name || !colon || strncmp(event->tp_system, name, (size_t)(colon - name)) ||
	    event->tp_system[colon - name])
		return false;
	return star ? !strncmp(event->tp_name, colon + 1, (size_t)(star - colon - 1)) : !strcmp(event->tp_name, colon + 1);
}

bool tracker_has(const struct tracker *tracker, const char *event)
{
	const struct event_list *events = &tracker->session->reader->events;
	for (size_t i = 0; i < events->events.len; i++)
		if (is_named(events->events.data[i], event))
			return true;
	return false;
}

static struct place place_of(const struct tracepoint_field *field)
{
	enum { WORD = 8, BITS = 8 };
	uint32_t width = !field ? 0 : field->flags & TRACEPOINT_FIELD_DYNAMIC ? field->size : field->element_size;
	bool is_integer = width == 1 || width == 2 || width == 4 || width == WORD;
	if (!is_integer || field->flags & TRACEPOINT_FIELD_SWAPPED || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		return (struct place){.offset = UINT32_MAX};
	return (struct place){field->offset, (uint8_t)((WORD - width) * BITS), field->flags & TRACEPOINT_FIELD_SIGNED};
}

static void bind(const struct tracker *tracker, const struct event *event, struct binding *ret)
{
	const struct tracker_handler *handler = tracker->handlers;
	while (handler->event && !is_named(event, handler->event))
		handler++;
	bool is_wanted = handler->event && !(handler->unless && tracker_has(tracker, handler->unless));
	*ret = (struct binding){.bound = true, .handler = is_wanted ? handler : NULL};
	for (size_t i = 0; ret->handler && i < TRACKER_FIELDS && handler->fields[i]; i++, ret->count++) {
		ret->fields[i] = event->tracepoint ? tracepoint_field(event->tracepoint, handler->fields[i]) : NULL;
		ret->places[i] = place_of(ret->fields[i]);
	}
}

static inline uint64_t read_value(const struct binding *binding, size_t i, const struct sample *sample)
{
	const struct place *place = &binding->places[i];
	uint64_t word;
	if (place->offset + (uint64_t)sizeof(word) > sample->raw_size)
		return binding->fields[i] ? tracepoint_read(binding->fields[i], sample->raw, sample->raw_size) : 0;
	memcpy(&word, (const uint8_t *)sample->raw + place->offset, sizeof(word));
	word <<= place->shift;
	return place->is_signed ? (uint64_t)((int64_t)word >> place->shift) : word >> place->shift;
}

struct tracker *tracker_create(struct session *session, const struct tracker_handler *handlers, void *context)
{
	struct tracker *tracker = mem_zalloc(sizeof(*tracker));
	tracker->session = session;
	tracker->handlers = handlers;
	tracker->context = context;
	return tracker;
}

void tracker_destroy(struct tracker *tracker)
{
	if (!tracker)
		return;
	vec_deinit(&tracker->bindings);
	free(tracker);
}

struct error *tracker_require(const struct tracker *tracker, const char *event, const char *recorder)
{
	if (tracker_has(tracker, event))
		return NULL;
	return error_new("the recording has no %s events; record them with '%s'", event, recorder);
}

static inline struct binding *binding_of(struct tracker *tracker, const struct event *event)
{
	if (event->index < tracker->bindings.len && tracker->bindings.data[event->index].bound)
		return &tracker->bindings.data[event->index];
	while (tracker->bindings.len <= event->index)
		vec_push(&tracker->bindings, (struct binding){0});
	struct binding *binding = &tracker->bindings.data[event->index];
	if (!binding->bound)
		bind(tracker, event, binding);
	return binding;
}

bool tracker_wants(struct tracker *tracker, const struct record *record)
{
	return record->is_sample && binding_of(tracker, record->event)->handler;
}

bool tracker_give(struct tracker *tracker, const struct record *record)
{
	if (!record->is_sample)
		return false;
	const struct binding *binding = binding_of(tracker, record->event);
	struct sample *sample = &tracker->sample;
	if (!binding->handler)
		return false;
	if (tracker->sample_type != record->event->attr.sample_type)
		*sample = (struct sample){0};
	tracker->sample_type = record->event->attr.sample_type;
	if (!session_decode_anew(tracker->session, record, sample))
		return false;
	struct tracker_event event;
	event.record = record;
	event.sample = sample;
	event.fields = binding->fields;
	for (size_t i = 0; i < binding->count; i++)
		event.values[i] = read_value(binding, i, sample);
	binding->handler->handle(tracker->context, &event);
	return true;
}

static bool has_handler(void *context, const struct event *event)
{
	struct binding binding; /* what a record brings before its first sample isn't known yet */
	bind(context, event, &binding);
	return binding.handler;
}

void tracker_choose_events(struct tracker *tracker)
{
	if (tracker->session->reader->stable) /* events of a stream come with its records */
		session_choose_events(tracker->session, has_handler, tracker);
}

struct error *tracker_run(struct tracker *tracker)
{
	struct record record;
	struct error *error = NULL;
	tracker_choose_events(tracker);
	while (session_next_sample(tracker->session, &record, &error) == 1)
		tracker_give(tracker, &record);
	return error;
}

const struct untrusted *tracker_text(const struct tracker_event *event, unsigned int field, size_t *ret_len)
{
	*ret_len = 0;
	if (!event->fields[field])
		return (const struct untrusted *)"";
	return tracepoint_read_string(event->fields[field], event->sample->raw, event->sample->raw_size, ret_len);
}
