/* Options of commands that sample: record and top. */
#pragma once

#include "app/options.h"
#include "capture/sampling.h"

/* For option tables. The field is a struct sampling, */
option_parse_fn sampling_option_freq, sampling_option_g, sampling_option_callgraph;
/* its `period`, */
option_parse_fn sampling_option_count;
/* its `branch_type`, */
option_parse_fn sampling_option_branch_any, sampling_option_branch;
/* or a size_t, as of recorder_options.ring_pages: "16" pages, "64K", "1M". */
option_parse_fn option_ring_pages;

/* A size of buffers as those options have it, rounded up to a power of two. */
struct error *sampling_parse_pages(const char *text, size_t *ret);

/* The size of each buffer for every switch of all threads: a machine that is busy lets us read late, and what is lost is missing in what is
 * worked out from pairs of events. `kept`: they are written to a file, with a stack each, which takes more of both. 0: as perf record has
 * them. */
size_t sampling_ring_pages_of_switches(size_t cpus, bool kept);

/* Settles -F and -c: beyond the kernel's limit it is the limit, with a word or, with `freq_strict`, an error. */
struct error *sampling_check_freq(struct sampling *sampling);
