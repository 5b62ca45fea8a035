/* Stacks become places: names of frames, and out of these what a person wants to hear. Stacks are looked up by their addresses first, so
 * that one that comes a million times is resolved once. */
#include "analysis/where/place.h"

#include "analysis/lock/types.h"
#include "arch/arch.h"

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
	vec_deinit(&places->chain);
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

/* Behind the kernel's part. `first`: the program's first frame in the stack, whose name is that of the place's first one behind the
 * kernel's. */
static void describe_user(struct where_places *places, struct where_place *place, size_t first)
{
	bool is_futex = place->kind == WHERE_LOCK && (!place->syscall || !strncmp(place->syscall, "futex", 5));
	place->lock = is_futex ? LOCK_USER | LOCK_USER_FUTEX : 0;
	const struct stack *stack = &places->stack;
	for (size_t i = first; i < stack->frames.len; i++) {
		const struct frame *frame = &stack->frames.data[i];
		bool is_below = frame->map && stack_is_system_library(frame->map->dso);
		if (frame->symbol && is_below && place->lock == (LOCK_USER | LOCK_USER_FUTEX))
			place->lock = lock_user_flags(frame->symbol->name);
		if (!frame->symbol || is_below)
			continue;
		place->function = places->names.data[place->kernel_count + i - first];
		return;
	}
}

/* Of the names of the kernel's functions, NULL where there is none. */
static void describe_kernel(struct where_places *places, struct where_place *place, const char *const *named, size_t count)
{
	size_t at;
	place->kind = where_kind_of(named, count, &at);
	place->teller = at < count ? named[at] : NULL;
}

static void find_syscall(struct where_places *places, struct where_place *place, const char *const *named, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *call = named[i] ? where_syscall_of(named[i]) : NULL;
		if (call)
			place->syscall = intern_string(&places->strings, call);
	}
}

/* What the kernel's part of the stack tells; of what runs no more than the system call. An address alone is where all leave the CPU. */
static void describe(struct where_places *places, struct where_place *place, bool running, bool lacks_stack)
{
	const char *named[KERNEL_FRAMES] = {0};
	size_t count = 0;
	for (; count < place->kernel_count && count < KERNEL_FRAMES; count++)
		named[count] = places->stack.frames.data[count].symbol ? places->names.data[count] : NULL;
	size_t nameless = 0;
	while (nameless < count && !named[nameless])
		nameless++;
	places->kernel_stacks += count > 0;
	places->named_stacks += nameless < count;
	find_syscall(places, place, named, count);
	place->kind = WHERE_CPU;
	place->of_fault = running && where_is_of_fault(named, count);
	if (!running && !lacks_stack)
		describe_kernel(places, place, named, count);
	else if (!running)
		place->kind = WHERE_UNKNOWN;
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

bool where_register(const struct sample *sample, unsigned int number, uint64_t *ret)
{
	const struct sample_regs *regs = &sample->regs_user;
	if (!regs->values || regs->abi == PERF_SAMPLE_REGS_ABI_NONE || !(regs->mask >> number & 1))
		return false;
	*ret = regs->values[__builtin_popcountll(regs->mask & ((1ull << number) - 1))];
	return true;
}

/* Into places->chain. */
static void make_partial(struct where_places *places, const struct sample *sample)
{
	const struct arch *arch = arch_find(places->session->machine->arch);
	uint64_t ip;
	places->chain.len = 0;
	for (size_t i = 0; i < sample->chain_count && sample->chain[i] != (uint64_t)PERF_CONTEXT_USER; i++)
		vec_push(&places->chain, sample->chain[i]);
	if (!arch || !where_register(sample, arch->frames.ip_sample, &ip))
		return;
	vec_push(&places->chain, (uint64_t)PERF_CONTEXT_USER);
	vec_push(&places->chain, ip);
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
	describe(places, &place, running, !(record->event->attr.sample_type & PERF_SAMPLE_CALLCHAIN));
	describe_user(places, &place, place.kernel_count);
	return keep(places, &place);
}

/* What the stack is the same by: the chain as recorded, or what unwinding makes of it. */
static struct hash128 hash_stack(struct where_places *places, const struct record *record, const struct sample *sample,
				 const struct thread *thread, uint64_t seed)
{
	static const struct stack_options options = {.unwound_apart = true};
	struct stack *stack = &places->stack;
	if (!sample->stack_size && !sample->deferred_count && !sample->branch_count)
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
	if (places->is_partial && !sample->stack_size) {
		make_partial(places, sample);
		part.chain = places->chain.data;
		part.chain_count = places->chain.len;
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

/* Into places->stack: the program's part only. */
static void resolve_asleep(struct where_places *places, const struct where_asleep *asleep, const struct thread *thread, uint64_t model_time)
{
	static const struct stack_options options = {.inlines = STACK_INLINES_NONE};
	static const struct event event = {.attr.sample_type = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER};
	const struct arch *arch = arch_own();
	places->stack.frames.len = 0;
	if (!arch || !asleep->sp || !asleep->stack_len)
		return;
	unsigned int sp = arch->frames.sample[arch->frames.numbers.sp], ip = arch->frames.ip_sample;
	const uint64_t values[] = {sp < ip ? asleep->sp : asleep->ip, sp < ip ? asleep->ip : asleep->sp};
	const struct sample sample = {
		.regs_user = {PERF_SAMPLE_REGS_ABI_64, 1ull << sp | 1ull << ip, values},
		.stack = asleep->stack,
		.stack_size = asleep->stack_len,
		.stack_valid = asleep->stack_len,
	};
	stack_resolve(places->resolver, places->session->machine, thread, &event, &sample, model_time, &options, &places->stack);
}

const struct where_place *where_place_asleep(struct where_places *places, const struct where_asleep *asleep, const struct thread *thread,
					     uint64_t model_time)
{
	struct where_place place = {0};
	places->names.len = 0;
	for (const char *name = asleep->functions; *name;) {
		size_t length = strcspn(name, "\n");
		vec_push(&places->names, intern_bytes(&places->strings, name, length));
		name += length + (name[length] == '\n');
	}
	place.kernel_count = places->names.len;
	find_syscall(places, &place, places->names.data, places->names.len);
	describe_kernel(places, &place, places->names.data, places->names.len);
	resolve_asleep(places, asleep, thread, model_time);
	for (size_t i = 0; i < places->stack.frames.len; i++)
		vec_push(&places->names, name_of(places, &places->stack.frames.data[i]));
	place.innermost = places->names.len ? places->names.data[0] : NULL;
	describe_user(places, &place, 0);
	return places->names.len ? keep(places, &place) : NULL;
}
