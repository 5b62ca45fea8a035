/* Where text goes that is made piece by piece: a file, a text in memory, whatever takes bytes. Who writes needs to know no more. */
#pragma once

#include "base/strbuf.h"

#include <stddef.h>
#include <stdio.h>

struct sink {
	/* Takes all bytes; what fails is remembered for sink_flush(). */
	void (*write)(void *context, const void *data, size_t size);
	/* Hands on what it holds back; 0, or the errno of what has failed since the beginning. NULL = nothing can. */
	int (*flush)(void *context);
	void *context;
};

/* Both keep the pointer. */
struct sink sink_to_file(FILE *file);
struct sink sink_to_text(struct strbuf *text);

static inline void sink_write(const struct sink *sink, const void *data, size_t size)
{
	sink->write(sink->context, data, size);
}

static inline int sink_flush(const struct sink *sink)
{
	return sink->flush ? sink->flush(sink->context) : 0;
}

/* Writes the text, which is empty afterwards. */
void sink_move(const struct sink *sink, struct strbuf *text);
