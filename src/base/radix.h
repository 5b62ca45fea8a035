/* Stable sorting of indexes by 64-bit values, in linear time: digits that are the same everywhere cost nothing but a look. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Sorts order[0…count) so that value(context, order[i]) ascends; equal ones keep their order. */
void radix_sort(uint32_t *order, size_t count, uint64_t (*value)(const void *context, uint32_t index), const void *context);
