/* Counters read with samples (PERF_SAMPLE_READ, as `{cycles,instructions}:S` records them): one sample of the group's leader stands for one
 * of each member, whose period is what its counter advanced since its last reading. */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "perfdata/reader.h"

#include <stdbool.h>
#include <stdint.h>

/* Which counters there are. All zero: none are read, nothing needs to be done. */
struct readings {
	bool present;	    /* some event has PERF_SAMPLE_READ with ids */
	struct map64 slots; /* id of a counter → its position in an array of values */
	size_t count;
};

void readings_init(struct readings *readings, const struct reader *reader);
void readings_deinit(struct readings *readings);

/* The last value of each counter, by slot; all 0 at the beginning. */
typedef uint64_t *reading_values;
reading_values reading_values_create(const struct readings *readings);

/* Whether samples of this event stand for several. */
static inline bool readings_splits(const struct readings *readings, const struct sample_layout *layout)
{
	return readings->present && (layout->sample_type & 1u << 4 /* PERF_SAMPLE_READ */) &&
	       (layout->read_format & 1u << 2 /* PERF_FORMAT_ID */);
}

/* The next member, from *index on, that advanced: its event, and `sample` with its id and period. `values` take the new reading. NULL: no
 * more. */
const struct event *readings_next(const struct readings *readings, const struct reader *reader, const struct sample_layout *layout,
				  reading_values values, uint64_t *index, struct sample *sample);
/* Whether readings_next() would find another one. */
bool readings_have_more(const struct readings *readings, const struct sample_layout *layout, const uint64_t *values, uint64_t index,
			const struct sample *sample);
