/* Benchmarks that stand in another file than the list of their collection. */
#pragma once

#include "app/command.h"

extern const struct command bench_sched_messaging;
extern const struct command bench_futex_wake, bench_futex_wake_parallel, bench_futex_requeue;
extern const struct command bench_internals_inject;
