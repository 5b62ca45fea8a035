/* perf report on a screen: single samples of a row, and what happened around one of them.
 *
 * The fold has only sums. So the recording is read once more when somebody asks, and of the samples that belong to the row some are kept:
 * those with the smallest numbers of a hash, which is a fair choice that is the same each time. */
#include "analysis/script/sample_text.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/report/screen.h"
#include "cmd/report/screen_scripts.h"
#include "event/event_set.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { NS_PER_S = 1000000000 };

struct single_sample {
	uint64_t rank; /* the smallest ones are kept */
	uint64_t time;
	uint64_t offset; /* in the function */
	uint32_t cpu, tid;
	const struct untrusted *comm;
};

/* What a thread has found. The greatest rank is list[0], as in any heap. */
struct found {
	VEC(struct single_sample) list;
	uint64_t count; /* of all that belong to the row */
};

struct looking {
	const struct screen *screen;
	struct screen_row_filter filter;
	size_t most;
};

/* ---- finding ---- */

static void swap(struct found *found, size_t a, size_t b)
{
	struct single_sample kept = found->list.data[a];
	found->list.data[a] = found->list.data[b];
	found->list.data[b] = kept;
}

static void sink(struct found *found)
{
	for (size_t at = 0, child; (child = 2 * at + 1) < found->list.len; at = child) {
		if (child + 1 < found->list.len && found->list.data[child + 1].rank > found->list.data[child].rank)
			child++;
		if (found->list.data[at].rank >= found->list.data[child].rank)
			return;
		swap(found, at, child);
	}
}

static void keep(struct found *found, size_t most, const struct single_sample *sample)
{
	if (found->list.len < most) {
		vec_push(&found->list, *sample);
		for (size_t at = found->list.len - 1; at && found->list.data[(at - 1) / 2].rank < found->list.data[at].rank;
		     at = (at - 1) / 2)
			swap(found, at, (at - 1) / 2);
	} else if (sample->rank < found->list.data[0].rank) {
		found->list.data[0] = *sample;
		sink(found);
	}
}

static bool is_shown(const struct screen *screen, const struct event *event)
{
	const struct screen_events *set = &screen->sets.data[screen->current];
	for (size_t i = 0; i < set->count; i++)
		if (set->list[i] == event)
			return true;
	return false;
}

static bool is_same_place(const struct screen_row_filter *filter, const struct frame *frame)
{
	if (filter->by_dso && (frame->map ? frame->map->dso : NULL) != filter->dso)
		return false;
	return !filter->by_symbol || frame->symbol == filter->symbol;
}

static void add_sample(void *state, void *context, const struct event *event, const struct sample *sample, uint64_t model_time)
{
	const struct looking *looking = context;
	const struct screen_row_filter *filter = &looking->filter;
	struct report *report = looking->screen->report;
	struct found *found = state;
	struct fold_sample in = {.event = event, .sample = sample, .model_time = model_time};
	struct frame frame = {0};
	if (!is_shown(looking->screen, event))
		return;
	fold_sample_complete(&in, report->session->machine);
	if ((filter->thread && in.thread != filter->thread) || (filter->comm && in.comm != filter->comm) || !report_accept(report, &in))
		return;
	sample_resolve(report->opening.resolver, in.thread, sample->header->misc & PERF_RECORD_MISC_CPUMODE_MASK, sample->ip, model_time,
		       &frame);
	if (!is_same_place(filter, &frame))
		return;
	const uint64_t words[] = {sample->time, sample->tid, sample->cpu, sample->ip};
	found->count++;
	keep(found, looking->most,
	     &(struct single_sample){.rank = hash_id(words, sizeof(words), 0),
				     .time = sample->time,
				     .offset = frame.symbol ? frame.dso_addr - frame.symbol->start : frame.ip,
				     .cpu = sample->cpu,
				     .tid = sample->tid,
				     .comm = in.comm});
}

static void found_init(void *state, void *context)
{
	*(struct found *)state = (struct found){0};
}

static void found_merge(void *into, void *from, void *context)
{
	const struct looking *looking = context;
	const struct found *more = from;
	struct found *found = into;
	for (size_t i = 0; i < more->list.len; i++)
		keep(found, looking->most, &more->list.data[i]);
	found->count += more->count;
}

