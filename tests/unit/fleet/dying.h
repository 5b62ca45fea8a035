/* A process that is killed right before its N-th call that changes files (spool.c). */
#pragma once

#include <stdatomic.h>

/* So many more calls; negative = forever. */
extern atomic_int calls_to_live;
