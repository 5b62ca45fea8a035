/* Binary search over anything that has an order. */
#pragma once

#include <stddef.h>

/* How many of the indexes 0 … `count` - 1 fulfil `condition`, an expression of `index` (the name of a size_t, declared here). Those that do
 * must come before those that don't. So the last element at or below an address is the one before what this gives, where that isn't 0:
 *
 *	size_t after = partition_point(i, list->len, list->data[i].low <= address);
 */
#define partition_point(index, count, condition)                  \
	({                                                        \
		size_t low_ = 0, high_ = (count);                 \
		while (low_ < high_) {                            \
			size_t index = low_ + (high_ - low_) / 2; \
			if (condition)                            \
				low_ = index + 1;                 \
			else                                      \
				high_ = index;                    \
		}                                                 \
		low_;                                             \
	})
