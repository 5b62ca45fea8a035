/* Parts of the flame graph that its SVG and its HTML form share: both are the same drawing, data and script in another shell. */
#pragma once

#include "view/view.h"

/* The whole <svg> element but for its end tag: style, the frames that can be seen, each with a <title>, and the header over them. */
void flamegraph_add_drawing(struct strbuf *out, const struct calltree *tree, const struct view_options *options);
/* The inside of a <script>: the whole tree and the behaviour (flamegraph.js). An error when there is no memory for it. */
struct error *flamegraph_add_script(struct strbuf *out, const struct calltree *tree, const struct view_options *options);
/* The finished text. */
struct error *flamegraph_write(const struct strbuf *text, const struct sink *out);
