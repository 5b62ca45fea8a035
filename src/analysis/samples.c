/* Samples: the pieces of a fold become one tree of stacks, in which each piece is looked at once for each place where it hangs; entries
 * become rows. */
#include "analysis/samples.h"

#include "analysis/source_lines.h"
#include "base/hash.h"
#include "base/id_table.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "symbol/dso_build_id.h"

#include <linux/perf_event.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* So many that it is worth while to give back what making them took: what comes now is as large. */
enum { MANY_ENTRIES = 1 << 18 };

struct building {
	struct samples *samples;
	struct fold *fold;
	struct resolver *resolver;
	unsigned int detail;
	enum stack_inlines inlines;
	uint32_t *frames;	   /* by frame of the fold, as innermost one and as a caller: 1 + number; 0 = none yet */
	uint32_t *actors;	   /* by actor of the fold: 1 + number, in the order of their first rows: the fold's is chance */
	uint32_t *outer_stacks[2]; /* by piece, below an inner one or not: 1 + number */
	struct map64 inner_stacks; /* by piece and stack */
	struct id_table stacks;	   /* by parent and frame */
	struct map64 functions, files, threads; /* by pointer */
	struct map64 mappings;			/* by hash */
};

void samples_fold_options(unsigned int detail, struct fold_options *ret)
{
	*ret = (struct fold_options){.chains = detail & SAMPLES_STACKS, .threads = true, .apart = detail & SAMPLES_APART};
	ret->by_address = detail & SAMPLES_ADDRESSES;
	ret->by_file = !ret->by_address;
}

/* The value of a key, which is `next` when it is new; then *ret_new is set. */
static uint32_t number_of(struct map64 *map, uint64_t key, size_t next, bool *ret_new)
{
	uint64_t *number = map64_insert(map, key, ret_new);
	if (*ret_new)
		*number = next;
	return (uint32_t)*number;
}

/* ---- frames ---- */

static uint32_t add_file(struct building *building, struct dso *dso)
{
	struct samples *samples = building->samples;
	bool new;
	uint32_t number = number_of(&building->files, (uintptr_t)dso, samples->files.len, &new);
	if (!new)
		return number;
	if (building->detail & SAMPLES_BUILD_IDS)
		dso_learn_build_id(dso);
	vec_push(&samples->files,
		 (struct samples_file){.name = dso->name, .short_name = dso->short_name, .build_id = dso->build_id, .kernel = dso->kernel});
	return number;
}

static bool is_same_mapping(const struct samples_mapping *a, const struct samples_mapping *b)
{
	return a->file == b->file && a->start == b->start && a->end == b->end && a->offset == b->offset;
}

/* Mappings of several processes that are alike are one: whose a frame has is chance. */
static uint32_t add_mapping(struct building *building, const struct map *map)
{
	struct samples *samples = building->samples;
	const struct samples_mapping mapping = {
		.file = add_file(building, map->dso), .start = map->start, .end = map->end, .offset = map->pgoff};
	const uint64_t words[] = {mapping.file, mapping.start, mapping.end, mapping.offset};
	bool new;
	for (uint64_t key = hash_words(words, sizeof(words) / sizeof(*words), 0).lo;; key++) {
		uint32_t number = number_of(&building->mappings, key, samples->mappings.len, &new);
		if (new)
			vec_push(&samples->mappings, mapping);
		if (new || is_same_mapping(&samples->mappings.data[number], &mapping))
			return number;
	}
}

static const char *name_without_symbol(struct building *building, const struct map *map)
{
	const char *file = map ? map->dso->short_name : "[unknown]";
	return *file == '[' ? file : arena_printf(&building->samples->arena, "[%s]", file);
}

