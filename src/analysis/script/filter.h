/* Which samples `perf script` shows, besides CPUs and times (which the session filters): names, processes, files, symbols, and between
 * which events. */
#pragma once

#include "base/error.h"
#include "base/hash.h"
#include "base/vec.h"
#include "event/event.h"
#include "perfdata/layout.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stdint.h>

/* Arrays for vec.h. */
struct script_names {
	const char **data;
	size_t len, cap;
};

struct script_ids {
	uint32_t *data;
	size_t len, cap;
};

struct script_filter {
	struct script_names comms;
	struct script_ids pids;
	struct script_ids tids;
	struct script_names dsos; /* paths or last components */
	struct script_names symbols;
	struct script_names stop_at; /* functions at which stacks end (no filter, but the same kind of list) */
	struct script_names graphed; /* --graph-function: only these and what they call */
	struct map64 within;	     /* … threads that are in one: how deep, plus 1 */
	VEC(uint64_t) addresses;     /* the symbols that are hexadecimal numbers */
	uint64_t address_range;	     /* bytes from each of them on; 0 = these very addresses */
	const struct event *on;	     /* --switch-on, or NULL */
	const struct event *off;
	bool show_on_off;
	bool discarding; /* before `on`, after `off` */
	struct arena arena;
};

void script_filter_deinit(struct script_filter *filter);

/* Lists separated by commas; a piece "file://PATH" stands for the lines of that file. */
struct error *script_filter_add_names(struct script_filter *filter, const char *text, struct script_names *list);
struct error *script_filter_add_ids(const char *text, struct script_ids *list);
/* Names, and addresses 0x… */
struct error *script_filter_add_symbols(struct script_filter *filter, const char *text);
/* --switch-on and --switch-off by names of events; either may be NULL. */
struct error *script_filter_set_switches(struct script_filter *filter, const struct event_list *events, const char *on, const char *off);

/* Nothing is filtered here: script_filter_passes() need not be asked. */
bool script_filter_is_empty(const struct script_filter *filter);
/* The filter's answer depends on the samples before. */
bool script_filter_is_ordered(const struct script_filter *filter);
bool script_filter_passes(struct script_filter *filter, const struct machine *machine, struct resolver *resolver,
			  const struct record *record, const struct sample *sample, const struct thread *thread);
