/* Fold: every sample finds its entry.
 *
 * Nearly all time goes into a few look-ups per sample, which wait for memory. So a worker collects samples, as who they were of and the addresses of their
 * stacks, and does each step for all of a batch: addresses become frames (fold_place.c), frames pieces and entries (fold_set.c).
 */
#include "analysis/fold_internal.h"

#include "base/mem.h"

#include <linux/perf_event.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

struct fold_context {
	struct fold *fold;
	const struct fold_options *options;
	struct fold_tables *tables;
	struct machine *machine;
	struct resolver *resolver;
};

enum { RECENT_ACTORS = 1024, BATCH = 32 };

/* Who ran, and where its files were: the same threads come again and again. */
struct recent_actor {
	const struct thread *thread;
	const struct untrusted *comm;
	struct maps_state space;
	uint32_t actor, who;
};

/* A sample of the batch: its own address, the kernel's part and the user's part of its stack are look-ups in a row. */
struct pending {
	struct fold_entry entry;
	uint32_t first, inner_count, outer_count;
	bool has_leaf, has_inner, has_outer;
	bool pair; /* the outer part is a branch's two ends: none without the other */
};

struct fold_worker {
	struct fold_places places;
	struct fold_set *set;
	struct recent_actor *recent;
	struct maps_state kernel;
	struct stack stack;
	struct stack_ends ends;
	VEC(uint64_t) words;
	uint64_t *extra;
	size_t count; /* of the batch */
	struct pending pending[BATCH];
	struct fold_item items[BATCH];
	VEC(struct fold_lookup) lookups;
	VEC(uint32_t) frames;
};

/* A sample on its way into the batch. */
struct adding {
	struct fold_context *context;
	struct fold_worker *worker;
	const struct fold_sample *in;
	const struct maps_state *space; /* of the thread's process */
	struct pending *pending;
	bool inlines;	   /* inlined functions are looked for in the user part */
	bool returns_here; /* whose addresses, but for the first, are behind calls */
};

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

/* The mode of an address that came without one. */
static uint8_t mode_by_address(const struct machine *machine, uint64_t ip)
{
	return machine_is_kernel_address(machine, ip) ? CPUMODE_KERNEL : CPUMODE_USER;
}

static void push_lookup(const struct adding *adding, uint8_t cpumode, uint64_t ip, bool returns_here)
{
	struct fold_worker *worker = adding->worker;
	const struct maps_state *state = cpumode == CPUMODE_KERNEL ? &worker->kernel : cpumode == CPUMODE_USER ? adding->space : NULL;
	struct fold_lookup lookup = fold_places_begin(&worker->places, state, cpumode, ip);
	if (!adding->inlines || cpumode != CPUMODE_USER) {
		vec_push(&worker->lookups, lookup);
		return;
	}
	const uint32_t *frames;
	size_t count = fold_places_functions(&worker->places, &lookup, returns_here, &frames);
	for (size_t i = 0; i < count; i++)
		vec_push(&worker->lookups, (struct fold_lookup){.frame = frames[i]});
	if (!count)
		vec_push(&worker->lookups, lookup);
}

/* A part of a chain with its markers; returns how many addresses. */
static uint32_t push_part(const struct adding *adding, const uint64_t *words, uint64_t count, uint8_t mode)
{
	size_t before = adding->worker->lookups.len;
	bool by_address = false, first = true;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t ip = words[i];
		if (by_address)
			mode = mode_by_address(adding->context->machine, ip);
		if (ip == FOLD_BY_ADDRESS || stack_is_marker(ip)) {
			by_address = ip == FOLD_BY_ADDRESS;
			if (!stack_marker_mode(ip, &mode))
				mode = CPUMODE_UNKNOWN;
			continue;
		}
		push_lookup(adding, mode, ip, adding->returns_here && !first);
		first &= mode != CPUMODE_USER;
	}
	return (uint32_t)(adding->worker->lookups.len - before);
}

