/* Filters of samples: a BPF program that the kernel asks for each sample of an event whether to keep it (Linux 6.2 or newer, root or
 * CAP_BPF and CAP_PERFMON). Not for tracepoints: the kernel filters those by their fields. */
#pragma once

#include "base/error.h"
#include "bpf/sample_filter_shared.h"

#include <stddef.h>

struct bpf_sample_filter;

/* Puts a program and a map for filters of users who may load none into the BPF file system (/sys/fs/bpf/perf-ng-filter), or takes them
 * away. There is no harm in either when it was done before. */
struct error *bpf_sample_filter_pin(void);
struct error *bpf_sample_filter_unpin(void);

/* Loads the program for at most SAMPLE_FILTER_TERMS_MAX terms, of which the last has no or_next, or takes the pinned one; an error says why
 * neither is possible here. */
struct error *bpf_sample_filter_open(const struct sample_filter_config *config, struct bpf_sample_filter **ret);
/* Every sample of this counter is filtered from now on, also when the filter is closed. An event of another program may be in its place:
 * then an error. */
struct error *bpf_sample_filter_attach(struct bpf_sample_filter *filter, int counter);
/* Samples that were not kept, so far. */
uint64_t bpf_sample_filter_dropped(const struct bpf_sample_filter *filter);
/* Counters whose filter is no longer among the pinned ones: those of others have taken its place, and their samples are all kept. */
size_t bpf_sample_filter_lost(const struct bpf_sample_filter *filter);
/* NULL is fine. */
void bpf_sample_filter_close(struct bpf_sample_filter *filter);
