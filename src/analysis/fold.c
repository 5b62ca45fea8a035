/* Fold, first step: every sample finds its entry.
 *
 * Nearly all time goes into a few hash look-ups per sample, so what is compared is small: stacks become the ids of their two pieces, threads with their
 * name and address space the id of an actor. Pieces are compared word by word through pointers into the recording, so that nothing has to be copied.
 * Workers have tables of their own, which are merged at the end. Resolving is not done here (fold_resolve.c).
 */
#include "analysis/fold_internal.h"

#include "base/mem.h"
#include "base/pool.h"
#include "base/radix.h"

#include <linux/perf_event.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

struct fold_context {
	struct fold *fold;
	const struct fold_options *options;
	struct machine *machine;
	struct resolver *resolver;
};

enum { RECENT_ACTORS = 64 };

struct recent_actor {
	const struct thread *thread;
	const char *comm;
	uint64_t user_epoch, kernel_epoch;
	uint32_t actor;
};

struct fold_worker {
	struct fold_sums sums;
	struct recent_actor recent[RECENT_ACTORS];
	struct stack stack;
	VEC(uint64_t) words;
	uint64_t *extra;
};

static uint32_t fold_hash(uint64_t a, uint64_t b)
{
	return (uint32_t)hash_combine(a, b);
}

static uint32_t sums_space(struct fold_sums *sums, const struct maps *maps, uint64_t epoch, uint64_t time)
{
	uint32_t hash = fold_hash((uintptr_t)maps, epoch);
	struct id_probe probe;
	for (uint32_t id = id_table_first(&sums->space_ids, hash, &probe); id != ID_NONE; id = id_table_next(&sums->space_ids, &probe))
		if (sums->spaces.data[id].maps == maps && sums->spaces.data[id].epoch == epoch)
			return id;
	uint32_t id = (uint32_t)sums->spaces.len;
	vec_push(&sums->spaces, (struct fold_space){.maps = maps, .epoch = epoch, .time = time});
	id_table_insert(&sums->space_ids, hash, id);
	return id;
}

static uint32_t sums_actor(struct fold_sums *sums, const struct fold_actor *actor)
{
	uint32_t hash = fold_hash((uintptr_t)actor->thread ^ (uint64_t)actor->user_space << 40, (uintptr_t)actor->comm ^ (uint64_t)actor->kernel_space << 48);
	struct id_probe probe;
	for (uint32_t id = id_table_first(&sums->actor_ids, hash, &probe); id != ID_NONE; id = id_table_next(&sums->actor_ids, &probe)) {
		const struct fold_actor *known = &sums->actors.data[id];
		if (known->thread == actor->thread && known->comm == actor->comm && known->user_space == actor->user_space &&
		    known->kernel_space == actor->kernel_space)
			return id;
	}
	uint32_t id = (uint32_t)sums->actors.len;
	vec_push(&sums->actors, *actor);
	id_table_insert(&sums->actor_ids, hash, id);
	return id;
}

/* `piece` has everything but frames. */
static uint32_t sums_piece(struct fold_sums *sums, const struct chain_piece *piece)
{
	struct id_probe probe;
	for (uint32_t id = id_table_first(&sums->piece_ids, piece->hash, &probe); id != ID_NONE; id = id_table_next(&sums->piece_ids, &probe)) {
		const struct chain_piece *known = &sums->pieces.data[id];
		if (known->space == piece->space && known->count == piece->count && known->kernel == piece->kernel &&
		    !memcmp(known->ips, piece->ips, piece->count * sizeof(*piece->ips)))
			return id;
	}
	uint32_t id = (uint32_t)sums->pieces.len;
	vec_push(&sums->pieces, *piece);
	id_table_insert(&sums->piece_ids, piece->hash, id);
	return id;
}

static uint32_t piece_hash(const uint64_t *words, uint64_t count, uint32_t space)
{
	struct hash128 hash = hash_words(words, count, space);
	return (uint32_t)(hash.lo ^ hash.hi);
}

