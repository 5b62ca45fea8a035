/* Series, as engines of pprof profiles have them: the rows of a window with one set of labels and one event, and what they are called. */
#pragma once

#include "base/strbuf.h"
#include "result/window.h"

struct series {
	const char *profile_name; /* "process_cpu" of a clock, "off_cpu", else the event's, as far as names have its characters */
	struct window_labels
		labels; /* with `host`, `host_id` and `service_name`; names are letters, digits and _, each once, in their order */
	uint8_t id[16];
	struct strbuf profile; /* pprof, compressed */
};

/* Each that has rows; valid until `add` returns. */
void series_for_each(const struct window *window, void (*add)(void *context, const struct series *series), void *context);
