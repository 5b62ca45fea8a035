/* The names of types in BTF, the type information of BPF programs: a list that must be walked from its start, which is done once.
 * Source of the facts: Documentation/bpf/btf.rst of the kernel. */
#pragma once

#include "base/vec.h"

#include <stdbool.h>

enum btf_kind {
	BTF_INTEGER = 1,
	BTF_POINTER = 2,
	BTF_ARRAY = 3,
	BTF_STRUCTURE = 4,
	BTF_UNION = 5,
	BTF_ENUM = 6,
	BTF_FORWARD = 7,
	BTF_TYPEDEF = 8,
	BTF_VOLATILE = 9,
	BTF_CONST = 10,
	BTF_RESTRICT = 11,
	BTF_FUNCTION = 12,
	BTF_PROTOTYPE = 13,
	BTF_FLOAT = 16,
	BTF_TYPE_TAG = 18,
	BTF_ENUM64 = 19,
};

/* All zero has no types. */
struct btf {
	VEC(const char *) names; /* by type id - 1; NULL: not within the strings */
	VEC(uint8_t) kinds;	 /* the same; values of enum btf_kind and others */
	VEC(uint32_t) places;	 /* the same: where the type is in `types` */
	const uint8_t *types;
	const char *strings;
	uint32_t types_size, strings_size;
	bool swap;
};

/* Of bytes that stay the caller's and must live as long. What is damaged has fewer types, or none. */
void btf_init(struct btf *btf, const void *data, size_t size, bool swap);
void btf_deinit(struct btf *btf);
/* The name of a type, "" if it has none; NULL when there is no such type. */
const char *btf_type_name(const struct btf *btf, uint32_t type);
/* The id of the first type of that kind and name, 0 when there is none. */
uint32_t btf_find(const struct btf *btf, enum btf_kind kind, const char *name);

struct btf_type {
	uint8_t kind;
	uint16_t count;		 /* of members, parameters */
	uint32_t size;		 /* in bytes, of kinds that have one: integers, structures, unions, enums, floats */
	uint32_t type;		 /* that a pointer, typedef, function … refers to, or of an array's elements; 0 = void */
	bool is_signed, is_char; /* of integers */
};
/* False when there is no such type. */
bool btf_type(const struct btf *btf, uint32_t type, struct btf_type *ret);

struct btf_member {
	const char *name; /* "" = none; of parameters, too */
	uint32_t type;
	uint32_t bit_offset, bit_size; /* of members of structures; size 0 = no bit-field */
};
/* The value of the enumerator `name`: of the enumeration `type`, or with type 0 of the first that has one of this name. False when there is
 * none. */
bool btf_enumerator(const struct btf *btf, uint32_t type, const char *name, int64_t *ret);
/* Member or parameter `index` of a structure, union or function prototype. */
bool btf_member(const struct btf *btf, uint32_t type, uint16_t index, struct btf_member *ret);