static uint32_t add_function(struct building *building, uint32_t frame)
{
	static const char nowhere;
	struct samples *samples = building->samples;
	const struct fold_frame *place = &building->fold->frames[frame];
	const void *key = place->symbol ? (const void *)place->symbol : place->map ? (const void *)place->map->dso : &nowhere;
	bool new;
	uint32_t number = number_of(&building->functions, (uintptr_t)key, samples->functions.len, &new);
	if (!new)
		return number;
	struct samples_function function = {
		.name = place->symbol ? place->symbol->name : name_without_symbol(building, place->map),
		.file = place->map ? add_file(building, place->map->dso) : SAMPLES_NONE,
		.kind = (uint8_t)fold_frame_kind(building->fold, frame),
		.symbol = place->symbol,
	};
	vec_push(&samples->functions, function);
	return number;
}

/* Where execution is in the file, and in the source by debug information. Callers' addresses are where they go on, but for those that were
 * expanded by it already. */
static void set_place(struct building *building, const struct fold_frame *place, bool caller, struct samples_frame *frame)
{
	frame->address = frame->file_address = place->ip;
	if (!place->map)
		return;
	struct frame found = {.ip = place->ip,
			      .dso_addr = map_to_dso(place->map, place->ip),
			      .map = place->map,
			      .symbol = place->symbol,
			      .cpumode = place->cpumode,
			      .returns_here = caller && (place->cpumode != CPUMODE_USER || building->inlines != STACK_INLINES_ALL)};
	frame->file_address = symtab_vaddr(resolver_symtab(building->resolver, place->map->dso), found.dso_addr);
	if (building->detail & SAMPLES_NO_LINES)
		return;
	const struct code_function *function = source_find(building->resolver, &found, frame->inlined);
	if (!function || !function->file)
		return;
	frame->source_file = function->file;
	frame->line = function->line;
}

static uint32_t add_frame(struct building *building, uint32_t id, bool caller)
{
	struct samples *samples = building->samples;
	const struct fold_frame *place = &building->fold->frames[id];
	bool addresses = building->detail & SAMPLES_ADDRESSES;
	uint32_t *number = &building->frames[(size_t)id * 2 + (addresses && caller)];
	if (*number)
		return *number - 1;
	struct samples_frame frame = {
		.function = add_function(building, id), .mapping = SAMPLES_NONE, .inlined = place->symbol && place->symbol->inlined};
	if (addresses) {
		frame.mapping = place->map ? add_mapping(building, place->map) : SAMPLES_NONE;
		set_place(building, place, caller, &frame);
	}
	vec_push(&samples->frames, frame);
	*number = (uint32_t)samples->frames.len;
	return *number - 1;
}

/* ---- stacks ---- */

static uint32_t add_stack(struct building *building, uint32_t parent, uint32_t frame)
{
	struct samples *samples = building->samples;
	uint32_t hash = (uint32_t)hash_combine(parent, frame);
	struct id_probe probe;
	for (uint32_t id = id_table_first(&building->stacks, hash, &probe); id != ID_NONE; id = id_table_next(&building->stacks, &probe))
		if (samples->stacks.data[id].parent == parent && samples->stacks.data[id].frame == frame)
			return id;
	uint32_t number = (uint32_t)samples->stacks.len;
	id_table_insert(&building->stacks, hash, number);
	vec_push(&samples->stacks,
		 (struct samples_stack){.parent = parent, .frame = frame, .depth = samples->stacks.data[parent].depth + 1});
	return number;
}

/* A piece's frames below the stack `parent`; `below`: it is not the innermost piece. */
static uint32_t add_piece(struct building *building, uint32_t parent, uint32_t piece, bool below)
{
	const struct fold_piece *at = &building->fold->pieces[piece];
	for (uint32_t depth = at->frame_count; depth > 0; depth--) {
		uint32_t id = *fold_piece_frame(building->fold, at, depth - 1);
		parent = add_stack(building, parent, add_frame(building, id, below || depth > 1));
	}
	return parent;
}

