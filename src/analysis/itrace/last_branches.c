/* A ring that overwrites its oldest branch. */
#include "analysis/itrace/last_branches.h"

#include "base/mem.h"

#include <stdlib.h>

struct branch_ring {
	uint64_t count; /* of all that came */
	uint32_t room;
	struct taken {
		uint64_t from, to;
	} taken[];
};

void last_branches_deinit(struct last_branches *last)
{
	map64_each (slot, &last->rings)
		free(map64_pointer(slot));
	map64_deinit(&last->rings);
}

void last_branches_take(struct last_branches *last, uint64_t key, uint32_t room, uint64_t from, uint64_t to)
{
	bool is_new;
	uint64_t *slot = map64_insert(&last->rings, key, &is_new);

	if (is_new) {
		struct branch_ring *made = mem_zalloc(sizeof(*made) + room * sizeof(made->taken[0]));
		made->room = room;
		*slot = (uintptr_t)made;
	}
	struct branch_ring *ring = (void *)(uintptr_t)*slot;
	ring->taken[ring->count++ % ring->room] = (struct taken){from, to};
}

const struct branch_ring *last_branches_of(const struct last_branches *last, uint64_t key)
{
	const uint64_t *slot = map64_find(&last->rings, key);

	return slot ? (const void *)(uintptr_t)*slot : NULL;
}

void last_branches_add(const struct branch_ring *ring, struct strbuf *out)
{
	const uint64_t count = !ring ? 0 : ring->count < ring->room ? ring->count : ring->room, no_flags = 0;

	strbuf_add(out, &count, sizeof(count));
	for (uint64_t i = 1; i <= count; i++) {
		const struct taken *taken = &ring->taken[(ring->count - i) % ring->room];
		strbuf_add(out, taken, sizeof(*taken));
		strbuf_add(out, &no_flags, sizeof(no_flags));
	}
}
