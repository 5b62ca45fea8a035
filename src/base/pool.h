/* Parallel work on a few threads, for as long as one call lasts. */
#pragma once

#include <stddef.h>

/* How many workers are useful here: the CPUs this process may run on, at least 1. */
unsigned int pool_default_jobs(void);

/* Calls run(context, worker, item) once for each item in 0..items-1, on `jobs` workers (the caller is one of them; with jobs 1 no thread is
 * made). Items are handed out in order, each to whichever worker is free. Returns when all are done. */
void pool_run(unsigned int jobs, size_t items, void (*run)(void *context, unsigned int worker, size_t item), void *context);
