/* A process that is killed right before its N-th call that changes files (spool.c). */
#pragma once

#include <stdatomic.h>

/* So many more calls; negative = forever. */
extern atomic_int calls_to_live;

/* The ThreadSanitizer has functions of its own in place of the C library's, and children of a process with threads may not start any. */
#ifdef __SANITIZE_THREAD__
#define NEEDS_TO_DIE()                                                                                                   \
	do {                                                                                                             \
		print_message("skip: children of a process with threads may not start any under the ThreadSanitizer\n"); \
		skip();                                                                                                  \
	} while (0)
#else
#define NEEDS_TO_DIE() ((void)0)
#endif
