/* Counters read with samples (readings.h). The values of one counter come from one ring and grow with time, so the order of the file will
 * do. */
#include "session/readings.h"

#include <linux/perf_event.h>

_Static_assert(PERF_SAMPLE_READ == 1 << 4 && PERF_FORMAT_ID == 1 << 2, "kernel ABI");

void readings_init(struct readings *readings, const struct reader *reader)
{
	readings_deinit(readings);
	*readings = (struct readings){0};
	for (size_t i = 0; i < reader->events.events.len; i++) {
		const struct event *event = reader->events.events.data[i];
		if (event->attr.sample_type & PERF_SAMPLE_READ && event->attr.read_format & PERF_FORMAT_ID)
			readings->present = true;
	}
	for (size_t i = 0; readings->present && i < reader->events.events.len; i++) {
		const struct event *event = reader->events.events.data[i];
		for (size_t j = 0; j < event->ids.len; j++) {
			bool is_new;
			uint64_t *slot = map64_insert(&readings->slots, event->ids.data[j], &is_new);
			if (is_new)
				*slot = readings->count++;
		}
	}
}

void readings_deinit(struct readings *readings)
{
	map64_deinit(&readings->slots);
}

reading_values reading_values_create(const struct readings *readings)
{
	return mem_zalloc_array(readings->count + 1, sizeof(uint64_t));
}

/* How far a counter has advanced; 0 also when it isn't known. */
static uint64_t advance_of(const struct readings *readings, const struct sample_counter *counter, const uint64_t *values)
{
	const uint64_t *slot = map64_find(&readings->slots, counter->id);
	return slot ? counter->value - values[*slot] : 0;
}

bool readings_have_more(const struct readings *readings, const struct sample_layout *layout, const uint64_t *values, uint64_t index,
			const struct sample *sample)
{
	for (; index < sample->counter_count; index++) {
		struct sample_counter counter = sample_counter(layout, sample, index);
		if (advance_of(readings, &counter, values))
			return true;
	}
	return false;
}

const struct event *readings_next(const struct readings *readings, const struct reader *reader, const struct sample_layout *layout,
				  reading_values values, uint64_t *index, struct sample *sample)
{
	while (*index < sample->counter_count) {
		struct sample_counter counter = sample_counter(layout, sample, (*index)++);
		uint64_t advance = advance_of(readings, &counter, values);
		if (!advance)
			continue;
		values[*map64_find(&readings->slots, counter.id)] = counter.value;
		sample->id = counter.id;
		sample->period = advance;
		return reader_event_by_id(reader, counter.id);
	}
	return NULL;
}
