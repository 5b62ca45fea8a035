/* Annotate, first step: the fold has every sampled address resolved; here its entries are added up by function and address. */
#include "analysis/annotate/annotate_internal.h"

#include "analysis/report/fold.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void value_add(struct annotation_value *sum, const struct annotation_value *value)
{
	sum->samples += value->samples;
	sum->period += value->period;
}

struct collecting {
	struct annotate *annotate;
	struct map64 index; /* symbol → function + 1 */
	VEC(struct annotate_function) functions;
};

static uint32_t function_of(struct collecting *collecting, const struct fold_frame *frame)
{
	struct annotate *annotate = collecting->annotate;
	uint64_t *slot = map64_insert(&collecting->index, (uintptr_t)frame->symbol, NULL);
	if (!*slot) {
		struct annotate_function function = {
			.dso = frame->map->dso,
			.symbol = frame->symbol,
			.values = arena_zalloc(&annotate->private->arena, annotate->event_count * sizeof(*function.values)),
		};
		vec_push(&collecting->functions, function);
		*slot = collecting->functions.len;
	}
	return (uint32_t)(*slot - 1);
}

static void collect(struct collecting *collecting, const struct fold *fold)
{
	struct annotate *annotate = collecting->annotate;
	for (size_t i = 0; i < fold->entry_count; i++) {
		const struct fold_entry *entry = &fold->entries[i];
		const struct fold_frame *frame = &fold->frames[entry->leaf];
		struct annotation_value value = {.samples = entry->count, .period = entry->period};
		value_add(&annotate->totals[entry->event], &value);
		if (!frame->symbol || !frame->map)
			continue;
		struct annotate_place place = {.address = map_to_dso(frame->map, frame->ip),
					       .function = function_of(collecting, frame),
					       .event = entry->event,
					       .value = value};
		value_add(&collecting->functions.data[place.function].values[entry->event], &value);
		vec_push(&annotate->private->places, place);
	}
}

static int compare_places(const void *a, const void *b)
{
	const struct annotate_place *x = a, *y = b;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* Joins the places that are the same, and notes where those of each function are. */
static void settle(struct annotate *annotate)
{
	struct annotate_private *private = annotate->private;
	struct annotate_place *places = private->places.data;
	size_t kept = 0;
	if (private->places.len)
		qsort(places, private->places.len, sizeof(*places), compare_places);
	for (size_t i = 0; i < private->places.len; i++) {
		if (kept && !compare_places(&places[kept - 1], &places[i])) {
			value_add(&places[kept - 1].value, &places[i].value);
			continue;
		}
		struct annotate_function *function = &annotate->functions[places[i].function];
		if (!function->count++)
			function->first = (uint32_t)kept;
		places[kept++] = places[i];
	}
	private->places.len = kept;
}

struct error *annotate_create(struct session *session, struct resolver *resolver, const struct annotate_options *options,
			      struct annotate **ret)
{
	struct fold *fold;
	struct error *error = fold_of_session(session, resolver, &(struct fold_options){.by_address = true}, &fold);
	if (error)
		return error;
	*ret = annotate_of_fold(session, resolver, options, fold);
	(*ret)->private->readable = !session->reader->pipe;
	fold_destroy(fold);
	return NULL;
}

struct annotate *annotate_of_fold(struct session *session, struct resolver *resolver, const struct annotate_options *options,
				  const struct fold *fold)
{
	struct annotate *annotate = mem_zalloc(sizeof(*annotate));
	struct annotate_private *private = annotate->private = mem_zalloc(sizeof(*annotate->private));
	*private = (struct annotate_private){.session = session, .resolver = resolver, .options = *options};
	annotate->event_count = session->reader->events.events.len;
	annotate->totals = arena_zalloc(&private->arena, annotate->event_count * sizeof(*annotate->totals));
	private->code_count = session->machine->dsos.len;
	private->codes = mem_zalloc_array(private->code_count + 1, sizeof(*private->codes));
	private->options.files.carried = resolver_options(resolver)->carried;
	private->sources = source_files_create(&private->options.files);
	struct collecting collecting = {.annotate = annotate};
	collect(&collecting, fold);
	map64_deinit(&collecting.index);
	annotate->functions = collecting.functions.data;
	annotate->function_count = collecting.functions.len;
	settle(annotate);
	return annotate;
}

void annotate_destroy(struct annotate *annotate)
{
	if (!annotate)
		return;
	struct annotate_private *private = annotate->private;
	for (size_t i = 0; i < private->code_count; i++) {
		code_file_close(private->codes[i].file);
		disasm_close(private->codes[i].disasm);
		free(private->codes[i].why_not);
	}
	free(private->codes);
	annotate_destroy_blocks(private, annotate->event_count);
	source_files_destroy(private->sources);
	intern_deinit(&private->files);
	intern_deinit(&private->mnemonics);
	vec_deinit(&private->places);
	arena_deinit(&private->arena);
	free(private);
	free(annotate->functions);
	free(annotate);
}

struct ordering {
	const struct annotate *annotate;
	const unsigned int *events;
	size_t event_count;
};

static int compare_functions(const void *a, const void *b, void *context)
{
	const struct ordering *ordering = context;
	const struct annotate_function *x = &ordering->annotate->functions[*(const uint32_t *)a];
	const struct annotate_function *y = &ordering->annotate->functions[*(const uint32_t *)b];
	for (size_t i = 0; i < ordering->event_count; i++) {
		uint64_t period_x = x->values[ordering->events[i]].period, period_y = y->values[ordering->events[i]].period;
		if (period_x != period_y)
			return period_x < period_y ? 1 : -1;
	}
	int difference = strcmp(x->symbol->name, y->symbol->name);
	if (!difference)
		difference = strcmp(x->dso->name, y->dso->name);
	return difference ? difference : x->symbol->start < y->symbol->start ? -1 : x->symbol->start > y->symbol->start;
}

size_t annotate_order(const struct annotate *annotate, const unsigned int *events, size_t event_count, uint32_t **ret)
{
	struct ordering ordering = {annotate, events, event_count};
	uint32_t *order = mem_alloc_array(annotate->function_count + 1, sizeof(*order));
	size_t count = 0;
	for (uint32_t i = 0; i < annotate->function_count; i++) {
		bool has = false;
		for (size_t event = 0; event < event_count; event++)
			has |= annotate->functions[i].values[events[event]].samples > 0;
		if (has)
			order[count++] = i;
	}
	if (count)
		qsort_r(order, count, sizeof(*order), compare_functions, &ordering);
	*ret = order;
	return count;
}
