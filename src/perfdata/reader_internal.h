/* Within perfdata: what the parts of the reader share. */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "base/mapping.h"
#include "base/vec.h"
#include "perfdata/header.h"
#include "perfdata/reader.h"

#include <pthread.h>

struct stream;

struct reader_private {
	struct header_kind kind;
	struct file_header header; /* file form */
	struct mapping file;	   /* the input itself, where it can be mapped */
	struct mapping spool;	   /* its records made native, where that was needed */
	struct stream *stream;	   /* streaming input, else NULL */
	bool payloads_removed;	   /* what follows AUXTRACE and TRACING_DATA isn't in `records` */
	uint64_t file_size;
	uint64_t headers_done; /* header records before this offset were applied */

	VEC(struct sample_layout) layouts;
	VEC(uint8_t) tracing_data; /* as it came from a pipe */

	/* id → index of the event. Ids are mostly close together: then `near` holds index + 1 by id - near_base. */
	struct map64 ids;
	uint32_t *near;
	uint64_t near_base;
	uint64_t near_count;
	/* Where samples and other records have their id: the same for all events of a recording. */
	uint16_t sample_id_offset;
	uint16_t trailer_id_offset; /* from the end */
	bool events_changed;	    /* the tables above are to be made anew */

	/* Records that lie misaligned in the mapping, copied when first asked for. */
	pthread_mutex_t copies_lock;
	struct map64 copies; /* offset → pointer */
	struct arena copies_arena;
};

/* Makes layouts, id tables, names and groups of reader->events fit what is known by now. */
void reader_update_events(struct reader *reader);

/* An event of the recording, from its attribute. */
struct event *reader_add_event(struct reader *reader, const struct event_attr *attr);

/* Names, groups, units and tracepoint formats from the features into the events. */
void reader_merge_features(struct reader *reader);

/* Applies a record that describes the recording (HEADER_ATTR, HEADER_FEATURE, EVENT_UPDATE, HEADER_BUILD_ID, ID_INDEX); others are ignored.
 * `header` is native. */
void reader_apply_header(struct reader *reader, const struct record_header *header);
