/* Events of a trace that are no system calls, as text. */
#pragma once

#include "base/strbuf.h"
#include "base/untrusted.h"
#include "event/tracepoint/tracepoint.h"
#include "model/machine.h"
#include "perfdata/layout.h"
#include "symbol/resolve.h"

#include <stdbool.h>

/* Where a sample's addresses are looked up. */
struct trace_event_where {
	const struct machine *machine;
	struct resolver *resolver;
	const struct thread *thread;
	uint64_t time; /* of the model */
};

struct trace_event_style {
	bool zeros; /* fields that are 0 as well */
	/* The name of a thread or NULL. */
	const struct untrusted *(*thread_name)(void *context, uint32_t tid);
	void *thread_name_context;
};

/* "prev_comm: "sleep", prev_pid: 42 (sleep), …": all fields of the event's own. */
void trace_event_add_fields(const struct tracepoint *tracepoint, const struct sample *sample, const struct trace_event_style *style,
			    struct strbuf *out);
/* "[main+0x10] => /usr/bin/x@0x1000 (d.)" of a page fault: where, on what; d, x: data, code; k, .: by the kernel, by the program. */
void trace_event_add_fault(const struct trace_event_where *where, const struct sample *sample, struct strbuf *out);
/* "main+0x10": where an event without fields happened. */
void trace_event_add_address(const struct trace_event_where *where, const struct sample *sample, struct strbuf *out);
