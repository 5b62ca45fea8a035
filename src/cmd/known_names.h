/* Filters by names that nothing has: mistyped more often than not, so they are told with the nearest name that there is. */
#pragma once

#include "base/untrusted.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>

/* What names are compared with: those of the recording, each as often as one likes. All zero is empty. */
struct known_names {
	VEC(const char *) list;
};

void known_names_deinit(struct known_names *names);
/* Neither is copied. */
void known_names_add(struct known_names *names, const char *name);
void known_names_add_untrusted(struct known_names *names, const struct untrusted *name);
/* Warns of each of the words that is no known name ("0x…" is an address); `what` such a name is of. Sorts the names. */
void known_names_check(struct known_names *names, const char *const *words, size_t count, const char *option, const char *what);
/* The same for a word that is to be a part of a name. */
void known_names_check_part(struct known_names *names, const char *part, const char *option, const char *what);
