/* perf evlist: the events of a recording, one a line, with as much of their attributes as is asked for. */
#include "app/command.h"
#include "base/log.h"
#include "base/text.h"
#include "cmd/opening.h"
#include "perfdata/attr_print.h"
#include "perfdata/reader.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

struct evlist_options {
	const char *input;
	bool force;
	bool frequency;
	bool group;
	bool trace_fields;
	bool sandbox;
	int verbose;
};

static const struct option evlist_options[] = {
	OPTION_STRING('i', "input", struct evlist_options, input, "FILE",
		      "recording to read (default perf.data, or standard input where that is a pipe; - for standard input)"),
	OPTION_FLAG('f', "force", struct evlist_options, force, "read the recording even if another user owns it"),
	OPTION_FLAG('F', "freq", struct evlist_options, frequency, "show the sampling frequency or period"),
	OPTION_COUNT('v', "verbose", struct evlist_options, verbose, "show all attributes"),
	OPTION_FLAG('g', "group", struct evlist_options, group, "show event groups"),
	OPTION_FLAG(0, "trace-fields", struct evlist_options, trace_fields, "show the fields of tracepoints"),
	OPTION_SANDBOX(struct evlist_options, sandbox),
	OPTION_END,
};

static void add_name(struct strbuf *out, const struct event *event)
{
	text_add_safe(out, event->name, strlen(event->name));
}

static void add_group(struct strbuf *out, const struct event_list *list, const struct event *leader)
{
	if (leader->leader != leader->index)
		return;
	if (leader->members > 1) {
		if (leader->group_name)
			text_add_safe(out, leader->group_name, strlen(leader->group_name));
		strbuf_add_char(out, '{');
	}
	add_name(out, leader);
	for (unsigned int i = 1; i < leader->members && leader->index + i < list->events.len; i++) {
		strbuf_add_char(out, ',');
		add_name(out, list->events.data[leader->index + i]);
	}
	strbuf_add_str(out, leader->members > 1 ? "}\n" : "\n");
}

static void add_trace_fields(struct strbuf *out, const struct event *event)
{
	const char *before = " trace_fields: ";
	if (event->attr.type != PERF_TYPE_TRACEPOINT) {
		strbuf_add_str(out, " (not a tracepoint)");
		return;
	}
	for (size_t i = 0; event->tracepoint && i < event->tracepoint->field_count; i++) {
		const struct tracepoint_field *field = &event->tracepoint->fields[i];
		if (field->flags & TRACEPOINT_FIELD_COMMON)
			continue;
		strbuf_add_str(out, before);
		text_add_safe(out, field->name, strlen(field->name));
		before = ",";
	}
	if (*before == ' ')
		strbuf_add_str(out, " (no trace field)");
}

static void add_event(struct strbuf *out, const struct event *event, const struct evlist_options *options)
{
	add_name(out, event);
	if (options->verbose)
		attr_print(&event->attr, ": ", ", ", ": ", out);
	else if (options->frequency)
		strbuf_printf(out, ": sample_%s=%" PRIu64, event->attr.freq ? "freq" : "period", event->attr.sample_period);
	if (options->trace_fields) {
		strbuf_add_char(out, options->verbose || options->frequency ? ',' : ':');
		add_trace_fields(out, event);
	}
	strbuf_add_char(out, '\n');
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct evlist_options options = {.sandbox = true};
	struct error *error = options_parse_alone(evlist_options, argc, argv, &options, "");
	if (error)
		return error;
	if (options.group && (options.verbose || options.frequency))
		return error_new_kind(ERROR_USAGE, "--group option is not compatible with other options");

	if (options.sandbox)
		opening_sandbox(&(struct input_options){.input = options.input}, NULL, NULL);
	struct reader *reader;
	error = reader_open(&(struct reader_options){.path = options.input, .force = options.force, .streaming = true, .head_only = true},
			    &reader);
	if (error)
		return error;
	struct strbuf out = {0};
	bool tracepoints = false;
	if (!reader->events.events.len)
		log_warning("%s describes no events: it is truncated, or recording has not begun", reader_name(reader));
	for (size_t i = 0; i < reader->events.events.len; i++) {
		const struct event *event = reader->events.events.data[i];
		tracepoints |= event->attr.type == PERF_TYPE_TRACEPOINT;
		if (options.group)
			add_group(&out, &reader->events, event);
		else
			add_event(&out, event, &options);
	}
	if (tracepoints && !options.trace_fields && !options.group)
		strbuf_add_str(&out, "# Tip: use 'perf evlist --trace-fields' to show fields for tracepoint events\n");
	fputs(strbuf_str(&out), stdout);
	strbuf_deinit(&out);
	reader_close(reader);
	return NULL;
}

static const char *const usage[] = {"[-i FILE] [-v] [-F] [-g] [--trace-fields]", NULL};
const struct command cmd_evlist = {"evlist", "List the events of a recording", usage, evlist_options, run};
