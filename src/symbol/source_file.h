/* Lines of source text, by the file names that debug information has. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct carried; /* symbol/carried/carried.h */

struct source_options {
	const char *symfs;	       /* looked below first, or NULL */
	const char *prefix;	       /* put before absolute names, or NULL: where the sources are now */
	unsigned int prefix_strip;     /* with `prefix`: that many leading directories are taken off first */
	const struct carried *carried; /* what the recording brought, which is looked at first; or NULL */
};

/* Files are read on first use and kept. One thread at a time. */
struct source_files;
/* The strings of `options` must outlive it. */
struct source_files *source_files_create(const struct source_options *options);
void source_files_destroy(struct source_files *files);
/* Line `number`, counted from 1, without its newline and not terminated; false when there is no such file or line. Lives as long as
 * `files` and what the recording brought. */
bool source_line(struct source_files *files, const char *path, uint32_t number, const char **ret_text, size_t *ret_size);
