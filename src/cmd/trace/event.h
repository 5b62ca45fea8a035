/* Events of a trace that are no system calls, as text. */
#pragma once

#include "base/strbuf.h"
#include "base/untrusted.h"
#include "event/tracepoint/tracepoint.h"
#include "perfdata/layout.h"

#include <stdbool.h>

struct trace_event_style {
	bool zeros; /* fields that are 0 as well */
	/* The name of a thread or NULL. */
	const struct untrusted *(*thread_name)(void *context, uint32_t tid);
	void *thread_name_context;
};

/* "prev_comm: "sleep", prev_pid: 42 (sleep), …": all fields of the event's own. */
void trace_event_add_fields(const struct tracepoint *tracepoint, const struct sample *sample, const struct trace_event_style *style,
			    struct strbuf *out);
