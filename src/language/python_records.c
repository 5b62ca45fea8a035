/* Records that are no samples, for Python: context_switch(), throttle(), unthrottle(), auxtrace_error(), and counts: stat__EVENT(), stat__interval(). */
#include "language/python_internal.h"

#include "perfdata/layout.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <string.h>

/* The kernel's side of "whose": -1 is the host's machine. */
enum { HOST_MACHINE = -1, NO_VCPU = -1 };

/* ERROR_MESSAGE is the size that the tool's own format gives an AUXTRACE_ERROR's text. */
enum { ERROR_MESSAGE = 64 };

struct switch_record {
	struct record_header header;
	uint32_t other_pid, other_tid;
};

struct throttle_record {
	struct record_header header;
	uint64_t time, id, stream_id;
};

struct auxtrace_error_record {
	struct record_header header;
	uint32_t type, code, cpu, pid, tid, format;
	uint64_t ip, time;
	char message[ERROR_MESSAGE];
};

static python_object *flag(struct python *python, bool value)
{
	return python_share(python, value ? python->yes : python->no);
}

static struct sample_id id_of(const struct python *python, const struct record *record)
{
	struct sample_id id = {.pid = (uint32_t)-1, .tid = (uint32_t)-1, .cpu = (uint32_t)-1};
	if (record->event)
		sample_id_decode(&python->session->reader->layouts[record->event->index], record->header, &id);
	return id;
}

static struct error *call_context_switch(struct python *python, python_object *function, const struct python_switch *at)
{
	python_object *arguments[] = {
		python_u64(python, at->time),
		python_s64(python, (int32_t)at->cpu),
		python_s64(python, (int32_t)at->pid),
		python_s64(python, (int32_t)at->tid),
		python_s64(python, (int32_t)at->other_pid),
		python_s64(python, (int32_t)at->other_tid),
		python_s64(python, HOST_MACHINE),
		flag(python, at->out),
		flag(python, at->preempted),
		python_s64(python, 0),
		python_s64(python, NO_VCPU),
	};
	return python_call(python, function, arguments, sizeof(arguments) / sizeof(*arguments));
}

static struct error *context_switch(struct python *python, const struct record *record)
{
	python_object *function = python_function(python, "context_switch");
	const struct switch_record *at = (const void *)record->header;
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
		.out = out,
		.preempted = out && record->header->misc & RECORD_MISC_SWITCH_OUT_PREEMPT,
	};
	if (python->export)
		return python_export_switch(python->export, &found);
	return function ? call_context_switch(python, function, &found) : NULL;
}

static struct error *throttle(struct python *python, const struct record *record)
{
	const char *name = record->header->type == RECORD_THROTTLE ? "throttle" : "unthrottle";
	python_object *function = python_function(python, name);
	const struct throttle_record *at = (const void *)record->header;
	if (!function || record->header->size < sizeof(*at))
		return NULL;
	struct sample_id id = id_of(python, record);
	python_object *arguments[] = {
		python_u64(python, at->time),		 python_u64(python, at->id),
		python_u64(python, at->stream_id),	 python_s64(python, (int32_t)id.cpu),
		python_s64(python, (int32_t)id.pid),	 python_s64(python, (int32_t)id.tid),
	};
	return python_call(python, function, arguments, sizeof(arguments) / sizeof(*arguments));
}

static struct error *auxtrace_error(struct python *python, const struct record *record)
{
	python_object *function = python_function(python, "auxtrace_error");
	const struct auxtrace_error_record *at = (const void *)record->header;
	if (!function || record->header->size < sizeof(*at))
		return NULL;
	python_object *arguments[] = {
		python_u64(python, at->type),
		python_u64(python, at->code),
		python_s64(python, (int32_t)at->cpu),
		python_s64(python, (int32_t)at->pid),
		python_s64(python, (int32_t)at->tid),
		python_u64(python, at->ip),
		python_u64(python, at->time),
		python_text(python, at->message, strnlen(at->message, sizeof(at->message))),
		python_u64(python, record->header->misc & RECORD_MISC_CPUMODE),
		python_s64(python, 0),
		python_s64(python, NO_VCPU),
	};
	return python_call(python, function, arguments, sizeof(arguments) / sizeof(*arguments));
}

struct error *python_record(struct language *language, const struct record *record)
{
	struct python *python = (struct python *)language;
	switch (record->header->type) {
	case RECORD_SWITCH:
	case RECORD_SWITCH_CPU_WIDE:
		return context_switch(python, record);
	case RECORD_THROTTLE:
	case RECORD_UNTHROTTLE:
		return throttle(python, record);
	case RECORD_AUXTRACE_ERROR:
		return auxtrace_error(python, record);
	default:
		return NULL;
	}
}

/* The function for an event's counts: stat__NAME with an underscore for each colon, as the kernel tool has it; and, since that can't be written for names
 * like "task-clock", with an underscore for everything that isn't a letter or a digit. NULL: there is none. */
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

struct error *python_count(struct language *language, const struct counted_row *row)
{
	struct python *python = (struct python *)language;
	python_object *function = count_function(python, row->event->name);
	if (!function)
		return NULL;
	python_object *arguments[] = {
		python_s64(python, row->cpu),	      python_s64(python, row->thread),	     python_u64(python, row->time_ns),
		python_u64(python, row->value), python_u64(python, row->enabled_ns), python_u64(python, row->running_ns),
	};
	return python_call(python, function, arguments, sizeof(arguments) / sizeof(*arguments));
}

struct error *python_interval(struct language *language, uint64_t time_ns)
{
	struct python *python = (struct python *)language;
	python_object *function = python_function(python, "stat__interval"), *time = python_u64(python, time_ns);
	if (function)
		return python_call(python, function, &time, 1);
	python->api.Py_DecRef(time);
	return NULL;
}
