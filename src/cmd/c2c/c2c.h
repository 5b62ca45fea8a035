/* Parts of perf c2c. */
#pragma once

#include "analysis/memory/sharing.h"
#include "analysis/source_lines.h"
#include "app/command.h"
#include "app/groups.h"
#include "cmd/opening.h"
#include "cmd/report/report.h"
#include "result/table.h"

struct c2c_report_options {
	struct input_options input;
	struct output_options output;
	struct sharing_options sharing;
	const char *keys, *rank;
	int node_detail; /* 0: nodes; 1: with shares; 2: with CPUs */
	bool double_line, full_symbols, source, stats;
	struct callgraph_choice callgraph;
	bool stitch;
	bool text; /* --stdio */
	const char *format;
};

/* What is shown, of samples that were all added. */
struct c2c {
	const struct c2c_report_options *options;
	struct shared_lines sharing;
	struct opening opening;
	struct source_lines *lines;
	unsigned int comm_width, symbol_width, file_width, source_width; /* of the places */
};

/* One column of the table of lines or of that of places: the same for text and for programs. */
struct c2c_column {
	const char *id;
	const char *top;   /* the upper line of titles, exactly as wide as the columns below it; or NULL */
	unsigned int span; /* how many columns that is above */
	const char *title;
	unsigned int width;
	enum column_kind kind; /* REAL is shown without decimals */
	bool left;	       /* text that begins at the left */
	enum access_count count;
	/* NULL: the count. `place` is NULL in the table of lines. Texts are in `scratch`, or live as long as `c2c`. */
	union cell (*get)(const struct c2c *c2c, size_t index, const struct sharing_line *line, const struct sharing_place *place,
			  struct strbuf *scratch);
};

struct c2c_columns {
	VEC(struct c2c_column) list;
};

/* columns.c: frees with vec_deinit(). */
void c2c_line_columns(const struct c2c *c2c, struct c2c_columns *ret);
void c2c_place_columns(const struct c2c *c2c, struct c2c_columns *ret);
/* The columns in the line above the places of a line. */
void c2c_heading_columns(const struct c2c *c2c, struct c2c_columns *ret);
union cell c2c_cell(const struct c2c *c2c, const struct c2c_column *column, size_t index, const struct sharing_line *line,
		    const struct sharing_place *place, struct strbuf *scratch);
/* Finds the widths of what places are called. */
void c2c_measure(struct c2c *c2c);

/* One figure of the statistics. */
struct c2c_statistic {
	const char *id, *text;
	bool percent;
	uint64_t count;
	double share; /* with percent; NAN where there is nothing to share */
};
/* statistics.c: calls `visit` for each, of all samples or of shared lines. */
void c2c_statistics(const struct c2c *c2c, bool shared, void (*visit)(void *context, const struct c2c_statistic *statistic), void *context);

/* text.c, table.c */
void c2c_print(const struct c2c *c2c);
struct error *c2c_write_tables(const struct c2c *c2c);

extern const struct command cmd_c2c_report;
