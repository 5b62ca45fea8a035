/* Interned strings: equal strings have equal pointers, which live as long as the table, or until intern_forget(). Not thread-safe. */
#pragma once

#include "base/arena.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern {
	struct arena arena;
	struct intern_slot *slots;
	size_t count;
	size_t mask;
	uint64_t passed; /* slots of other strings that were gone by: the work that collisions make */
	bool forgets;	 /* set before the first string: each has memory of its own, so that one can go */
};

void intern_deinit(struct intern *table);
const char *intern_string(struct intern *table, const char *string);
/* The first `len` bytes, up to a NUL in them. */
const char *intern_bytes(struct intern *table, const char *string, size_t len);
/* Of a table that forgets: all strings go whose addresses aren't keys of `kept`. */
void intern_forget(struct intern *table, const struct map64 *kept);
