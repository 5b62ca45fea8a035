/* Writing a file so that its name always stands for a whole one: the new contents go to a neighbour (NAME.XXXXXXXX, made by nobody
 * else) that takes the old file's place when it is complete.
 *
 *	nothing yet              created, with the rights that the umask leaves
 *	a regular file           replaced; the new one has its rights if it is ours
 *	a symbolic link          its target is replaced, if the link belongs to us or root, else refused
 *	a link to nothing, a device, a pipe, what is in /dev or /proc      opened and written as it is
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

/* Opens a text that a command was told to write (-o): created, or cut to zero, or written on with `append`. A symbolic link of another user
 * (in a directory where all may write) is refused, since it would let that user choose what is overwritten; but not what is in /dev or
 * /proc. */
struct error *output_file_open(const char *path, bool append, int *ret_fd);
/* The same as a stream, closed by the caller. */
struct error *output_stream_open(const char *path, bool append, FILE **ret);

/* Whether the path means a device or what a process has open (in /dev, /proc), not a file that could be made or replaced. */
bool output_is_device(const char *path);

struct replacement {
	FILE *file;   /* to write to */
	char *path;   /* private: what is replaced */
	char *beside; /* private: the neighbour; NULL: written as it is */
};

struct error *replacement_begin(const char *path, struct replacement *ret);
/* The same for a place that others may have prepared: what has the name is replaced itself, a symbolic link not followed, a device not
 * written to. */
struct error *replacement_begin_here(const char *path, struct replacement *ret);
/* Closes the file. With `error`, which is returned, the old file stays; else the new one takes its place. */
struct error *replacement_end(struct replacement *replacement, struct error *error);

/* A new directory of our own in TMPDIR, /tmp or /var/tmp: NAME-XXXXXX. Its path is freed by the caller. */
struct error *temporary_directory(const char *name, char **ret_path);
/* Makes the directory and those above it, as far as they aren't there. False: errno says why not. */
bool directories_make(const char *path, unsigned int mode);
