/* Complete stacks as ordinary call chains (--call-graph auto).
 *
 * The kernel copies registers and stack with each sample; here, on the way from the rings to the file, the copy is unwound and becomes the
 * user part of the sample's chain. The file holds no copies and its events' attributes say so: readers see call chains as frame pointers
 * give them, but that the address of a caller is in its call, one byte before where it goes on. exclude_callchain_user stays set: the
 * kernel wrote no user part.
 *
 *	ring ──► side-band of all rings ──► machine (who has what mapped, when)
 *	     └─► sample ──► unwind/unwind.h ──► sample with a longer chain ──► file
 *	                     └─► copy too short: stack_sizes_note()
 *
 * Of events with stack_walked a BPF program in the kernel has walked the stack already (stack_walker.h), or made a copy where it could not.
 *
 * Used by one thread. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "capture/python/python_reader.h"
#include "capture/stack_sizes.h"
#include "capture/stacks/stack_ahead.h"
#include "capture/stacks/stack_walker.h"
#include "kernel/ring_set.h"
#include "unwind/stack_ends.h"

struct stack_chains;

/* Whether there is an event whose copies are unwound (event->stack_unwound). */
bool stack_chains_wanted(const struct event_list *events);
/* `events` have their counters' ids. Changes their attributes to what the file is going to hold. `sizes`, `walker` and `python`, for frames
 * of Python in chains, may be NULL; all arguments live as long as the result. */
struct error *stack_chains_open(struct event_list *events, struct stack_sizes *sizes, struct stack_walker *walker,
				struct python_frames *python, const struct ring_set *rings, struct stack_chains **ret);
void stack_chains_close(struct stack_chains *chains);

/* For what runs for days, and asks for no ends of stacks (stack_chains_ends()): files that nobody maps any more are forgotten. */
void stack_chains_drop_files(struct stack_chains *chains);
/* What runs before anything is in the rings: records as capture/synth/synth.h makes them. */
void stack_chains_know(struct stack_chains *chains, const struct strbuf *records);
/* Before events are enabled: reads the rules of what is going to run, where a program walks stacks. */
void stack_chains_read_ahead(struct stack_chains *chains, const struct stack_ahead_target *target);
/* Before rings are taken from: reads all (ring_read(), whose answer holds until they are consumed), and learns all that happened before the
 * samples there, in whichever ring it is. */
void stack_chains_look(struct stack_chains *chains);
/* Appends the records in the pieces of a ring, which has this number, to `out`, with chains instead of copies. */
void stack_chains_take(struct stack_chains *chains, size_t ring, const struct iovec *pieces, int count, struct strbuf *out);

/* The program's code of Python, from elsewhere than the rings. */
void stack_chains_add_python(struct stack_chains *chains, const struct user_stacks_python_code *code, size_t lines);
/* What a BPF program has found elsewhere than in the rings: of the thread, time and CPU mode of `whose`, which must not be later than what
 * stack_chains_look() has seen. Returns how many addresses are in *ret_ips, which holds until the next call; *ret_end says how the stack
 * ends, for stack_ends_add(), and has a count of 0 when there is none. Appends to `out` what readers must know before. */
size_t stack_chains_resolve(struct stack_chains *chains, const struct sample *whose, const struct walked_stack *walked, size_t depth,
			    const uint64_t **ret_ips, struct stack_end *ret_end, struct strbuf *out);

/* When the rings are empty: what takes longer is done, a piece of it. False: there was nothing to do. */
bool stack_chains_learn(struct stack_chains *chains);

/* Where memory is short: what was read of files goes, and is read again when a stack needs it. */
void stack_chains_shed(struct stack_chains *chains);

/* Of events whose stacks are walked. */
struct stack_chains_walks {
	uint64_t walked, copied; /* stacks: by the program, and what it had to leave to the recorder */
	uint64_t early;		 /* of those: before the rules of a file had been read */
	uint64_t unsent;	 /* that are missing, because a ring was full */
	uint64_t memory;	 /* bytes of rows */
};
/* All 0 where none are walked. */
struct stack_chains_walks stack_chains_walks(const struct stack_chains *chains);
/* Of stacks that were copied. */
struct python_reader_counts stack_chains_python(const struct stack_chains *chains);

/* Why stacks weren't complete, so far; its dsos are the resolver's, but NULL after stack_chains_drop_files(). */
struct stack_ends *stack_chains_ends(struct stack_chains *chains);
struct resolver *stack_chains_resolver(struct stack_chains *chains);
