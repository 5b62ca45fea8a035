/* What a record that is no sample says, by the texts of its row in perfdata/records.def. */
#pragma once

#include "base/strbuf.h"
#include "event/event.h"
#include "perfdata/layout.h"
#include "perfdata/record_fields.h"

struct record_text {
	const struct record_header *header; /* native and checked */
	size_t end;			    /* of its fields, from its beginning; what would lie behind is 0 */
	const struct event *event;	    /* it belongs to, or NULL */
	struct sample_id id;		    /* its trailer */
	struct strbuf *out;
};

/* Adds one of the texts of the record's row (record_kind.texts). */
void record_text_add(const struct record_text *text, const char *template);
/* " 12: 00007f…" for each word of a call chain, with its title. */
void record_text_add_chain(struct strbuf *out, const uint64_t *words, uint64_t count);
