/* Copies of stacks as large as they need be (--call-graph dwarf,auto; --call-graph auto, which unwinds them: stack_chains.h).
 *
 * The kernel copies the same number of bytes for every sample of a counter. So each such event has a counter for each of a few sizes, of
 * which one is enabled; all have the event's attribute and layout, and their ids stand for it in the file. Samples go through here on their
 * way to the file:
 *
 *	ring ──► is the copy full, and does the stack go on?     its thread of the target gets the next larger counter
 *	     └─► what lies above the stack (environment, other memory) is cut off the record ──► file
 *
 * Readers need to know nothing of it: a sample says how large its copy is. */
#pragma once

#include "base/strbuf.h"
#include "capture/counting/counter_set.h"
#include "kernel/poller.h"
#include "perfdata/layout.h"

#include <stdatomic.h>
#include <sys/uio.h>

struct stack_sizes;

struct stack_sizes_totals {
	atomic_uint_fast64_t copies; /* samples with a copy */
	atomic_uint_fast64_t bytes;  /* of copies in the file */
	atomic_uint_fast64_t cut;    /* copies that end before their stack does, as far as that is known */
	atomic_uint largest;	     /* bytes: the largest size that was asked for */
};

/* Whether an event's copies are sized here (event->stack_grows). */
bool stack_sizes_wanted(const struct event_list *events);
/* Opens the counters of larger sizes beside the open `counters` of `events`, and adds their ids to the events'. All arguments live as long
 * as the result. */
struct error *stack_sizes_open(struct event_list *events, const struct counter_set *counters, struct stack_sizes **ret);
void stack_sizes_close(struct stack_sizes *sizes);

/* The additional counters, and which event each is of. False: there are no more. */
bool stack_sizes_counter(const struct stack_sizes *sizes, size_t index, const struct counter **ret_counter, unsigned int *ret_event);
/* As counters_switch(), for all events: of the sized ones, the counters of the size that is in use. */
void stack_sizes_switch(struct stack_sizes *sizes, const char *name, bool on);
/* Appends the records in the pieces of a ring to `out`, with copies cut to what belongs to their stacks. Thread-safe. */
void stack_sizes_take(struct stack_sizes *sizes, const struct iovec *pieces, int count, struct strbuf *out);
/* For who unwinds copies by itself, instead of stack_sizes_take(): a sample, and whether its stack went on above the copy, or how many
 * bytes of it there were. A thread's copies grow with the first cut; those of whole CPUs, where one deep process would make those of all
 * larger, when there are many. They shrink where much less has long been enough. Thread-safe. */
void stack_sizes_note(struct stack_sizes *sizes, const struct sample *sample, bool cut, uint64_t depth);
/* Wakes a poller up, soon and then less often: what was copied is to be looked at before rings are half full, since copies that are too
 * short are lost until then. For the first time, and when the wake-up has come. */
void stack_sizes_await(struct stack_sizes *sizes, struct poller *poller, uint64_t tag);
const struct stack_sizes_totals *stack_sizes_totals(const struct stack_sizes *sizes);
