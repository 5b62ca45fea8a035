/* Drawings of a timechart: time goes to the right, CPUs stand above, threads below. */
#pragma once

#include "base/error.h"
#include "base/sink.h"
#include "result/timechart.h"

#include <stdbool.h>
#include <stdint.h>

struct timechart_drawing {
	double width;		  /* of the SVG, in pixels */
	const char *highlight;	  /* runs of threads whose name has this in it; or NULL */
	uint64_t highlight_ns;	  /* runs that last longer; 0 = none */
	bool no_power, no_eagain; /* leave out what CPUs did by their own account, and system calls that failed with EAGAIN */
};

/* An image that needs nothing else. */
struct error *timechart_write_svg(const struct timechart *chart, const struct timechart_drawing *drawing, const struct sink *out);
/* A page that needs nothing else, to zoom and search in. */
struct error *timechart_write_html(const struct timechart *chart, const struct timechart_drawing *drawing, const struct sink *out);

/* ---- shared by both ---- */

/* "running", "read" …: also the class of a span's rectangle. */
const char *timechart_kind_name(enum timechart_kind kind);
/* Whether a span is drawn. */
bool timechart_draws(const struct timechart_drawing *drawing, const struct timechart_row *row, size_t span);
bool timechart_highlights(const struct timechart_drawing *drawing, const struct timechart_row *row, const struct timechart_span *span);
/* "sort:4711 (34.0ms)", without escapes; of system calls with the bytes that they moved. */
void timechart_add_label(struct strbuf *out, const struct timechart *chart, const struct timechart_row *row);
