/* Which ids are those of counters in guests, whose recordings were put into the host's (perf inject --guest-data). */
#include "base/cursor.h"
#include "base/files/mapping.h"
#include "perfdata/reader_internal.h"

enum { INDEX_ENTRY = 32, INDEX_GUEST = 16 };

static bool has_guests(uint64_t count, uint64_t bytes)
{
	return count && count <= bytes / (INDEX_ENTRY + INDEX_GUEST);
}

bool reader_tells_guests(const struct record_header *header)
{
	uint64_t size = mapping_u16(&header->size), head = sizeof(*header) + sizeof(uint64_t);
	return size >= head && has_guests(mapping_u64(header + 1), size - head);
}

/* Behind the entries (id, index, CPU, thread) are as many of guests (process of the hypervisor, VCPU). */
void reader_apply_id_index(struct reader *reader, struct cursor *cursor)
{
	const bool settled = !reader->private->tables_outdated;
	struct sample_layout *layouts = reader->private->layouts.data;
	uint64_t count = cursor_u64(cursor);
	if (!has_guests(count, cursor_left(cursor)))
		return;
	struct cursor guests = cursor_init(cursor->at + count * INDEX_ENTRY, count * INDEX_GUEST, cursor->swap);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t id = cursor_u64(cursor), machine_pid = cursor_u64(&guests), vcpu = cursor_u64(&guests);
		cursor->at += INDEX_ENTRY - sizeof(id);
		if (!machine_pid || machine_pid > INT32_MAX)
			continue;
		*map64_insert(&reader->guests, id, NULL) = machine_pid << 32 | (uint32_t)vcpu;
		bool is_new;
		map64_insert(&reader->private->named_guests, machine_pid, &is_new);
		if (is_new)
			vec_push(&reader->guest_pids, (uint32_t)machine_pid);
		const struct event *event = settled ? reader_event_by_id(reader, id) : NULL;
		if (event)
			layouts[event->index].guests = &reader->guests;
	}
}

const struct map64 *reader_guests_of(const struct reader *reader, const struct event *event)
{
	for (size_t i = 0; reader->guests.count && i < event->ids.len; i++)
		if (map64_find(&reader->guests, event->ids.data[i]))
			return &reader->guests;
	return NULL;
}
