/* Batches that wait, in a folder of their own: in order, each whole or not there, whatever happens to the process or the machine.
 *
 *	FOLDER/lock                     held by the process that has the spool
 *	FOLDER/dropped                  how much was given up since the folder was made
 *	FOLDER/0000000000000007.batch   a batch, by its number; brought to disk before it has its name
 *
 * A batch that is given up is first noted, then removed: who is killed in between finds the note, and doesn't count it again. Without a
 * folder all is in memory. One thread at a time.
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum { SPOOL_ID = 16 };

struct spool_batch {
	uint64_t number;
	uint8_t id[SPOOL_ID];
	uint64_t samples;
	uint64_t bytes; /* that it takes in the spool */
	char *memory;	/* private: the batch, without a folder */
};

struct spool_totals {
	uint64_t batches, samples;
};

struct spool {
	VEC(struct spool_batch) batches; /* the oldest first; for readers */
	uint64_t bytes;			 /* of all of them */
	struct spool_totals dropped;	 /* since the folder was made */
	uint64_t next;			 /* private from here on */
	char *folder;
	int folder_fd, lock_fd, notes_fd;
	uint64_t notes; /* that were written */
};

/* NULL = no folder. Another process that has it is an error, as is a folder in which others may write. *ret_damaged: files that were no
 * batches any more; they are removed and counted as dropped, with as many samples as they still tell. */
struct error *spool_open(const char *folder, struct spool **ret, struct spool_totals *ret_damaged);
void spool_close(struct spool *spool);

/* Behind all others. An error (the disk is full) leaves nothing behind. */
struct error *spool_add(struct spool *spool, const uint8_t id[SPOOL_ID], uint64_t samples, const void *data, size_t size);
/* The bytes of the oldest one into `ret`, which is emptied before. ERROR_FORMAT: they aren't what was put there. */
struct error *spool_read_first(const struct spool *spool, struct strbuf *ret);
/* The engine has the oldest one. */
void spool_remove_first(struct spool *spool);
/* Gives up the batch with this place in `batches`, and counts it. */
void spool_drop(struct spool *spool, size_t place);
/* Counts a batch as dropped that could not be added. */
void spool_count_dropped(struct spool *spool, uint64_t samples);

/* The bytes of a file as a batch: false where they aren't one, or not whole. `ret->samples` is set where at least that can be told.
 * `ret_data` lies in `file`. */
bool spool_decode(const void *file, size_t size, struct spool_batch *ret, const void **ret_data, size_t *ret_size);
