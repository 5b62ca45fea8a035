/* Hash functions (not cryptographic; fast on short keys) and a map from 64-bit keys to 64-bit values. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash128 {
	uint64_t lo, hi;
};

/* A full-avalanche mix of one word. */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	return x;
}

static inline uint64_t hash_combine(uint64_t a, uint64_t b)
{
	return hash_u64(a * 0x9e3779b97f4a7c15u + b);
}

uint64_t hash_bytes(const void *data, size_t len);
/* 128 bits over `count` words, starting from `seed`: wide enough that equal hashes are taken for equal data. */
struct hash128 hash_words(const uint64_t *words, size_t count, uint64_t seed);

/* Open addressing, grows by doubling. All zero is empty. Any key, 0 too. */
struct map64 {
	struct map64_slot *slots;
	size_t count;
	size_t mask; /* slots - 1; 0 when empty */
};

struct map64_slot {
	uint64_t key;
	uint64_t value;
	uint64_t used; /* 0 or 1 */
};

void map64_deinit(struct map64 *map);
/* The address of the value, or NULL. Valid until the next insert. */
uint64_t *map64_find(const struct map64 *map, uint64_t key);
/* Finds or inserts (value 0); `ret_new`, when not NULL, says which. Valid until the next insert. */
uint64_t *map64_insert(struct map64 *map, uint64_t key, bool *ret_new);
