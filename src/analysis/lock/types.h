/* Kinds of kernel locks, as the flags of lock:contention_begin tell them (include/trace/events/lock.h of Linux 5.19 and newer), and of
 * locks of programs. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Flags of locks of programs, which the kernel tells nothing of. */
#define LOCK_USER (1ull << 63)
enum {
	LOCK_USER_FUTEX,
	LOCK_USER_MUTEX,
	LOCK_USER_READ,
	LOCK_USER_WRITE,
	LOCK_USER_CONDITION,
	LOCK_USER_SEMAPHORE,
	LOCK_USER_BARRIER,
	LOCK_USER_JOIN
};

/* "rwsem:W", "mutex"; "unknown" for flags that no kind has. */
const char *lock_type_name(uint64_t flags);
/* The same without the way it is taken: "rwsem". */
const char *lock_type_family(uint64_t flags);

/* The flags of what a function of the C library waits for: of a futex that can be anything where the name doesn't tell. */
uint64_t lock_user_flags(const char *function);

/* Of locks of programs: somebody has it while others wait, as a mutex, and unlike a condition. */
bool lock_is_owned(uint64_t flags);

/* A choice of kinds; all zero is every one. */
struct lock_types {
	uint64_t chosen; /* bits of the table's rows */
};
/* "spinlock,rwsem:R,rwlock": names of kinds, or of families for all ways to take them. An error lists what there is. */
struct error *lock_types_parse(const char *text, struct lock_types *ret);
bool lock_types_have(const struct lock_types *types, uint64_t flags);
