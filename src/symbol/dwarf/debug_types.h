/* Types of debug information: what they are called, how large they are, what they consist of. Damaged information ends no call: chains of
 * types are followed a while, nested ones to some depth. */
#pragma once

#include "base/strbuf.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* The type of a variable, member or type, without const, volatile, typedefs. False when it has none (void). */
bool debug_real_type(Dwarf_Die *die, Dwarf_Die *ret);
/* The same, but typedefs stay. */
bool debug_named_type(Dwarf_Die *die, Dwarf_Die *ret);
/* Its name for people: "struct item*". */
void debug_add_type_name(struct strbuf *out, Dwarf_Die *variable);
/* The same of the type itself. */
void debug_add_name_of_type(struct strbuf *out, Dwarf_Die *type);
/* Bytes; 0 = unknown. */
uint64_t debug_type_size(Dwarf_Die *type);
/* Is it a pointer or a reference, a structure, union or class? */
bool debug_is_pointer(int tag);
bool debug_is_structure(int tag);
/* Where a member is in its structure; of bit-fields only where DWARF 3 and older tell it. */
uint64_t debug_member_offset(Dwarf_Die *member);
/* Is it char, signed or not, or another type of characters of one byte? */
bool debug_is_char(Dwarf_Die *type);
/* A member of a structure or union, nameless ones within searched, too. *ret_offset: in the structure. */
bool debug_find_member(Dwarf_Die *type, const char *name, Dwarf_Die *ret, uint64_t *ret_offset);
