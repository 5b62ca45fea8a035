/* The parts of the text view. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "result/annotation.h"
#include "result/calltree.h"
#include "result/table.h"
#include "view/view.h"

/* The escape sequence that a percentage begins with; NULL where it is too small for a colour. */
const char *stdio_color(double percent);
#define STDIO_COLOR_END "\033[m"
/* A type with its members; a function with its instructions. */
struct error *stdio_type_layout(const struct type_layout *layout, const struct view_options *options, const struct sink *output);
struct error *stdio_annotation(const struct annotation *annotation, const struct view_options *options, const struct sink *output);
