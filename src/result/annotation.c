/* Annotations: storage, shares, and sums by source line. */
#include "result/annotation.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct annotation *annotation_create(void)
{
	struct annotation *annotation = mem_zalloc(sizeof(*annotation));
	annotation->subject_id = "event";
	return annotation;
}

void annotation_destroy(struct annotation *annotation)
{
	if (!annotation)
		return;
	vec_deinit(&annotation->lines);
	arena_deinit(&annotation->arena);
	free(annotation);
}

double annotation_share(const struct annotation_event *event, const struct annotation_value *value, bool global, bool hits)
{
	const struct annotation_value *all = global ? &event->global : &event->local;
	uint64_t part = hits ? value->samples : value->period;
	uint64_t total = hits ? all->samples : all->period;
	return total ? 100.0 * (double)part / (double)total : 0;
}

double annotation_percent(const struct annotation *annotation, const struct annotation_value *value, size_t event)
{
	return annotation_share(&annotation->events[event], value, annotation->style.global, annotation->style.hits);
}

static bool has_samples(const struct annotation *annotation, size_t line)
{
	for (size_t event = 0; event < annotation->event_count; event++)
		if (annotation_value(annotation, line, event)->samples)
			return true;
	return false;
}

static int by_place(const void *a, const void *b, void *context)
{
	const struct annotation *annotation = context;
	const struct annotation_line *x = &annotation->lines.data[*(const uint32_t *)a], *y = &annotation->lines.data[*(const uint32_t *)b];
	int files = x->file == y->file ? 0 : strcmp(x->file, y->file);
	return files ? files : x->line < y->line ? -1 : x->line > y->line;
}

static int by_cost(const void *a, const void *b, void *context)
{
	const struct annotation *annotation = context;
	const struct annotation_source *x = a, *y = b;
	for (size_t event = 0; event < annotation->event_count; event++) {
		double cost_x = annotation_percent(annotation, &x->values[event], event);
		double cost_y = annotation_percent(annotation, &y->values[event], event);
		if (cost_x < cost_y || cost_x > cost_y)
			return cost_x < cost_y ? 1 : -1;
	}
	int files = strcmp(x->file, y->file);
	return files ? files : x->line < y->line ? -1 : x->line > y->line;
}

void annotation_sum_sources(struct annotation *annotation)
{
	VEC(uint32_t) lines = {0};
	struct annotation_value *values = NULL;
	size_t events = annotation->event_count;
	for (size_t i = 0; i < annotation->lines.len; i++)
		if (annotation->lines.data[i].kind == ANNOTATION_INSTRUCTION && annotation->lines.data[i].file &&
		    has_samples(annotation, i))
			vec_push(&lines, (uint32_t)i);
	if (lines.len)
		qsort_r(lines.data, lines.len, sizeof(*lines.data), by_place, annotation);
	annotation->sources = arena_alloc(&annotation->arena, lines.len * sizeof(*annotation->sources));
	annotation->source_count = 0;
	for (size_t i = 0; i < lines.len; i++) {
		const struct annotation_line *line = &annotation->lines.data[lines.data[i]];
		if (!i || by_place(&lines.data[i - 1], &lines.data[i], annotation)) {
			values = arena_zalloc(&annotation->arena, events * sizeof(*values));
			annotation->sources[annotation->source_count++] = (struct annotation_source){line->file, line->line, values};
		}
		for (size_t event = 0; event < events; event++) {
			values[event].samples += annotation_value(annotation, lines.data[i], event)->samples;
			values[event].period += annotation_value(annotation, lines.data[i], event)->period;
		}
	}
	if (annotation->source_count)
		qsort_r(annotation->sources, annotation->source_count, sizeof(*annotation->sources), by_cost, annotation);
	vec_deinit(&lines);
}
