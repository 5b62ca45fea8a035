/* Rows about locks, threads or cgroups, with how often and how long was waited. */
#pragma once

#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

struct thread;

struct lock_frame {
	uint64_t ip;
	const char *name; /* "schedule+0x23", "" without a symbol; unsafe bytes still in it */
};

/* Of the waits of a row, those with one stack: of the thread that waited, or of the one that ended the wait. */
struct lock_part {
	const struct thread *thread; /* NULL = not known */
	const struct lock_frame *stack;
	size_t stack_len;
	uint64_t count, ns;
};

struct lock_parts {
	VEC(struct lock_part) all;
};

/* Times in nanoseconds. Strings and stacks belong to the analysis. */
struct lock_row {
	const struct thread *thread; /* of rows about threads: who waits; else NULL */
	uint32_t owner;		     /* of rows about owners: who has the lock, by `name`; 0 = unknown */
	uint64_t cgroup;	     /* of rows about cgroups: id of machine_cgroup() */
	/* Of the row's first wait: */
	uint64_t address;
	uint64_t flags; /* lock_type_name() */
	const char *
		name; /* the caller, "vm_mmap_pgoff+0xe0", or "Unknown"; of lockdep.h the lock's class; the owner's; unsafe bytes still in it */
	const char *symbol; /* the lock's, or "" */
	const struct lock_frame *stack;
	size_t stack_len;

	uint64_t contended; /* waits that began */
	uint64_t acquired;  /* how often the lock was got: after a wait; of lockdep.h without one, too */
	uint64_t waited;    /* waits that ended: `total` is theirs */
	uint64_t total, max;
	uint64_t min; /* 0 = none has ended */
	/* Of locks of programs: the stacks that waited, and those that let them go on; the longest first. */
	struct lock_parts waiters, owners;
};

/* Of locks of programs, when sorted: the thread that let others go on after the longest waits; NULL = nobody is known. */
const struct thread *lock_row_owner(const struct lock_row *row);

enum lock_value { LOCK_ACQUIRED, LOCK_CONTENDED, LOCK_AVERAGE, LOCK_TOTAL, LOCK_MAX, LOCK_MIN };
uint64_t lock_row_value(const struct lock_row *row, enum lock_value which);

/* Counts a wait that has ended. */
void lock_row_add_wait(struct lock_row *row, uint64_t ns);

/* In the order in which they were met, until they are sorted. The rows belong to the analysis. */
struct lock_rows {
	VEC(struct lock_row *) all;
};
void lock_rows_deinit(struct lock_rows *rows);
/* Rows of one name become one. */
void lock_rows_combine(struct lock_rows *rows);
/* The greatest come first; equals stay in their order. */
void lock_rows_sort(struct lock_rows *rows, enum lock_value by);
/* Leaves out rows of locks that nobody got. */
void lock_rows_keep_acquired(struct lock_rows *rows);
