/* Why the stacks of a recording end before the function that their thread started in (unwind/stack_ends.h), and what helps. */
#pragma once

#include "analysis/report/fold.h"
#include "base/strbuf.h"
#include "unwind/stack_ends.h"

/* The end of a stack that was unwound from a sample's copy. */
void stack_ends_add_unwound(struct stack_ends *ends, const struct unwind_end *end, const struct event_attr *attr,
			    const struct sample *sample);
/* Adds the stacks of a fold that were recorded by frame pointers. Unwound ones are in fold->ends. */
void stack_ends_add_recorded(struct stack_ends *ends, const struct fold *fold, struct resolver *resolver, unsigned int max_stack);

/* The most bytes of stack that any event of a recording copied with a sample. */
uint32_t stack_ends_copied(const struct session *session);
/* Adds what helps, or nothing: "record with --call-graph dwarf,32768". `copied`: how many bytes of stack samples had at most. */
void stack_end_remedy(struct resolver *resolver, uint32_t copied, const struct stack_end *end, struct strbuf *out);
