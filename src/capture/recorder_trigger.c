/* --switch-output-event: an event that isn't recorded; whenever it happens the output goes on in a new file. Its records only wake us
 * up. */
#include "capture/recorder_internal.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "kernel/refusal.h"
#include "perfdata/records.h"

enum { TRIGGER_PAGES = 4 };

struct error *recorder_open_trigger(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	struct ring_set *rings = &recorder->trigger_rings;

	if (!options->trigger)
		return NULL;
	const struct counter_set *counters = options->trigger;
	const struct counter_target *target = &counters->target;
	cleanup_free struct ring_set_counter *list = mem_zalloc_array(counters->count, sizeof(*list));
	for (size_t i = 0; i < counters->count; i++)
		list[i].counter = &counters->each[i];
	int status = ring_set_open(rings, list, counters->count, target, TRIGGER_PAGES);
	if (status < 0)
		return error_wrap(refusal_explain_ring(-status, TRIGGER_PAGES, target->cpu_count), "--switch-output-event");
	for (size_t i = 0; i < rings->count; i++)
		recorder_watch_next_member(&recorder->poller, &rings->rings[i], recorder_tag(WAKEUP_TRIGGER, i));
	return NULL;
}

/* Whether a sample is among the records in a ring's pieces. Headers lie at multiples of 8 bytes, so that none straddles. */
static bool has_sample(const struct iovec *pieces, int count)
{
	size_t total = 0, first = count ? pieces[0].iov_len : 0;
	for (int i = 0; i < count; i++)
		total += pieces[i].iov_len;
	for (size_t at = 0; at < total;) {
		const struct record_header *header =
			(const void *)((const uint8_t *)pieces[at >= first].iov_base + (at < first ? at : at - first));
		if (header->type == RECORD_SAMPLE)
			return true;
		if (header->size < sizeof(*header))
			return false;
		at += header->size;
	}
	return false;
}

void recorder_take_trigger(struct recorder *recorder, size_t index, bool hung_up)
{
	struct ring *ring = &recorder->trigger_rings.rings[index];
	struct iovec pieces[2];
	int count = ring_read(ring, pieces);

	recorder->switch_wanted |= has_sample(pieces, count);
	ring_consume(ring);
	if (hung_up)
		recorder_watch_next_member(&recorder->poller, ring, recorder_tag(WAKEUP_TRIGGER, index));
}
