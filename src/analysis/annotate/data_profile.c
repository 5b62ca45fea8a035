/* Data types of samples: the fold has every sampled address resolved; here its entries are added up by type and offset. */
#include "analysis/annotate/data_profile.h"

#include "analysis/report/fold.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* What one event has at one offset of a type. */
struct hit {
	uint32_t type, offset, event;
	struct annotation_value value;
};

struct data_profile_private {
	struct arena arena;
	struct data_accesses *accesses;
	struct map64 by_type, by_mnemonic; /* number + 1 */
	VEC(struct profiled_type) types;
	VEC(struct profiled_instruction) instructions;
	VEC(struct hit) hits; /* sorted by type */
};

static void value_add(struct annotation_value *sum, const struct annotation_value *value)
{
	sum->samples += value->samples;
	sum->period += value->period;
}

static struct profiled_type *type_of(struct data_profile *profile, const struct data_type *type, struct dso *dso)
{
	struct data_profile_private *private = profile->private;
	uint64_t *slot = map64_insert(&private->by_type, hash_combine((uintptr_t)type, (uintptr_t)dso), NULL);
	if (!*slot) {
		struct profiled_type made = {.type = type, .dso = dso, .number = (uint32_t) private->types.len};
		made.values = arena_zalloc(&private->arena, profile->event_count * sizeof(*made.values));
		vec_push(&private->types, made);
		*slot = private->types.len;
	}
	return &private->types.data[*slot - 1];
}

static void count_instruction(struct data_profile *profile, const char *mnemonic, bool good, uint64_t samples)
{
	struct data_profile_private *private = profile->private;
	uint64_t *slot = map64_insert(&private->by_mnemonic, (uintptr_t)mnemonic, NULL);
	if (!*slot) {
		vec_push(&private->instructions, (struct profiled_instruction){.mnemonic = mnemonic});
		*slot = private->instructions.len;
	}
	struct profiled_instruction *instruction = &private->instructions.data[*slot - 1];
	*(good ? &instruction->good : &instruction->bad) += samples;
}

static void add(struct data_profile *profile, const struct fold_entry *entry, const struct fold_frame *frame)
{
	struct data_profile_private *private = profile->private;
	struct annotation_value value = {.samples = entry->count, .period = entry->period};
	struct dso *dso = frame->map ? frame->map->dso : NULL;
	const struct symbol *symbol = dso ? frame->symbol : NULL;
	const struct data_access *access = data_accesses_at(private->accesses, dso, symbol, dso ? map_to_dso(frame->map, frame->ip) : 0);
	profile->outcomes[access->outcome] += entry->count;
	if (access->outcome == DATA_NO_SYMBOL || access->outcome == DATA_NO_CODE)
		return;
	count_instruction(profile, data_accesses_mnemonic(private->accesses, dso, symbol->start + access->address),
			  access->outcome <= DATA_CANARY, entry->count);
	if (access->outcome != DATA_FOUND)
		return;
	profile->tracked += access->tracked ? entry->count : 0;
	struct profiled_type *type = type_of(profile, access->type, dso);
	value_add(&type->values[entry->event], &value);
	vec_push(&private->hits, (struct hit){.type = type->number, .offset = access->offset, .event = entry->event, .value = value});
}

static int compare_types(const void *a, const void *b, void *context)
{
	const struct profiled_type *x = a, *y = b;
	const struct data_profile *profile = context;
	for (size_t event = 0; event < profile->event_count; event++)
		if (x->values[event].period != y->values[event].period)
			return x->values[event].period < y->values[event].period ? 1 : -1;
	int order = strcmp(x->type->name, y->type->name);
	if (!order)
		order = strcmp(x->dso->name, y->dso->name);
	return order ? order : x->type->size < y->type->size ? -1 : x->type->size > y->type->size;
}

static int compare_hits(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;
	return x->type < y->type ? -1 : x->type > y->type;
}

static int compare_instructions(const void *a, const void *b)
{
	const struct profiled_instruction *x = a, *y = b;
	uint64_t all_x = x->good + x->bad, all_y = y->good + y->bad;
	return all_x != all_y ? (all_x < all_y ? 1 : -1) : strcmp(x->mnemonic, y->mnemonic);
}

