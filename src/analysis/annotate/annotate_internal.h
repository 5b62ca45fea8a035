/* What annotate.c (adding up) and annotate_lines.c (taking apart) share. */
#pragma once

#include "analysis/annotate/annotate.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/vec.h"
#include "symbol/code/code_file.h"

/* What one event has at one address. */
struct annotate_place {
	uint64_t address; /* of the dso */
	uint32_t function;
	uint32_t event;
	struct annotation_value value;
};

/* The code of one dso, opened on first use. */
struct annotate_code {
	bool tried;
	struct code_file *file; /* NULL = there is none */
	char *why_not;
	struct disasm *disasm;
};

struct blocks;

struct annotate_private {
	struct session *session;
	struct resolver *resolver;
	struct annotate_options options;
	struct arena arena;
	VEC(struct annotate_place) places; /* sorted by function, address, event */
	struct annotate_code *codes;	   /* by index of the dso */
	size_t code_count;		   /* files that there were when it was made */
	struct source_files *sources;
	bool readable;		/* the recording can be read once more */
	struct blocks **blocks; /* by event, made when they are first asked for */
	struct intern files, mnemonics;
};

/* annotate_lines.c: which of the instructions, whose line numbers are given, covers an address; `count`: none. */
size_t annotate_position(const struct annotation *annotation, const uint32_t *instructions, size_t count, uint64_t address);

/* annotate_cycles.c: what the branch records of an event tell of the annotation's instructions, whose numbers are given. */
struct error *annotate_add_cycles(struct annotate_private *private, const struct annotate_function *function, const struct event *event,
				  const uint32_t *instructions, size_t count, struct annotation *annotation);
void annotate_destroy_blocks(struct annotate_private *private, size_t event_count);
