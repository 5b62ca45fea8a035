/* Events by the names of the processor's vendor, which libpfm4 knows for each model: "RETIRED_BRANCH_INSTRUCTIONS",
 * "MEM_LOAD_RETIRED:L3_MISS:c=1". The processor is told by its id, so names are known even where its counters cannot be used. This is the
 * one file that uses the library; a build without it knows no such names.
 *
 * The library finds out the processor once per process, on first use, and is not thread-safe. $LIBPFM_FORCE_PMU names another processor. */
#pragma once

#include "event/catalog.h"
#include "event/event.h"

struct vendor_event {
	const char *pmu;	 /* the library's: "skl", "amd64_fam19h_zen3" */
	const char *description; /* one line, or "" */
	const char *name;
	const char *unit;	      /* a part of the event ("L3_MISS" of MEM_LOAD_RETIRED), or NULL: the event has none */
	const char *unit_description; /* "" = none */
	uint64_t code;		      /* the event's number, without its unit */
	bool of_core;		      /* counted by the cores, not by another part of the chip */
	bool is_first;		      /* of the event's units */
};

/* True when the build has the library. */
bool vendor_is_available(void);

/* Every event of every PMU that this processor has by its id, once for each of its units. What `event` points to lives as long as the
 * process. */
void vendor_visit(void (*visit)(void *context, const struct vendor_event *event), void *context);

/* Adds the event of this name ("EVENT", "EVENT:UNIT", "EVENT.UNIT", in any case), with an attr as event_parse() makes them and without a
 * name; NULL when it is unknown. */
struct event *vendor_add(struct event_list *list, struct event_catalog *catalog, const char *name);

/* The language of --pfm-events: names with the library's modifiers, separated by commas, groups in braces. An error names what isn't known;
 * `list` is then as before. */
struct error *vendor_parse(struct event_list *list, struct event_catalog *catalog, const char *text);
