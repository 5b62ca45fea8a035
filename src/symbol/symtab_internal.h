/* How symbol tables are kept, for those who put them together. */
#pragma once

#include "symbol/packed_names.h"
#include "symbol/symtab.h"

#include <stdatomic.h>

/* A symbol as it is kept. Binding and type are four bits in files, too. */
struct packed_symbol {
	uint32_t name; /* where it begins in the block, in the file or in `packed_names` */
	uint16_t size; /* SIZE_IS_LARGE: in `large_sizes` */
	uint8_t binding : 4, type : 4;
	bool mangled : 1, in_file : 1, ifunc_alias : 1;
};

#define SIZE_IS_LARGE UINT16_MAX

struct large_size {
	uint32_t index; /* of the symbol */
	uint64_t size;
};

/* Symbols that were looked up lie near each other, in few blocks. */
enum { MADE_BLOCK = 16 };

struct made_block {
	struct symbol *_Atomic symbols[MADE_BLOCK]; /* NULL: nobody has looked it up */
};

struct symtab_private {
	uint64_t base;	      /* where the first interval begins */
	uint32_t *starts;     /* of intervals, sorted: their distance from `base` */
	uint64_t *far_starts; /* instead where that would be too far; else NULL */
	uint32_t *owners;     /* symbol of each interval, or OVERLAP_NONE; NULL: interval i is symbol i */
	size_t interval_count;
	/* Bucket b is the interval that covers base + (b << bucket_shift): a binary search has only what lies between two buckets
	 * left. */
	uint32_t *buckets;
	unsigned int bucket_shift;
	struct packed_symbol *symbols;
	uint32_t *intervals;		    /* the first one of each symbol; NULL without overlaps */
	VEC(struct large_size) large_sizes; /* by index */
	struct made_block *_Atomic *made;   /* of MADE_BLOCK symbols each; NULL: nobody has looked any of them up */
	char *names;			    /* one block */
	struct packed_names *packed_names;  /* instead of it, of all symbols; or NULL */
	struct mapping file;		    /* where the others are */
	size_t name_limit;		    /* bytes at which names are cut */
	bool sparing;
	atomic_uint names_read;	     /* from the file */
	struct functions *functions; /* NULL: the file has no debug information that fits */
	size_t name_count;	     /* symbols that the file has: how long a readable name may be depends on it */
};

static inline size_t symtab_made_blocks(size_t count)
{
	return (count + MADE_BLOCK - 1) / MADE_BLOCK;
}

/* Keeps symbol `index`, the next one, all but its name. */
void symtab_pack(struct symtab_private *private, size_t index, const struct symbol *symbol);
/* The table of `count` symbols whose places, in intervals, and names are known. */
struct symtab *symtab_finish(struct symtab_private *private, size_t count, int source, const char *path);
