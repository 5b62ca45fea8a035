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

struct error *output_open(const char *path, bool keep_old, struct output *ret);
