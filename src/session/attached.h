/* Warnings about BPF programs of others that decide which events of a tracepoint anyone sees (kernel/bpf_attached.h). */
#pragma once

#include "event/event.h"
#include "session/counters.h"

/* Warns once of each program at a tracepoint of `events`. `counters` are open for them; NULL: nothing is open yet. */
void attached_warn(const struct event_list *events, const struct counters *counters);
