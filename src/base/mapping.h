/* A whole file, mapped read-only. A file that shrinks while it is mapped does not kill us: pages that went away read as zero (a SIGBUS
 * handler, installed on first use, puts zero pages in their place). */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct mapping {
	const uint8_t *data; /* NULL when the file is empty */
	size_t size;
};

struct error *mapping_open(const char *path, struct mapping *ret);
/* Maps `fd`, which may be closed afterwards. */
struct error *mapping_open_fd(int fd, const char *name, struct mapping *ret);
void mapping_close(struct mapping *mapping);
/* Whole pages within `size` bytes at `data`, which lie in a mapping, leave this process's memory; whoever reads them again gets them back
 * from the file. For readers that go through large files once. */
void mapping_forget(const uint8_t *data, size_t size);

/* A nameless file that vanishes when closed, in TMPDIR, /var/tmp or /tmp; what does not fit in memory is put there. */
struct error *mapping_create_temporary(int *ret_fd);
