/* What formats that write a line for each sample have in common: its columns, and texts that come again and again. Within view. */
#pragma once

#include "base/strbuf.h"
#include "result/samples.h"

/* A value of a sample, and of the frame of the sampled address. */
struct line_value {
	enum line_value_kind { LINE_NOTHING, LINE_NUMBER, LINE_ADDRESS, LINE_TEXT } kind;
	uint64_t number;
	const char *text; /* unsafe bytes still in it */
};

struct line_column {
	const char *id;
	enum line_column_type { LINE_COLUMN_TEXT, LINE_COLUMN_U32, LINE_COLUMN_U64 } type;
	struct line_value (*value)(const struct samples *samples, const struct samples_row *row);
};
/* All but the stack; ends with an id of NULL. */
extern const struct line_column line_columns[];

/* The names of functions, each escaped once. */
struct line_names {
	struct strbuf texts;
	size_t *ends; /* by function */
};
void line_names_init(struct line_names *names, const struct samples *samples, void (*add)(struct strbuf *out, const char *name));
void line_names_deinit(struct line_names *names);
/* For line_names_init(), where stacks are names between semicolons: one in a name would be another frame. */
void line_add_frame(struct strbuf *out, const char *name);
/* The functions of a stack, outermost first, with a character between them. `path` is the caller's to use again. */
void line_names_add_stack(const struct line_names *names, const struct samples *samples, uint32_t stack, char between, samples_path *path,
			  struct strbuf *out);
