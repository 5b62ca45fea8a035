/* What -e, --event and --filter of perf trace ask for: system calls, and other events beside them. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "cmd/event_words.h"
#include "cmd/trace/table.h"

/* One use of an option, in the order of the command line. */
struct trace_word {
	enum { TRACE_WORD_LIST, TRACE_WORD_FILTER } kind;
	const char *text;
};

struct trace_words {
	struct trace_word *data;
	size_t len, cap;
};

/* The events that are no system calls. All zero is none. */
struct trace_events {
	struct event_words words; /* as `perf record` takes them */
	struct event_list list;	  /* parsed: for their names and limits */
	struct arena texts;
};

/* For option tables: the field is a struct trace_words. */
option_parse_fn trace_words_parse_list, trace_words_parse_filter;

/* Selects the system calls in `table`, and collects the rest. *ret_calls: whether any word was about system calls. Events are checked
 * against this machine. */
struct error *trace_words_apply(const struct trace_words *words, struct trace_table *table, struct event_catalog *catalog,
				struct trace_events *ret_events, bool *ret_calls);
/* Frees the events and their words. */
void trace_events_deinit(struct trace_events *events);
