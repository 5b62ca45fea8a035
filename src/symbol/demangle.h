/* Readable names for C++, Rust, D and OCaml symbols, without parameters, as the kernel's perf prints them. */
#pragma once

#include <stdbool.h>

/* Could it be a mangled name? Cheap, no false negatives. */
bool demangle_candidate(const char *name);
/* The readable name, freed by the caller; NULL when `name` isn't mangled. Thread-safe. */
char *demangle(const char *name);
