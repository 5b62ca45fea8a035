/* Which events of a machine sample memory accesses: with the address of the data, what the access cost, and where the data came from. Each
 * maker of processors has its own; this is the one place that knows them. */
#pragma once

#include "event/catalog.h"

enum { MEMORY_LOADS = 1 << 0, MEMORY_STORES = 1 << 1 };

struct memory_event {
	const char *name;   /* as -e of perf mem takes it: "ldlat-loads", "mem-ldst", "spe-store" */
	const char *text;   /* for -e of record: "cpu/mem-loads,ldlat=30/P" */
	unsigned int kinds; /* of accesses */
};

struct memory_events {
	struct arena arena;
	VEC(struct memory_event) events;
};

/* All that the machine has, none on most virtual machines. `latency`: only loads that take at least so many cycles, where the hardware can
 * tell; 0 = the usual (30 cycles, and all operations with AMD's IBS, which begins at 128). */
void memory_events_find(struct event_catalog *catalog, uint64_t latency, struct memory_events *ret);
void memory_events_deinit(struct memory_events *events);

/* Adds to `out`, separated by commas, the events for accesses of these kinds. An error says which processors and settings have such events.
 */
struct error *memory_events_choose(const struct memory_events *events, unsigned int kinds, struct strbuf *out);
/* The same by words of a list, each a part of a name ("loads"); what is none of them is an event of record's -e. */
struct error *memory_events_named(const struct memory_events *events, const char *names, struct strbuf *out);
