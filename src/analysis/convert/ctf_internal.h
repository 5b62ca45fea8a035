/* Within convert: what the parts of the export to CTF share. */
#pragma once

#include "analysis/convert/ctf.h"
#include "base/vec.h"
#include "event/tracepoint/tracepoint.h"

#include <stddef.h>

/* Events of the recording have the numbers from CTF_FIRST_EVENT on, by their index. */
enum { CTF_COMM, CTF_EXIT, CTF_FORK, CTF_MMAP, CTF_MMAP2, CTF_FIRST_EVENT };

/* X: shown in hexadecimal. */
enum ctf_type { CTF_U32, CTF_S32, CTF_X32, CTF_U64, CTF_S64, CTF_X64 };

static inline size_t ctf_type_size(enum ctf_type type)
{
	return type >= CTF_U64 ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* "TYPE NAME SUFFIX;": the suffix is "" or "[COUNT]". */
void ctf_declare_integer(struct strbuf *out, enum ctf_type type, const char *name, const char *suffix);
void ctf_put_integer(struct strbuf *out, enum ctf_type type, uint64_t value);

struct ctf_field {
	const struct tracepoint_field *field;
	enum ctf_form { CTF_NUMBER, CTF_ARRAY, CTF_SEQUENCE, CTF_TEXT } form;
	enum ctf_type type; /* of numbers, and of the elements */
	uint32_t count;	    /* of an array's elements */
};

struct ctf_class {
	bool known, raw_words, guests;
	uint64_t sample_type;
	const struct tracepoint *tracepoint; /* NULL = it has no fields of its own */
	struct ctf_field *fields;	     /* of the tracepoint */
	size_t field_count;
	size_t fixed_size; /* bytes that these take at least */
};

struct ctf_export {
	struct session *session;
	struct ctf_writer *writer;
	VEC(struct ctf_class) classes; /* by the event's index */
	struct strbuf events;	       /* metadata */
	bool guests;		       /* … with classes of guests' side-band */
	bool full;		       /* … so much that fields of tracepoints aren't described any more */
};

/* Chooses class->fields and adds their declarations. */
void ctf_declare_tracepoint(struct ctf_class *class, struct strbuf *out);
/* False: the fields are many times larger than what was recorded of them, so that a small recording would become a huge trace. */
bool ctf_tracepoint_fits(const struct ctf_class *class, const struct sample *sample);
void ctf_put_tracepoint(const struct ctf_class *class, const struct sample *sample, struct strbuf *out);