static void found_deinit(void *state, void *context)
{
	vec_deinit(&((struct found *)state)->list);
}

static int compare_times(const void *a, const void *b)
{
	const struct single_sample *one = a, *other = b;
	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	return (one->rank > other->rank) - (one->rank < other->rank);
}

/* ---- showing ---- */

/* "12345.678901234  CPU 3  4711 firefox  +0x17" */
static char *line_of(const struct screen *screen, const struct looking *looking, const struct single_sample *sample)
{
	uint64_t kinds = screen->sets.data[screen->current].list[0]->attr.sample_type;
	struct strbuf line = {0};
	strbuf_printf(&line, "%6" PRIu64 ".%09" PRIu64, sample->time / NS_PER_S, sample->time % NS_PER_S);
	if (kinds & PERF_SAMPLE_CPU)
		strbuf_printf(&line, "  CPU %u", sample->cpu);
	strbuf_printf(&line, "  %u ", sample->tid);
	text_add_untrusted(&line, sample->comm);
	strbuf_printf(&line, looking->filter.symbol ? "  +%#" PRIx64 : "  %#" PRIx64, sample->offset);
	return strbuf_detach(&line);
}

/* What the CPU, or where samples don't tell that the thread, did ten milliseconds before and after. */
static void show_context(struct screen *screen, const struct single_sample *sample)
{
	const uint64_t around = 10000000;
	uint64_t begin = sample->time > around ? sample->time - around : 0, end = sample->time + around;
	uint64_t kinds = screen->sets.data[screen->current].list[0]->attr.sample_type;
	bool by_cpu = kinds & PERF_SAMPLE_CPU;
	cleanup_free char *time = mem_printf("%" PRIu64 ".%09" PRIu64 ",%" PRIu64 ".%09" PRIu64, begin / NS_PER_S, begin % NS_PER_S,
					     end / NS_PER_S, end % NS_PER_S);
	cleanup_free char *number = mem_printf("%u", by_cpu ? sample->cpu : sample->tid);
	struct script_choice choice = {0};
	choice.fields[CHOICE_TIME] = kinds & PERF_SAMPLE_TIME ? time : NULL;
	choice.fields[by_cpu ? CHOICE_CPU : CHOICE_TID] = number;
	screen_show_script(screen, 0, &choice);
}

static void choose(struct screen *screen, const struct looking *looking, struct found *found)
{
	char **lines = mem_alloc_array(found->list.len, sizeof(*lines));
	qsort(found->list.data, found->list.len, sizeof(*found->list.data), compare_times);
	for (size_t i = 0; i < found->list.len; i++)
		lines[i] = line_of(screen, looking, &found->list.data[i]);
	cleanup_free char *title = mem_printf("%zu of the %" PRIu64 " samples", found->list.len, found->count);
	size_t chosen = 0;
	while (!screen->ended &&
	       (chosen = menu_choose(screen->terminal, title, (const char *const *)lines, found->list.len, chosen)) != MENU_NONE)
		show_context(screen, &found->list.data[chosen]);
	for (size_t i = 0; i < found->list.len; i++)
		free(lines[i]);
	free(lines);
}

void screen_browse_samples(struct screen *screen, uint32_t row)
{
	static const struct reducer reducer = {
		.state_size = sizeof(struct found), .init = found_init, .sample = add_sample, .merge = found_merge, .deinit = found_deinit};
	struct looking looking = {.screen = screen, .most = screen->report->options->single_samples};
	struct found *found = NULL;
	if (!screen_row_filter(screen, row, &looking.filter)) {
		strbuf_add_str(&screen->note, "the rows tell neither threads nor files: see --sort");
		return;
	}
	struct error *error = session_reduce(screen->report->session, &reducer, &looking, (void **)&found);
	if (!error && found->list.len)
		choose(screen, &looking, found);
	else
		strbuf_add_str(&screen->note, error ? error_message(error) : "the function itself has no samples, only what it calls has");
	if (found)
		found_deinit(found, NULL);
	free(found);
	error_free(error);
}
