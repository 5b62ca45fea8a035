/* Parts of the flame graph that its SVG and its HTML form share: both are the same drawing, data and script in another shell. */
#pragma once

#include "view/view.h"

/* The whole <svg> element but for its end tag: style, the frames that can be seen, each with a <title>, and the header over them. Then
 * `between`, and the inside of a <script>: the whole tree and the behaviour (flamegraph.js). An error when there is no memory for it. */
struct error *flamegraph_add(struct strbuf *out, const struct calltree *tree, const struct view_options *options, const char *between);
/* The finished text. */
struct error *flamegraph_write(const struct strbuf *text, const struct sink *out);
