/* Text of many records, made by several threads, in the records' order. */
#pragma once

#include "analysis/script_filter.h"
#include "analysis/script_text.h"
#include "base/strbuf.h"
#include "session/session.h"

#include <stdbool.h>

struct script_batch;

/* `create_text` makes one text for each of `jobs` workers. The filter must not depend on the order of samples, nor the text; the session's
 * input must be stable, and no event may have its group's counters read (what such a sample stands for is only known while it is the
 * newest). All live longer than the batch. */
struct script_batch *script_batch_create(struct session *session, struct resolver *resolver, const struct script_filter *filter,
					 unsigned int jobs, struct script_text *(*create_text)(void *context), void *context);
void script_batch_destroy(struct script_batch *batch);

/* Adds a sample that session_next() gave. True when the batch is full: call script_batch_run(). */
bool script_batch_add_sample(struct script_batch *batch, const struct record *record);
/* Adds text that stands between the samples. */
bool script_batch_add_text(struct script_batch *batch, const char *text, size_t length);

/* Makes the text of what was added and hands it over in pieces, in order; then the batch is empty. Stops at the first error of `write`. */
struct error *script_batch_run(struct script_batch *batch, struct error *(*write)(void *context, const char *text, size_t length),
			       void *context);
