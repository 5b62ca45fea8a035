/* Mapping the pages of a recording ahead of who reads it. */
#pragma once

#include "perfdata/reader.h"

struct page_ahead;

/* NULL where it isn't worth a thread: a small recording, one processor, input that isn't stable. */
struct page_ahead *page_ahead_start(const struct reader *reader, unsigned int jobs);
/* The same without a thread, for pass 1 on one processor: maps the pages from `offset` to `end`, which it will go over next. To ask
 * for them costs less than their faults. Does nothing where that isn't worth it. */
void page_ahead_here(const struct reader *reader, uint64_t offset, uint64_t end);
/* Ends it where it is. `ahead` may be NULL. Before the reader is closed. */
void page_ahead_end(struct page_ahead *ahead);
