/* What events get beyond their text: applied by a command after its own options. */
#pragma once

#include "event/event.h"

/* Applies the terms that win over a command's options: period, freq, time, inherit, overwrite, max-stack, and those for the trace of the
 * event's group (aux-output, aux-action, aux-sample-size). Call graphs and branch types are the command's business, since they depend on
 * what the machine can do. */
void event_apply_terms(struct event *event);
