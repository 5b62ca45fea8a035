/* SHA-256 by its definition, block by block: fast enough for what is hashed here, some hundred bytes.
 *
 *	message, 1 bit, zeros, length ─► blocks of 64 bytes ─► 64 rounds each on eight words
 *
 * The round constants are the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2), worked out with integers. */
#include "base/formats/sha256.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK = 64, ROUNDS = 64, WORDS = 8 };

struct state {
	uint32_t words[WORDS], constants[ROUNDS];
	uint8_t block[BLOCK];
	size_t filled;
	uint64_t bits;
};

static bool is_prime(uint32_t number)
{
	for (uint32_t divisor = 2; divisor * divisor <= number; divisor++)
		if (number % divisor == 0)
			return false;
	return true;
}

static unsigned __int128 power(uint64_t base, unsigned int exponent)
{
	unsigned __int128 ret = base;
	while (--exponent)
		ret *= base;
	return ret;
}

/* The first 32 bits behind the point of the n-th root of a small number: the root of number << 32n, without what is in front of it. */
static uint32_t root_fraction(uint32_t number, unsigned int n)
{
	uint64_t root = 0;
	for (int bit = 35; bit >= 0; bit--) {
		uint64_t next = root | 1ull << bit;
		if (power(next, n) <= (unsigned __int128)number << 32 * n)
			root = next;
	}
	return (uint32_t)root;
}

static void init(struct state *state)
{
	*state = (struct state){0};
	for (uint32_t number = 2, found = 0; found < ROUNDS; number++) {
		if (!is_prime(number))
			continue;
		if (found < WORDS)
			state->words[found] = root_fraction(number, 2);
		state->constants[found++] = root_fraction(number, 3);
	}
}

static uint32_t rotate(uint32_t word, unsigned int by)
{
	return word >> by | word << (32 - by);
}

static void spread(const uint8_t *block, uint32_t w[ROUNDS])
{
	for (size_t i = 0; i < BLOCK / 4; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (size_t i = BLOCK / 4; i < ROUNDS; i++) {
		uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
		w[i] = w[i - 16] + a + w[i - 7] + b;
	}
}

static void mix(struct state *state)
{
	uint32_t w[ROUNDS], v[WORDS];
	spread(state->block, w);
	memcpy(v, state->words, sizeof(v));
	for (size_t i = 0; i < ROUNDS; i++) {
		uint32_t e = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25), choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t a = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22),
			 majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
		uint32_t first = v[7] + e + choice + state->constants[i] + w[i];
		memmove(v + 1, v, sizeof(v) - sizeof(*v));
		v[4] += first;
		v[0] = first + a + majority;
	}
	for (size_t i = 0; i < WORDS; i++)
		state->words[i] += v[i];
	state->filled = 0;
}

static void add(struct state *state, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	state->bits += (uint64_t)size * 8;
	for (size_t i = 0; i < size; i++) {
		state->block[state->filled++] = bytes[i];
		if (state->filled == BLOCK)
			mix(state);
	}
}

static void end(struct state *state, uint8_t ret[SHA256_SIZE])
{
	uint8_t length[8];
	for (size_t i = 0; i < sizeof(length); i++)
		length[i] = (uint8_t)(state->bits >> (56 - 8 * i));
	add(state, "\x80", 1);
	while (state->filled != BLOCK - sizeof(length))
		add(state, "", 1);
	add(state, length, sizeof(length));
	for (size_t i = 0; i < SHA256_SIZE; i++)
		ret[i] = (uint8_t)(state->words[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256(const void *data, size_t size, uint8_t ret[SHA256_SIZE])
{
	struct state state;
	init(&state);
	add(&state, data, size);
	end(&state, ret);
}

void sha256_hmac(const void *key, size_t key_size, const void *data, size_t size, uint8_t ret[SHA256_SIZE])
{
	uint8_t block[BLOCK] = {0}, pad[BLOCK], inner[SHA256_SIZE];
	struct state state;
	if (key_size > BLOCK)
		sha256(key, key_size, block);
	else
		memcpy(block, key, key_size);
	for (size_t i = 0; i < BLOCK; i++)
		pad[i] = block[i] ^ 0x36;
	init(&state);
	add(&state, pad, BLOCK);
	add(&state, data, size);
	end(&state, inner);
	for (size_t i = 0; i < BLOCK; i++)
		pad[i] = block[i] ^ 0x5c;
	init(&state);
	add(&state, pad, BLOCK);
	add(&state, inner, sizeof(inner));
	end(&state, ret);
}
