/* Functions of a fleet's profile by what they cost (costs.h). The sums come by stack. */
#include "cmd/fleet/costs.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

struct cost {
	const char *function, *mapping; /* interned */
	uint64_t self, total, samples;
	size_t seen; /* number of the sample that it was counted for last, + 1 */
};

struct costs {
	const struct imported *imported;
	uint32_t event;
	VEC(struct cost) list;
	uint32_t *by_frame; /* number + 1 */
	uint64_t total, samples;
};

static void index_frames(struct costs *costs)
{
	const struct imported *imported = costs->imported;
	struct map64 index = {0};
	costs->by_frame = mem_zalloc_array(imported->frames.len + 1, sizeof(*costs->by_frame));
	for (size_t i = 0; i < imported->frames.len; i++) {
		const struct imported_frame *frame = &imported->frames.data[i];
		const uint64_t words[] = {(uintptr_t)frame->function, (uintptr_t)frame->mapping};
		uint64_t *number = map64_insert(&index, hash_words(words, 2, 0).lo, NULL);
		if (!*number) {
			vec_push(&costs->list, (struct cost){.function = frame->function, .mapping = frame->mapping});
			*number = costs->list.len;
		}
		costs->by_frame[i] = (uint32_t)*number - 1;
	}
	map64_deinit(&index);
}

static void add_sample(struct costs *costs, const struct imported_sample *sample, size_t number)
{
	const struct imported *imported = costs->imported;
	bool leaf = true;
	costs->total += sample->period;
	costs->samples += sample->count;
	for (uint32_t stack = sample->stack; stack != IMPORTED_NO_STACK; stack = imported->stacks.data[stack].parent) {
		struct cost *cost = &costs->list.data[costs->by_frame[imported->stacks.data[stack].frame]];
		cost->self += leaf ? sample->period : 0;
		cost->samples += leaf ? sample->count : 0;
		cost->total += cost->seen == number + 1 ? 0 : sample->period;
		cost->seen = number + 1;
		leaf = false;
	}
}

static int compare_costs(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	int names = strcmp(x->function, y->function);
	return names ? names : strcmp(x->mapping ? x->mapping : "", y->mapping ? y->mapping : "");
}

static struct error *choose_event(struct costs *costs, const char *wanted)
{
	const struct imported *imported = costs->imported;
	uint64_t *counts = mem_zalloc_array(imported->events.len + 1, sizeof(*counts));
	bool found = !wanted;
	for (size_t i = 0; i < imported->samples.len; i++)
		counts[imported->samples.data[i].event] += imported->samples.data[i].count;
	for (uint32_t i = 0; i < imported->events.len; i++)
		if (wanted ? !strcmp(wanted, imported->events.data[i].name) : counts[i] > counts[costs->event]) {
			costs->event = i;
			found = true;
		}
	free(counts);
	return found && imported->samples.len ? NULL : error_new("no such samples: 'perf fleet ls services' lists events");
}

static struct table *make_table(const struct costs *costs, const struct fleet_profile *profile, size_t rows)
{
	const struct imported_event *event = &costs->imported->events.data[costs->event];
	const double seconds = (double)(profile->period.to - profile->period.from);
	const struct column columns[] = {
		{.id = "self", .title = "Self", .kind = COLUMN_PERCENT, .align = ALIGN_RIGHT, .decimals = 2},
		{.id = "total", .title = "Total", .kind = COLUMN_PERCENT, .align = ALIGN_RIGHT, .decimals = 2},
		{.id = event->nanoseconds ? "cpus" : "rate",
		 .title = event->nanoseconds ? "CPUs" : "Per second",
		 .kind = COLUMN_REAL,
		 .align = ALIGN_RIGHT,
		 .decimals = 2},
		{.id = "function", .title = "Function", .kind = COLUMN_TEXT},
		{.id = "file", .title = "File", .kind = COLUMN_TEXT},
	};
	struct table *table = table_create_columns("functions", columns, sizeof(columns) / sizeof(*columns));
	table->subject_id = "event";
	table->subject = arena_strdup(&table->arena, event->name);
	const double all = costs->total ? (double)costs->total : 1;
	for (size_t i = 0; i < costs->list.len && (!rows || i < rows); i++) {
		const struct cost *cost = &costs->list.data[i];
		if (!cost->total)
			break;
		const union cell cells[] = {{.real = 100 * (double)cost->self / all},
					    {.real = 100 * (double)cost->total / all},
					    {.real = (double)cost->self / seconds / (event->nanoseconds ? 1e9 : 1)},
					    {.text = arena_strdup(&table->arena, cost->function)},
					    {.text = cost->mapping ? arena_strdup(&table->arena, cost->mapping) : ""}};
		table_add_row(table, cells);
	}
	char text[32];
	vec_push(&table->header, arena_printf(&table->arena, "Event %s: %s samples", event->name,
					      number_format_grouped(profile->scale > 1 ? profile->samples : costs->samples, text)));
	return table;
}

struct error *fleet_costs_table(const struct imported *imported, const struct fleet_profile *profile, const char *event, size_t rows,
				struct table **ret)
{
	struct costs costs = {.imported = imported};
	struct error *error = choose_event(&costs, event);
	if (error)
		return error;
	index_frames(&costs);
	for (size_t i = 0; i < imported->samples.len; i++)
		if (imported->samples.data[i].event == costs.event)
			add_sample(&costs, &imported->samples.data[i], i);
	if (costs.list.len)
		qsort(costs.list.data, costs.list.len, sizeof(*costs.list.data), compare_costs);
	*ret = make_table(&costs, profile, rows);
	free(costs.by_frame);
	vec_deinit(&costs.list);
	return NULL;
}
