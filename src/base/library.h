/* Shared libraries that few commands need: the program isn't linked to them, and loads them when one does. Each costs time at each
 * start. In a program with static libraries (-Dprefer_static=true) they are linked in. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct library_function {
	const char *name;
	void *pointer; /* the address of a pointer to the function */
	void *linked;  /* the function, where the library is linked in, else NULL */
};

#ifdef LIBRARIES_LINKED
#define LIBRARY_LINKED(function) ((void *)(function))
#else
#define LIBRARY_LINKED(function) NULL
#endif
/* clang-format off */
#define LIBRARY_FUNCTION(function, pointer) {#function, pointer, LIBRARY_LINKED(function)}
/* clang-format on */

/* Sets the pointers to the functions of the library ("libcapstone.so.4"), which stays loaded. Thread-safe, and quick the second time. None
 * is set where the library cannot be loaded or has not got one of them. */
struct error *library_load(const char *library, const struct library_function *functions, size_t count);
