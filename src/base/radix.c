/* Least significant digit first, 11 bits a pass; values are fetched once and travel with their index. */
#include "base/radix.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>

enum { DIGIT_BITS = 11, DIGITS = 6, BUCKETS = 1 << DIGIT_BITS };

struct item {
	uint64_t value;
	uint32_t index;
} __attribute__((packed));

static size_t digit_of(uint64_t value, unsigned int digit)
{
	return value >> (digit * DIGIT_BITS) & (BUCKETS - 1);
}

/* One pass; false when all have the same digit. */
static bool pass(const struct item *from, struct item *to, size_t count, unsigned int digit, uint32_t *counts)
{
	if (counts[digit_of(from[0].value, digit)] == count)
		return false;
	uint32_t sum = 0;
	for (size_t i = 0; i < BUCKETS; i++) {
		uint32_t here = counts[i];
		counts[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[counts[digit_of(from[i].value, digit)]++] = from[i];
	return true;
}

void radix_sort(uint32_t *order, size_t count, uint64_t (*value)(const void *context, uint32_t index), const void *context)
{
	if (count < 2)
		return;
	struct item *items = mem_alloc_array(count, 2 * sizeof(*items)), *from = items, *to = items + count;
	uint32_t(*counts)[BUCKETS] = mem_zalloc_array(DIGITS, sizeof(*counts));
	bool sorted = true;
	for (size_t i = 0; i < count; i++) {
		from[i] = (struct item){.value = value(context, order[i]), .index = order[i]};
		sorted &= !i || from[i - 1].value <= from[i].value;
		for (unsigned int digit = 0; digit < DIGITS; digit++)
			counts[digit][digit_of(from[i].value, digit)]++;
	}
	for (unsigned int digit = 0; !sorted && digit < DIGITS; digit++) {
		if (!pass(from, to, count, digit, counts[digit]))
			continue;
		struct item *swap = from;
		from = to;
		to = swap;
	}
	for (size_t i = 0; i < count; i++)
		order[i] = from[i].index;
	free(counts);
	free(items);
}