static void add_chain(const struct adding *adding, const uint64_t *chain, uint64_t count)
{
	uint64_t split = chain_split(chain, count);
	struct pending *pending = adding->pending;
	pending->has_inner = split > 0;
	pending->has_outer = split < count;
	pending->inner_count = push_part(adding, chain, split, CPUMODE_KERNEL);
	pending->outer_count = push_part(adding, chain + split, count - split, CPUMODE_USER);
}

/* The chain of samples whose stack is more than the recorded chain: made by the resolver of stacks, into worker->words. */
static bool unwound_chain(struct adding *adding)
{
	struct fold_context *context = adding->context;
	struct fold_worker *worker = adding->worker;
	const struct fold_sample *in = adding->in;
	if (!stack_exceeds_chain(context->machine, &in->event->attr))
		return false;
	const struct stack_options options = {.max_depth = context->options->max_stack ? context->options->max_stack : 127,
					      .stitcher = context->options->stitcher};
	stack_addresses(context->resolver, context->machine, in->thread, in->event, in->sample, in->model_time, &options, &worker->stack);
	if (worker->stack.unwound)
		stack_ends_add_unwound(&worker->ends, &worker->stack.end, &in->event->attr, in->sample);
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
	enum stack_inlines inlines = context->options->inlines;
	adding->inlines = inlines == STACK_INLINES_ALL || (inlines && worker->stack.unwound);
	adding->returns_here = !worker->stack.calls && inlines == STACK_INLINES_ALL;
	return true;
}

/* A marker nobody knows makes what is shown of a chain worthless, as in stack.c: garbage that was followed as frame pointers can look like one. */
static bool has_unknown_marker(const uint64_t *chain, uint64_t count)
{
	uint8_t mode;
	for (uint64_t i = 0; i < count; i++)
		if (chain[i] >= CALLCHAIN_CONTEXT_MAX && chain[i] != CALLCHAIN_USER_DEFERRED && !stack_marker_mode(chain[i], &mode))
			return true;
	return false;
}

static void add_recorded(const struct adding *adding)
{
	const struct fold_options *options = adding->context->options;
	struct fold_worker *worker = adding->worker;
	const uint64_t *chain = adding->in->sample->chain;
	uint64_t count = adding->in->sample->chain_count;
	uint64_t most = options->max_stack ? options->max_stack : 127;
	uint64_t begin = count > most && options->keep_outermost ? chain_outermost(chain, count, most) : 0;
	if (!options->keep_outermost)
		count = chain_limit(chain, count, most);
	if (has_unknown_marker(chain + begin, count - begin)) {
		adding->pending->has_outer = true;
		return;
	}
	if (!begin) {
		add_chain(adding, chain, count);
		return;
	}
	/* What is left needs the marker that it stood under. */
	worker->words.len = 0;
	uint64_t marker = begin;
	while (marker > 0 && chain[marker] < CALLCHAIN_CONTEXT_MAX)
		marker--;
	if (chain[marker] >= CALLCHAIN_CONTEXT_MAX)
		vec_push(&worker->words, chain[marker]);
	for (uint64_t i = begin; i < count; i++)
		vec_push(&worker->words, chain[i]);
	add_chain(adding, worker->words.data, worker->words.len);
}

enum { HISTORY_MAX = 127 };

/* Leaves out repetitions: branches that come from the same addresses as those right before them, from where their first address was first seen.
 *
 *	d c b a b a b a z   →   d c b a z
 */
static size_t drop_loops(const struct branch_entry *branches, size_t count, const struct branch_entry *kept[HISTORY_MAX])
{
	size_t n = count < HISTORY_MAX ? count : HISTORY_MAX;
	for (size_t i = 0; i < n; i++)
		kept[i] = &branches[i];
	bool known[HISTORY_MAX] = {true}; /* where an address was first seen: repetitions are looked for from there */
	for (size_t i = 1; i < n; i++) {
		size_t first = 0, same = 0;
		while (first < i && !(known[first] && kept[first]->from == kept[i]->from))
			first++;
		known[i] = first == i;
		while (first + same < i && i + same < n && kept[first + same]->from == kept[i + same]->from)
			same++;
		if (first == i || (first + same < i && i + same < n))
			continue;
		memmove(kept + i, kept + i + same, (n - i - same) * sizeof(*kept));
		n -= same;
	}
	return n;
}

