/* A view renders results. One file, one `const struct view_ops view_NAME`; it sees results only, never sessions or analyses. */
#pragma once

#include "base/error.h"
#include "base/sink.h"
#include "base/strbuf.h"
#include "result/annotation.h"
#include "result/calltree.h"
#include "result/counting.h"
#include "result/document.h"
#include "result/samples.h"
#include "result/table.h"
#include "result/type_layout.h"

struct view_options {
	const char *title;
	const char *unit;     /* of weights: "samples", "ns", an event's name */
	char separator;	      /* 0 = aligned columns */
	bool header;	      /* column titles and comment lines */
	bool color;	      /* percentages in colours, for a terminal */
	unsigned int columns; /* terminal width; 0 = unlimited */
	unsigned int jobs;    /* threads to make text with; 0 = 1 */

	/* Of counting: */
	const char *between; /* fields of csv; NULL = "," */
	bool ungrouped;	     /* large numbers without thousands' separators */
	bool colours;	     /* mark bad metrics */
	bool only_metrics;   /* no counts */
	bool table;	     /* each run's time */
	bool plain_summary;  /* csv: the summary's lines don't say that they are one */

	/* Of flame graphs: */
	const char *subtitle; /* NULL = none */
	const char *palette;  /* a name that flame_palette_find() knows; NULL = the default */
	bool icicle;	      /* the root is at the top */
	bool changes;	      /* the nodes' counts are what their weights were before: red is more, blue is less */
};

struct view_ops {
	const char *name;
	const char *summary;
	bool for_programs; /* raw values: what --format takes */
	/* Each may be NULL: the view cannot show that. */
	struct error *(*table)(const struct table *table, const struct view_options *options, const struct sink *out);
	struct error *(*calltree)(const struct calltree *tree, const struct view_options *options, const struct sink *out);
	struct error *(*counting)(const struct counting *counting, const struct view_options *options, const struct sink *out);
	struct error *(*annotation)(const struct annotation *annotation, const struct view_options *options, const struct sink *out);
	struct error *(*type_layout)(const struct type_layout *layout, const struct view_options *options, const struct sink *out);
	struct error *(*samples)(const struct samples *samples, const struct view_options *options, const struct sink *out);
	const char *samples_summary; /* a line about that, where it isn't `summary`; or NULL */
	unsigned int detail;	     /* what `samples` needs: enum samples_detail */
	bool binary;		     /* what it writes is not for a terminal */
};

/* All views; ends with NULL. Made by the build. */
extern const struct view_ops *const view_list[];
const struct view_ops *view_find(const char *name);
bool view_can_show(const struct view_ops *view, enum result_kind kind);
/* One for programs that can show results of one of the kinds, or NULL; and the names of all of them, "csv, json or folded": what can show
 * the first kind comes first. */
const struct view_ops *view_for_programs(const char *name, const enum result_kind *kinds, size_t count);
void view_names_for_programs(const enum result_kind *kinds, size_t count, struct strbuf *out);

/* Writes the results one after the other; nothing if there is one that the view can't show. */
struct error *view_write(const struct view_ops *view, const struct document *document, const struct view_options *options,
			 const struct sink *out);
/* The same for a document of one result. */
struct error *view_write_one(const struct view_ops *view, struct result result, const struct view_options *options, const struct sink *out);
/* Writes a table with a header to the file, in a format whose name is known ("csv"), and destroys it. */
struct error *view_print_table(const char *format, struct table *table, FILE *file);
/* The same of several, one after the other. */
struct error *view_print_tables(const char *format, struct table *const *tables, size_t count, FILE *file);
/* As stdio has it below a row: the row's call graph, and an empty line when anything was drawn. */
void stdio_add_graph(const struct table_graph *graph, const struct row *row, bool color, struct strbuf *out);
