/* Mapping the pages of a recording ahead of who reads it. */
#pragma once

#include "perfdata/reader.h"

struct page_ahead;

/* NULL where it isn't worth a thread: a small recording, one processor, input that isn't stable. */
struct page_ahead *page_ahead_start(const struct reader *reader, unsigned int jobs);
/* Ends it where it is. `ahead` may be NULL. Before the reader is closed. */
void page_ahead_end(struct page_ahead *ahead);