/* A branch's target and source, newest first, then the call chain without what the newest branch shows already: the caller that it came from (a return address
 * is at most 8 bytes behind its call). */
static bool add_history(const struct adding *adding)
{
	const struct sample *sample = adding->in->sample;
	struct fold_worker *worker = adding->worker;
	if (!sample->branch_count)
		return false;
	worker->words.len = 0;
	vec_push(&worker->words, FOLD_BY_ADDRESS);
	const struct branch_entry *kept[HISTORY_MAX];
	size_t kept_count = drop_loops(sample->branches, sample->branch_count, kept);
	for (size_t i = 0; i < kept_count; i++) {
		vec_push(&worker->words, kept[i]->to);
		vec_push(&worker->words, kept[i]->from);
	}
	uint64_t skipped = 0;
	for (uint64_t i = 0; i < sample->branch_count && skipped < sample->chain_count; i++) {
		uint64_t caller = sample->chain[skipped], from = sample->branches[i].from;
		if (from < caller && caller - from <= 8)
			skipped++;
	}
	for (uint64_t i = skipped; i < sample->chain_count; i++)
		vec_push(&worker->words, sample->chain[i]);
	const struct fold_options *options = adding->context->options;
	add_chain(adding, worker->words.data, chain_limit(worker->words.data, worker->words.len, options->max_stack ? options->max_stack : 127));
	return true;
}

/* ---- the batch ---- */

/* The frames of look-ups that have one; of a pair both or none. */
static uint32_t push_frames(struct fold_worker *worker, uint32_t first, uint32_t count, bool pair)
{
	size_t before = worker->frames.len;
	for (uint32_t i = first; i < first + count; i++)
		if (worker->lookups.data[i].frame != FOLD_NONE)
			vec_push(&worker->frames, worker->lookups.data[i].frame);
	if (pair && worker->frames.len - before != count)
		worker->frames.len = before;
	return (uint32_t)(worker->frames.len - before);
}

/* False when samples at such an address aren't counted. */
static bool make_item(struct fold_worker *worker, const struct pending *pending, struct fold_item *item)
{
	uint32_t inner = pending->first + pending->has_leaf;
	*item = (struct fold_item){.entry = pending->entry, .has_inner = pending->has_inner, .has_outer = pending->has_outer};
	if (pending->has_leaf)
		item->entry.leaf = worker->lookups.data[pending->first].frame;
	if (item->entry.leaf == FOLD_NONE)
		return false;
	item->frames = worker->frames.data + worker->frames.len;
	item->inner_count = push_frames(worker, inner, pending->inner_count, false);
	item->outer_count = push_frames(worker, inner + pending->inner_count, pending->outer_count, pending->pair);
	return true;
}

static void flush(struct fold_worker *worker)
{
	size_t items = 0;
	for (size_t i = 0; i < worker->lookups.len; i++)
		fold_places_finish(&worker->places, &worker->lookups.data[i]);
	worker->frames.len = 0;
	vec_reserve(&worker->frames, worker->lookups.len + 1);
	for (size_t i = 0; i < worker->count; i++)
		items += make_item(worker, &worker->pending[i], &worker->items[items]);
	fold_set_add(worker->set, worker->items, items);
	worker->count = 0;
	worker->lookups.len = 0;
}

static struct pending *next_pending(struct fold_worker *worker, const struct fold_entry *entry)
{
	if (worker->count == BATCH)
		flush(worker);
	struct pending *pending = &worker->pending[worker->count++];
	*pending = (struct pending){.entry = *entry, .first = (uint32_t)worker->lookups.len};
	return pending;
}

