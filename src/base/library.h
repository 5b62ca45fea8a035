/* Shared libraries that few commands need: the program isn't linked to them, and loads them when one does. Each costs time at each
 * start. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct library_function {
	const char *name;
	void *pointer; /* the address of a pointer to the function */
};

/* Sets the pointers to the functions of the library ("libcapstone.so.4"), which stays loaded. Thread-safe, and quick the second time. None
 * is set where the library cannot be loaded or has not got one of them. */
struct error *library_load(const char *library, const struct library_function *functions, size_t count);
