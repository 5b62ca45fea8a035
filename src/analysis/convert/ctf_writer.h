/* A folder with a trace in the Common Trace Format 1.8: the files that babeltrace2 and Trace Compass read.
 *
 *	metadata          what events there are and what lies where in them, as text (TSDL)
 *	perf_stream_N     events of one CPU: packets one behind the other, each with its own head
 *
 * The folder is made, or is one that we own whose old trace is replaced. Nothing outside of it is written: what has a stream's name there
 * is removed first, and no link is followed. Memory is bounded: a stream holds one packet, which is written when it is full
 * or all of them together hold much.
 *
 * Facts: the CTF 1.8 specification, https://diamon.org/ctf/v1.8.3/. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct ctf_writer;

/* The folder's name has no slash at its end, behind which a link would be followed. `force`: other files may be in it, although readers
 * take each of them for a stream. */
struct error *ctf_writer_create(const char *folder, bool force, struct ctf_writer **ret);

/* The next event of a stream. *ret: where its fields go, unaligned and in the byte order of this machine, until the next call. A time
 * before that of the stream's last event becomes that one. */
struct error *ctf_writer_begin_event(struct ctf_writer *writer, uint32_t stream, uint32_t id, uint64_t time, struct strbuf **ret);

/* What of the metadata isn't the same for all traces; all text is TSDL. */
struct ctf_description {
	const char *environment; /* "\tkey = \"value\";\n" … */
	const char *clock;	 /* a word for what its times are */
	int64_t clock_offset_ns; /* what is to be added to them for the time since 1970; 0 = nobody knows */
	const char *events;	 /* "event { … };" … */
};
/* Writes what is left. */
struct error *ctf_writer_finish(struct ctf_writer *writer, const struct ctf_description *description);
/* Frees it. What isn't finished is removed from the folder, and so is the folder if it was made. NULL is fine. */
void ctf_writer_destroy(struct ctf_writer *writer);

/* A TSDL string with its quotes: control characters and what is no UTF-8 become \xNN in its text. */
void ctf_add_string(struct strbuf *out, const char *text, size_t length);
