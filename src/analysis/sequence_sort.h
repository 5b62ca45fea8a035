/* Sorts numbers by sequences that they stand for, element by element, shorter ones first where one begins with the other. Sequences aren't
 * copied: two elements of each are looked at at a time, and no more of them than it takes to tell them apart. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sequences {
	/* The elements at `depth` and `depth` + 1, each plus 1, as first << 32 | second; 0 stands for those behind the end. Called on
	 * several threads. */
	uint64_t (*key)(const void *context, uint32_t number, uint32_t depth);
	const void *context;
	unsigned int jobs; /* threads, at least 1 */
};

/* Equal ones come in any order. */
void sequences_sort(const struct sequences *sequences, uint32_t *numbers, size_t count);