static uint32_t sums_extra(struct fold_sums *sums, const uint64_t *words, unsigned int count)
{
	uint32_t hash = (uint32_t)hash_words(words, count, 0).lo;
	struct id_probe probe;
	for (uint32_t id = id_table_first(&sums->extra_ids, hash, &probe); id != ID_NONE; id = id_table_next(&sums->extra_ids, &probe))
		if (!memcmp(sums->extras.data + (size_t)id * count, words, count * sizeof(*words)))
			return id;
	uint32_t id = sums->extra_count++;
	vec_reserve(&sums->extras, sums->extras.len + count);
	memcpy(sums->extras.data + sums->extras.len, words, count * sizeof(*words));
	sums->extras.len += count;
	id_table_insert(&sums->extra_ids, hash, id);
	return id;
}

static bool is_earlier(const struct fold_sums *sums, const struct fold_entry *a, const struct fold_entry *b)
{
	uint64_t x = fold_record_time(&sums->layouts[a->event], a->first), y = fold_record_time(&sums->layouts[b->event], b->first);
	return x != y ? x < y : a->first < b->first;
}

/* Adds `entry` to the one that is the same but for count, period and first. */
static void sums_entry(struct fold_sums *sums, const struct fold_entry *entry)
{
	uint64_t place = (uint64_t)entry->inner << 32 | entry->outer, who = (uint64_t)entry->actor << 32 | entry->extra;
	uint32_t hash = fold_hash(hash_combine(place, who), entry->ip ^ (uint64_t)entry->event << 8 ^ entry->cpumode);
	struct id_probe probe;
	for (uint32_t id = id_table_first(&sums->entry_ids, hash, &probe); id != ID_NONE; id = id_table_next(&sums->entry_ids, &probe)) {
		struct fold_entry *known = &sums->entries.data[id];
		if (known->inner != entry->inner || known->outer != entry->outer || known->actor != entry->actor || known->extra != entry->extra ||
		    known->ip != entry->ip || known->event != entry->event || known->cpumode != entry->cpumode)
			continue;
		known->count += entry->count;
		known->period += entry->period;
		if (is_earlier(sums, entry, known))
			known->first = entry->first;
		return;
	}
	id_table_insert(&sums->entry_ids, hash, (uint32_t)sums->entries.len);
	vec_push(&sums->entries, *entry);
}

/* Cuts the chain to `most` frames at its outer end. */
static uint64_t chain_limit(const uint64_t *chain, uint64_t count, uint64_t most)
{
	uint64_t frames = 0;
	for (uint64_t i = 0; i < count; i++)
		if (chain[i] < CALLCHAIN_CONTEXT_MAX && ++frames == most)
			return i + 1;
	return count;
}

/* Where the `most` outermost frames begin. */
static uint64_t chain_outermost(const uint64_t *chain, uint64_t count, uint64_t most)
{
	uint64_t frames = 0;
	for (uint64_t i = count; i-- > 0;)
		if (chain[i] < CALLCHAIN_CONTEXT_MAX && ++frames == most)
			return i;
	return 0;
}

/* The number of leading words that are the kernel's part: those before the marker of a user part. 0 when there is no kernel part or the chain has more than
 * these two parts. */
static uint64_t chain_split(const uint64_t *chain, uint64_t count)
{
	if (!count || chain[0] != CALLCHAIN_KERNEL)
		return 0;
	uint64_t split = count;
	for (uint64_t i = 1; i < count; i++) {
		if (!stack_is_marker(chain[i]))
			continue;
		if (chain[i] != CALLCHAIN_USER || split != count)
			return 0;
		split = i;
	}
	return split;
}

static void add_chain(struct fold_sums *sums, const struct fold_actor *actor, const uint64_t *chain, uint64_t count, struct fold_entry *entry)
{
	uint64_t split = chain_split(chain, count);
	if (split) {
		struct chain_piece inner = {.ips = chain, .count = (uint32_t)split, .space = actor->kernel_space, .kernel = 1};
		inner.hash = piece_hash(chain, split, inner.space);
		entry->inner = sums_piece(sums, &inner);
	}
	if (split < count) {
		struct chain_piece outer = {.ips = chain + split, .count = (uint32_t)(count - split), .space = actor->user_space};
		outer.hash = piece_hash(outer.ips, outer.count, outer.space);
		entry->outer = sums_piece(sums, &outer);
	}
}

