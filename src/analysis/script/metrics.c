/* -F metric: what is computed from the counters of a group, for each sample of a group that reads them all ({cycles,instructions}:S), as
 * `perf stat` computes it from the whole. Such a sample comes once for each member that advanced; the metrics follow the last one.
 *
 *	       cycles: …
 *	 instructions: …
 *	metric:    1.53  insn per cycle
 */
#include "analysis/counting/counts.h"
#include "analysis/counting/derived_metrics.h"
#include "analysis/script/internal.h"

#include "base/mem.h"

#include <linux/perf_event.h>

struct script_metrics {
	struct counts_places places;
	struct counts counts;
	size_t events; /* of which `counts` knows */
	bool begun;    /* some of a record's members have come */
};

static void forget(struct script_metrics *metrics)
{
	counts_deinit(&metrics->counts);
	metrics->events = 0;
}

void script_metrics_destroy(struct script_metrics *metrics)
{
	if (metrics)
		forget(metrics);
	free(metrics);
}

static void begin_record(struct script_metrics *metrics, const struct event_list *events)
{
	if (metrics->events != events->events.len) {
		forget(metrics);
		counts_init(&metrics->counts, events, &metrics->places);
		metrics->events = events->events.len;
	}
	counts_clear(&metrics->counts);
	metrics->begun = true;
}

static void take_member(struct script_metrics *metrics, const struct script_sample *at)
{
	struct count_total *total = &metrics->counts.totals[at->event->index];
	statistics_add(&total->value, (double)at->sample->period);
	statistics_add(&total->enabled, 1);
	statistics_add(&total->running, 1);
}

static void add_metrics(struct script_text *text, const struct script_sample *at, size_t event, struct strbuf *out)
{
	struct arena arena = {0};
	unsigned int count;
	const struct derived_metric *metrics = derived_metrics_of(&text->metrics->counts, event, 0, true, &arena, &count);
	for (unsigned int i = 0; i < count; i++) {
		if (!metrics[i].known)
			continue;
		script_text_prefix(text, at, out);
		strbuf_printf(out, "\tmetric: %*.*f%s %s\n", (int)metrics[i].width, (int)metrics[i].decimals, metrics[i].value,
			      metrics[i].sign, metrics[i].unit);
	}
	arena_deinit(&arena);
}

void script_add_metrics(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const struct event_list *events = &text->session->reader->events;
	if (!text->metrics) {
		text->metrics = mem_zalloc(sizeof(*text->metrics));
		text->metrics->places.count = 1;
	}
	if (!text->metrics->begun || text->metrics->events != events->events.len)
		begin_record(text->metrics, events);
	take_member(text->metrics, at);
	if (!at->is_last_member)
		return;
	text->metrics->begun = false;
	for (size_t i = 0; i < events->events.len; i++)
		if (count_total_is_counted(counts_total(&text->metrics->counts, i, 0)))
			add_metrics(text, at, i, out);
}