/* ---- samples ---- */

/* Every branch counts 1, whatever the sample's period. From and to: the space is seen by the address. */
static void add_branches(struct adding *adding, struct fold_entry *entry)
{
	const struct machine *machine = adding->context->machine;
	const struct fold_options *options = adding->context->options;
	const struct fold_sample *in = adding->in;
	struct sample one = *in->sample;
	struct fold_sample branch = *in;
	branch.sample = &one;
	one.branch_count = 1;
	one.period = entry->period = 1;
	for (uint64_t i = 0; i < in->sample->branch_count; i++) {
		one.branches = &in->sample->branches[i];
		if (options->extra) {
			options->extra(options->context, &branch, adding->worker->extra);
			entry->extra = fold_tables_extra(adding->context->tables, adding->worker->extra);
		}
		struct pending *pending = next_pending(adding->worker, entry);
		pending->has_outer = pending->pair = true;
		pending->outer_count = 2;
		push_lookup(adding, mode_by_address(machine, one.branches->from), one.branches->from, false);
		push_lookup(adding, mode_by_address(machine, one.branches->to), one.branches->to, false);
	}
}

/* Where such samples were doesn't matter (the same frame for all), unless those without a symbol are hidden. */
static bool begin_branches(struct adding *adding, struct fold_entry *entry)
{
	struct fold_worker *worker = adding->worker;
	const struct sample *sample = adding->in->sample;
	const struct maps_state *state = sample->cpumode == CPUMODE_KERNEL ? &worker->kernel : adding->space;
	struct fold_lookup lookup = fold_places_begin(&worker->places, state, sample->cpumode, sample->ip);
	fold_places_finish(&worker->places, &lookup);
	entry->leaf = fold_tables_frame(adding->context->tables, &(struct fold_frame){0});
	return lookup.frame != FOLD_NONE;
}

/* Who it was, from the small table in front of all actors. */
static const struct recent_actor *find_actor(struct fold_context *context, struct fold_worker *worker, const struct fold_sample *in)
{
	uint64_t time = in->model_time;
	if (time < worker->kernel.from || time > worker->kernel.last)
		worker->kernel = maps_state_at(context->machine->kernel_maps, time);
	struct recent_actor *recent = &worker->recent[in->thread->index % RECENT_ACTORS];
	bool known = recent->thread == in->thread && recent->comm == in->comm;
	if (!known || time < recent->space.from || time > recent->space.last)
		recent->space = maps_state_at(thread_maps(in->thread), time);
	if (!known)
		recent->actor = fold_tables_actor(context->tables, &(struct fold_actor){.thread = in->thread, .comm = in->comm}, &recent->who);
	recent->thread = in->thread;
	recent->comm = in->comm;
	return recent;
}

static void add_stack(struct adding *adding)
{
	const struct fold_options *options = adding->context->options;
	if (options->branch_history && add_history(adding))
		return;
	if (!options->chains)
		return;
	if (unwound_chain(adding)) {
		add_chain(adding, adding->worker->words.data, adding->worker->words.len);
		return;
	}
	adding->inlines = adding->returns_here = options->inlines == STACK_INLINES_ALL;
	if (adding->in->sample->chain_count)
		add_recorded(adding);
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
	const struct recent_actor *actor = find_actor(context, worker, &in);
	struct fold_entry entry = {
		.actor = actor->actor,
		.who = actor->who,
		.inner = FOLD_NONE,
		.outer = FOLD_NONE,
		.count = 1,
		.event = event->index & (READER_EVENTS_MAX - 1),
		.cpumode = sample->cpumode,
		.period = options->by_weight ? (sample->weight ? sample->weight : 1) : sample->period,
		.time = sample->time,
		.first = sample->header,
	};
	struct adding adding = {.context = context, .worker = worker, .in = &in, .space = &actor->space};
	if (options->branches) {
		if (begin_branches(&adding, &entry))
			add_branches(&adding, &entry);
		return;
	}
	if (options->extra) {
		options->extra(options->context, &in, worker->extra);
		entry.extra = fold_tables_extra(context->tables, worker->extra);
	}
	adding.pending = next_pending(worker, &entry);
	adding.pending->has_leaf = true;
	push_lookup(&adding, sample->cpumode, sample->ip, false);
	add_stack(&adding);
}

