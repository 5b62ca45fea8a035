/* Fold: parts of chains that came before.
 *
 * Most samples share all but the innermost address with an earlier one. A table leads from the key of such addresses (fold_places_key()) to
 * a piece whose outermost frames they are, so that they are neither looked up nor hashed nor compared one by one:
 *
 *	chain   leaf | caller caller caller caller          key ──► piece  | other leaf | caller caller caller caller
 *
 * Addresses aren't kept, which would be twice the memory of pieces: equal hashes are taken for equal addresses. They have 128 bits with
 * a key that is drawn for each process, so that nobody can choose addresses that collide; 56 of them are compared, beside those that say
 * where a part stands in the table. In a thousand million recordings of five million samples one sample will have another one's callers.
 *
 * The table is small and forgets: a place for each hash has WAYS parts, in one cache line, and a new one takes that of the part that
 * wasn't found for the longest time. When as many were added as it has room for, it becomes larger. Where few are found it rests.
 */
#include "analysis/report/fold_internal.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 4, PARTS_LEAST = 1 << 12, PARTS_MOST = 1 << 20, WINDOW = 1 << 12, PAYS_SHARE = 8, REST = 15 * WINDOW };

/* How many frames the part is: the rest of recent_part.check is of the hash. */
enum { COUNT_BITS = 8, COUNT_MOST = (1 << COUNT_BITS) - 1 };

void fold_recent_init(struct fold_recent *recent)
{
	*recent = (struct fold_recent){.mask = PARTS_LEAST - WAYS, .parts = mem_zalloc_table(PARTS_LEAST, sizeof(*recent->parts))};
	for (uint64_t i = 0; i < PARTS_LEAST; i++)
		recent->parts[i].piece = FOLD_NONE;
}

/* Too little of its hash is kept to tell where a part belongs in a larger table. It stands in each of those places then, until others take
 * them that are found. */
static void grow(struct fold_recent *recent)
{
	enum { TIMES = 4 };
	uint64_t count = recent->mask + WAYS;
	struct recent_part *parts = mem_alloc_table(count * TIMES, sizeof(*parts));
	for (uint64_t i = 0; i < TIMES; i++)
		memcpy(parts + i * count, recent->parts, count * sizeof(*parts));
	free(recent->parts);
	recent->parts = parts;
	recent->mask = count * TIMES - WAYS;
	recent->added = 0;
}

void fold_recent_deinit(struct fold_recent *recent)
{
	free(recent->parts);
}

bool fold_recent_pays(struct fold_recent *recent)
{
	if (recent->asked == WINDOW) {
		if (recent->found < WINDOW / PAYS_SHARE)
			recent->rest = REST;
		recent->asked = recent->found = 0;
	}
	if (!recent->rest)
		return true;
	recent->rest--;
	return false;
}

static struct recent_part *places(const struct fold_recent *recent, const struct hash128 *key)
{
	return &recent->parts[key->lo & recent->mask];
}

void fold_recent_prefetch(const struct fold_recent *recent, const struct hash128 *key)
{
	__builtin_prefetch(places(recent, key));
}

bool fold_recent_find(struct fold_recent *recent, const struct hash128 *key, struct fold_stretch *stretch)
{
	struct recent_part *parts = places(recent, key);
	unsigned int at = 0;
	recent->asked++;
	while (at < WAYS && (parts[at].piece == FOLD_NONE || (parts[at].check ^ key->hi) >> COUNT_BITS))
		at++;
	if (at == WAYS)
		return false;
	const struct recent_part part = parts[at];
	memmove(parts + 1, parts, at * sizeof(*parts));
	parts[0] = part;
	recent->found++;
	stretch->callers = part.piece;
	stretch->callers_hash = part.hash;
	stretch->caller_count = part.check & COUNT_MOST;
	return true;
}

void fold_recent_add(struct fold_recent *recent, const struct hash128 *key, const struct fold_stretch *stretch, uint32_t piece)
{
	if (stretch->caller_count > COUNT_MOST)
		return;
	if (recent->added++ == recent->mask + WAYS && recent->mask + WAYS < PARTS_MOST)
		grow(recent);
	struct recent_part *parts = places(recent, key);
	memmove(parts + 1, parts, (WAYS - 1) * sizeof(*parts));
	parts[0] = (struct recent_part){
		.check = (key->hi & ~(uint64_t)COUNT_MOST) | stretch->caller_count, .hash = stretch->callers_hash, .piece = piece};
}
