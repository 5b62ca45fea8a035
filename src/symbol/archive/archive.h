/* Archives of what the build-id cache has: a tar whose members are named as the cache's files, so that tar can unpack it there, too.
 *
 *	usr/bin/ls/BUILDID/elf     .build-id/15/dfff… -> ../../usr/bin/ls/BUILDID     perf.data
 *
 * Builds without libarchive (archive_without.c) have errors only. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct archive_writer;
/* The name says how it is compressed: .tar, .tar.bz2, .tar.gz, .tar.xz or .tar.zst. */
struct error *archive_writer_open(const char *path, struct archive_writer **ret);
/* Adds the file at `path`. */
struct error *archive_writer_add(struct archive_writer *writer, const char *path, const char *name);
struct error *archive_writer_link(struct archive_writer *writer, const char *name, const char *target);
/* Closes it; NULL is fine. With `error`, which is returned, there is no archive afterwards. */
struct error *archive_writer_close(struct archive_writer *writer, struct error *error);

struct archive_unpacking {
	const char *cache; /* the build-id cache: nothing is written elsewhere */
	int recording;	   /* open for writing: where the member "perf.data" goes; -1 = nowhere */
	/* Results: */
	unsigned int files; /* of the cache */
	uint64_t recorded;  /* bytes of the recording */
	bool has_recording;
};
/* Takes out the members whose contents are what their names say. Links are not taken: the cache makes its own. The first member with a name
 * that leads out of the cache, that is a link, or that is larger than any file of a cache, as only the recording may be, is an error, and
 * what follows stays packed. */
struct error *archive_unpack(const char *path, struct archive_unpacking *unpacking);
