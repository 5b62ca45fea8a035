/* Multiply-and-fold hashing (128-bit products), and the open-addressing map on it. */
#include "base/hash.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

uint64_t hash_key[4];

/* The kernel gives each program 16 random bytes (AT_RANDOM, getauxval(3)); reading them can't fail. */
__attribute__((constructor(101))) static void choose_key(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t words[2] = {0};
	if (random)
		memcpy(words, random, sizeof(words));
	hash_key[0] = hash_mix(words[0] + 1);
	hash_key[1] = hash_mix(words[1] + 2);
	hash_key[2] = hash_mix(words[0] ^ hash_key[1]) | 1;
	hash_key[3] = hash_mix(words[1] ^ hash_key[0]) | 1;
}

static uint64_t bytes_with_key(const void *data, size_t len, const uint64_t key[4])
{
	const uint8_t *at = data;
	uint64_t hash = len ^ key[0];
	for (; len >= 8; at += 8, len -= 8) {
		uint64_t word;
		memcpy(&word, at, 8);
		hash = hash_fold(hash ^ word, key[2]);
	}
	uint64_t tail = 0;
	memcpy(&tail, at, len);
	return hash_fold(hash ^ tail ^ key[1], key[3]) ^ hash;
}

uint64_t hash_bytes(const void *data, size_t len)
{
	return bytes_with_key(data, len, hash_key);
}

uint64_t hash_id(const void *data, size_t len, uint64_t which)
{
	const uint64_t key[4] = {0x9e3779b97f4a7c15u ^ which, 0xbf58476d1ce4e5b9u + which, 0x94d049bb133111ebu, 0xd6e8feb86659fd93u};
	return hash_mix(bytes_with_key(data, len, key));
}

struct hash128 hash_words(const uint64_t *words, size_t count, uint64_t seed)
{
	/* Two chains with different keys, so that both halves depend on every word and a collision must happen in both. */
	uint64_t a = seed ^ hash_key[0], b = (seed + count) ^ hash_key[1];
	size_t i = 0;
	for (; i + 2 <= count; i += 2) {
		uint64_t x = words[i], y = words[i + 1];
		a = hash_fold(x ^ a, y ^ hash_key[2]) + x;
		b = hash_fold(y ^ b, x ^ hash_key[3]) + y;
	}
	if (i < count) {
		a = hash_fold(words[i] ^ a, hash_key[2]) + words[i];
		b = hash_fold(words[i] ^ b, hash_key[3]) + words[i];
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

struct map64_slot *map64_next(const struct map64 *map, const struct map64_slot *slot)
{
	for (size_t i = slot ? (size_t)(slot - map->slots) + 1 : 0; map->slots && i <= map->mask; i++)
		if (map->slots[i].used)
			return &map->slots[i];
	return NULL;
}

static void map64_grow(struct map64 *map)
{
	struct map64 larger = {.mask = map->slots ? map->mask * 2 + 1 : 15, .count = map->count, .passed = map->passed};
	larger.slots = mem_zalloc_table(larger.mask + 1, sizeof(*larger.slots));
	map64_each (slot, map)
		*slot_for(&larger, slot->key) = *slot;
	free(map->slots);
	*map = larger;
}

void map64_reserve(struct map64 *map, size_t count)
{
	size_t size = 16;
	while (count * 4 > size * 3)
		size *= 2;
	if (!map->slots)
		*map = (struct map64){.slots = mem_zalloc_table(size, sizeof(*map->slots)), .mask = size - 1};
}

uint64_t *map64_insert(struct map64 *map, uint64_t key, bool *ret_new)
{
	if (!map->slots || (map->count + 1) * 4 > (map->mask + 1) * 3)
		map64_grow(map);
	struct map64_slot *slot = slot_for(map, key);
	map->passed += ((size_t)(slot - map->slots) - hash_u64(key)) & map->mask;
	if (ret_new)
		*ret_new = !slot->used;
	if (!slot->used) {
		*slot = (struct map64_slot){.key = key, .used = 1};
		map->count++;
	}
	return &slot->value;
}

/* What follows in the same run of slots moves up, where that is on the way from its own: then searches find no gap. */
bool map64_remove(struct map64 *map, uint64_t key)
{
	struct map64_slot *slot = map->slots ? slot_for(map, key) : NULL;
	if (!slot || !slot->used)
		return false;
	size_t gap = (size_t)(slot - map->slots);
	for (size_t i = (gap + 1) & map->mask; map->slots[i].used; i = (i + 1) & map->mask) {
		size_t own = hash_u64(map->slots[i].key) & map->mask;
		if (((i - own) & map->mask) < ((i - gap) & map->mask))
			continue;
		map->slots[gap] = map->slots[i];
		gap = i;
	}
	map->slots[gap] = (struct map64_slot){0};
	map->count--;
	return true;
}
