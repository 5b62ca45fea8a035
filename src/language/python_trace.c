/* Tracepoints for Python: SYSTEM__NAME(event_name, context, common_cpu, common_secs, common_nsecs, common_pid, common_comm,
 * common_callchain, FIELDS…), and trace_unhandled(event_name, context, dictionary) for those that the script has no function for.
 *
 * How a tracepoint's fields are read is worked out at its first sample. */
#include "language/python_internal.h"

#include "base/mem.h"
#include "event/tracepoint/print_values.h"
#include "event/tracepoint/tracepoint.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { NS_PER_SEC = 1000000000, COMMON_ARGUMENTS = 8, MOST_ARGUMENTS = 256 };

struct python_event {
	python_object *attr;	/* its bytes */
	python_object *handler; /* borrowed; NULL = none */
	python_object *name;	/* "sched__sched_switch" */
	const struct tracepoint_field *pid_field;
	const struct tracepoint_field **fields; /* without the common ones */
	python_object **field_names;
	size_t field_count;
	bool sample_too; /* the handler has one argument more: the sample's dictionary */
};

/* Printable ASCII and white space up to a NUL, which is the last byte as well: all else is handed out as bytes. */
static bool is_text(const char *bytes, size_t length)
{
	if (!length || bytes[length - 1])
		return false;
	for (size_t i = 0; i + 1 < length && bytes[i]; i++)
		if ((bytes[i] < ' ' || bytes[i] > '~') && !(bytes[i] >= '\t' && bytes[i] <= '\r'))
			return false;
	return true;
}

/* An array: text where it is text, else its bytes. */
static python_object *array_value(struct python *python, const struct tracepoint_field *field, const struct sample *sample)
{
	size_t length;
	const char *bytes = tracepoint_read_bytes(field, sample->raw, sample->raw_size, &length);
	if (!bytes)
		bytes = "";
	if (field->flags & TRACEPOINT_FIELD_STRING && is_text(bytes, length))
		return python_text(python, bytes, strlen(bytes));
	return python->api.PyByteArray_FromStringAndSize(bytes, (python_size)length);
}

/* A number as the kernel tool has it: only those of 8 bytes keep their sign. */
static python_object *number_value(struct python *python, const struct tracepoint_field *field, const struct sample *sample)
{
	uint64_t value = tracepoint_read(field, sample->raw, sample->raw_size);
	if (field->size < sizeof(value))
		value &= (UINT64_C(1) << field->size * 8) - 1;
	return field->flags & TRACEPOINT_FIELD_SIGNED ? python_s64(python, (int64_t)value) : python_u64(python, value);
}

/* A new reference. */
static python_object *field_value(struct python *python, const struct tracepoint_field *field, const struct sample *sample)
{
	return field->flags & (TRACEPOINT_FIELD_ARRAY | TRACEPOINT_FIELD_STRING | TRACEPOINT_FIELD_DYNAMIC)
		       ? array_value(python, field, sample)
		       : number_value(python, field, sample);
}

/* ---- what is known of an event ---- */

long python_argument_count(struct python *python, python_object *function)
{
	const struct python_api *api = &python->api;
	python_object *code = api->PyObject_GetAttrString(function, "__code__");
	python_object *count = code ? api->PyObject_GetAttrString(code, "co_argcount") : NULL;
	long value = count ? api->PyLong_AsLong(count) : -1;
	api->PyErr_Clear();
	if (code)
		api->Py_DecRef(code);
	if (count)
		api->Py_DecRef(count);
	return value;
}

/* The tracepoint's own fields, in the order in which handlers get them; no more than MOST_ARGUMENTS. */
static void list_fields(struct python *python, struct python_event *plan, const struct tracepoint *tracepoint)
{
	plan->fields = mem_alloc_array(tracepoint->field_count + 1, sizeof(*plan->fields));
	plan->field_names = mem_alloc_array(tracepoint->field_count + 1, sizeof(*plan->field_names));
	for (size_t i = 0; i < tracepoint->field_count && plan->field_count < MOST_ARGUMENTS; i++) {
		const struct tracepoint_field *field = &tracepoint->fields[i];
		if (field->flags & TRACEPOINT_FIELD_COMMON)
			continue;
		plan->fields[plan->field_count] = field;
		plan->field_names[plan->field_count++] = python->api.PyUnicode_InternFromString(field->name);
	}
}

/* What Core.py keeps of flags and symbolic values: define_*() functions of the script, called with texts and numbers. */
struct definitions {
	struct python *python;
	const char *event;
};

/* Calls one of the functions that fill the script's tables of flag and symbol names; where it has none, nothing happens. */
static void define(struct python *python, const char *function_name, const char *event, const struct print_values *values,
		   const struct print_value *value)
{
	python_object *function = python_function(python, function_name);
	python_object *arguments[4] = {python_text(python, event, strlen(event)),
				       python_text(python, values->field, strlen(values->field))};
	size_t count = 2;
	if (!function)
		return;
	if (value) {
		arguments[count++] = python_u64(python, value->number);
		arguments[count++] = python_text(python, value->text, strlen(value->text));
	} else if (values->delimiter) {
		arguments[count++] = python_text(python, values->delimiter, strlen(values->delimiter));
	}
	error_free(python_call(python, function, arguments, count));
}

/* The field's delimiter first, if it has one, then each of its names. */
static void define_values(void *context, const struct print_values *values)
{
	const struct definitions *to = context;
	define(to->python, values->delimiter ? "define_flag_field" : "define_symbolic_field", to->event, values, NULL);
	for (size_t i = 0; i < values->count; i++)
		define(to->python, values->delimiter ? "define_flag_value" : "define_symbolic_value", to->event, values,
		       &values->values[i]);
}

