/* The names that need no machine: generic hardware events, software events, and the hardware cache events with their many spellings. */
#pragma once

#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct builtin_event {
	const char *name;  /* "branch-instructions" */
	const char *alias; /* "branches", or NULL */
	uint32_t type;	   /* PERF_TYPE_HARDWARE or PERF_TYPE_SOFTWARE */
	uint64_t config;
	enum event_tool tool;
	const char *description;
};

/* All of them, in the order in which `perf list` shows them. */
const struct builtin_event *builtin_events(size_t *ret_count);

/* The event of this name or alias (`len` bytes), or NULL. */
const struct builtin_event *builtin_find(const char *name, size_t len);

/* "L1-dcache-load-misses", "LLC-loads", "l1d-read-miss", "LLC" …: CACHE[-OPERATION][-RESULT] in any spelling the tables know; without
 * them it is loads, and accesses. False when it is none. */
bool builtin_find_cache(const char *name, size_t len, uint64_t *ret_config);

/* What a cache event counts, in words: "Loads from the level 1 data cache that missed". */
void builtin_describe_cache(uint64_t config, char *buffer, size_t size);

/* The cache events that make sense (an instruction cache isn't written), by their usual names. Calls visit for each. */
void builtin_visit_cache(void (*visit)(void *context, const char *name, uint64_t config), void *context);
