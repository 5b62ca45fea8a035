/* Profile: a fold whose entries know when and where they were sampled → what a page shows of an event (result/profile.h). */
#pragma once

#include "analysis/report/fold.h"
#include "result/profile.h"

enum {
	PROFILE_SLICES = 200, /* of the whole time */
	PROFILE_PARTS = 16,   /* of a slice */
	PROFILE_WORDS = 2,    /* of fold_options.extra_words that profile_words() fills */
};

/* fold_options.extra of a profile: which part of the time, which CPU. */
void profile_words(const struct session *session, const struct fold_sample *sample, uint64_t *words);
/* Adds what the fold has of an event. The fold tells threads apart and has stacks if there are any; names it owns must outlive the
 * profile. At most about `most` nodes, of which the lightest are left out, and four times as many cells: neighbouring slices are then one.
 */
void profile_add_event(struct profile_page *profile, struct fold *fold, const struct event *event, size_t most);
