/* Where the lines of `perf script` go: standard output or one file an event, in large writes. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>

struct script_output {
	int fd;
	bool closed; /* nobody reads any more: the end of `perf script | head` */
	struct strbuf text;
	bool prompt;	  /* the limit doesn't grow */
	size_t limit;	  /* bytes that are collected before they are written */
	uint64_t written; /* bytes */
};

/* `prompt`: lines are wanted soon rather than in large pieces (a pipe that is read live). */
void script_output_init(struct script_output *output, int fd, bool prompt);
/* What wasn't written is dropped; the descriptor stays the caller's. */
void script_output_deinit(struct script_output *output);
/* Writes what was collected when that is enough; call it after each addition to `text`. */
struct error *script_output_flush_full(struct script_output *output);
/* Writes everything. */
struct error *script_output_flush(struct script_output *output);
/* Writes text that was made elsewhere, after everything collected so far. */
struct error *script_output_write(struct script_output *output, const char *data, size_t size);
