/* What was hopped over, and where to begin (hop.h). */
#include "session/hop.h"

#include "base/files/mapping.h"
#include "base/mem.h"
#include "session/session_internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A table of its own lies on lines of the cache that no other thread writes to. */
void hopped_init(struct hopped *hopped, const struct session *session)
{
	size_t events = session->private->known_events;
	uint64_t *counts = hopped->counts;
	if (!counts || hopped->events != events) {
		free(counts);
		counts = mem_alloc_table(events + 1, sizeof(*counts));
	}
	memset(counts, 0, (events + 1) * sizeof(*counts));
	*hopped = (struct hopped){.counts = counts, .events = events};
}

void hopped_deinit(struct hopped *hopped)
{
	free(hopped->counts);
	*hopped = (struct hopped){0};
}

static void note_times(struct session *session, uint64_t first, uint64_t last)
{
	if (first && (!session->first_time || first < session->first_time))
		session->first_time = first;
	if (last > session->last_time)
		session->last_time = last;
}

void hopped_count(struct hopped *hopped, struct session *session)
{
	session->record_counts[RECORD_SAMPLE] += hopped->samples;
	for (size_t i = 0; i < hopped->events; i++)
		session->event_counts[i].samples += hopped->counts[i];
	note_times(session, hopped->first_time, hopped->last_time);
	hopped_init(hopped, session);
}

static bool looks_like_records(const struct reader *reader, uint64_t offset)
{
	enum { ENOUGH = 32 };
	for (unsigned int i = 0; i < ENOUGH && offset < reader->data_end; i++) {
		if (!reader_is_plain(reader, offset))
			return false;
		offset += mapping_u16(reader->records + offset + offsetof(struct record_header, size));
	}
	return true;
}

uint64_t hop_find_record(const struct reader *reader, uint64_t from)
{
	if (from == reader->data_offset)
		return from;
	from = (from + 7) & ~(uint64_t)7;
	for (uint64_t offset = from; offset < reader->data_end && offset - from <= READER_RECORD_MAX; offset += 8)
		if (looks_like_records(reader, offset))
			return offset;
	return UINT64_MAX;
}
