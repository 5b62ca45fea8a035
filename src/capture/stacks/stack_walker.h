/* Stacks that a BPF program walks (bpf/user_stacks.h), between the rings and stack_chains.h.
 *
 *	ring:  ─ record of the program ─ sample ─ record ─ sample ─►
 *	              └─ chain, or copy ──┘ is the sample's user stack
 *
 * The program's records are no part of the recording. Copies that it makes for want of a file's rows come until it has been given them.
 *
 * Used by one thread. */
#pragma once

#include "base/strbuf.h"
#include "bpf/user_stacks.h"
#include "capture/counting/counter_set.h"
#include "capture/python/python_frames.h"
#include "capture/sampling.h"
#include "kernel/ring_set.h"
#include "perfdata/layout.h"
#include "symbol/resolve.h"

struct bpf_user_stacks;
struct stack_walker;

/* Whether the program could walk the stacks of an event's samples, if the kernel lets us have it: not of those with a filter of samples, of
 * tracepoints and probes of which not each one is a sample, and not where somebody asks for copies of a size. */
bool stack_walker_suits(const struct event *event);
/* Loads the program for those of the events that it suits; of `sampling` max_stack, unwind_memory and python count, which outlives the
 * walker. `of_threads`: threads are measured, not whole CPUs. An error says why that isn't possible. */
struct error *stack_walker_open(const struct event_list *events, const struct sampling *sampling, bool of_threads,
				struct stack_walker **ret);
/* The same with rows only, for programs that share them (stack_walker_rows()). */
struct error *stack_walker_open_rows(const struct sampling *sampling, struct stack_walker **ret);
/* struct sampling.unwind_lazily: nothing is to be read before the program runs, nor is anything expected. */
bool stack_walker_is_lazy(const struct stack_walker *walker);
void stack_walker_close(struct stack_walker *walker);
const struct bpf_user_stacks *stack_walker_rows(const struct stack_walker *walker);

/* Walks the stacks of all samples of events with event->stack_walked, whose counters are open and write into `rings`, those of CPUs. All
 * arguments live as long as the walker is used. */
struct error *stack_walker_start(struct stack_walker *walker, const struct event_list *events, const struct counter_set *counters,
				 const struct ring_set *rings);

/* Whether a sample in a ring is a record of the program. It is kept then. */
bool stack_walker_takes(struct stack_walker *walker, size_t ring, const struct record_header *header);
/* To be asked of each record of all rings, before those that lie behind it in any ring are taken: notes what chains name by numbers. */
void stack_walker_look(struct stack_walker *walker, const struct record_header *header);
/* Whether an id is that of a counter of ours: the kernel may tell in its name what was lost. */
bool stack_walker_owns(const struct stack_walker *walker, uint64_t id);

struct walked_stack {
	enum user_stacks_kind kind;
	const uint64_t *ips; /* of a chain, innermost first */
	const struct user_stacks_copy *copy;
	const void *stack;
	size_t count; /* addresses, or bytes of `stack` */
};
/* What is behind a record's head (USER_STACKS_HEAD()), `size` bytes that are aligned to 8. False: it isn't what it should be. */
bool walked_stack_read(uint32_t head, const void *data, size_t size, struct walked_stack *ret);
/* The user stack of a sample; false: there is none. Valid until the next record of the ring is taken. */
bool stack_walker_find(struct stack_walker *walker, size_t ring, const struct sample *sample, struct walked_stack *ret);
/* Notes that the program lacks the rows of a place, an offset in `dso`, from which the copy's missing file was mapped. */
void stack_walker_note(struct stack_walker *walker, const struct user_stacks_copy *copy, struct dso *dso, uint64_t place);
/* The same of other places that a stack leads through: only if the program knows the file. */
void stack_walker_note_code(struct stack_walker *walker, struct dso *dso, uint64_t place);
/* Notes that code of `dso` has just been mapped: the program is going to need its rows, which are given when no other file is waited for.
 * Not those of large files, of which most need not be read ever. */
void stack_walker_expect(struct stack_walker *walker, struct dso *dso);
/* Part of a struct machine_holder: files that go are asked for no more. What the program knows of them stays, for when they come again. */
void stack_walker_carry(struct stack_walker *walker, const struct carrying *carrying);
/* Gives the program rows that are lacking: of a large file those of the code that was noted, of others all, some ms' work at a time; false:
 * there are none left. */
bool stack_walker_learn(struct stack_walker *walker, struct resolver *resolver);
/* What a file is known by to the program that we have mapped at an address; false: it isn't one. */
bool stack_walker_identify(const struct stack_walker *walker, const void *mapped, struct user_stacks_file *ret);
/* Before the program runs: gives it the rules of files, on several threads, until that takes too long, or half the memory is used. Returns
 * how many files were read to the end. Time is CPU time of ours, which others on a busy machine don't use up. */
struct stack_walker_ahead {
	struct dso *const *dsos; /* the first one first */
	size_t count;
	size_t wholly;	   /* of the first ones all is read, however large they are */
	uint64_t until_ns; /* of CLOCK_PROCESS_CPUTIME_ID */
};
size_t stack_walker_read_ahead(struct stack_walker *walker, struct resolver *resolver, const struct stack_walker_ahead *ahead);
/* Why rows of a file were not taken, and what helps; of `memory` for all of them. `more`: struct sampling.unwind_more. */
void stack_walker_explain(enum user_stacks_added added, const char *file, uint64_t memory, const char *more, struct strbuf *out);

/* Of the sampling; or NULL. */
const struct python_frames *stack_walker_python(const struct stack_walker *walker);
/* Stacks for which there was no room. */
uint64_t stack_walker_unsent(const struct stack_walker *walker);
/* Of rows, in bytes. */
uint64_t stack_walker_memory(const struct stack_walker *walker);
