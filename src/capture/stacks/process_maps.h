/* Who has what mapped, and when: the model that stacks are walked with.
 *
 * Of a machine that is watched for days, most processes end without a sample of theirs. What such a process maps waits as it was recorded
 * until somebody asks for it, or it starts another process, which inherits it; and goes when the process is forgotten.
 *
 *	MMAP ──► waits ──process_maps_of()──► model
 *	           └─────its process is gone──► nothing
 */
#pragma once

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "capture/mapped_files.h"
#include "model/machine.h"

struct process_waiting {
	uint32_t pid;
	struct strbuf records; /* each behind its time */
};

/* Set up by process_maps_init(). */
struct process_maps {
	struct machine *machine;
	struct mapped_files files;
	bool waits; /* maps wait: set by who asks for nothing but by process_maps_of() */
	/* Private: by number, its place in the list; bytes that wait, and that did when some were dropped the last time. */
	struct map64 places;
	VEC(struct process_waiting) waiting;
	size_t bytes, kept;
};

void process_maps_init(struct process_maps *maps);
void process_maps_deinit(struct process_maps *maps);

/* A record that concerns maps: in the order of time. */
void process_maps_apply(struct process_maps *maps, const struct record_header *header, uint64_t time);
/* The address space of a thread at a time. */
const struct maps *process_maps_of(struct process_maps *maps, uint32_t pid, uint32_t tid, uint64_t time);
/* Whether process_maps_forget() is worth while. */
bool process_maps_have_grown(const struct process_maps *maps);
/* As machine_forget_but(); `holder` may be NULL. Nobody will ask with times before `since`. */
void process_maps_forget(struct process_maps *maps, uint64_t since, const struct machine_holder *holder);