static void settle(struct data_profile *profile)
{
	struct data_profile_private *private = profile->private;
	if (private->hits.len)
		qsort(private->hits.data, private->hits.len, sizeof(*private->hits.data), compare_hits);
	if (private->types.len)
		qsort_r(private->types.data, private->types.len, sizeof(*private->types.data), compare_types, profile);
	if (private->instructions.len)
		qsort(private->instructions.data, private->instructions.len, sizeof(*private->instructions.data), compare_instructions);
	profile->types = private->types.data;
	profile->type_count = private->types.len;
	profile->instructions = private->instructions.data;
	profile->instruction_count = private->instructions.len;
}

struct error *data_profile_create(struct session *session, struct resolver *resolver, const struct data_profile_options *options,
				  struct data_profile **ret)
{
	struct fold *fold;
	struct error *error = fold_of_session(session, resolver, &(struct fold_options){.by_address = true}, &fold);
	if (error)
		return error;
	struct data_profile *profile = mem_zalloc(sizeof(*profile));
	struct data_profile_private *private = profile->private = mem_zalloc(sizeof(*private));
	private->accesses = data_accesses_create(resolver);
	profile->event_count = session->reader->events.events.len;
	profile->totals = arena_zalloc(&private->arena, profile->event_count * sizeof(*profile->totals));
	for (size_t i = 0; i < fold->entry_count; i++) {
		const struct fold_entry *entry = &fold->entries[i];
		const struct fold_frame *frame = &fold->frames[entry->leaf];
		const struct annotation_value value = {.samples = entry->count, .period = entry->period};
		value_add(&profile->totals[entry->event], &value);
		if (options->wanted(options->context, frame->map ? frame->map->dso : NULL, frame->symbol))
			add(profile, entry, frame);
	}
	fold_destroy(fold);
	settle(profile);
	*ret = profile;
	return NULL;
}

void data_profile_destroy(struct data_profile *profile)
{
	if (!profile)
		return;
	struct data_profile_private *private = profile->private;
	vec_deinit(&private->types);
	vec_deinit(&private->instructions);
	vec_deinit(&private->hits);
	map64_deinit(&private->by_type);
	map64_deinit(&private->by_mnemonic);
	data_accesses_destroy(private->accesses);
	arena_deinit(&private->arena);
	free(private);
	free(profile);
}

/* ---- layouts ---- */

static void add_fields(struct type_layout *layout, const struct data_type *type)
{
	const char *paths[UINT8_MAX] = {""}; /* of what members at a depth are within */
	vec_push(&layout->fields,
		 (struct type_field){.name = "", .type = type->name, .path = "", .size = type->size, .opens = type->member_count});
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct data_member *member = &type->members[i];
		struct type_field field = {.name = member->name, .type = member->type, .offset = member->offset, .size = member->size};
		field.depth = member->depth + 1;
		field.opens = member->after > i + 1;
		const char *around = paths[member->depth];
		field.path = arena_printf(&layout->arena, "%s%s%s", around, *around && *member->name ? "." : "", member->name);
		paths[field.depth] = field.path;
		vec_push(&layout->fields, field);
	}
}

static bool covers(const struct type_field *field, uint64_t offset)
{
	return offset >= field->offset && offset - field->offset < field->size;
}

static void add_hit(struct type_layout *layout, const struct hit *hit, size_t event)
{
	for (size_t i = 0; i < layout->fields.len; i++)
		if (covers(&layout->fields.data[i], hit->offset))
			value_add(&layout->values[i * layout->event_count + event], &hit->value);
}

struct type_layout *data_profile_layout(const struct data_profile *profile, const struct profiled_type *type, const unsigned int *events,
					size_t event_count)
{
	const struct data_profile_private *private = profile->private;
	struct type_layout *layout = type_layout_create();
	layout->type = type->type->name;
	layout->dso = type->dso->name;
	layout->event_count = event_count;
	add_fields(layout, type->type);
	layout->events = arena_zalloc(&layout->arena, event_count * sizeof(*layout->events));
	layout->values = arena_zalloc(&layout->arena, event_count * layout->fields.len * sizeof(*layout->values));
	size_t first = partition_point(i, private->hits.len, private->hits.data[i].type < type->number);
	for (size_t event = 0; event < event_count; event++) {
		layout->events[event].local = type->values[events[event]];
		layout->events[event].global = profile->totals[events[event]];
		for (size_t i = first; i < private->hits.len && private->hits.data[i].type == type->number; i++)
			if (private->hits.data[i].event == events[event])
				add_hit(layout, &private->hits.data[i], event);
	}
	return layout;
}
