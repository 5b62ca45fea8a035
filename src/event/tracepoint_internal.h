/* What the files of the tracepoint formats share. */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "event/tracepoint.h"

#include <pthread.h>

struct tep_handle;
struct tep_event;
struct tracepoint_program;

struct tracepoint_private {
	const char *text; /* the whole format file, NUL-terminated */
	size_t size;
	_Atomic(struct tracepoint_program *) program; /* NULL until first printed */
};

struct tracepoint_formats {
	struct arena arena; /* owns tracepoints, fields and texts */
	VEC(struct tracepoint *) tracepoints;
	struct map64 by_id;   /* id → index + 1 */
	struct map64 by_name; /* hash of system and name → index + 1 */
	bool big_endian;      /* the recording machine */
	bool swap;	      /* … is not like this one */
	uint32_t long_size, page_size;
	/* Printing: libtraceevent's own state, made at the first print. */
	pthread_mutex_t lock;
	struct tep_handle *tep;
	const char *kallsyms, *printk, *cmdlines; /* texts from the recording, or NULL */
	struct map64 printk_by_address;		  /* address → text in the arena */
	tracepoint_resolver resolver;
	void *resolver_context;
};

/* Parses a format file into `ret` (name, id, fields, print format) with memory of `arena`. */
struct error *tracepoint_parse_format(struct arena *arena, const char *text, size_t size, bool swap, struct tracepoint *ret);

/* The string of the kernel at `address`, from the recording's printk formats; NULL when it has none. */
const char *tracepoint_printk(const struct tracepoint_formats *formats, uint64_t address);

/* The compiled print format; never NULL. `event` is libtraceevent's view of it. It lives in `arena`. */
struct tracepoint_program *tracepoint_compile(struct tracepoint_formats *formats, const struct tracepoint *tracepoint,
					      struct tep_event *event);
/* Runs it; false when libtraceevent has to print. */
bool tracepoint_run(const struct tracepoint_program *program, const struct tracepoint_formats *formats, const void *raw, size_t size,
		    struct strbuf *out);

/* For a format that libtraceevent does not understand: "[FAILED TO PARSE] name=value …". */
void tracepoint_print_fields(const struct tracepoint *tracepoint, const void *raw, size_t size, struct strbuf *out);