static void worker_init(void *state, void *argument)
{
	struct fold_worker *worker = state;
	struct fold_context *context = argument;
	*worker = (struct fold_worker){.kernel = maps_state_at(context->machine->kernel_maps, 0),
				       .recent = mem_zalloc_array(RECENT_ACTORS, sizeof(*worker->recent)),
				       .extra = mem_alloc_array(context->options->extra_words + 1, sizeof(uint64_t))};
	fold_places_init(&worker->places, context->tables, context->resolver, context->machine, context->fold->session->record_counts[RECORD_SAMPLE]);
	worker->set = fold_tables_add_set(context->tables);
}

static void worker_deinit(void *state, void *argument)
{
	struct fold_worker *worker = state;
	(void)argument;
	fold_places_deinit(&worker->places);
	free(worker->recent);
	stack_deinit(&worker->stack);
	stack_ends_deinit(&worker->ends);
	vec_deinit(&worker->words);
	vec_deinit(&worker->lookups);
	vec_deinit(&worker->frames);
	free(worker->extra);
}

/* Sets are merged later, in parallel: fold_pack(). */
static void worker_merge(void *state, void *other, void *argument)
{
	struct fold_worker *worker = state, *another = other;
	(void)argument;
	flush(another);
	stack_ends_merge(&worker->ends, &another->ends);
}

/* Whether more of a sample is looked at than its fixed part. */
static bool needs_whole_samples(const struct fold_options *options)
{
	return options->chains || options->branches || options->branch_history || options->extra || options->accept || options->by_weight;
}

struct error *fold_create(struct session *session, struct resolver *resolver, const struct fold_options *options, struct fold **ret)
{
	const struct reducer reducer = {.state_size = sizeof(struct fold_worker),
					.init = worker_init,
					.sample = fold_add,
					.merge = worker_merge,
					.deinit = worker_deinit,
					.fixed_only = !needs_whole_samples(options)};
	/* Large arrays go back to the system when they are freed: the next step needs the memory. */
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	struct fold *fold = mem_zalloc(sizeof(*fold));
	fold->session = session;
	fold->private = mem_zalloc(sizeof(*fold->private));
	fold->private->options = *options;
	if (!fold->private->options.jobs)
		fold->private->options.jobs = session->jobs ? session->jobs : 1;
	struct fold_tables *tables = fold_tables_create(&fold->private->options);
	struct fold_context context = {
		.fold = fold, .options = &fold->private->options, .tables = tables, .machine = session->machine, .resolver = resolver};
	struct fold_worker *worker = NULL;
	struct error *error = session_reduce(session, &reducer, &context, (void **)&worker);
	if (!error) {
		flush(worker);
		fold->ends = mem_zalloc(sizeof(*fold->ends));
		stack_ends_merge(fold->ends, &worker->ends);
		worker_deinit(worker, &context);
		free(worker);
		fold_pack(tables, fold);
		*ret = fold;
	} else {
		fold_destroy(fold);
	}
	fold_tables_destroy(tables);
	return error;
}

void fold_destroy(struct fold *fold)
{
	if (!fold)
		return;
	intern_deinit(&fold->private->names);
	if (fold->ends)
		stack_ends_deinit(fold->ends);
	free(fold->ends);
	free(fold->private->frame_names);
	free(fold->private);
	free(fold->entries);
	free(fold->pieces);
	free(fold->actors);
	free(fold->extras);
	free(fold->frame_ids);
	free(fold->frames);
	free(fold->functions);
	free(fold);
}
