/* Warnings about BPF programs of others that decide which events of a tracepoint anyone sees (kernel/bpf/bpf_attached.h). */
#pragma once

#include "capture/counting/counter_set.h"
#include "event/event.h"

/* Warns once of each program at a tracepoint of `events`. `counters` are open for them; NULL: nothing is open yet. */
void attached_warn(const struct event_list *events, const struct counter_set *counters);
