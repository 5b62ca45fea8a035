/* Parts of the flame graph that its SVG and its HTML form share. */
#pragma once

#include "view/view.h"

/* Frames deeper than this are left out: no screen shows them. */
enum { FLAMEGRAPH_DEEPEST = 1000 };

/* The behaviour, NUL-terminated: flamegraph.js. It expects the data and the elements that the functions below write. */
extern const char flamegraph_script[];

/* Height of the drawing in pixels. */
unsigned int flamegraph_height(const struct calltree *tree);
/* Opens the <svg> element: style, title, buttons, and the group that takes the frames (both are left open). */
void flamegraph_add_controls(struct strbuf *out, const struct calltree *tree, const struct view_options *options, unsigned int width);
/* The frames that can be seen, as SVG groups with a <title>. */
void flamegraph_add_frames(struct strbuf *out, const struct calltree *tree, const char *unit, unsigned int width);
/* The whole tree as `var FLAME=…;`. `page`: the drawing takes the window's width. */
void flamegraph_add_data(struct strbuf *out, const struct calltree *tree, const char *unit, unsigned int width, bool page);
