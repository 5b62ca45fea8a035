/* The names of types in BTF, the type information of BPF programs: a list that must be walked from its start, which is done once.
 * Source of the facts: Documentation/bpf/btf.rst of the kernel. */
#pragma once

#include "base/vec.h"

#include <stdbool.h>

enum btf_kind { BTF_STRUCTURE = 4, BTF_TYPEDEF = 8, BTF_FUNCTION = 12 };

/* All zero has no types. */
struct btf {
	VEC(const char *) names; /* by type id - 1; NULL: not within the strings */
	VEC(uint8_t) kinds;	 /* the same; values of enum btf_kind and others */
};

/* Of bytes that stay the caller's and must live as long. What is damaged has fewer types, or none. */
void btf_init(struct btf *btf, const void *data, size_t size, bool swap);
void btf_deinit(struct btf *btf);
/* The name of a type, "" if it has none; NULL when there is no such type. */
const char *btf_type_name(const struct btf *btf, uint32_t type);
/* The id of the first type of that kind and name, 0 when there is none. */
uint32_t btf_find(const struct btf *btf, enum btf_kind kind, const char *name);
