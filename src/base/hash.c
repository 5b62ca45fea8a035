/* Multiply-and-fold hashing (128-bit products), and the open-addressing map on it. */
#include "base/hash.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t SECRET[4] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 0xd6e8feb86659fd93u};

static uint64_t fold(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const void *data, size_t len)
{
	const uint8_t *at = data;
	uint64_t hash = len ^ SECRET[0];
	for (; len >= 8; at += 8, len -= 8) {
		uint64_t word;
		memcpy(&word, at, 8);
		hash = fold(hash ^ word, SECRET[1]);
	}
	uint64_t tail = 0;
	memcpy(&tail, at, len);
	return fold(hash ^ tail, SECRET[2]) ^ hash;
}

struct hash128 hash_words(const uint64_t *words, size_t count, uint64_t seed)
{
	/* Two chains with different secrets, so that both halves depend on every word and a collision must happen in both. */
	uint64_t a = seed ^ SECRET[0], b = (seed + count) * SECRET[3];
	size_t i = 0;
	for (; i + 2 <= count; i += 2) {
		uint64_t x = words[i], y = words[i + 1];
		a = fold(x ^ a, y ^ SECRET[1]) + x;
		b = fold(y ^ b, x ^ SECRET[2]) + y;
	}
	if (i < count) {
		a = fold(words[i] ^ a, SECRET[1]) + words[i];
		b = fold(words[i] ^ b, SECRET[2]) + words[i];
	}
	return (struct hash128){.lo = hash_u64(a ^ count), .hi = hash_u64(b + a)};
}

void map64_deinit(struct map64 *map)
{
	free(map->slots);
	*map = (struct map64){0};
}

static struct map64_slot *slot_for(const struct map64 *map, uint64_t key)
{
	for (size_t i = hash_u64(key) & map->mask;; i = (i + 1) & map->mask)
		if (!map->slots[i].used || map->slots[i].key == key)
			return &map->slots[i];
}

uint64_t *map64_find(const struct map64 *map, uint64_t key)
{
	if (!map->slots)
		return NULL;
	struct map64_slot *slot = slot_for(map, key);
	return slot->used ? &slot->value : NULL;
}

static void map64_grow(struct map64 *map)
{
	struct map64 larger = {.mask = map->slots ? map->mask * 2 + 1 : 15, .count = map->count};
	larger.slots = mem_zalloc_table(larger.mask + 1, sizeof(*larger.slots));
	for (size_t i = 0; map->slots && i <= map->mask; i++)
		if (map->slots[i].used)
			*slot_for(&larger, map->slots[i].key) = map->slots[i];
	free(map->slots);
	*map = larger;
}

uint64_t *map64_insert(struct map64 *map, uint64_t key, bool *ret_new)
{
	if (!map->slots || (map->count + 1) * 4 > (map->mask + 1) * 3)
		map64_grow(map);
	struct map64_slot *slot = slot_for(map, key);
	if (ret_new)
		*ret_new = !slot->used;
	if (!slot->used) {
		*slot = (struct map64_slot){.key = key, .used = 1};
		map->count++;
	}
	return &slot->value;
}
