/* Interned strings: equal strings have equal pointers, which live as long as the table. Not thread-safe. */
#pragma once

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

struct intern {
	struct arena arena;
	struct intern_slot *slots;
	size_t count;
	size_t mask;
	uint64_t passed; /* slots of other strings that were gone by: the work that collisions make */
};

void intern_deinit(struct intern *table);
const char *intern_string(struct intern *table, const char *string);
/* The first `len` bytes, up to a NUL in them. */
const char *intern_bytes(struct intern *table, const char *string, size_t len);
