/* What exactly a thread waits for, as the first argument of its system call tells: the lock of a futex, or what a file descriptor is.
 *
 *	futex(0x55d0c0, FUTEX_WAIT)   "cache_lock"		the symbol at that address, or where it is mapped
 *	read(4)			      "/var/lib/data"		what descriptor 4 of that process is at that time: known live only
 *
 * The argument is in a register of the program, which the kernel records without copying the stack. */
#pragma once

#include "analysis/where/place.h"

#include <stddef.h>
#include <stdint.h>

struct where_objects {
	struct where_places *places;
	/* Adds what a descriptor is, or nothing. NULL: what is read isn't here. */
	void (*name_descriptor)(void *context, uint32_t pid, int descriptor, struct strbuf *out);
	void *context;
	struct map64 locks;	  /* process and address → name */
	struct map64 descriptors; /* process and number → in `open` */
	VEC(struct where_descriptor) open;
	uint64_t window;    /* when a tenth of a second began in which … */
	unsigned int asked; /* … so many descriptors were asked for */
	struct strbuf text; /* scratch */
};

void where_objects_deinit(struct where_objects *objects);
/* The name of what a thread waits for from now on in the system call with this first argument; NULL = not known. Interned by the places,
 * not safe to print. */
const char *where_object_of(struct where_objects *objects, const struct where_place *place, uint64_t argument, const struct thread *thread,
			    uint64_t time, uint64_t model_time);
/* The first argument of the system call that a thread is in, of a sample with that register. */
bool where_argument(const struct machine *machine, const struct sample *sample, uint64_t *ret);