static uint32_t stack_of(struct building *building, const struct fold_entry *entry)
{
	if (entry->inner == FOLD_NONE && entry->outer == FOLD_NONE)
		return add_stack(building, 0, add_frame(building, entry->leaf, false));
	uint32_t stack = 0;
	if (entry->outer != FOLD_NONE) {
		bool below = entry->inner != FOLD_NONE;
		uint32_t *known = &building->outer_stacks[below][entry->outer];
		if (!*known)
			*known = 1 + add_piece(building, 0, entry->outer, below);
		stack = *known - 1;
	}
	if (entry->inner == FOLD_NONE)
		return stack;
	bool new;
	uint64_t *known = map64_insert(&building->inner_stacks, (uint64_t)entry->inner << 32 | stack, &new);
	if (new)
		*known = add_piece(building, stack, entry->inner, false);
	return (uint32_t)*known;
}

/* ---- rows ---- */

static uint32_t add_actor(struct building *building, uint32_t id)
{
	const struct fold_actor *actor = &building->fold->actors[id];
	struct samples *samples = building->samples;
	const struct thread *thread = actor->thread, *leader = thread->process->leader;
	bool new;
	if (building->actors[id])
		return building->actors[id] - 1;
	uint32_t number = number_of(&building->threads, (uintptr_t)thread, samples->threads.len, &new);
	if (new)
		vec_push(&samples->threads, (struct samples_thread){
						    .pid = thread->pid,
						    .tid = thread->tid,
						    .name = untrusted_raw(thread_comm_settled(thread, UINT64_MAX)),
						    .process = untrusted_raw(thread_comm_settled(leader ? leader : thread, UINT64_MAX)),
						    .start = thread->start,
						    .end = thread->exit,
					    });
	vec_push(&samples->actors, (struct samples_actor){.thread = number, .comm = untrusted_raw(actor->comm)});
	building->actors[id] = (uint32_t)samples->actors.len;
	return building->actors[id] - 1;
}

static void add_row(struct building *building, const struct fold_entry *entry)
{
	struct samples *samples = building->samples;
	const struct fold *fold = building->fold;
	struct samples_event *event = &samples->events.data[entry->event];
	struct samples_row row = {.period = entry->period,
				  .event = entry->event,
				  .actor = add_actor(building, entry->actor),
				  .count = entry->count,
				  .cpu = SAMPLES_NONE,
				  .frame = add_frame(building, entry->leaf, false),
				  .stack = stack_of(building, entry)};
	if (building->detail & SAMPLES_APART) {
		const struct fold_detail *detail = &fold->details[entry - fold->entries];
		row.time = detail->time;
		row.cpu = detail->extra;
		row.record = detail->first;
	}
	event->samples += entry->count;
	event->period += entry->period;
	vec_push(&samples->rows, row);
}

/* ---- tracepoints ---- */

static void add_field(const struct tracepoint_field *field, const struct sample *sample, samples_fields *ret)
{
	struct samples_field value = {.name = field->name};
	if (field->flags & TRACEPOINT_FIELD_STRING) {
		value.text = untrusted_raw(tracepoint_read_string(field, sample->raw, sample->raw_size, &value.length));
	} else {
		value.number = tracepoint_read(field, sample->raw, sample->raw_size);
		value.is_signed = field->flags & TRACEPOINT_FIELD_SIGNED;
	}
	vec_push(ret, value);
}

/* All but those that all tracepoints have in common. */
static void read_fields(const void *context, const struct samples_row *row, samples_fields *ret)
{
	const struct reader *reader = context;
	const struct event *event = reader->events.events.data[row->event];
	struct sample sample;
	ret->len = 0;
	if (!event->tracepoint || !row->record || sample_decode(&reader->layouts[row->event], &event->attr, row->record, &sample))
		return;
	for (size_t i = 0; i < event->tracepoint->field_count; i++)
		if (!(event->tracepoint->fields[i].flags & TRACEPOINT_FIELD_COMMON))
			add_field(&event->tracepoint->fields[i], &sample, ret);
}

