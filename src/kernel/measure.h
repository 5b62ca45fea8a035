/* Measuring ourselves: an event is opened on the calling thread, something known is done, and what was counted or sampled is looked at. For
 * probes and self checks. */
#pragma once

#include "base/strbuf.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void measure_work(void *context);

/* An attribute of an event that is opened disabled; `kernel`: what happens in the kernel counts too. */
struct perf_event_attr measure_attr(uint32_t type, uint64_t config, bool kernel);

/* 0, or -errno of perf_event_open(): can it be opened at all? `pid` and `cpu` as perf_event_open() takes them. */
int measure_can_open(const struct perf_event_attr *attr, int pid, int cpu);

/* Counts while `work` runs. 0 with the count, or -errno. `kept` NULL closes the counter; else it stays open there and the caller closes it,
 * when nobody waits: closing a tracepoint takes the kernel tens of milliseconds. */
int measure_count(const struct perf_event_attr *attr, measure_work *work, void *context, uint64_t *ret, int *kept);

/* Appends the records that come while `work` runs, whole, to `records`; `pages` is the ring's size. `cpu` -1: wherever we run. 0, or
 * -errno.
 */
int measure_records(const struct perf_event_attr *attr, int cpu, size_t pages, measure_work *work, void *context, struct strbuf *records);

/* The next record of that type at or behind *at (NULL: from the beginning), or NULL. *at is set behind it. */
const struct perf_event_header *measure_find(const struct strbuf *records, size_t *at, uint32_t type);

/* Work with a known answer. */

/* Touches `*(size_t *)context` new pages: as many minor page faults. */
void measure_touch_pages(void *context);
/* Calls getppid() `*(size_t *)context` times. */
void measure_call_getppid(void *context);
/* Computes for `*(uint64_t *)context` nanoseconds of the thread's own time, however long it has to wait for a CPU. */
void measure_spin(void *context);

/* Keeps the calling thread, and children that it makes, on one CPU. */
void measure_on_cpu(int cpu);
