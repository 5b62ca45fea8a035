/* Options about events work on the events named before them, so they are kept in their order and applied together. For record, stat, top
 * and trace. */
#pragma once

#include "analysis/sides.h"
#include "app/options.h"
#include "event/catalog.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>

struct event_word {
	enum { WORD_EVENT, WORD_PFM, WORD_FILTER, WORD_SAMPLE_FILTER, WORD_EXCLUDE_PERF, WORD_CGROUP } kind;
	const char *text;
};

struct event_words {
	struct event_word *data;
	size_t len, cap;
	enum machine_sides sides;
};

/* For option tables: the field is a struct event_words. */
/* --filter that takes expressions for samples of other events (cmd/sampling/sample_filter.h), and addresses for events that trace, too. */
option_parse_fn event_words_parse_sample_filter;
option_parse_fn event_words_parse_event, event_words_parse_pfm, event_words_parse_filter, event_words_parse_exclude_perf,
	event_words_parse_cgroup;

/* Parses the events and applies filters and control groups to them. `by_cpu`: whole CPUs are measured, as control groups need it. */
struct error *event_words_apply(const struct event_words *words, struct event_list *events, struct event_catalog *catalog, bool by_cpu);
