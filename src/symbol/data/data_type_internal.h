/* Making types of debug information. */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "base/intern.h"
#include "symbol/data/data_type.h"

#include <elfutils/libdw.h>

/* All zero is empty. */
struct data_types {
	struct arena arena;
	struct intern texts;
	struct map64 by_entry; /* address of the entry in debug information → struct data_type * */
	struct map64 by_name;  /* hash of name and size → the same */
};
void data_types_deinit(struct data_types *types);
/* `type` may be a typedef; as long as `types` lives. `effort`: see symbol/data/effort.h. */
const struct data_type *data_types_get(struct data_types *types, Dwarf_Die *type, size_t *effort);
/* Typedefs and arrays of them taken off: what it truly is. False where there is nothing. */
bool data_real_type(const Dwarf_Die *type, Dwarf_Die *ret);
/* Whether a structure ends with an array whose size nobody knows: what is behind it isn't another structure. */
bool data_is_open_ended(const Dwarf_Die *type, size_t *effort);
/* What is exactly at an offset, if that is a pointer: what it leads to. */
bool data_pointer_target(const Dwarf_Die *type, uint64_t offset, size_t *effort, Dwarf_Die *ret);