/* The chain of samples that have user registers and stack, or branch stacks as call graph: made by the resolver of stacks, then kept in the arena when new. */
static bool unwound_chain(struct fold_context *context, struct fold_worker *worker, const struct fold_sample *in)
{
	const struct event_attr *attr = &in->event->attr;
	bool unwind = (attr->sample_type & PERF_SAMPLE_REGS_USER) && (attr->sample_type & PERF_SAMPLE_STACK_USER);
	bool lbr = (attr->sample_type & PERF_SAMPLE_BRANCH_STACK) && (attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK);
	if (!unwind && !lbr)
		return false;
	struct stack_options options = {.max_depth = context->options->max_stack ? context->options->max_stack : 127};
	stack_addresses(context->resolver, context->machine, in->thread, in->event, in->sample, in->model_time, &options, &worker->stack);
	worker->words.len = 0;
	uint8_t mode = CPUMODE_UNKNOWN;
	for (size_t i = 0; i < worker->stack.frames.len; i++) {
		const struct frame *frame = &worker->stack.frames.data[i];
		if (frame->cpumode != mode) {
			mode = frame->cpumode;
			vec_push(&worker->words, mode == CPUMODE_KERNEL ? CALLCHAIN_KERNEL : mode == CPUMODE_USER ? CALLCHAIN_USER : CALLCHAIN_HYPERVISOR);
		}
		vec_push(&worker->words, frame->ip);
	}
	return true;
}

static void add_unwound(struct fold_worker *worker, const struct fold_actor *actor, struct fold_entry *entry)
{
	struct fold_sums *sums = &worker->sums;
	size_t known = sums->pieces.len;
	add_chain(sums, actor, worker->words.data, worker->words.len, entry);
	for (size_t i = known; i < sums->pieces.len; i++) {
		struct chain_piece *piece = &sums->pieces.data[i];
		piece->ips = arena_copy(&sums->arena, piece->ips, piece->count * sizeof(*piece->ips));
		piece->unwound = !piece->kernel && worker->stack.unwound;
	}
}

static void add_recorded(struct fold_context *context, struct fold_worker *worker, const struct fold_actor *actor, const struct sample *sample,
			 struct fold_entry *entry)
{
	const uint64_t *chain = sample->chain;
	uint64_t count = sample->chain_count;
	uint64_t most = context->options->max_stack ? context->options->max_stack : 127;
	uint64_t begin = count > most && context->options->keep_outermost ? chain_outermost(chain, count, most) : 0;
	if (!begin) {
		add_chain(&worker->sums, actor, chain, context->options->keep_outermost ? count : chain_limit(chain, count, most), entry);
		return;
	}
	/* What is left needs the marker that it stood under. */
	worker->stack.unwound = 0;
	worker->words.len = 0;
	uint64_t marker = begin;
	while (marker > 0 && chain[marker] < CALLCHAIN_CONTEXT_MAX)
		marker--;
	if (chain[marker] >= CALLCHAIN_CONTEXT_MAX)
		vec_push(&worker->words, chain[marker]);
	for (uint64_t i = begin; i < count; i++)
		vec_push(&worker->words, chain[i]);
	add_unwound(worker, actor, entry);
}

/* A branch's target and source, newest first, then the call chain without what the newest branch shows already: the caller that it came from (a return address
 * is at most 8 bytes behind its call). */
static bool add_history(struct fold_context *context, struct fold_worker *worker, const struct fold_actor *actor, const struct sample *sample, struct fold_entry *entry)
{
	if (!sample->branch_count)
		return false;
	worker->words.len = 0;
	worker->stack.unwound = 0;
	vec_push(&worker->words, FOLD_BY_ADDRESS);
	for (uint64_t i = 0; i < sample->branch_count; i++) {
		vec_push(&worker->words, sample->branches[i].to);
		vec_push(&worker->words, sample->branches[i].from);
	}
	uint64_t skipped = 0;
	for (uint64_t i = 0; i < sample->branch_count && skipped < sample->chain_count; i++) {
		uint64_t caller = sample->chain[skipped], from = sample->branches[i].from;
		if (from < caller && caller - from <= 8)
			skipped++;
	}
	for (uint64_t i = skipped; i < sample->chain_count; i++)
		vec_push(&worker->words, sample->chain[i]);
	uint64_t most = context->options->max_stack ? context->options->max_stack : 127;
	worker->words.len = chain_limit(worker->words.data, worker->words.len, most);
	add_unwound(worker, actor, entry);
	return true;
}

