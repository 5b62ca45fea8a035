/* Recording of memory accesses, of perf mem and of perf c2c: their own options told apart from those of record, and the events chosen. */
#pragma once

#include "app/options.h"
#include "base/error.h"
#include "base/vec.h"

struct split_words {
	VEC(char *) own; /* argv of the command's own options; ends with NULL */
	VEC(char *) rest;
};

/* Splits a command line: words of options in `own` to ret->own, up to the first word that is no option of `others`; those of the options in
 * `others` and everything behind to ret->rest. argv[0] goes to `own` alone. */
void words_split(char **argv, const struct option *own, const struct option *others, struct split_words *ret);
void words_deinit(struct split_words *words);

struct memory_recording {
	const char *events; /* -e, or NULL */
	unsigned int kinds; /* enum of event/memory_events.h */
	uint64_t latency;   /* 0 = the usual */
	bool all_user, all_kernel;
	bool phys, data_page, cpu; /* to record in addition */
};

/* Runs `perf record` with what samples memory accesses in front of `words`. "-e list" lists the machine's events instead. */
struct error *memory_record(const struct memory_recording *wanted, char *const *words, size_t word_count, int *ret_status);
