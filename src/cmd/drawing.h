/* Flame graphs in files, whose names say how: .svg, .folded or .txt (folded stacks), else a page. */
#pragma once

#include "view/view.h"

/* Before a long recording: an error, which says what is possible, for names of pictures that can't be written. NULL paths are fine. */
struct error *drawing_check(const char *path);
bool drawing_is_folded(const char *path);
const struct view_ops *drawing_view(const char *path);
/* Replaces the file, once all of it is written. */
struct error *drawing_write(const struct calltree *tree, const struct view_ops *view, const struct view_options *options, const char *path);
