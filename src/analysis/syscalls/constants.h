/* Names of constants: flags and enumerations of the kernel's interface. The sets are made by tools/gen-constants from the kernel's headers,
 * as src/tables/constants.txt says; constants_NAME is one of them. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct constant {
	uint64_t value;
	const char *name;
};

struct constant_set {
	const struct constant *list; /* ascending by value; ends with a NULL name */
	uint32_t count;
	uint32_t strip; /* bytes that all names have in front */
	/* Bits that are no flags but a number, and its names; NULL = none. */
	uint64_t field_mask;
	const struct constant_set *field;
};

/* Its values are octal numbers: permissions. */
extern const struct constant_set constants_octal;

/* The name of a value, or NULL. */
const char *constants_name(const struct constant_set *set, uint64_t value);
/* The value of a name, with or without what all have in front. */
bool constants_value(const struct constant_set *set, const char *name, uint64_t *ret);

/* The name, or the number when there is none; `strip`: without what all names have in front. */
void constants_add_enum(struct strbuf *out, const struct constant_set *set, uint64_t value, bool strip);
/* Names joined by |, what is left as a hexadecimal number; "0" (or the name of 0) when no bit is set. */
void constants_add_flags(struct strbuf *out, const struct constant_set *set, uint64_t value, bool strip);
