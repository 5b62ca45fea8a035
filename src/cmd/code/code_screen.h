/* Functions by instructions on a screen: for perf report and perf annotate. */
#pragma once

#include "analysis/annotate/annotate.h"
#include "app/print_file.h"
#include "event/event_set.h"
#include "tui/code.h"

struct code_screen {
	struct terminal *terminal;
	struct annotate *annotate;
	const struct event *const *events; /* whose samples are shown */
	size_t event_count;
	struct annotation_style style;
	const uint32_t *order; /* numbers of functions, in which the keys < and > lead from one to the next */
	size_t order_count;
	struct print_file *prints; /* or NULL */
	/* As of struct code_source; or NULL. */
	void (*run_script)(void *context, struct strbuf *note);
	void *script_context;
};

/* Shows a function until the person goes back; calls are followed. An error says why there are no instructions. */
struct error *code_screen_show(const struct code_screen *screen, const struct annotate_function *function);

/* annotate_order() of events. */
size_t code_order(const struct annotate *annotate, const struct event *const *events, size_t event_count, uint32_t **ret);
/* A function with what these events have in it, as text and screens show it. */
struct error *code_annotation(struct annotate *annotate, const struct annotate_function *function, const struct event *const *events,
			      size_t event_count, const struct annotation_style *style, struct annotation **ret);
struct event_set;
/* Leaves out the events without samples; all stay when none has any. `totals`: by event of the recording. */
void code_events_with_samples(const struct annotation_value *totals, struct event_set *set);
/* The function with this name that has most of an event, or NULL. */
const struct annotate_function *code_function_named(const struct annotate *annotate, const char *name, unsigned int event);
