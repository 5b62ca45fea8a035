/* User parts of call chains, by thread and cookie. Records stay where they are: only where is noted. */
#include "session/deferred.h"

#include "base/files/mapping.h"

static uint64_t key_of(uint32_t tid, uint64_t cookie)
{
	return hash_combine(cookie, tid);
}

const char *deferred_note(struct deferred *deferred, const struct reader *reader, const struct record_header *header)
{
	const struct record_deferred *record = (const struct record_deferred *)header;
	const struct event *event = reader_event(reader, header);
	if (!event)
		return "deferred call chain of an unknown event";
	const struct sample_layout *layout = &reader->layouts[event->index];
	uint16_t size = mapping_u16(&header->size);
	size_t rest = size - sizeof(*record);
	struct sample_id id;
	if (size < sizeof(*record) || rest < layout->trailer || record->count > (rest - layout->trailer) / sizeof(uint64_t))
		return "call chain longer than its record";
	sample_id_decode(layout, header, &id);
	*map64_insert(&deferred->records, key_of(id.tid, record->cookie), NULL) = (uintptr_t)header;
	return NULL;
}

void deferred_find(const struct deferred *deferred, struct sample *sample)
{
	uint64_t count = sample->chain_count;
	if (count < 2 || sample->chain[count - 2] != CALLCHAIN_USER_DEFERRED)
		return;
	uint64_t cookie = sample->chain[count - 1];
	const uint64_t *found = map64_find(&deferred->records, key_of(sample->tid, cookie));
	const struct record_deferred *record = found ? (const struct record_deferred *)(uintptr_t)*found : NULL;
	sample->chain_count = count - 2;
	if (!record || record->cookie != cookie)
		return;
	/* The count was checked when it was noted; the file may have changed since. */
	uint64_t words = mapping_u64(&record->count), most = (UINT16_MAX - sizeof(*record)) / sizeof(uint64_t);
	sample->deferred = record->words;
	sample->deferred_count = words < most ? words : most;
}

void deferred_deinit(struct deferred *deferred)
{
	map64_deinit(&deferred->records);
}
