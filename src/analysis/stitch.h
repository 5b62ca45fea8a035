/* Call graphs of branch registers (--call-graph lbr) that go on where the registers end.
 *
 * The processor keeps the last N calls that have not returned yet in a ring of N registers: what called them is overwritten. When the
 * thread's sample before had these callers, and the registers that both samples share say the same, then nothing has returned to there
 * since, and they are still the callers:
 *
 *	registers    0 1 2 3          sample before: calls D C B A (innermost first), D in register 3
 *	             A B C D          this sample:   calls G F E D, G in register 2: E F G have taken the places of A B C
 *	             E F G D          D is the same in both ──► G F E D, then C B A of the one before, and what that was stitched to
 *
 * A branch is the same when it comes from the same register with the same addresses and flags. */
#pragma once

#include "event/event.h"
#include "model/machine.h"
#include "perfdata/layout.h"
#include "session/session.h"

#include <stdint.h>

struct stitcher;

/* NULL when nothing can be stitched: no event has call graphs of branch registers with their numbers, or the recording doesn't tell how
 * many registers the processor has. *ret_why is then a sentence (a literal). */
struct stitcher *stitcher_create(const struct session *session, const char **ret_why);
void stitcher_destroy(struct stitcher *stitcher);

/* Looks at all samples, in order; afterwards stitcher_callers() can be asked in any order, by several threads. Not for streams. */
struct error *stitcher_prepare(struct stitcher *stitcher, struct session *session);

#define STITCH_NONE UINT32_MAX
/* The first caller beyond the sample's branches; STITCH_NONE = there is none. Unless prepared: to be called once for each sample, in
 * order. */
uint32_t stitcher_callers(struct stitcher *stitcher, const struct thread *thread, const struct event_attr *attr,
			  const struct sample *sample);
/* The address of a caller, and who called it (or STITCH_NONE). */
uint64_t stitcher_caller(const struct stitcher *stitcher, uint32_t caller, uint32_t *ret_next);
