/* Within perfdata: what the parts of the reader share. */
#pragma once

#include "base/arena.h"
#include "base/files/mapping.h"
#include "base/hash.h"
#include "base/vec.h"
#include "perfdata/header.h"
#include "perfdata/reader.h"

#include <pthread.h>
#include <time.h>

struct stream;

struct cursor; /* base/cursor.h */

struct reader_private {
	struct header_kind kind;
	struct file_header header;	     /* file form */
	struct mapping file;		     /* the input itself, where it can be mapped */
	struct mapping spool;		     /* its records made native, where that was needed */
	struct stream *stream;		     /* streaming input, else NULL */
	struct reader_feed feed;	     /* of a reader of no recording; `next` is NULL else */
	uint64_t fed;			     /* bytes that came of it */
	struct reader_chunk *first_chunk;    /* what opening it brought along */
	bool traced;			     /* a record has described a hardware trace */
	bool vendor_features;		     /* record types 69 to 82 are features, not ID_INDEX and so on */
	bool formats_removed;		     /* what follows TRACING_DATA isn't in `records` */
	VEC(struct mapping) directory_files; /* data.0, data.1, … of a directory */
	uint64_t file_size;
	time_t file_time;      /* when the file was last changed: the kernel's perf takes that for when it was recorded */
	uint64_t headers_done; /* header records before this offset were applied */

	VEC(struct sample_layout) layouts;
	VEC(uint8_t) tracing_data; /* formats of tracepoints: a copy, or as they came from a pipe */

	/* id → index of the event. Ids are mostly close together: then `near` holds index + 1 by id - near_base. */
	struct map64 ids;
	uint32_t *near;
	uint64_t near_base;
	uint64_t near_count;
	/* Where samples and other records have their id: the same for all events of a recording. */
	uint16_t sample_id_offset;
	uint16_t trailer;	    /* bytes of it */
	uint16_t trailer_id_offset; /* from the end */
	/* How many events can have samples with the id of another recorder's, and that event when it is a single one: find_mistaken(). */
	size_t mistakable;
	struct event *mistaken;
	bool tables_outdated;	   /* events came or got ids since the tables above were made */
	bool names_outdated;	   /* … since names, groups and formats were given to the events */
	unsigned int settled;	   /* how often either was brought up to date */
	struct map64 named_guests; /* the keys are guest_pids */

	/* Records that lie misaligned in the mapping, copied when first asked for. */
	pthread_mutex_t copies_lock;
	struct map64 copies; /* offset → pointer */
	struct arena copies_arena;
};

/* Bringing tables and names up to date costs as much as there are events. An honest recording is described at its beginning; one that goes
 * on describing itself is not listened to any more after so many times. */
enum { READER_SETTLED_MAX = 64 };

/* A reader without input, to be filled; `path` is copied. */
struct reader *reader_create(const char *path);
/* reader_feed.c: the next chunk of a feed, checked. */
struct error *reader_next_fed(struct reader *reader, struct reader_chunk **ret);

/* To be called when events, their ids or what names them changed. */
void reader_events_changed(struct reader *reader);
/* Makes layouts and id tables of reader->events fit what is known by now. */
void reader_update_events(struct reader *reader);

/* An event of the recording, from its attribute. NULL: there are READER_EVENTS_MAX already. */
struct event *reader_add_event(struct reader *reader, const struct event_attr *attr);

/* Names, groups, units and tracepoint formats from the features into the events. */
void reader_merge_features(struct reader *reader);

/* A directory holds a file `data` of the file form and files data.N with more records: maps those and opens `data`. */
struct error *reader_open_directory(struct reader *reader, int directory, bool force, int *ret_fd);

/* Applies a record that describes the recording. `end` is behind its payload: an offset in reader->records. */
void reader_apply_record(struct reader *reader, const struct record_header *header, uint64_t end);

/* Parses formats of tracepoints. When that fails, or there are some already, nothing happens. */
void reader_load_formats(struct reader *reader, const void *data, size_t size);

/* The record types that one maker used for features in pipes. */
enum { RECORD_VENDOR_FEATURES = 69, RECORD_VENDOR_FEATURES_LAST = 82 };

static inline bool reader_is_vendor_feature(const struct reader *reader, uint32_t type)
{
	return reader->private->vendor_features && type >= RECORD_VENDOR_FEATURES && type <= RECORD_VENDOR_FEATURES_LAST;
}
/* Bytes that follow a record without being counted in its size. The header is native; `fields`, what is behind it, is of the other byte
 * order when `swap`. */
uint64_t reader_payload_size(const struct reader *reader, const struct record_header *header, const void *fields, bool swap);

/* Whether a record of the type describes the recording rather than what happened in it. */
bool reader_is_header_record(const struct reader *reader, uint32_t type);
/* Applies a record that describes the recording (HEADER_ATTR, HEADER_FEATURE, EVENT_UPDATE, HEADER_BUILD_ID); others are ignored.
 * `header` is native, what follows it is swapped when `swap`. */
void reader_apply_header(struct reader *reader, const struct record_header *header, bool swap);
/* After the last of them: brings the events up to date if something changed. */
void reader_settle_headers(struct reader *reader);

/* ---- reader_guests.c ---- */

/* Whether an ID_INDEX record, native, tells which ids are those of guests. */
bool reader_tells_guests(const struct record_header *header);
/* Takes note of these; the cursor is behind the record's header. */
void reader_apply_id_index(struct reader *reader, struct cursor *cursor);
/* The table, where some of the event's ids are those of guests; else NULL. */
const struct map64 *reader_guests_of(const struct reader *reader, const struct event *event);
