/* For tests: a machine that is not here, as files of /proc and /sys below a temporary directory. */
#pragma once

#include <stddef.h>

/* {path below the root, contents}; a newline is added. */
typedef const char *const tree_file[2];

/* Makes the directory `root` (a template for mkdtemp()) and the files in it. Ends the program when that isn't possible. */
void tree_make(char *root, tree_file *files, size_t count);
/* Removes all below `root`, and it. Returns 0, or what failed as system() does. */
int tree_remove(const char *root);
