/* The TRACING_DATA section that `record` puts into a recording: the formats of its tracepoints, so that it can be read anywhere. */
#pragma once

#include "base/strbuf.h"
#include "event/catalog.h"
#include "event/event.h"

/* Appends the section's bytes for the tracepoints of `events`; nothing when there are none. event/tracepoint/tracepoint.h reads them. */
struct error *tracing_data_gather(struct event_catalog *catalog, const struct event_list *events, struct strbuf *out);
