/* The names of types in BTF, the type information of BPF programs: a list that must be walked from its start, which is done once.
 * Source of the facts: Documentation/bpf/btf.rst of the kernel. */
#pragma once

#include "base/vec.h"

#include <stdbool.h>

/* All zero has no types. */
struct btf {
	VEC(const char *) names; /* by type id - 1; NULL: not within the strings */
};

/* Of bytes that stay the caller's and must live as long. What is damaged has fewer types, or none. */
void btf_init(struct btf *btf, const void *data, size_t size, bool swap);
void btf_deinit(struct btf *btf);
/* The name of a type, "" if it has none; NULL when there is no such type. */
const char *btf_type_name(const struct btf *btf, uint32_t type);
