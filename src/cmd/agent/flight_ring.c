/* Records of the last seconds, as they came. They lie in chunks, so that what is too old goes without moving the rest. */
#include "cmd/agent/flight_internal.h"

#include <string.h>

enum { CHUNK_BYTES = 64 << 10, ENTRY_USUAL = 4 << 10 };

static void drop_first(struct flight_ring *ring)
{
	struct flight_chunk *first = &ring->chunks.data[0];
	ring->bytes -= first->entries.len;
	ring->dropped = first->newest > ring->dropped ? first->newest : ring->dropped;
	strbuf_deinit(&first->entries);
	memmove(first, first + 1, --ring->chunks.len * sizeof(*first));
}

void flight_ring_deinit(struct flight_ring *ring)
{
	while (ring->chunks.len)
		drop_first(ring);
	vec_deinit(&ring->chunks);
}

void flight_ring_add(struct flight_ring *ring, const struct flight_entry *entry, const void *record, const char *texts)
{
	static const char padding[8];
	if (!ring->chunks.len || vec_last(&ring->chunks)->entries.len >= CHUNK_BYTES) {
		vec_push(&ring->chunks, (struct flight_chunk){0});
		strbuf_reserve(&vec_last(&ring->chunks)->entries, CHUNK_BYTES + ENTRY_USUAL); /* so that it needn't be moved */
	}
	struct flight_chunk *chunk = vec_last(&ring->chunks);
	size_t before = chunk->entries.len;
	strbuf_add(&chunk->entries, entry, sizeof(*entry));
	strbuf_add(&chunk->entries, record, entry->record_size);
	strbuf_add(&chunk->entries, texts, entry->texts_size);
	strbuf_add(&chunk->entries, padding, -chunk->entries.len % sizeof(padding));
	ring->bytes += chunk->entries.len - before;
	if (entry->time > chunk->newest)
		chunk->newest = entry->time;
}

void flight_ring_drop(struct flight_ring *ring, uint64_t older_than, uint64_t most_bytes)
{
	while (ring->chunks.len && (ring->chunks.data[0].newest < older_than || ring->bytes > most_bytes))
		drop_first(ring);
}

const struct flight_entry *flight_ring_next(const struct flight_ring *ring, struct flight_cursor *cursor)
{
	while (cursor->chunk < ring->chunks.len && cursor->at >= ring->chunks.data[cursor->chunk].entries.len)
		*cursor = (struct flight_cursor){cursor->chunk + 1, 0};
	if (cursor->chunk >= ring->chunks.len)
		return NULL;
	const struct flight_entry *entry = (const void *)(ring->chunks.data[cursor->chunk].entries.data + cursor->at);
	size_t size = sizeof(*entry) + entry->record_size + entry->texts_size;
	cursor->at += size + -size % 8;
	return entry;
}
