/* Hash functions (not cryptographic; fast on short keys) and a map from 64-bit keys to 64-bit values.
 *
 * What is hashed comes from recordings, so that somebody could choose keys that collide. All but hash_mix() and hash_id() are therefore
 * keyed: with numbers that are drawn anew for each process. Nothing that is shown may depend on a hash, or on the order of a table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash128 {
	uint64_t lo, hi;
};

/* The process's key; set before main(). The last two are odd. */
extern uint64_t hash_key[4];

/* Both halves of the product together. */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_u64(uint64_t x)
{
	return hash_fold(x ^ hash_key[0], hash_key[2]);
}

static inline uint64_t hash_combine(uint64_t a, uint64_t b)
{
	return hash_fold(hash_fold(a ^ hash_key[0], hash_key[2]) ^ b, hash_key[3]);
}

/* A full-avalanche mix of one word, the same in each process. Anybody can undo it: not for tables. */
static inline uint64_t hash_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	return x;
}

uint64_t hash_bytes(const void *data, size_t len);
/* The same in each process, for names of what is kept. `which` gives different ones for the same bytes. */
uint64_t hash_id(const void *data, size_t len, uint64_t which);
/* 128 bits over `count` words, starting from `seed`: wide enough that equal hashes are taken for equal data. */
struct hash128 hash_words(const uint64_t *words, size_t count, uint64_t seed);

/* Open addressing, grows by doubling. All zero is empty. Any key, 0 too. */
struct map64 {
	struct map64_slot *slots;
	size_t count;
	size_t mask;	 /* slots - 1; 0 when empty */
	uint64_t passed; /* slots of other keys that inserting went by: the work that collisions make */
};

struct map64_slot {
	uint64_t key;
	uint64_t value;
	uint64_t used; /* 0 or 1 */
};

void map64_deinit(struct map64 *map);
/* The address of the value, or NULL. Valid until the next insert. */
uint64_t *map64_find(const struct map64 *map, uint64_t key);
/* Makes room for so many keys, in a map that has no table yet; does nothing in others. */
void map64_reserve(struct map64 *map, size_t count);
/* Finds or inserts (value 0); `ret_new`, when not NULL, says which. Valid until the next insert. */
uint64_t *map64_insert(struct map64 *map, uint64_t key, bool *ret_new);
/* Takes a key out; false when it isn't there. Other values may move. */
bool map64_remove(struct map64 *map, uint64_t key);
/* The used slot behind `slot` (the first for NULL), in no order that means anything; NULL at the end. */
struct map64_slot *map64_next(const struct map64 *map, const struct map64_slot *slot);
/* A pointer as a value of a map. */
static inline void *map64_pointer(const struct map64_slot *slot)
{
	return (void *)(uintptr_t)slot->value;
}

/* Goes through all of a map that isn't changed meanwhile: map64_each (slot, &map) free(map64_pointer(slot)); */
#define map64_each(slot, map) for (struct map64_slot *slot = map64_next(map, NULL); slot; slot = map64_next(map, slot))
