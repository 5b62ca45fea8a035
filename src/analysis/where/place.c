/* Stacks become places: names of frames, and out of these what a person wants to hear. Stacks are looked up by their addresses first, so
 * that one that comes a million times is resolved once. */
#include "analysis/where/place.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

enum { KERNEL_FRAMES = 128 }; /* more than the kernel records of itself */

void where_places_init(struct where_places *places, struct session *session, struct resolver *resolver)
{
	*places = (struct where_places){.session = session, .resolver = resolver};
}

void where_places_deinit(struct where_places *places)
{
	stack_deinit(&places->stack);
	vec_deinit(&places->names);
	vec_deinit(&places->all);
	map64_deinit(&places->by_chain);
	map64_deinit(&places->by_frames);
	intern_deinit(&places->strings);
	arena_deinit(&places->arena);
}

static bool is_kernel(const struct frame *frame)
{
	return frame->cpumode == CPUMODE_KERNEL;
}

/* "read@@GLIBC_2.2.5" is "read". */
static const char *intern_symbol(struct where_places *places, const char *name)
{
	const char *version = strstr(name, "@GLIBC_");
	if (!version || version == name)
		return intern_string(&places->strings, name);
	return intern_bytes(&places->strings, name, (size_t)(version - name) - (version[-1] == '@'));
}

static const char *name_of(struct where_places *places, const struct frame *frame)
{
	if (frame->symbol)
		return intern_symbol(places, frame->symbol->name);
	if (!frame->map)
		return intern_string(&places->strings, "[unknown]");
	char *name = arena_printf(&places->arena, "[%s]", frame->map->dso->short_name);
	return intern_string(&places->strings, name);
}

static void describe_user(struct where_places *places, struct where_place *place)
{
	const struct stack *stack = &places->stack;
	for (size_t i = place->kernel_count; i < stack->frames.len; i++) {
		const struct frame *frame = &stack->frames.data[i];
		if (!frame->symbol || (frame->map && stack_is_system_library(frame->map->dso)))
			continue;
		place->function = places->names.data[i];
		return;
	}
}

static void describe_kernel(struct where_places *places, struct where_place *place, bool running)
{
	const char *named[KERNEL_FRAMES] = {0};
	size_t count = 0, at;
	for (; count < place->kernel_count && count < KERNEL_FRAMES; count++) {
		const struct frame *frame = &places->stack.frames.data[count];
		named[count] = frame->symbol ? places->names.data[count] : NULL;
		const char *call = named[count] ? where_syscall_of(named[count]) : NULL;
		if (call)
			place->syscall = intern_string(&places->strings, call);
	}
	place->kind = WHERE_CPU;
	if (running)
		return;
	place->kind = where_kind_of(named, count, &at);
	place->teller = at < count ? named[at] : NULL;
}

static uint64_t hash_place(const struct where_place *place)
{
	uint64_t hash = hash_u64((uint64_t)place->kind);
	for (size_t i = 0; i < place->frame_count; i++)
		hash = hash_combine(hash, (uintptr_t)place->frames[i]);
	return hash_combine(hash, place->kernel_count);
}

static const struct where_place *keep(struct where_places *places, struct where_place *made)
{
	bool is_new;
	made->frames = places->names.data;
	made->frame_count = places->names.len;
	uint64_t *slot = map64_insert(&places->by_frames, hash_place(made), &is_new);
	if (!is_new)
		return places->all.data[*slot];
	*slot = places->all.len;
	made->frames = arena_copy(&places->arena, places->names.data, places->names.len * sizeof(*places->names.data));
	vec_push(&places->all, (struct where_place *)arena_copy(&places->arena, made, sizeof(*made)));
	return *vec_last(&places->all);
}

static size_t kernel_words(const struct sample *sample)
{
	size_t count = 0;
	while (count < sample->chain_count && sample->chain[count] != (uint64_t)PERF_CONTEXT_USER)
		count++;
	return count;
}

static const struct where_place *resolve(struct where_places *places, const struct record *record, const struct sample *sample,
					 const struct thread *thread, bool running)
{
	static const struct stack_options options = {.inlines = STACK_INLINES_NONE};
	struct where_place place = {0};
	struct stack *stack = &places->stack;
	stack_resolve(places->resolver, places->session->machine, thread, record->event, sample, record->model_time, &options, stack);
	places->names.len = 0;
	for (size_t i = 0; i < stack->frames.len; i++) {
		vec_push(&places->names, name_of(places, &stack->frames.data[i]));
		if (is_kernel(&stack->frames.data[i]) && place.kernel_count == i)
			place.kernel_count++;
	}
	place.innermost = stack->frames.len && stack->frames.data[0].symbol ? places->names.data[0] : NULL;
	describe_user(places, &place);
	describe_kernel(places, &place, running);
	return keep(places, &place);
}

/* What the stack is the same by: the chain as recorded, or what unwinding makes of it. */
static struct hash128 hash_stack(struct where_places *places, const struct record *record, const struct sample *sample,
				 const struct thread *thread, uint64_t seed)
{
	static const struct stack_options options = {.unwound_apart = true};
	struct stack *stack = &places->stack;
	if (!sample->regs_user.abi && !sample->deferred_count && !sample->branch_count)
		return hash_words(sample->chain_count ? sample->chain : &sample->ip, sample->chain_count ? sample->chain_count : 1, seed);
	stack_addresses(places->resolver, places->session->machine, thread, record->event, sample, record->model_time, &options, stack);
	struct hash128 hash = hash_words(sample->chain, sample->chain_count, seed);
	return hash_words(stack->ips.data, stack->ips.len, hash.lo ^ hash.hi);
}

const struct where_place *where_place_of(struct where_places *places, const struct record *record, const struct sample *sample,
					 const struct thread *thread, bool running)
{
	uint64_t epoch = maps_epoch(thread_maps(thread), record->model_time);
	struct sample part = *sample;
	if (places->is_partial && !sample->regs_user.abi) {
		part.chain_count = kernel_words(sample);
		epoch = 0;
		sample = &part;
	}
	struct hash128 hash = hash_stack(places, record, sample, thread, epoch << 1 | running);
	uint64_t key = hash_combine(hash.lo, hash.hi);
	const uint64_t *known = map64_find(&places->by_chain, key);
	if (known)
		return (const struct where_place *)(uintptr_t)*known;
	const struct where_place *place = resolve(places, record, sample, thread, running);
	*map64_insert(&places->by_chain, key, NULL) = (uintptr_t)place;
	return place;
}
