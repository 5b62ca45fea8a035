/* Writer: one perf.data being recorded, as a file or as a pipe stream. It takes whole records and puts them down in large pieces without
 * looking into them; it knows nothing of rings or of processes.
 *
 * Life of a recording:
 *
 *	writer_open()          header, attributes and ids are on disk (pipe: all header records are sent)
 *	writer_add() …         records that were made up here (side-band of what already runs): collected in a small buffer
 *	writer_append() …      pieces of rings: written straight from where they are, or compressed (little ones wait for the round's end)
 *	writer_finish_round()  after each pass over all rings: what was appended before can be sorted
 *	writer_finish_data()   the data section is complete; a file can be opened with reader_open() now, to look for build-ids
 *	writer_finish()        feature sections and the final header (pipe: build-ids)
 *	writer_close()
 *
 * A recorder that is killed leaves a readable file at any time: its header's data size is moved forward after every write, and covers whole
 * records only; at the end of a round all that was appended is written. After a failed write (disk full, quota, broken pipe) the file is
 * cut back to the last whole record, every later call returns an error at once, and writer_finish() still completes the header as far as
 * the disk allows: such a file holds all that was written before and never claims more.
 *
 * The kernel's perf from 5.2 on (COMPRESSED) reads everything written here. Not thread-safe.
 */
#pragma once

#include "base/error.h"
#include "event/event.h"
#include "perfdata/features/features.h"
#include "perfdata/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct writer;

struct writer_options {
	const char *path;      /* NULL = "perf.data"; "-" = standard output (pipe format); a FIFO gets the pipe format too */
	int compression_level; /* zstd: 0 = none, 1 … 22 */
	size_t ring_size;      /* bytes of one ring, noted for readers that uncompress; 0 = 4 MB */
	bool directory;	       /* `path` becomes a directory, the recording its file `data` */
	bool bare;	       /* a file of such a directory: records, but no header and no ends of rounds */
	bool keep_old;	       /* an existing recording of that name becomes NAME.old; else it is replaced */
};

/* Opens the output and writes the head. `events` have their ids and must live as long as the writer. `features` may be NULL for a file, but
 * recordings with tracepoints or compression are readable after a kill only with them (without build-ids); for a pipe they are sent now, so
 * they must be complete but for build_ids (with tracing_data where there are tracepoints). Errors say why and what to do: a symbolic link
 * or another user's file when running as root, no space, no permission. */
struct error *writer_open(const struct writer_options *options, const struct event_list *events, const struct features *features,
			  struct writer **ret);

/* The output has the pipe format. */
bool writer_is_pipe(const struct writer *writer);
/* The name given, "perf.data" by default, "-" for standard output. */
const char *writer_path(const struct writer *writer);

/* Adds one whole record; it is copied. Not compressed. */
struct error *writer_add(struct writer *writer, const void *record, size_t size);
/* Appends whole records that lie in `count` pieces (at most 62; a ring that wraps: two; a record may straddle pieces). Nothing is kept: the
 * pieces can be reused on return. */
struct error *writer_append(struct writer *writer, const struct iovec *pieces, int count);
/* Adds an AUXTRACE record and the trace that follows it, in `count` pieces (at most 2), which aren't compressed. The
 * record's size is filled in: the trace's, rounded up to a multiple of 8 with zeros. A file's header tells where the record is. */
struct error *writer_add_trace(struct writer *writer, const struct record_auxtrace *record, const struct iovec *pieces, int count);
/* Adds a build-id as a record of its own, ahead of the samples that need it. */
struct error *writer_add_build_id(struct writer *writer, const struct feature_build_id *entry);
/* FINISHED_ROUND; nothing when no byte was appended since the last one. */
struct error *writer_finish_round(struct writer *writer);
/* A round without records, written at once: readers of a stream show a round when they have seen the next ones. */
struct error *writer_add_empty_round(struct writer *writer);
/* FINISHED_INIT: the side-band of what already ran is complete. */
struct error *writer_finish_init(struct writer *writer);
/* Writes what is still in the buffer. */
struct error *writer_flush(struct writer *writer);

struct error *writer_finish_data(struct writer *writer);
/* `features` may be NULL: none. EVENT_DESC, GROUP_DESC, BRANCH_STACK and COMPRESSED are added from what the writer knows, and to
 * AUXTRACE where these records are. */
struct error *writer_finish(struct writer *writer, const struct features *features);
/* Writes what is still in the buffer, closes and frees; does nothing for NULL. Without writer_finish() the file stays as a killed recorder
 * leaves it. */
void writer_close(struct writer *writer);

/* What was written so far, for --max-size, --switch-output=SIZE and the closing line. */
struct writer_totals {
	uint64_t file_bytes;	   /* on disk or sent */
	uint64_t data_bytes;	   /* of them in the data section */
	uint64_t appended_bytes;   /* given to writer_append() */
	uint64_t compressed_bytes; /* what they became; 0 without compression */
};
struct writer_totals writer_totals(const struct writer *writer);
