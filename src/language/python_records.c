/* Records that are no samples, for Python: context_switch(), throttle(), unthrottle(), auxtrace_error(), and counts: stat__EVENT(),
 * stat__interval(). */
#include "language/python_internal.h"

#include "perfdata/layout.h"
#include "perfdata/record_fields.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { HOST_MACHINE = -1 };
enum { HANDED_MAX = 11 };

/* A new reference to True or False. */
static python_object *flag(struct python *python, bool value)
{
	return python_share(python, value ? python->yes : python->no);
}

/* The record's trailer; -1 for what it doesn't have. */
static struct sample_id id_of(const struct python *python, const struct record *record)
{
	struct sample_id id = {.pid = (uint32_t)-1, .tid = (uint32_t)-1, .cpu = (uint32_t)-1};
	if (record->event)
		sample_id_decode(&python->session->reader->layouts[record->event->index], record->header, &id);
	return id;
}

/* The arguments of the kernel tool's context_switch(). */
static struct error *call_context_switch(struct python *python, python_object *function, const struct python_switch *at)
{
	python_object *arguments[] = {
		python_u64(python, at->time),
		python_s64(python, (int32_t)at->cpu),
		python_s64(python, (int32_t)at->pid),
		python_s64(python, (int32_t)at->tid),
		python_s64(python, (int32_t)at->other_pid),
		python_s64(python, (int32_t)at->other_tid),
		python_s64(python, at->guest.machine_pid ? (int32_t)at->guest.machine_pid : HOST_MACHINE),
		flag(python, at->out),
		flag(python, at->preempted),
		python_s64(python, (int32_t)at->guest.machine_pid),
		python_s64(python, (int32_t)at->guest.vcpu),
	};
	return python_call(python, function, arguments, sizeof(arguments) / sizeof(*arguments));
}

/* For databases a row, else a call, where the script has the function. Records of single threads don't say who comes or went. */
static struct error *context_switch(struct python *python, const struct record *record)
{
	python_object *function = python_function(python, "context_switch");
	const struct record_switch_cpu_wide *at = (const void *)record->header;
	bool wide = record->header->type == RECORD_SWITCH_CPU_WIDE && record->header->size >= sizeof(*at);
	bool out = record->header->misc & RECORD_MISC_SWITCH_OUT;
	struct sample_id id = id_of(python, record);
	const struct python_switch found = {
		.time = id.time,
		.model_time = record->model_time,
		.cpu = id.cpu,
		.pid = id.pid,
		.tid = id.tid,
		.other_pid = wide ? at->other_pid : (uint32_t)-1,
		.other_tid = wide ? at->other_tid : (uint32_t)-1,
		.guest = record->event ? sample_find_guest(&python->session->reader->layouts[record->event->index], id.id) : SAMPLE_ON_HOST,
		.out = out,
		.preempted = out && record->header->misc & RECORD_MISC_SWITCH_OUT_PREEMPT,
	};
	if (python->export)
		return python_export_switch(python->export, &found);
	return function ? call_context_switch(python, function, &found) : NULL;
}

/* Functions that are handed fields of a record: names of its row in perfdata/records.def, of its trailer with "@", and numbers. */
static const struct handed {
	uint32_t type;
	const char *function;
	const char *arguments[HANDED_MAX];
} handed[] = {
	{RECORD_THROTTLE, "throttle", {"time", "id", "stream_id", "@cpu", "@pid", "@tid"}},
	{RECORD_UNTHROTTLE, "unthrottle", {"time", "id", "stream_id", "@cpu", "@pid", "@tid"}},
	{RECORD_AUXTRACE_ERROR,
	 "auxtrace_error",
	 {"type", "code", "cpu", "pid", "tid", "ip", "time", "message", "@cpumode", "0", /* no virtual CPU: */ "-1"}},
};

