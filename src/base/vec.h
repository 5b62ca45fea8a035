/* Growing arrays of any type.
 *
 *	VEC(int) numbers = {0};     // a list that has a name: typedef VEC(struct thing) thing_list;
 *	vec_push(&numbers, 5);
 *	for (size_t i = 0; i < numbers.len; i++) … numbers.data[i] …
 *	vec_deinit(&numbers);
 *
 * All zero is empty. Elements move when the array grows: keep indexes, not pointers.
 */
#pragma once

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define VEC(type)           \
	struct {            \
		type *data; \
		size_t len; \
		size_t cap; \
	}

/* The new capacity for at least `need` elements: grows by half, at least 8. */
static inline size_t vec_grown(size_t cap, size_t need)
{
	size_t grown = cap + cap / 2;
	if (grown < need)
		grown = need;
	return grown < 8 ? 8 : grown;
}

#define vec_reserve(vec, n)                                                                       \
	do {                                                                                      \
		size_t need_ = (n);                                                               \
		if (need_ > (vec)->cap) {                                                         \
			(vec)->cap = vec_grown((vec)->cap, need_);                                \
			if ((vec)->cap > SIZE_MAX / sizeof(*(vec)->data))                         \
				mem_exhausted();                                                  \
			(vec)->data = mem_resize((vec)->data, (vec)->cap * sizeof(*(vec)->data)); \
		}                                                                                 \
	} while (0)

#define vec_push(vec, ...)                               \
	do {                                             \
		vec_reserve(vec, (vec)->len + 1);        \
		(vec)->data[(vec)->len++] = __VA_ARGS__; \
	} while (0)

/* Appends one uninitialised element and evaluates to its address, valid until the next growth. */
#define vec_add(vec)                              \
	({                                        \
		vec_reserve(vec, (vec)->len + 1); \
		&(vec)->data[(vec)->len++];       \
	})

#define vec_last(vec) (&(vec)->data[(vec)->len - 1])

#define vec_deinit(vec)                      \
	do {                                 \
		free((vec)->data);           \
		(vec)->data = NULL;          \
		(vec)->len = (vec)->cap = 0; \
	} while (0)