/* ---- the recording ---- */

static bool counts_nanoseconds(const struct event *event)
{
	static const char off_cpu[] = "offcpu-time"; /* of record --off-cpu */
	const struct event_attr *attr = &event->attr;
	bool clock = attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK;
	return attr->type == PERF_TYPE_SOFTWARE && (clock || !strcmp(event->name, off_cpu));
}

static const char *title_of(struct samples *samples, const struct reader *reader)
{
	const struct features *features = &reader->features;
	struct strbuf text = {0};
	for (uint32_t i = 0; i < features->command_line_count; i++) {
		const char *word = features->command_line[i], *slash = i ? NULL : strrchr(word, '/');
		strbuf_printf(&text, "%s%s", i ? " " : "", slash ? slash + 1 : word);
	}
	const char *title = arena_strdup(&samples->arena, text.len ? strbuf_str(&text) : reader_name(reader));
	strbuf_deinit(&text);
	return title;
}

static void add_event(struct samples *samples, const struct event *event)
{
	static const struct sample nothing;
	samples_fields fields = {0};
	for (size_t i = 0; event->tracepoint && i < event->tracepoint->field_count; i++)
		if (!(event->tracepoint->fields[i].flags & TRACEPOINT_FIELD_COMMON))
			add_field(&event->tracepoint->fields[i], &nothing, &fields);
	vec_push(&samples->events, (struct samples_event){
					   .name = event->name,
					   .nanoseconds = counts_nanoseconds(event),
					   .tracepoint = event->attr.type == PERF_TYPE_TRACEPOINT,
					   .fields = arena_copy(&samples->arena, fields.data, fields.len * sizeof(*fields.data)),
					   .field_count = fields.len,
				   });
	vec_deinit(&fields);
}

struct samples *samples_describe(const struct session *session)
{
	struct samples *samples = samples_create();
	const struct reader *reader = session->reader;
	const struct features *features = &reader->features;
	samples->title = title_of(samples, reader);
	samples->hostname = features->hostname;
	samples->os_release = features->os_release;
	samples->arch = features->arch;
	samples->cpu = features->cpu_desc;
	samples->first_time = session->first_time;
	samples->last_time = session->last_time;
	samples->wall_offset_ns = features->clock_wall_ns - features->clock_clockid_ns;
	samples->fields = read_fields;
	samples->fields_context = reader;
	for (size_t i = 0; i < reader->events.events.len; i++)
		add_event(samples, reader->events.events.data[i]);
	return samples;
}

struct samples *samples_of_fold(struct fold *fold, struct resolver *resolver, unsigned int detail, enum stack_inlines inlines)
{
	if (fold->entry_count > MANY_ENTRIES)
		malloc_trim(0);
	struct building building = {
		.samples = samples_describe(fold->session), .fold = fold, .resolver = resolver, .detail = detail, .inlines = inlines};
	building.frames = mem_zalloc_array(fold->frame_count * 2 + 1, sizeof(*building.frames));
	for (int below = 0; below < 2; below++)
		building.outer_stacks[below] = mem_zalloc_array(fold->piece_count + 1, sizeof(**building.outer_stacks));
	building.actors = mem_zalloc_array(fold->actor_count + 1, sizeof(*building.actors));
	vec_reserve(&building.samples->rows, fold->entry_count);
	for (size_t i = 0; i < fold->entry_count; i++)
		add_row(&building, &fold->entries[i]);
	free(building.frames);
	free(building.actors);
	free(building.outer_stacks[0]);
	free(building.outer_stacks[1]);
	map64_deinit(&building.inner_stacks);
	id_table_deinit(&building.stacks);
	map64_deinit(&building.functions);
	map64_deinit(&building.files);
	map64_deinit(&building.mappings);
	map64_deinit(&building.threads);
	return building.samples;
}
