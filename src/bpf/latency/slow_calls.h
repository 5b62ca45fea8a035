/* Calls that take longer than they should, of all threads: from one tracepoint or probe to another one of the same thread.
 *
 *	bpf_slow_calls_open(&options, &calls);          // watches from now on
 *	while (bpf_slow_calls_next(calls, &call))       // now and then
 *		…
 *	bpf_slow_calls_close(calls); */
#pragma once

#include "base/error.h"
#include "bpf/latency/slow_calls_shared.h"

#include <stdbool.h>

struct bpf_slow_calls;

/* Where a call begins and ends, by its name in tracefs: "syscalls" "sys_enter_futex", "probe_app" "work__return". */
struct bpf_slow_calls_event {
	const char *system, *name;
};

struct bpf_slow_calls_options {
	struct bpf_slow_calls_event begin, end;
	struct slow_calls_config config;
};

struct error *bpf_slow_calls_open(const struct bpf_slow_calls_options *options, struct bpf_slow_calls **ret);
/* NULL is fine. */
void bpf_slow_calls_close(struct bpf_slow_calls *calls);
/* The next one that has ended; false when there is none. */
bool bpf_slow_calls_next(struct bpf_slow_calls *calls, struct slow_call *ret);
/* Slow calls that were not told of. */
uint64_t bpf_slow_calls_missed(const struct bpf_slow_calls *calls);
