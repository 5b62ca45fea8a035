/* Opening the file that a recording goes to, without being led astray. Within perfdata.
 *
 * A recorder often runs as root in a directory where others may write. Then a symbolic link or a file that somebody put there could turn
 * the recording into a weapon against other files: it is refused, with the reason. An existing recording is kept as NAME.old. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct output {
	int fd;
	bool pipe; /* cannot be written at a position: pipe format */
};

/* An existing recording becomes NAME.old, in place of what is that. */
struct error *output_move_aside(const char *path);

/* output_directory.c: recordings that are directories. */

/* A directory with a file `data` in it. */
bool output_is_recording_directory(const char *path);
/* Removes NAME.old where rename() wouldn't: it or NAME is a directory. Nothing happens to what is no recording. */
void output_remove_old(const char *path);
/* Makes the directory `path` and opens its file `data`. */
struct error *output_open_directory(const char *path, bool keep_old, struct output *ret);
struct error *output_open(const char *path, bool keep_old, struct output *ret);