/* The number of who it was. The same threads come again and again: a small table in front. */
static uint32_t find_actor(struct fold_worker *worker, const struct machine *machine, const struct fold_sample *in)
{
	const struct maps *user = thread_maps(in->thread);
	uint64_t user_epoch = maps_epoch(user, in->model_time), kernel_epoch = maps_epoch(machine->kernel_maps, in->model_time);
	struct recent_actor *recent = &worker->recent[in->thread->index % RECENT_ACTORS];
	if (recent->thread == in->thread && recent->comm == in->comm && recent->user_epoch == user_epoch && recent->kernel_epoch == kernel_epoch)
		return recent->actor;
	struct fold_actor actor = {
		.thread = in->thread,
		.comm = in->comm,
		.user_space = sums_space(&worker->sums, user, user_epoch, in->model_time),
		.kernel_space = sums_space(&worker->sums, machine->kernel_maps, kernel_epoch, in->model_time),
	};
	*recent = (struct recent_actor){.thread = in->thread,
					.comm = in->comm,
					.user_epoch = user_epoch,
					.kernel_epoch = kernel_epoch,
					.actor = sums_actor(&worker->sums, &actor)};
	return recent->actor;
}

/* Every branch counts 1, whatever the sample's period. */
static void add_branches(struct fold_context *context, struct fold_worker *worker, const struct fold_sample *in, const struct fold_actor *actor,
			 struct fold_entry entry)
{
	const struct fold_options *options = context->options;
	struct sample one = *in->sample;
	struct fold_sample branch = *in;
	branch.sample = &one;
	one.branch_count = 1;
	one.period = entry.period = 1;
	entry.ip = 0;
	for (uint64_t i = 0; i < in->sample->branch_count; i++) {
		one.branches = &in->sample->branches[i];
		if (options->extra) {
			options->extra(options->context, &branch, worker->extra);
			entry.extra = sums_extra(&worker->sums, worker->extra, options->extra_words);
		}
		struct chain_piece pair = {.ips = &one.branches->from, .count = 2, .space = actor->user_space};
		pair.hash = piece_hash(pair.ips, pair.count, pair.space);
		entry.outer = sums_piece(&worker->sums, &pair);
		sums_entry(&worker->sums, &entry);
	}
}

static void fold_add(void *state, void *argument, const struct event *event, const struct sample *sample, uint64_t model_time)
{
	struct fold_worker *worker = state;
	struct fold_context *context = argument;
	const struct fold_options *options = context->options;
	struct fold_sample in = {.event = event, .sample = sample, .model_time = model_time};
	in.thread = machine_thread_or_new(context->machine, sample->pid, sample->tid, model_time);
	in.comm = thread_comm_settled(in.thread, model_time);
	if (options->accept && !options->accept(options->context, &in))
		return;
	struct fold_sums *sums = &worker->sums;
	uint32_t who = find_actor(worker, context->machine, &in);
	const struct fold_actor actor = sums->actors.data[who];
	struct fold_entry entry = {
		.ip = sample->ip,
		.actor = who,
		.inner = FOLD_NONE,
		.outer = FOLD_NONE,
		.count = 1,
		.event = event->index & (READER_EVENTS_MAX - 1),
		.cpumode = sample->cpumode,
		.period = sample->period,
		.first = sample->header,
	};
	if (options->branches) {
		add_branches(context, worker, &in, &actor, entry);
		return;
	}
	if (options->extra) {
		options->extra(options->context, &in, worker->extra);
		entry.extra = sums_extra(sums, worker->extra, options->extra_words);
	}
	if (options->branch_history && add_history(context, worker, &actor, sample, &entry)) {
		sums_entry(sums, &entry);
		return;
	}
	if (options->chains && unwound_chain(context, worker, &in)) {
		add_unwound(worker, &actor, &entry);
	} else if (options->chains && sample->chain_count) {
		add_recorded(context, worker, &actor, sample, &entry);
	}
	sums_entry(sums, &entry);
}

static void worker_init(void *state, void *argument)
{
	struct fold_worker *worker = state;
	struct fold_context *context = argument;
	*worker = (struct fold_worker){.sums.layouts = context->fold->session->reader->layouts,
				       .extra = mem_alloc_array(context->options->extra_words + 1, sizeof(uint64_t))};
}

