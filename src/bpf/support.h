/* May and can this process load BPF programs here? */
#pragma once

#include "base/error.h"

/* NULL when it can; else why not, and what to do: this build has none of them, the user may not, the kernel lacks type information. */
struct error *bpf_support_check(void);

/* The kernel refused to load or attach `what` with `error` (-errno as of libbpf): in words. Never NULL. */
struct error *bpf_support_explain(int error, const char *what);

/* The same for programs that know all that they read from the formats of tracepoints (bpf/tracepoints.h): these do without type
 * information. */
struct error *bpf_support_begin_at_tracepoints(void);

/* The same before a program is loaded: what libbpf has to say goes to the log (-vv) from now on, instead of standard error. */
struct error *bpf_support_begin(void);

struct bpf_map;
/* Adds a thread to a program's map of targets (bpf/targets.bpf.h); `what` of it can't be measured if that fails. */
struct error *bpf_support_add_target(struct bpf_map *targets, int tid, const char *what);

/* Removes all elements of a hash table, but for some of those that its program adds meanwhile. */
void bpf_support_empty(const struct bpf_map *map);
