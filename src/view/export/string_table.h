/* Texts that a format keeps once and refers to by number. They are made harmless: valid UTF-8 without control characters. Within view. */
#pragma once

#include "base/hash.h"
#include "base/intern.h"
#include "base/vec.h"

/* All zero is empty. */
struct string_table {
	struct intern texts;
	struct map64 by_text, by_raw; /* by pointer: number */
	VEC(const char *) list;	      /* by number */
};

/* The number of a text, from 0 on in the order in which they came. */
uint32_t string_table_number(struct string_table *table, const char *text);
/* The same for a text that stays where it is and as it is, as long as the table: isn't looked at twice. */
uint32_t string_table_lasting(struct string_table *table, const char *text);
void string_table_deinit(struct string_table *table);
