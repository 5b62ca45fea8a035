/* Raw dump of records (-D): the bytes, and what is in them, in the format of the kernel's perf. */
#pragma once

#include "base/strbuf.h"
#include "perfdata/reader.h"

struct dump_options {
	/* Name of a register by its bit in the masks, for an architecture as uname calls it (NULL: this machine's), or NULL when there is
	 * no such; may be NULL altogether. */
	const char *(*register_name)(const char *arch, unsigned int index);
};

/* Adds one record. `offset` is where it begins in the reader's records (or stream), `event` the one it belongs to, or NULL. For a sample
 * the caller adds what only the machine model knows: the lines of thread and dso. */
void dump_record(const struct reader *reader, const struct record_header *header, uint64_t offset, const struct event *event,
		 const struct dump_options *options, struct strbuf *out);