/* "cpumode" is the header's, the others the trailer's. */
static python_object *of_trailer(struct python *python, const struct record *record, const struct sample_id *id, const char *name)
{
	if (!strcmp(name, "cpumode"))
		return python_u64(python, record->header->misc & RECORD_MISC_CPUMODE);
	return python_s64(python, (int32_t)(!strcmp(name, "cpu") ? id->cpu : !strcmp(name, "pid") ? id->pid : id->tid));
}

/* NULL: the record ends before the field. */
static python_object *of_record(struct python *python, const struct record *record, const char *name)
{
	size_t offset;
	const struct record_field *field = record_find(record->header, record->header->size, name, strlen(name), &offset);
	const char *at = (const char *)record->header + offset;
	uint64_t value;
	if (!field)
		return NULL;
	if (field->kind == FIELD_BYTES)
		return python_text(python, at, strnlen(at, field->size));
	record_number(record->header, record->header->size, name, &value);
	return field->kind == FIELD_SIGNED ? python_s64(python, (int32_t)value) : python_u64(python, value);
}

/* One word of a row's arguments as a new reference; NULL as of_record(). */
static python_object *argument_of(struct python *python, const struct record *record, const struct sample_id *id, const char *name)
{
	if (*name == '@')
		return of_trailer(python, record, id, name + 1);
	if (*name == '-' || (*name >= '0' && *name <= '9'))
		return python_s64(python, strtol(name, NULL, 10));
	return of_record(python, record, name);
}

/* Nothing is called where the script has no such function, or the record ends before a field. */
static struct error *hand(struct python *python, const struct record *record, const struct handed *row)
{
	python_object *function = python_function(python, row->function), *arguments[HANDED_MAX];
	struct sample_id id = id_of(python, record);
	size_t count = 0;
	if (!function)
		return NULL;
	while (count < HANDED_MAX && row->arguments[count] && (arguments[count] = argument_of(python, record, &id, row->arguments[count])))
		count++;
	if (count == HANDED_MAX || !row->arguments[count])
		return python_call(python, function, arguments, count);
	while (count)
		python->api.Py_DecRef(arguments[--count]);
	return NULL;
}

struct error *python_record(struct language *language, const struct record *record)
{
	struct python *python = (struct python *)language;
	switch (record->header->type) {
	case RECORD_SWITCH:
	case RECORD_SWITCH_CPU_WIDE:
		return context_switch(python, record);
	}
	for (size_t i = 0; i < sizeof(handed) / sizeof(*handed); i++)
		if (handed[i].type == record->header->type)
			return hand(python, record, &handed[i]);
	return NULL;
}

/* The function for an event's counts: stat__NAME with an underscore for each colon, as the kernel tool has it; and, since that can't be
 * written for names like "task-clock", with an underscore for everything that isn't a letter or a digit. NULL: there is none. */
static python_object *count_function(struct python *python, const char *event)
{
	cleanup_free char *name = mem_printf("stat__%s", event);
	for (char *at = name; (at = strchr(at, ':'));)
		*at = '_';
	python_object *function = python_function(python, name);
	if (function)
		return function;
	for (char *at = name; *at; at++)
		if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9')))
			*at = '_';
	return python_function(python, name);
}

/* (cpu, thread, time, value, enabled, running), in nanoseconds. */
struct error *python_count(struct language *language, const struct counted_row *row)
{
	struct python *python = (struct python *)language;
	python_object *function = count_function(python, row->event->name);
	if (!function)
		return NULL;
	python_object *arguments[] = {
		python_s64(python, row->cpu),	python_s64(python, row->thread),     python_u64(python, row->time_ns),
		python_u64(python, row->value), python_u64(python, row->enabled_ns), python_u64(python, row->running_ns),
	};
	return python_call(python, function, arguments, sizeof(arguments) / sizeof(*arguments));
}

/* The end of an interval, by its time since the beginning. */
struct error *python_interval(struct language *language, uint64_t time_ns)
{
	struct python *python = (struct python *)language;
	python_object *function = python_function(python, "stat__interval"), *time = python_u64(python, time_ns);
	if (function)
		return python_call(python, function, &time, 1);
	python->api.Py_DecRef(time);
	return NULL;
}
