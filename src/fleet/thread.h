/* Threads beside the one that takes the signals. */
#pragma once

#include "base/error.h"

#include <pthread.h>

/* All signals are blocked in it. `what` it is, for the error: "a thread that sends". */
struct error *thread_start(pthread_t *ret, void *(*run)(void *), void *context, const char *what);
