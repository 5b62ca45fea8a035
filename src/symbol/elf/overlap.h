/* Which of several overlapping symbols covers an address: flattens a sorted table into intervals without overlaps. */
#pragma once

#include "symbol/symtab.h"

#include <stddef.h>
#include <stdint.h>

#define OVERLAP_NONE UINT32_MAX

/* Symbols sorted by start, one for each start. Interval i goes from (*ret_starts)[i] to the next one's start (the last: to its symbol's
 * end) and belongs to symbol (*ret_owners)[i]; *ret_owners is NULL when nothing overlaps: interval i is symbol i, up to its end. Returns
 * how many. */
size_t overlap_flatten(const struct symbol *symbols, size_t count, uint64_t **ret_starts, uint32_t **ret_owners);
