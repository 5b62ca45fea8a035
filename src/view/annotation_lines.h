/* The lines of an annotation as text, one at a time: for whoever shows some of them. */
#pragma once

#include "base/strbuf.h"
#include "result/annotation.h"

struct annotation_lines;

/* Widths are those of the annotation's style at this time. Keeps the pointer. */
struct annotation_lines *annotation_lines_open(const struct annotation *annotation);
void annotation_lines_close(struct annotation_lines *lines);
/* Adds a line, made harmless, without a newline. */
void annotation_lines_add(struct annotation_lines *lines, size_t line, struct strbuf *out);
/* Adds what stands above: what was counted, the function and its file, a line each. */
void annotation_lines_add_head(struct annotation_lines *lines, struct strbuf *out);
