/* Binding of handlers to the events of a session (tracker.h). Events that come late, as in a stream, are bound at their first record. */
#include "analysis/tracker.h"

#include "analysis/stack.h"
#include "base/mem.h"
#include "base/vec.h"
#include "event/tracepoint/tracepoint.h"
#include "session/turns.h"

#include <linux/perf_event.h>

#include <stdlib.h>
#include <string.h>

/* How a field's integer is read: of the eight bytes from `offset` on, which end with the field, so that they are there where it is. */
struct place {
	uint16_t offset;
	uint8_t shift;
	bool is_signed, is_there;
};

/* What is looked at with each record lies close together. */
struct binding {
	const struct tracker_handler *handler; /* NULL = nobody wants its records */
	uint32_t enough; /* raw data of so many bytes has all fields in their places; UINT32_MAX: tracepoint_read() finds some */
	bool bound;
	uint8_t count; /* fields of the handler */
	uint8_t chain; /* the one that is TRACKER_CHAIN, plus one; 0 = none is */
	struct place places[TRACKER_FIELDS];
	const struct tracepoint_field *fields[TRACKER_FIELDS];
};

struct tracker {
	struct session *session;
	const struct tracker_handler *handlers;
	void *context;
	VEC(struct binding) bindings; /* by event index */
	VEC(struct binding) digested; /* the same for who digests samples, of events that were known at the beginning; they don't change */
	bool digests;		      /* records of the session have digests of ours */
	char apart[64];		      /* a line of the cache: from here on all changes with each record, while another thread digests */
	struct sample sample;	      /* decoded last */
	uint64_t sample_type;	      /* of its event */
	bool decoded;		      /* the record being given is */
	uint64_t values[TRACKER_FIELDS];
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

/* Where a field is, and where it ends; UINT32_MAX if tracepoint_read() is to be asked. */
static struct place place_of(const struct tracepoint_field *field, uint32_t *ret_end)
{
	enum { WORD = 8, BITS = 8 };
	*ret_end = WORD;
	if (!field)
		return (struct place){0};
	uint32_t width = field->flags & TRACEPOINT_FIELD_DYNAMIC ? field->size : field->element_size;
	bool is_integer = width == 1 || width == 2 || width == 4 || width == WORD;
	*ret_end = UINT32_MAX;
	if (!is_integer || field->flags & TRACEPOINT_FIELD_SWAPPED || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ ||
	    field->offset > UINT16_MAX - WORD || field->offset + width < WORD)
		return (struct place){0};
	*ret_end = field->offset + width;
	return (struct place){(uint16_t)(*ret_end - WORD), (uint8_t)((WORD - width) * BITS), field->flags & TRACEPOINT_FIELD_SIGNED, true};
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
		uint32_t end;
		ret->places[i] = place_of(ret->fields[i], &end);
		ret->enough = end > ret->enough ? end : ret->enough;
		if (!strcmp(handler->fields[i], TRACKER_CHAIN))
			ret->chain = (uint8_t)(i + 1);
	}
}

