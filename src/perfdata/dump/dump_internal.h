/* Within perfdata: a record on its way through the dump. */
#pragma once

#include "perfdata/dump/dump.h"

struct dump {
	const struct reader *reader;
	const struct record_header *header;
	const struct event *event;
	const struct dump_options *options;
	struct strbuf *out;
	struct sample_id id;
	struct sample sample; /* of RECORD_SAMPLE with an event */
	const char *broken;   /* why it could not be decoded, or NULL */
};

void dump_sample(struct dump *dump);
