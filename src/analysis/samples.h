/* Samples: a fold → rows of samples with all that they refer to (result/samples.h), as formats of other tools want them.
 *
 *	samples_fold_options() ──► a fold of the session ──► samples_of_fold()
 *
 * So what is resolved, unwound and expanded to inlined functions is what reports show. */
#pragma once

#include "analysis/report/fold.h"
#include "result/samples.h"

/* What a fold must tell apart for the details (enum samples_detail); call it before other members are set. */
void samples_fold_options(unsigned int detail, struct fold_options *ret);
/* Only the recording and its events. */
struct samples *samples_describe(const struct session *session);
/* Of a finished fold with these options, which may be destroyed afterwards; its session and resolver must stay. */
struct samples *samples_of_fold(struct fold *fold, struct resolver *resolver, unsigned int detail, enum stack_inlines inlines);
