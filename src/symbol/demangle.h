/* Readable names for C++, Rust, D and OCaml symbols, without parameters, as the kernel's perf prints them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What a name that was cut ends with, and one that stayed as it is because it stands for too much. Real names are far from both. */
#define DEMANGLE_CUT "...[cut]"
#define DEMANGLE_REFUSED " [too complex to demangle]"

/* Bytes that any readable name has at most. */
enum { DEMANGLE_LIMIT = 16384 };
/* The limit for each of `count` names, by which all of them take at most 512 MB; never below 1024. */
size_t demangle_limit(size_t count);

/* Could it be a mangled name? Cheap, no false negatives. */
bool demangle_candidate(const char *name);
/* The readable name of at most `limit` bytes and one of the endings above, freed by the caller; NULL when `name` isn't mangled. Work and
 * memory are bounded, whatever the name. Thread-safe. */
char *demangle(const char *name, size_t limit);
