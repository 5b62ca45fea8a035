/* Counting records. Most are samples, one after the other in a mapping: these are hopped over from header to header. A sample that holds
 * the counters of a group stands for one of each member that advanced, so that it has to be decoded. */
#include "session/tally.h"

#include "session/session_internal.h"

#include <string.h>

struct counting_records {
	struct reader *reader;
	struct tally *tally;
	struct readings readings;
	reading_values values;
	size_t known_events;
	bool hops;
};

/* In a stream events come with its first records. */
static void look_at_events(struct counting_records *counting)
{
	const struct reader *reader = counting->reader;
	struct tally *tally = counting->tally;
	size_t count = reader->events.events.len;
	if (count == counting->known_events)
		return;
	tally->events = mem_resize(tally->events, count * sizeof(*tally->events));
	memset(tally->events + counting->known_events, 0, (count - counting->known_events) * sizeof(*tally->events));
	counting->known_events = count;
	readings_deinit(&counting->readings);
	readings_init(&counting->readings, reader);
	free(counting->values);
	counting->values = reading_values_create(&counting->readings);
	counting->hops = reader->stable && !counting->readings.present;
}

static void count_members(struct counting_records *counting, const struct event *event, const struct record_header *header)
{
	const struct sample_layout *layout = &counting->reader->layouts[event->index];
	struct sample sample;
	uint64_t index = 0;
	if (!readings_splits(&counting->readings, layout)) {
		counting->tally->events[event->index].samples++;
		return;
	}
	if (sample_decode(layout, &event->attr, header, &sample))
		return;
	while ((event = readings_next(&counting->readings, counting->reader, layout, counting->values, &index, &sample)))
		counting->tally->events[event->index].samples++;
}

static void count_record(struct counting_records *counting, const struct record_header *header)
{
	struct tally *tally = counting->tally;
	/* Once: others may write to the file. */
	const uint32_t type = mapping_u32(&header->type);
	tally->records[type < 256 ? type : 0]++;
	if (type != RECORD_SAMPLE && type != RECORD_LOST_SAMPLES)
		return;
	const struct event *event = reader_event(counting->reader, header);
	if (event && type == RECORD_SAMPLE)
		count_members(counting, event, header);
	else if (event && mapping_u16(&header->size) >= sizeof(*header) + sizeof(uint64_t))
		tally->events[event->index].lost_samples += *(const uint64_t *)(header + 1);
}

/* Hops over the samples from `offset` on; returns where something else comes. */
static uint64_t hop_samples(struct counting_records *counting, uint64_t offset)
{
	const struct reader *reader = counting->reader;
	struct event_counts *events = counting->tally->events;
	const bool single = counting->known_events == 1;
	uint64_t samples = 0, asked = 0;
	while (offset < reader->data_end) {
		asked = reader_ask_ahead(reader, offset, asked);
		uint16_t size = reader_sample_size(reader, offset);
		if (!size)
			break;
		const struct event *event = single ? NULL : reader_event(reader, (const struct record_header *)(reader->records + offset));
		if (!single && !event)
			break;
		if (event)
			events[event->index].samples++;
		offset += size;
		samples++;
	}
	if (single)
		events[0].samples += samples;
	counting->tally->records[RECORD_SAMPLE] += samples;
	return offset;
}

struct error *tally_records(struct reader *reader, struct tally *ret)
{
	struct counting_records counting = {.reader = reader, .tally = ret};
	struct source source;
	struct error *error = NULL;
	const struct record_header *header;
	uint64_t offset;
	*ret = (struct tally){0};
	source_init(&source, reader, true);
	look_at_events(&counting);
	while ((header = source_next(&source, &offset, &error))) {
		look_at_events(&counting);
		count_record(&counting, header);
		if (counting.hops && counting.known_events)
			source.offset = hop_samples(&counting, source.offset);
	}
	source_deinit(&source);
	readings_deinit(&counting.readings);
	free(counting.values);
	ret->records[RECORD_COMPRESSED] += reader->unpacked[0];
	ret->records[RECORD_COMPRESSED2] += reader->unpacked[1];
	return error;
}

void tally_deinit(struct tally *tally)
{
	free(tally->events);
	tally->events = NULL;
}
