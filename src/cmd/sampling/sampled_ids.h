/* Processes and threads that samples are of: what --pid and --tid can mean. Whoever asks for one that has no sample is told so, and which
 * have. */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "model/machine.h"

#include <stddef.h>
#include <stdint.h>

struct sampled_id {
	const struct machine *machine; /* whose the numbers are; NULL: they are of several */
	uint32_t pid, tid;
	uint64_t samples;
};

/* All zero is empty. */
struct sampled_ids {
	VEC(struct sampled_id) list; /* one for each thread */
	struct map64 index;
	uint64_t samples;
};

/* Frees the list. */
void sampled_ids_deinit(struct sampled_ids *ids);
/* So many samples more of a thread. */
void sampled_ids_add(struct sampled_ids *ids, const struct machine *machine, uint32_t pid, uint32_t tid, uint64_t samples);

enum sampled_kind { SAMPLED_PROCESS, SAMPLED_THREAD };

/* Warns of each of the `count` numbers in `wanted` that isn't the id of a process (or thread) with samples: "--pid 77: …; most samples are
 * of 75 (make, 60%)…". Their machines tell their last names. */
void sampled_ids_warn(const struct sampled_ids *ids, enum sampled_kind kind, const uint32_t *wanted, size_t count);