static void sums_free_tables(struct fold_sums *sums)
{
	id_table_deinit(&sums->entry_ids);
	id_table_deinit(&sums->piece_ids);
	id_table_deinit(&sums->actor_ids);
	id_table_deinit(&sums->space_ids);
	id_table_deinit(&sums->extra_ids);
}

static void sums_deinit(struct fold_sums *sums)
{
	sums_free_tables(sums);
	vec_deinit(&sums->entries);
	vec_deinit(&sums->pieces);
	vec_deinit(&sums->actors);
	vec_deinit(&sums->spaces);
	vec_deinit(&sums->extras);
	arena_deinit(&sums->arena);
}

static void worker_deinit(void *state, void *argument)
{
	struct fold_worker *worker = state;
	sums_deinit(&worker->sums);
	stack_deinit(&worker->stack);
	vec_deinit(&worker->words);
	free(worker->extra);
}

/* Makes `spaces` and `actors` of `from` known to `into`; the maps give the new ids. */
static void merge_actors(struct fold_sums *into, const struct fold_sums *from, uint32_t *spaces, uint32_t *actors)
{
	for (size_t i = 0; i < from->spaces.len; i++) {
		const struct fold_space *space = &from->spaces.data[i];
		spaces[i] = sums_space(into, space->maps, space->epoch, space->time);
	}
	for (size_t i = 0; i < from->actors.len; i++) {
		struct fold_actor actor = from->actors.data[i];
		actor.user_space = spaces[actor.user_space];
		actor.kernel_space = spaces[actor.kernel_space];
		actors[i] = sums_actor(into, &actor);
	}
}

static void merge_entries(struct fold_sums *into, const struct fold_sums *from, const uint32_t *actors, const uint32_t *pieces, const uint32_t *extras)
{
	vec_reserve(&into->entries, into->entries.len + from->entries.len);
	for (size_t i = 0; i < from->entries.len; i++) {
		struct fold_entry entry = from->entries.data[i];
		entry.actor = actors[entry.actor];
		if (entry.inner != FOLD_NONE)
			entry.inner = pieces[entry.inner];
		if (entry.outer != FOLD_NONE)
			entry.outer = pieces[entry.outer];
		if (extras)
			entry.extra = extras[entry.extra];
		sums_entry(into, &entry);
	}
}

static void worker_merge(void *state, void *other, void *argument)
{
	struct fold_sums *into = &((struct fold_worker *)state)->sums, *from = &((struct fold_worker *)other)->sums;
	const struct fold_options *options = ((struct fold_context *)argument)->options;
	if (!from->entries.len)
		return;
	uint32_t *spaces = mem_alloc_array(from->spaces.len, sizeof(*spaces));
	uint32_t *actors = mem_alloc_array(from->actors.len, sizeof(*actors));
	uint32_t *pieces = mem_alloc_array(from->pieces.len + 1, sizeof(*pieces));
	uint32_t *extras = options->extra ? mem_alloc_array(from->extra_count, sizeof(*extras)) : NULL;
	sums_free_tables(from);
	merge_actors(into, from, spaces, actors);
	vec_reserve(&into->pieces, into->pieces.len + from->pieces.len);
	for (size_t i = 0; i < from->pieces.len; i++) {
		struct chain_piece piece = from->pieces.data[i];
		piece.space = spaces[piece.space];
		piece.hash = piece_hash(piece.ips, piece.count, piece.space);
		pieces[i] = sums_piece(into, &piece);
	}
	vec_deinit(&from->pieces);
	for (uint32_t i = 0; extras && i < from->extra_count; i++)
		extras[i] = sums_extra(into, from->extras.data + (size_t)i * options->extra_words, options->extra_words);
	merge_entries(into, from, actors, pieces, extras);
	arena_combine(&into->arena, &from->arena);
	free(spaces);
	free(actors);
	free(pieces);
	free(extras);
	sums_deinit(from);
	*from = (struct fold_sums){0};
}

