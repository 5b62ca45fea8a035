#include "capture/python/python_told.h"

enum { FEW = 1 << 12, MANY = 1 << 18 };

void python_told_deinit(struct python_told *told)
{
	map64_deinit(&told->told);
	map64_deinit(&told->begun);
	*told = (struct python_told){0};
}

void python_told_begin(struct python_told *told, uint32_t pid, uint64_t time)
{
	*map64_insert(&told->begun, pid, NULL) = time;
}

bool python_told_know(struct python_told *told, uint32_t pid, size_t file, uint64_t time)
{
	if (told->told.count > MANY) /* of processes that have ended, nearly all */
		map64_deinit(&told->told);
	const uint64_t *begun = map64_find(&told->begun, pid);
	uint64_t since = begun ? *begun : 0, *when = map64_insert(&told->told, (uint64_t)file << 32 | pid, NULL);
	if (*when && *when >= since && *when <= time)
		return true;
	*when = time;
	return false;
}

/* When a process began matters to who was told of something before. */
void python_told_forget(struct python_told *told, uint64_t since)
{
	struct map64 tellers = {0}, begun = {0};
	if (told->begun.count < FEW + 2 * told->kept)
		return;
	map64_each (slot, &told->told)
		map64_insert(&tellers, (uint32_t)slot->key, NULL);
	map64_each (slot, &told->begun)
		if (slot->value >= since || map64_find(&tellers, slot->key))
			*map64_insert(&begun, slot->key, NULL) = slot->value;
	map64_deinit(&tellers);
	map64_deinit(&told->begun);
	told->begun = begun;
	told->kept = begun.count;
}
