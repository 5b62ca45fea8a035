/* What stack_walker.c (the program, its records) and stack_rules.c (what it is given) share. */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "capture/stacks/stack_walker.h"
#include "kernel/tracing/dynamic_events.h"

/* How deep interrupts that take samples lie in each other, and how long the outer ones may have waited for their samples. */
enum { NESTED = 4, NESTED_NS = 10000000 };

struct kept_record {
	uint32_t tid;
	uint64_t time;
	struct strbuf record; /* begins 4 bytes before the record, which so has its addresses aligned */
};

struct kept_records {
	struct kept_record each[NESTED];
	unsigned int count;
	uint64_t bytes; /* of all records so far, as the program counts them */
};

/* Of a large file only those parts are read that stacks meet, of a smaller one all. Rows of a compiler's code in parts of LAZY_PART take a
 * seventh of those in parts of PART, and come with some more copies. */
enum { PART = 1 << 18, LAZY_PART = 1 << 14, ALL_OF = 8 << 20 };
_Static_assert(PART % (1 << USER_STACKS_BLOCK_BITS) == 0 && LAZY_PART % (1 << USER_STACKS_BLOCK_BITS) == 0, "a part has whole blocks");

struct wanted_rules {
	struct user_stacks_file file;
	struct dso *dso;	  /* NULL: the machine has forgotten it since */
	size_t first;		  /* who has its rows: this one, or the first one of the same file, which this is another identity of */
	uint64_t copies, waiting; /* so far; of them since rows were given the last time */
	bool entered;		  /* the program knows the file */
	bool listed;		  /* in stack_walker.working */
	struct user_stacks_code code;
	uint64_t begin, end; /* of its code, in the file; equal: nothing is known of it */
	uint64_t part;	     /* bytes of a part */
	uint64_t asked;	     /* the first place of which rows are lacking */
	uint8_t *noted;	     /* by part: it was given, or is … */
	VEC(uint32_t) parts; /* … to be given, the last one first */
	size_t rows;	     /* that were given */
};

struct stack_walker {
	struct bpf_user_stacks *program;
	struct python_frames *python; /* or NULL */
	struct python_teller teller;
	struct dynamic_events probes; /* if there are tracepoints */
	struct event_attr attr;	      /* of the program's records */
	struct sample_layout layout;
	VEC(int) counters;
	struct map64 ids;
	struct map64 noted;		 /* files, by a hash */
	VEC(struct wanted_rules) wanted; /* the same, in their order */
	VEC(size_t) working;		 /* places of those that something is to be done for, and of some others */
	struct map64 by_dso;		 /* the first one of each */
	struct map64 met;		 /* dsos that were expected: once is enough, since each process that begins maps the same ones */
	VEC(struct dso *) expected;
	struct kept_records *kept; /* by ring */
	const struct ring_set *ring_set;
	size_t rings;
	uint64_t memory;	 /* of rows, at most */
	bool lazy;		 /* nothing is read ahead: rows of code that stacks have met, whatever the size of its file */
	const char *more_memory; /* struct sampling.unwind_more */
	bool full, told;	 /* there was no room for rows; since ever */
	bool crowded;		 /* there was no room for one more file: others are not looked at */
	uint64_t renewed_ns;	 /* when all rows were given up for those that are met now, in CLOCK_MONOTONIC */
};

/* No file is wanted or known any more. */
void stack_walker_clear_wanted(struct stack_walker *walker);