/* Hands the arrays of the sums to the fold's public fields. */
static void publish(struct fold *fold)
{
	struct fold_sums *sums = fold->private->sums;
	sums_free_tables(sums);
	fold->entries = sums->entries.data;
	fold->entry_count = sums->entries.len;
	fold->piece_count = sums->pieces.len;
	fold->actors = sums->actors.data;
	fold->actor_count = sums->actors.len;
	fold->extras = sums->extras.data;
	fold->extra_words = fold->private->options.extra_words;
}

static uint64_t entry_time(const void *context, uint32_t index)
{
	const struct fold *fold = context;
	const struct fold_entry *entry = &fold->entries[index];
	return fold_record_time(&fold->session->reader->layouts[entry->event], entry->first);
}

static uint64_t entry_place(const void *context, uint32_t index)
{
	return (uintptr_t)((const struct fold *)context)->entries[index].first;
}

static int compare_place(const void *x, const void *y, void *fold)
{
	uint64_t a = entry_place(fold, *(const uint32_t *)x), b = entry_place(fold, *(const uint32_t *)y);
	return (a > b) - (a < b);
}

/* Puts entries with equal times in the order of the file. */
static void order_ties(const struct fold *fold, uint32_t *order)
{
	for (size_t begin = 0, end; begin < fold->entry_count; begin = end) {
		uint64_t time = entry_time(fold, order[begin]);
		for (end = begin + 1; end < fold->entry_count && entry_time(fold, order[end]) == time; end++)
			;
		if (end - begin > 1)
			qsort_r(order + begin, end - begin, sizeof(*order), compare_place, (void *)fold);
	}
}

/* Moves entries to where `order` says: position i gets entry order[i]. Each cycle of the permutation is walked once. */
static void permute(struct fold_entry *entries, uint32_t *order, size_t count)
{
	for (uint32_t start = 0; start < count; start++) {
		if (order[start] == start)
			continue;
		struct fold_entry first = entries[start];
		uint32_t at = start;
		while (order[at] != start) {
			uint32_t from = order[at];
			entries[at] = entries[from];
			order[at] = at;
			at = from;
		}
		entries[at] = first;
		order[at] = at;
	}
}

void fold_order(struct fold *fold)
{
	uint32_t *order = mem_alloc_array(fold->entry_count + 1, sizeof(*order));
	for (uint32_t i = 0; i < fold->entry_count; i++)
		order[i] = i;
	if (fold->session->reader->has_times) {
		radix_sort(order, fold->entry_count, entry_time, fold);
		order_ties(fold, order);
	} else {
		radix_sort(order, fold->entry_count, entry_place, fold);
	}
	permute(fold->entries, order, fold->entry_count);
	free(order);
}

struct error *fold_create(struct session *session, struct resolver *resolver, const struct fold_options *options, struct fold **ret)
{
	static const struct reducer reducer = {
		.state_size = sizeof(struct fold_worker), .init = worker_init, .sample = fold_add, .merge = worker_merge, .deinit = worker_deinit};
	/* Large arrays go back to the system when they are freed: the next step needs the memory. */
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	struct fold *fold = mem_zalloc(sizeof(*fold));
	fold->session = session;
	fold->private = mem_zalloc(sizeof(*fold->private));
	fold->private->options = *options;
	fold->private->resolver = resolver;
	if (!fold->private->options.jobs)
		fold->private->options.jobs = session->jobs ? session->jobs : 1;
	struct fold_context context = {.fold = fold, .options = &fold->private->options, .machine = session->machine, .resolver = resolver};
	struct fold_worker *worker = NULL;
	struct error *error = session_reduce(session, &reducer, &context, (void **)&worker);
	if (error) {
		fold_destroy(fold);
		return error;
	}
	fold->private->sums = mem_alloc(sizeof(*fold->private->sums));
	*fold->private->sums = worker->sums;
	worker->sums = (struct fold_sums){0};
	worker_deinit(worker, &context);
	free(worker);
	publish(fold);
	fold_resolve(fold);
	fold_order(fold);
	*ret = fold;
	return NULL;
}

void fold_destroy(struct fold *fold)
{
	if (!fold)
		return;
	if (fold->private->sums) {
		sums_deinit(fold->private->sums);
		free(fold->private->sums);
	}
	intern_deinit(&fold->private->names);
	free(fold->private->frame_names);
	free(fold->private->pieces);
	free(fold->private);
	free(fold->frame_ids);
	free(fold->frames);
	free(fold->functions);
	free(fold);
}
