/* A ring that overwrites its oldest branch. */
#include "analysis/itrace/last_branches.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct branch_ring {
	uint64_t count; /* of all that came */
	uint32_t trace;
	uint32_t room;
	struct branch_entry taken[];
};

void last_branches_deinit(struct last_branches *last)
{
	map64_each (slot, &last->rings)
		free(map64_pointer(slot));
	map64_deinit(&last->rings);
}

static void begin_trace(struct branch_ring *ring, uint32_t trace)
{
	if (ring->trace != trace)
		ring->count = 0;
	ring->trace = trace;
}

void last_branches_begin_trace(struct last_branches *last, uint64_t key, uint32_t trace)
{
	const uint64_t *slot = map64_find(&last->rings, key);

	if (slot)
		begin_trace((void *)(uintptr_t)*slot, trace);
}

void last_branches_take(struct last_branches *last, uint64_t key, uint32_t room, uint32_t trace, const struct branch_entry *branch)
{
	bool is_new;
	uint64_t *slot = map64_insert(&last->rings, key, &is_new);

	if (is_new) {
		struct branch_ring *made = mem_zalloc(sizeof(*made) + room * sizeof(made->taken[0]));
		made->room = room;
		*slot = (uintptr_t)made;
	}
	struct branch_ring *ring = (void *)(uintptr_t)*slot;
	begin_trace(ring, trace);
	ring->taken[ring->count++ % ring->room] = *branch;
}

const struct branch_ring *last_branches_of(const struct last_branches *last, uint64_t key)
{
	const uint64_t *slot = map64_find(&last->rings, key);

	return slot ? (const void *)(uintptr_t)*slot : NULL;
}

const struct branch_entry *last_branches_at(const struct branch_ring *ring, uint32_t place)
{
	return ring && place < ring->room && place < ring->count ? &ring->taken[(ring->count - 1 - place) % ring->room] : NULL;
}

void last_branches_add(const struct branch_ring *ring, uint32_t place, uint32_t most, struct strbuf *out)
{
	const size_t begin = out->len;
	const struct branch_entry *branch;
	uint64_t count = 0;

	strbuf_add(out, &count, sizeof(count));
	for (; count < most && (branch = last_branches_at(ring, place)); place++, count++)
		strbuf_add(out, branch, sizeof(*branch));
	memcpy(out->data + begin, &count, sizeof(count));
}
