/* What the files of the tracepoint formats share. */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "event/tracepoint/tracepoint.h"

#include <pthread.h>

struct tracepoint_program;

struct tracepoint_private {
	_Atomic(struct tracepoint_program *) program; /* NULL until first printed */
};

struct tracepoint_formats {
	struct arena arena; /* owns tracepoints, fields and texts */
	VEC(struct tracepoint *) tracepoints;
	struct map64 by_id;   /* id → index + 1 */
	struct map64 by_name; /* hash of system and name → index + 1 */
	bool big_endian;      /* the recording machine */
	bool swap;	      /* … is not like this one */
	uint32_t long_size;
	uint32_t page_size; /* as recorded; 0 = not known */
	/* Printing: */
	pthread_mutex_t lock;		/* while a program is made */
	struct map64 printk_by_address; /* address of a string of the kernel → its text in the arena */
	tracepoint_resolver resolver;
	void *resolver_context;
};

/* Parses a format file into `ret` (name, id, fields, print format) with memory of `arena`. */
struct error *tracepoint_parse_format(struct arena *arena, const char *text, size_t size, bool swap, struct tracepoint *ret);

/* The string of the kernel at `address`, from the recording's printk formats; NULL when it has none. */
const char *tracepoint_printk(const struct tracepoint_formats *formats, uint64_t address);

/* The compiled print format; never NULL. It lives in the formats' arena. */
struct tracepoint_program *tracepoint_compile(struct tracepoint_formats *formats, const struct tracepoint *tracepoint);
/* The same, compiled when first asked for; thread-safe. */
struct tracepoint_program *tracepoint_program_of(const struct tracepoint *tracepoint);
/* Runs it; false when the format was not understood. */
bool tracepoint_run(const struct tracepoint_program *program, const struct tracepoint_formats *formats, const void *raw, size_t size,
		    struct strbuf *out);
