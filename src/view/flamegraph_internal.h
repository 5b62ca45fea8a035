/* Parts of the flame graph that its SVG and its HTML form share. */
#pragma once

#include "view/view.h"

/* Frames deeper than this are left out: no screen shows them. */
enum { FLAMEGRAPH_DEEPEST = 1000 };

/* What the weights are, for people. */
const char *flamegraph_unit(const struct view_options *options);
/* The whole <svg> element but for its end tag: the frames that can be seen, each with a <title>, and the header over them. */
void flamegraph_add_drawing(struct strbuf *out, const struct calltree *tree, const struct view_options *options, unsigned int width);
/* The inside of a <script>: the whole tree and the behaviour (flamegraph.js). `page`: the drawing takes the window's width. */
void flamegraph_add_script(struct strbuf *out, const struct calltree *tree, const struct view_options *options, unsigned int width,
			   bool page);