static inline void read_fields(const struct binding *binding, const void *raw, uint32_t raw_size, uint64_t ret[])
{
	if (raw_size < binding->enough) {
		for (size_t i = 0; i < binding->count; i++)
			ret[i] = binding->fields[i] ? tracepoint_read(binding->fields[i], raw, raw_size) : 0;
		return;
	}
	for (size_t i = 0; i < binding->count; i++) {
		const struct place *place = &binding->places[i];
		uint64_t word;
		memcpy(&word, (const uint8_t *)raw + place->offset, sizeof(word));
		uint64_t field = place->is_signed ? (uint64_t)((int64_t)word >> place->shift) : word >> place->shift;
		ret[i] = place->is_there ? field : 0;
	}
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
	if (tracker->digests)
		session_end_digests(tracker->session);
	vec_deinit(&tracker->digested);
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

static bool decode(struct tracker *tracker, const struct record *record)
{
	if (tracker->sample_type != record->event->attr.sample_type)
		tracker->sample = (struct sample){0};
	tracker->sample_type = record->event->attr.sample_type;
	return session_decode_anew(tracker->session, record, &tracker->sample);
}

bool tracker_give(struct tracker *tracker, const struct record *record)
{
	if (!record->is_sample)
		return false;
	const struct binding *binding = binding_of(tracker, record->event);
	const struct sample *sample = &tracker->sample;
	const struct sample_digest *digest = tracker->digests ? record->digest : NULL;
	if (!binding->handler)
		return false;
	struct tracker_event event = {.record = record, .fields = binding->fields, .tracker = tracker};
	tracker->decoded = !digest;
	if (digest) {
		event.time = record->time;
		event.pid = digest->pid;
		event.tid = digest->tid;
		event.cpu = digest->cpu;
		event.values = digest->values;
	} else {
		if (!decode(tracker, record))
			return false;
		event.time = sample->time;
		event.pid = sample->pid;
		event.tid = sample->tid;
		event.cpu = sample->cpu;
		event.values = tracker->values;
		read_fields(binding, sample->raw, sample->raw_size, tracker->values);
		if (binding->chain)
			tracker->values[binding->chain - 1] = stack_chain_hash(record->event, sample);
	}
	binding->handler->handle(tracker->context, &event);
	return true;
}

/* Of a digested event: a sound sample was there. If somebody has written over it since, it has what can be decoded of it. */
const struct sample *tracker_sample(const struct tracker_event *event)
{
	struct tracker *tracker = event->tracker;
	if (!tracker->decoded)
		decode(tracker, event->record);
	tracker->decoded = true;
	return &tracker->sample;
}

/* Of a sample that hasn't what else makes up stacks. */
static uint64_t hash_chain(const struct event *event, const struct sample_raw *found)
{
	const struct sample sample = {.chain = found->chain, .chain_count = found->chain_count};
	return stack_chain_hash(event, &sample);
}

/* Other threads call it: nothing of the tracker that it reads changes. */
static bool digest(void *context, const struct event *event, const struct record_header *header, struct sample_digest *ret)
{
	const struct tracker *tracker = context;
	const struct sample_layout *layout = &tracker->session->reader->layouts[event->index];
	const struct binding *binding = event->index < tracker->digested.len ? &tracker->digested.data[event->index] : NULL;
	struct sample_raw found;
	if (!binding || !binding->handler || !sample_find_raw(layout, header, &found))
		return false;
	const uint8_t *record = (const uint8_t *)header;
	ret->pid = ret->tid = ret->cpu = UINT32_MAX;
	if (layout->tid) {
		memcpy(&ret->pid, record + layout->tid, sizeof(ret->pid));
		memcpy(&ret->tid, record + layout->tid + sizeof(ret->pid), sizeof(ret->tid));
	}
	if (layout->cpu)
		memcpy(&ret->cpu, record + layout->cpu, sizeof(ret->cpu));
	read_fields(binding, found.raw, found.raw_size, ret->values);
	if (binding->chain)
		ret->values[binding->chain - 1] = hash_chain(event, &found);
	return true;
}

/* Where the formats of all events are known. */
void tracker_digest_ahead(struct tracker *tracker)
{
	if (!tracker->session->reader->stable || tracker->digests)
		return;
	const struct event_list *events = &tracker->session->reader->events;
	size_t values = 0;
	bool all_known = true;
	tracker->digested.len = 0;
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		struct binding binding;
		all_known &= event->attr.type != PERF_TYPE_TRACEPOINT || event->tracepoint;
		bind(tracker, event, &binding);
		vec_push(&tracker->digested, binding);
		values = binding.count > values ? binding.count : values;
	}
	tracker->digests = all_known && session_digest_samples(tracker->session, digest, tracker, values);
}

static bool has_handler(void *context, const struct event *event)
{
	struct binding binding; /* what a record brings before its first sample isn't known yet */
	bind(context, event, &binding);
	return binding.handler;
}

void tracker_choose_events(struct tracker *tracker)
{
	if (!tracker->session->reader->stable) /* events of a stream come with its records */
		return;
	session_choose_events(tracker->session, has_handler, tracker);
}

/* tracker_give() for digested samples that follow one another. */
static void give_digested(struct tracker *tracker, struct session_turns *turns)
{
	struct record record;
	while (session_next_turn(turns, &record)) {
		const struct sample_digest *digest = record.digest;
		const struct binding *binding = &tracker->digested.data[digest->event];
		const struct tracker_event event = {.record = &record,
						    .time = record.time,
						    .pid = digest->pid,
						    .tid = digest->tid,
						    .cpu = digest->cpu,
						    .values = digest->values,
						    .fields = binding->fields,
						    .tracker = tracker};
		tracker->decoded = false;
		binding->handler->handle(tracker->context, &event);
	}
}

struct error *tracker_run(struct tracker *tracker)
{
	struct record record;
	struct error *error = NULL;
	tracker_digest_ahead(tracker);
	tracker_choose_events(tracker);
	while (session_next_sample(tracker->session, &record, &error) == 1) {
		tracker_give(tracker, &record);
		struct session_turns *turns = tracker->digests ? session_digested_turns(tracker->session) : NULL;
		if (turns)
			give_digested(tracker, turns);
	}
	return error;
}

const struct untrusted *tracker_text(const struct tracker_event *event, unsigned int field, size_t *ret_len)
{
	*ret_len = 0;
	if (!event->fields[field])
		return (const struct untrusted *)"";
	const struct sample *sample = tracker_sample(event);
	return tracepoint_read_string(event->fields[field], sample->raw, sample->raw_size, ret_len);
}
