/* Text of many records, made by several threads, in the records' order. */
#pragma once

#include "analysis/script/filter.h"
#include "analysis/script/text.h"
#include "base/strbuf.h"
#include "cmd/sampling/sampled_ids.h"
#include "cmd/script/output.h"
#include "session/session.h"

#include <stdbool.h>

/* What is to be shown, and where. All live longer than the call. */
struct script_batch_options {
	struct session *session;
	struct resolver *resolver;
	const struct script_filter *filter;
	struct sampled_ids *ids; /* samples that are met are counted here, those that don't pass as well; or NULL */
	struct script_output *output;
	/* One for each of session->jobs workers. */
	struct script_text *(*create_text)(void *context);
	/* Adds the text of a record that is no sample, if it is to be shown; the machine has come to its time. */
	void (*add_record)(void *context, const struct record *record, struct strbuf *out);
	void *context;
};

/* Shows all records of the session, until the output is closed. The filter must not depend on the order of samples, nor the text; the
 * session's input must be stable, and no event may have its group's counters read (what such a sample stands for is only known while it is
 * the newest). */
struct error *script_batch_show(const struct script_batch_options *options);
