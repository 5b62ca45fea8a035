/* What lock_owners.bpf.c and its loader share. */
#pragma once

#include <stdint.h>

enum { LOCK_OWNERS_MOST = 16384, LOCK_OWNER_NAME = 16, LOCK_OWNERS_FLAGS = 64 };

struct lock_owners_config {
	uint8_t wanted[LOCK_OWNERS_FLAGS]; /* by the flags of contention_begin, which tell the type of a lock */
};

/* Of waits for locks that one thread held when they began. */
struct lock_owner_sums {
	uint64_t contended;	    /* waits that began */
	uint64_t ended;		    /* … and ended: the times are theirs */
	uint64_t total, max, min;   /* ns */
	char name[LOCK_OWNER_NAME]; /* the owner's, when it first made somebody wait */
};
