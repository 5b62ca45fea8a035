/* Overlapping symbols: the innermost one, that is the one that starts last, covers an address.
 *
 * One sweep over the starts with a stack of the symbols that are open. A symbol that ends gives its rest back to the one below it:
 *
 *	outer  |-----------------|          intervals: outer inner outer
 *	inner        |----|
 */
#include "symbol/elf/overlap.h"

struct sweep {
	VEC(uint64_t) starts;
	VEC(uint32_t) owners;
	VEC(uint32_t) open; /* innermost last */
};

static void interval_push(struct sweep *sweep, uint64_t start, uint32_t owner)
{
	if (sweep->starts.len && *vec_last(&sweep->starts) == start) {
		*vec_last(&sweep->owners) = owner;
		return;
	}
	vec_push(&sweep->starts, start);
	vec_push(&sweep->owners, owner);
}

/* Closes the symbols that end at or before `until`, innermost first. */
static void close_until(struct sweep *sweep, const struct symbol *symbols, uint64_t until)
{
	while (sweep->open.len && symbols[*vec_last(&sweep->open)].end <= until) {
		uint64_t end = symbols[*vec_last(&sweep->open)].end;
		sweep->open.len--;
		/* Those below that ended earlier have no rest. */
		while (sweep->open.len && symbols[*vec_last(&sweep->open)].end <= end)
			sweep->open.len--;
		interval_push(sweep, end, sweep->open.len ? *vec_last(&sweep->open) : OVERLAP_NONE);
	}
}

static bool any_overlap(const struct symbol *symbols, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (symbols[i - 1].end > symbols[i].start)
			return true;
	return false;
}

size_t overlap_flatten(const struct symbol *symbols, size_t count, uint64_t **ret_starts, uint32_t **ret_owners)
{
	if (!any_overlap(symbols, count)) {
		*ret_starts = mem_alloc_array(count, sizeof(**ret_starts));
		*ret_owners = NULL;
		for (size_t i = 0; i < count; i++)
			(*ret_starts)[i] = symbols[i].start;
		return count;
	}
	struct sweep sweep = {0};
	vec_reserve(&sweep.starts, count + count / 8);
	vec_reserve(&sweep.owners, count + count / 8);
	for (size_t i = 0; i < count; i++) {
		close_until(&sweep, symbols, symbols[i].start);
		interval_push(&sweep, symbols[i].start, (uint32_t)i);
		vec_push(&sweep.open, (uint32_t)i);
	}
	close_until(&sweep, symbols, UINT64_MAX);
	vec_deinit(&sweep.open);
	*ret_starts = sweep.starts.data;
	*ret_owners = sweep.owners.data;
	return sweep.starts.len;
}
