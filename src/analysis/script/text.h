/* Samples and side-band records as the lines of `perf script`, byte for byte those of the kernel's perf.
 *
 * One `struct script_text` belongs to one thread; it holds caches of what frames and stacks look like, bounded in size. Several may work
 * side by side on one session, unless options make a line depend on the lines before it (script_text_ordered()).
 */
#pragma once

#include "analysis/script/fields.h"
#include "analysis/stack.h"
#include "session/session.h"

#include <stdbool.h>

struct script_text;

struct script_text_options {
	struct script_fields fields; /* after script_fields_check() */
	bool json;		     /* an object a sample, whatever the fields */
	bool callchains;	     /* print stacks where there are any */
	bool nanoseconds;	     /* times with nine decimals */
	bool relative;		     /* times count from the first line */
	bool delta;		     /* … from the line before */
	bool latency;		     /* narrower names and CPUs, as latency tracers have them */
	bool kernel_path;	     /* the kernel's file instead of [kernel.kallsyms] */
	bool source_path;	     /* source files with their paths */
	unsigned int file_width;     /* columns for names of files, which are cut if they are longer; 0 = as they are */
	bool disassemble;	     /* instructions as an assembler has them instead of their bytes */
	bool verbose;		     /* names where letters would do */
	unsigned int max_stack;
	uint64_t max_blocks;	    /* of code between branches; 0 = all */
	enum stack_inlines inlines; /* which stacks have lines for inlined functions */
	struct stitcher *stitcher;  /* --stitch-lbr, or NULL: samples must come one after the other */
	const char *const *stop_at; /* symbols at which a stack ends, NULL-terminated, or NULL */
};

struct script_text *script_text_create(const struct session *session, struct resolver *resolver, const struct script_text_options *options);
void script_text_destroy(struct script_text *text);

/* Each line must be made after the ones before it, by one object. */
bool script_text_ordered(const struct script_text *text);
/* Adds the line or lines of a sample. */
void script_text_sample(struct script_text *text, const struct record *record, const struct sample *sample, struct thread *thread,
			struct strbuf *out);

/* Whether the record is about counts of `perf stat record`: all of these are to be given to script_text_record(), by one object. */
bool script_text_is_count(const struct record *record);
/* Adds the line or lines of a side-band record; of counts: their table, when the record ends a round of them. */
void script_text_record(struct script_text *text, const struct record *record, struct strbuf *out);
