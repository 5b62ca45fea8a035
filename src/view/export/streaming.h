/* Writing large results piece by piece. Within view. */
#pragma once

#include "base/sink.h"

enum { STREAMING_BLOCK = 1 << 16 };

/* Hands on what was put together so far, once it is worth it. */
static inline void stream_on(struct strbuf *text, const struct sink *out)
{
	if (text->len >= STREAMING_BLOCK)
		sink_move(out, text);
}

/* The end: what is left, and what has failed on the way, as an error about `what`. Frees the text. */
struct error *stream_end(struct strbuf *text, const struct sink *out, const char *what);
