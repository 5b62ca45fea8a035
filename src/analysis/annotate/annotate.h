/* Annotate: samples added up by function and address, and functions taken apart into instructions and source lines.
 *
 *	samples ──► annotate_create() ──► functions, the hottest first ──► annotate_function() ──► struct annotation (result)
 */
#pragma once

#include "base/error.h"
#include "result/annotation.h"
#include "session/session.h"
#include "symbol/code/disasm.h"
#include "symbol/resolve.h"
#include "symbol/source_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fold;

struct annotate_options {
	enum disasm_syntax syntax;
	bool source; /* with lines of source text */
	struct source_options files;
};

/* A function that was sampled. */
struct annotate_function {
	struct dso *dso;
	const struct symbol *symbol;
	struct annotation_value *values; /* of each event of the recording */
	uint32_t first, count;		 /* private */
};

struct annotate {
	struct annotate_function *functions; /* in no order */
	size_t function_count;
	struct annotation_value *totals; /* of each event: all samples, also of unknown functions */
	size_t event_count;
	struct annotate_private *private;
};

/* Reads all samples that pass the session's filter. The strings of `options`, session and resolver must outlive it. */
struct error *annotate_create(struct session *session, struct resolver *resolver, const struct annotate_options *options,
			      struct annotate **ret);
/* The same of samples that were added up already: a finished fold by addresses, which isn't needed afterwards. */
struct annotate *annotate_of_fold(struct session *session, struct resolver *resolver, const struct annotate_options *options,
				  const struct fold *fold);
void annotate_destroy(struct annotate *annotate);

/* Numbers of the functions that have samples of these events, those with the largest period of the first event first, then of the second,
 * and so on. Freed by the caller. */
size_t annotate_order(const struct annotate *annotate, const unsigned int *events, size_t event_count, uint32_t **ret);

/* The function with what these events have in it; `style` and the names of the events are left to the caller. An error says why there is no
 * code. */
struct error *annotate_function(struct annotate *annotate, const struct annotate_function *function, const unsigned int *events,
				size_t event_count, struct annotation **ret);
/* Adds which data each instruction accesses. Returns of how many that is known. */
size_t annotate_add_data_types(const struct annotate *annotate, const struct annotate_function *function, struct annotation *annotation);
