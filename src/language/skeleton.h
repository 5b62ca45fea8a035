/* Skeletons of scripts: a handler for each tracepoint of a recording, which prints everything that it gets (perf script -g). */
#pragma once

#include "base/strbuf.h"
#include "event/event.h"

/* Names come from the recording: only those that are plain identifiers get into the text. *ret_skipped counts events that aren't. */
void skeleton_python(const struct event_list *events, struct strbuf *out, size_t *ret_skipped);
void skeleton_perl(const struct event_list *events, struct strbuf *out, size_t *ret_skipped);