/* Decided once for each event: its function, whether that wants the sample's dictionary as well, its fields. */
static void plan_tracepoint(struct python *python, struct python_event *plan, const struct event *event)
{
	const struct tracepoint *tracepoint = event->tracepoint;
	char *name = mem_printf("%s__%s", tracepoint->system, tracepoint->name);
	list_fields(python, plan, tracepoint);
	plan->name = python_text(python, name, strlen(name));
	plan->pid_field = tracepoint_field(tracepoint, "common_pid");
	if (language_is_identifier(tracepoint->system))
		plan->handler = python_function(python, name);
	plan->sample_too =
		plan->handler && python_argument_count(python, plan->handler) == (long)(COMMON_ARGUMENTS + plan->field_count + 1);
	struct definitions definitions = {python, name};
	if (plan->handler || python->trace_unhandled)
		print_values_visit(tracepoint, define_values, &definitions);
	free(name);
}

/* Events that are no tracepoints have an attr alone. */
static struct python_event *make_event(struct python *python, const struct event *event)
{
	struct python_event *plan = mem_zalloc(sizeof(*plan));
	plan->attr = python->api.PyBytes_FromStringAndSize((const char *)&event->attr, sizeof(event->attr));
	if (event->tracepoint)
		plan_tracepoint(python, plan, event);
	return plan;
}

struct python_event *python_event_of(struct python *python, const struct event *event)
{
	if (event->index >= python->event_count) {
		size_t count = python->session->reader->events.events.len;
		python->events = mem_resize(python->events, count * sizeof(*python->events));
		for (; python->event_count < count; python->event_count++)
			python->events[python->event_count] = NULL;
	}
	struct python_event **plan = &python->events[event->index];
	if (!*plan)
		*plan = make_event(python, event);
	return *plan;
}

python_object *python_event_attr(struct python_event *event)
{
	return event->attr;
}

void python_events_deinit(struct python *python)
{
	for (size_t i = 0; i < python->event_count; i++) {
		struct python_event *plan = python->events[i];
		if (!plan)
			continue;
		free(plan->fields);
		free(plan->field_names);
		free(plan);
	}
	free(python->events);
}

/* ---- samples ---- */

/* Times come in order, so that the object is made once for each second. */
static python_object *seconds_of(struct python *python, uint64_t time)
{
	uint64_t seconds = time / NS_PER_SEC;
	if (!python->seconds || seconds != python->seconds_value) {
		if (python->seconds)
			python->api.Py_DecRef(python->seconds);
		python->seconds = python_u64(python, seconds);
		python->seconds_value = seconds;
	}
	return python_share(python, python->seconds);
}

/* CPU, seconds, nanoseconds, pid, name and stack. */
static void make_common(struct python *python, const struct python_event *plan, const struct language_sample *at, python_object **ret)
{
	const struct sample *sample = at->sample;
	uint64_t pid = plan->pid_field ? tracepoint_read(plan->pid_field, sample->raw, sample->raw_size) : sample->tid;
	ret[0] = python_s64(python, (int32_t)sample->cpu);
	ret[1] = seconds_of(python, sample->time);
	ret[2] = python_u64(python, sample->time % NS_PER_SEC);
	ret[3] = python_s64(python, (int32_t)pid);
	ret[4] = python_share(python, python_lasting_text(python, untrusted_raw(thread_comm(at->thread, at->record->model_time))));
	ret[5] = python_callchain(python, at);
}

/* SYSTEM__NAME(): what all events have, the fields, and the sample's dictionary where the function takes one argument more. */
static struct error *call_handler(struct python *python, const struct python_event *plan, const struct language_sample *at)
{
	python_object *arguments[COMMON_ARGUMENTS + MOST_ARGUMENTS + 1];
	arguments[0] = python_share(python, plan->name);
	arguments[1] = python_share(python, python->context);
	make_common(python, plan, at, arguments + 2);
	size_t count = COMMON_ARGUMENTS;
	for (size_t i = 0; i < plan->field_count; i++)
		arguments[count++] = field_value(python, plan->fields[i], at->sample);
	if (plan->sample_too)
		arguments[count++] = python_sample_dict(python, at);
	return python_call(python, plan->handler, arguments, count);
}

/* trace_unhandled(): the same as one dictionary. */
static struct error *call_unhandled(struct python *python, const struct python_event *plan, const struct language_sample *at)
{
	static const enum python_key keys[] = {KEY_common_cpu, KEY_common_s,	KEY_common_ns,
					       KEY_common_pid, KEY_common_comm, KEY_common_callchain};
	python_object *common[6], *dict = python->api.PyDict_New();
	make_common(python, plan, at, common);
	for (size_t i = 0; i < 6; i++)
		python_set(python, dict, keys[i], common[i]);
	for (size_t i = 0; i < plan->field_count; i++) {
		python_object *value = field_value(python, plan->fields[i], at->sample);
		python->api.PyDict_SetItem(dict, plan->field_names[i], value);
		python->api.Py_DecRef(value);
	}
	python_object *arguments[4] = {python_share(python, plan->name), python_share(python, python->context), dict};
	size_t count = 3;
	if (python->unhandled_sample_too)
		arguments[count++] = python_sample_dict(python, at);
	return python_call(python, python->trace_unhandled, arguments, count);
}

struct error *python_trace(struct python *python, const struct language_sample *at)
{
	struct python_event *plan = python_event_of(python, at->record->event);
	if (plan->handler)
		return call_handler(python, plan, at);
	return python->trace_unhandled ? call_unhandled(python, plan, at) : NULL;
}
