/* Fold: every sample finds its entry.
 *
 * Nearly all time goes into a few look-ups per sample, which wait for memory. So a feed collects samples, as who they were of and the
 * addresses of their stacks, and does each step for all of a batch: addresses become frames (fold_place.c), frames pieces and entries
 * (fold_set.c).
 */
#include "analysis/report/fold_internal.h"

#include "base/mem.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* A sample on its way into the batch. */
struct adding {
	const struct fold_context *context;
	struct fold_feed *feed;
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

/* The number of leading words that are the kernel's part: those before the marker of a user part. 0 when there is no kernel part or the
 * chain has more than these two parts. */
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

/* What addresses of a mode are in; NULL = in nothing that is known. */
static const struct maps_state *space_of(const struct fold_feed *feed, const struct maps_state *user, uint8_t cpumode)
{
	switch (cpumode) {
	case CPUMODE_KERNEL:
		return &feed->kernel;
	case CPUMODE_USER:
		return user;
	case CPUMODE_GUEST_KERNEL:
		return feed->context->machine->guest_code ? user : &feed->guest;
	case CPUMODE_GUEST_USER:
		return feed->context->machine->guest_code || feed->in_guest ? user : NULL;
	default:
		return NULL;
	}
}

/* Chains that were recorded in a guest call its kernel just "kernel". */
static uint8_t mode_for(const struct fold_feed *feed, uint8_t cpumode)
{
	return cpumode == CPUMODE_KERNEL && feed->in_guest ? CPUMODE_GUEST_KERNEL : cpumode;
}

static void push_lookup(const struct adding *adding, uint8_t cpumode, uint64_t ip, bool returns_here)
{
	struct fold_feed *feed = adding->feed;
	cpumode = mode_for(feed, cpumode);
	const struct maps_state *state = space_of(feed, adding->space, cpumode);
	struct fold_lookup lookup = fold_places_begin(&feed->places, state, cpumode, ip);
	if (!adding->inlines || cpumode != CPUMODE_USER) {
		vec_push(&feed->lookups, lookup);
		return;
	}
	const uint32_t *frames;
	size_t count = fold_places_functions(&feed->places, &lookup, returns_here, &frames);
	for (size_t i = 0; i < count; i++)
		vec_push(&feed->lookups, (struct fold_lookup){.frame = frames[i]});
	if (!count)
		vec_push(&feed->lookups, lookup);
}

/* A part of a chain with its markers; returns how many addresses. */
static uint32_t push_part(const struct adding *adding, const uint64_t *words, uint64_t count, uint8_t mode)
{
	size_t before = adding->feed->lookups.len;
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
	return (uint32_t)(adding->feed->lookups.len - before);
}

/* Fewer are faster to look up one by one. */
enum { PART_LEAST = 5 };

/* Addresses without markers, `cpumode`'s, that may have come by before, all together. */
static void add_part(const struct adding *adding, const uint64_t *ips, uint64_t count, uint8_t cpumode, struct pending_part *pending)
{
	struct fold_feed *feed = adding->feed;
	bool user = cpumode == CPUMODE_USER;
	pending->part = (struct fold_part){.space = user ? *adding->space : feed->kernel,
					   .count = (uint32_t)count,
					   .cpumode = mode_for(feed, cpumode),
					   .inlines = user && adding->inlines,
					   .returns_here = user && adding->returns_here};
	pending->ips = (uint32_t)feed->ips.len;
	vec_reserve(&feed->ips, feed->ips.len + count);
	memcpy(feed->ips.data + feed->ips.len, ips, count * sizeof(*ips));
	feed->ips.len += count;
	pending->sought = fold_recent_pays(&feed->parts);
	if (!pending->sought)
		return;
	pending->key = fold_places_key(&feed->places, &pending->part, ips);
	fold_recent_prefetch(&feed->parts, &pending->key);
}

/* Whether addresses, and no other markers, follow the one that begins a user's part. */
static bool is_plain_user(const uint64_t *words, uint64_t count)
{
	if (!count || words[0] != CALLCHAIN_USER)
		return false;
	for (uint64_t i = 1; i < count; i++)
		if (stack_is_marker(words[i]))
			return false;
	return true;
}

static void add_chain(const struct adding *adding, const uint64_t *chain, uint64_t count)
{
	uint64_t split = chain_split(chain, count);
	struct pending *pending = adding->pending;
	pending->has_inner = split > 0;
	pending->has_outer = split < count;
	if (split > PART_LEAST)
		add_part(adding, chain + 1, split - 1, CPUMODE_KERNEL, &pending->inner);
	else
		pending->inner_count = push_part(adding, chain, split, CPUMODE_KERNEL);
	chain += split;
	count -= split;
	uint64_t leaf_end = count > 2 + PART_LEAST && is_plain_user(chain, count) ? 2 : count;
	pending->outer_count = push_part(adding, chain, leaf_end, CPUMODE_USER);
	if (leaf_end < count)
		add_part(adding, chain + leaf_end, count - leaf_end, CPUMODE_USER, &pending->outer);
}

/* What the resolver of stacks has put into frames, as a chain. */
static void make_words(struct fold_feed *feed)
{
	uint8_t mode = CPUMODE_UNKNOWN;
	feed->words.len = 0;
	for (size_t i = 0; i < feed->stack.frames.len; i++) {
		const struct frame *frame = &feed->stack.frames.data[i];
		if (frame->cpumode != mode) {
			mode = frame->cpumode;
			vec_push(&feed->words, mode == CPUMODE_KERNEL ? CALLCHAIN_KERNEL
					       : mode == CPUMODE_USER ? CALLCHAIN_USER
								      : CALLCHAIN_HYPERVISOR);
		}
		vec_push(&feed->words, frame->ip);
	}
}

/* An unwound stack behind what the kernel recorded of itself: most of its addresses came by before, and are frames at once. False when it
 * has to go the way of all chains: an address looks like a marker, or the recorded part is more than the kernel's. */
static bool add_unwound(const struct adding *adding)
{
	struct fold_feed *feed = adding->feed;
	struct pending *pending = adding->pending;
	const uint64_t *ips = feed->stack.ips.data;
	size_t count = feed->stack.ips.len, first = feed->unwound.len;
	for (size_t i = 0; i < feed->stack.frames.len; i++)
		if (feed->stack.frames.data[i].cpumode != CPUMODE_KERNEL)
			return false;
	for (size_t i = 0; i < count; i++)
		if (stack_is_marker(ips[i]))
			return false;
	vec_reserve(&feed->unwound, first + count);
	feed->unwound.len += fold_places_frames(&feed->places, adding->space, ips, count, feed->unwound.data + first);
	make_words(feed);
	add_chain(adding, feed->words.data, feed->words.len);
	pending->unwound = (uint32_t)first;
	pending->outer_count = (uint32_t)(feed->unwound.len - first);
	pending->is_unwound = pending->has_outer = true;
	return true;
}

/* Samples whose stack is more than the recorded chain: made by the resolver of stacks. */
static bool add_resolved(struct adding *adding)
{
	const struct fold_context *context = adding->context;
	struct fold_feed *feed = adding->feed;
	const struct fold_sample *in = adding->in;
	if (!stack_exceeds_chain(context->machine, &in->event->attr))
		return false;
	const struct stack_options options = {.max_depth = context->options->max_stack ? context->options->max_stack : 127,
					      .stitcher = context->options->stitcher,
					      .unwound_apart = true};
	stack_addresses(context->resolver, context->machine, in->thread, in->event, in->sample, in->model_time, &options, &feed->stack);
	if (feed->stack.unwound)
		stack_ends_add_unwound(&feed->ends, &feed->stack.end, &in->event->attr, in->sample);
	enum stack_inlines inlines = context->options->inlines;
	adding->inlines = inlines == STACK_INLINES_ALL || (inlines && feed->stack.unwound);
	adding->returns_here = !feed->stack.calls && inlines == STACK_INLINES_ALL;
	if (feed->stack.ips.len && !adding->inlines && add_unwound(adding))
		return true;
	for (size_t i = 0; i < feed->stack.ips.len; i++)
		vec_push(&feed->stack.frames, (struct frame){.ip = feed->stack.ips.data[i], .cpumode = CPUMODE_USER});
	make_words(feed);
	add_chain(adding, feed->words.data, feed->words.len);
	return true;
}

/* A marker nobody knows makes what is shown of a chain worthless, as in stack.c: garbage that was followed as frame pointers can look like
 * one. */
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
	struct fold_feed *feed = adding->feed;
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
	feed->words.len = 0;
	uint64_t marker = begin;
	while (marker > 0 && chain[marker] < CALLCHAIN_CONTEXT_MAX)
		marker--;
	if (chain[marker] >= CALLCHAIN_CONTEXT_MAX)
		vec_push(&feed->words, chain[marker]);
	for (uint64_t i = begin; i < count; i++)
		vec_push(&feed->words, chain[i]);
	add_chain(adding, feed->words.data, feed->words.len);
}

enum { HISTORY_MAX = 127 };

/* Leaves out repetitions: branches that come from the same addresses as those right before them, from where their first address was first
 * seen.
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

/* A branch's target and source, newest first, then the call chain without what the newest branch shows already: the caller that it came
 * from (a return address is at most 8 bytes behind its call). */
static bool add_history(const struct adding *adding)
{
	const struct sample *sample = adding->in->sample;
	struct fold_feed *feed = adding->feed;
	if (!sample->branch_count)
		return false;
	feed->words.len = 0;
	vec_push(&feed->words, FOLD_BY_ADDRESS);
	const struct branch_entry *kept[HISTORY_MAX];
	size_t kept_count = drop_loops(sample->branches, sample->branch_count, kept);
	for (size_t i = 0; i < kept_count; i++) {
		vec_push(&feed->words, kept[i]->to);
		vec_push(&feed->words, kept[i]->from);
	}
	uint64_t skipped = 0;
	for (uint64_t i = 0; i < sample->branch_count && skipped < sample->chain_count; i++) {
		uint64_t caller = sample->chain[skipped], from = sample->branches[i].from;
		if (from < caller && caller - from <= 8)
			skipped++;
	}
	for (uint64_t i = skipped; i < sample->chain_count; i++)
		vec_push(&feed->words, sample->chain[i]);
	const struct fold_options *options = adding->context->options;
	add_chain(adding, feed->words.data, chain_limit(feed->words.data, feed->words.len, options->max_stack ? options->max_stack : 127));
	return true;
}

/* ---- the batch ---- */

/* The frames of look-ups that have one; of a pair both or none. */
static uint32_t push_frames(struct fold_feed *feed, uint32_t first, uint32_t count, bool pair)
{
	size_t before = feed->frames.len;
	vec_reserve(&feed->frames, before + count);
	for (uint32_t i = first; i < first + count; i++)
		if (feed->lookups.data[i].frame != FOLD_NONE)
			feed->frames.data[feed->frames.len++] = feed->lookups.data[i].frame;
	if (pair && feed->frames.len - before != count)
		feed->frames.len = before;
	return (uint32_t)(feed->frames.len - before);
}

/* Frames of a piece: those of look-ups are there; callers behind them are those of a known piece, or added. */
static void make_stretch(struct fold_feed *feed, struct pending_part *pending, uint32_t count, bool kernel, struct fold_stretch *ret)
{
	*ret = (struct fold_stretch){.present = true, .count = count, .callers = FOLD_NONE, .callers_hash = fold_pieces_hash_begin(kernel)};
	if (!pending->part.count || (pending->sought && fold_recent_find(&feed->parts, &pending->key, ret)))
		return;
	if (feed->loose && fold_loose_callers(feed, &pending->part, feed->ips.data + pending->ips, ret)) {
		if (pending->sought)
			fold_recent_add(&feed->parts, &pending->key, ret, ret->callers);
		return;
	}
	size_t before = feed->frames.len;
	fold_places_part(&feed->places, &pending->part, feed->ips.data + pending->ips, &feed->frames, NULL);
	ret->caller_count = (uint32_t)(feed->frames.len - before);
	ret->callers_hash = fold_pieces_callers_hash(ret->callers_hash, feed->frames.data + before, ret->caller_count);
}

/* False when samples at such an address aren't counted. */
static bool make_item(struct fold_feed *feed, struct pending *pending, struct fold_item *item)
{
	uint32_t inner = pending->first + pending->has_leaf, outer_count;
	item->entry = pending->entry;
	item->inner = item->outer = (struct fold_stretch){.callers = FOLD_NONE};
	if (pending->has_leaf)
		item->entry.entry.leaf = feed->lookups.data[pending->first].frame;
	if (item->entry.entry.leaf == FOLD_NONE)
		return false;
	pending->inner.frames = (uint32_t)feed->frames.len;
	if (pending->has_inner)
		make_stretch(feed, &pending->inner, push_frames(feed, inner, pending->inner_count, false), true, &item->inner);
	pending->outer.frames = (uint32_t)feed->frames.len;
	if (!pending->has_outer)
		return true;
	if (pending->is_unwound) {
		outer_count = pending->outer_count;
		vec_reserve(&feed->frames, feed->frames.len + outer_count);
		memcpy(feed->frames.data + feed->frames.len, feed->unwound.data + pending->unwound, outer_count * sizeof(uint32_t));
		feed->frames.len += outer_count;
	} else {
		outer_count = push_frames(feed, inner + pending->inner_count, pending->outer_count, pending->pair);
	}
	make_stretch(feed, &pending->outer, outer_count, false, &item->outer);
	return true;
}

/* What wasn't among the parts that came before. */
static void remember_part(struct fold_feed *feed, const struct pending_part *pending, const struct fold_stretch *stretch, uint32_t piece)
{
	if (stretch->present && pending->sought && stretch->callers == FOLD_NONE && stretch->caller_count)
		fold_recent_add(&feed->parts, &pending->key, stretch, piece);
}

void fold_feed_flush(struct fold_feed *feed)
{
	const struct pending *of_item[FOLD_BATCH];
	size_t items = 0, by_memory = feed->places.by_memory_count;
	for (size_t i = 0; i < feed->lookups.len; i++)
		fold_places_finish(&feed->places, &feed->lookups.data[i]);
	feed->frames.len = 0;
	vec_reserve(&feed->frames, 1); /* so that parts without frames have an address in it, too */
	for (size_t i = 0; i < feed->count; i++) {
		of_item[items] = &feed->pending[i];
		items += make_item(feed, &feed->pending[i], &feed->items[items]);
	}
	/* By now all frames are where they stay. */
	for (size_t i = 0; i < items; i++) {
		feed->items[i].inner.frames = feed->frames.data + of_item[i]->inner.frames;
		feed->items[i].outer.frames = feed->frames.data + of_item[i]->outer.frames;
	}
	if (feed->loose)
		fold_loose_add(feed, feed->items, items);
	else
		fold_set_add(feed->set, feed->items, items);
	for (size_t i = 0; i < items && feed->places.by_memory_count == by_memory; i++) {
		const struct fold_item *item = &feed->items[i];
		remember_part(feed, &of_item[i]->inner, &item->inner, item->entry.entry.inner);
		remember_part(feed, &of_item[i]->outer, &item->outer, item->entry.entry.outer);
	}
	feed->count = 0;
	feed->lookups.len = 0;
	feed->unwound.len = 0;
	feed->ips.len = 0;
}

/* Its entry is the caller's to fill. */
static struct pending *next_pending(struct fold_feed *feed)
{
	if (feed->count == FOLD_BATCH)
		fold_feed_flush(feed);
	struct pending *pending = &feed->pending[feed->count++];
	pending->first = (uint32_t)feed->lookups.len;
	pending->inner_count = pending->outer_count = 0;
	pending->has_leaf = pending->has_inner = pending->has_outer = pending->is_unwound = pending->pair = false;
	pending->inner.part.count = pending->outer.part.count = 0;
	return pending;
}

/* ---- samples ---- */

static uint32_t find_extra(const struct fold_context *context, struct fold_feed *feed, const struct fold_sample *in)
{
	const struct fold_options *options = context->options;
	options->extra(options->context, in, feed->extra);
	struct hash128 hash = hash_words(feed->extra, options->extra_words, 0);
	struct recent_extra *recent = &feed->recent_extras[hash.lo % FOLD_RECENT_EXTRAS];
	if (!recent->used || recent->hash.lo != hash.lo || recent->hash.hi != hash.hi)
		*recent = (struct recent_extra){.hash = hash, .id = fold_tables_extra(feed->places.tables, feed->extra), .used = true};
	return recent->id;
}

/* Every branch counts 1, whatever the sample's period. From and to: the space is seen by the address. */
static void add_branches(struct adding *adding, struct set_entry *entry)
{
	const struct machine *machine = adding->context->machine;
	const struct fold_options *options = adding->context->options;
	const struct fold_sample *in = adding->in;
	struct sample one = *in->sample;
	struct fold_sample branch = *in;
	branch.sample = &one;
	one.branch_count = 1;
	one.period = entry->entry.period = 1;
	for (uint64_t i = 0; i < in->sample->branch_count; i++) {
		one.branches = &in->sample->branches[i];
		if (options->extra)
			entry->extra = find_extra(adding->context, adding->feed, &branch);
		struct pending *pending = next_pending(adding->feed);
		pending->entry = *entry;
		pending->has_outer = pending->pair = true;
		pending->outer_count = 2;
		push_lookup(adding, mode_by_address(machine, one.branches->from), one.branches->from, false);
		push_lookup(adding, mode_by_address(machine, one.branches->to), one.branches->to, false);
	}
}

/* Where such samples were doesn't matter (the same frame for all), unless those without a symbol are hidden. */
static bool begin_branches(struct adding *adding, struct set_entry *entry)
{
	struct fold_feed *feed = adding->feed;
	const struct sample *sample = adding->in->sample;
	const struct maps_state *state = space_of(feed, adding->space, sample->cpumode);
	struct fold_lookup lookup = fold_places_begin(&feed->places, state, sample->cpumode, sample->ip);
	fold_places_finish(&feed->places, &lookup);
	entry->entry.leaf = fold_tables_frame(adding->feed->places.tables, &(struct fold_frame){0});
	return lookup.frame != FOLD_NONE;
}

/* Each guest has its own kernel. */
static void find_kernels(const struct fold_context *context, struct fold_feed *feed, const struct fold_sample *in)
{
	feed->in_guest = in->thread->process->machine->host;
	feed->kernel = maps_state_at(machine_maps(context->machine, in->thread, CPUMODE_KERNEL), in->model_time);
	feed->guest = maps_state_at(machine_maps(context->machine, in->thread, CPUMODE_GUEST_KERNEL), in->model_time);
}

/* Who it was, from the small table in front of all actors. */
static const struct recent_actor *find_actor(const struct fold_context *context, struct fold_feed *feed, const struct fold_sample *in)
{
	uint64_t time = in->model_time;
	if (time < feed->kernel.from || time > feed->kernel.last) {
		feed->kernel = maps_state_at(context->machine->kernel_maps, time);
		feed->guest = maps_state_at(context->machine->guest_maps, time);
	}
	if (context->machine->guests.count)
		find_kernels(context, feed, in);
	struct recent_actor *recent = &feed->recent[in->thread->index % FOLD_RECENT_ACTORS];
	bool known = recent->thread == in->thread && recent->comm == in->comm;
	if (!known || recent->turn != feed->turn || time < recent->space.from || time > recent->space.last)
		recent->space = maps_state_at(thread_maps(in->thread), time);
	if (!known) {
		recent->actor =
			fold_tables_actor(feed->places.tables, &(struct fold_actor){.thread = in->thread, .comm = in->comm}, &recent->who);
		fold_set_actor(feed->set, recent->actor, recent->who);
	}
	recent->thread = in->thread;
	recent->comm = in->comm;
	recent->turn = feed->turn;
	return recent;
}

static void add_stack(struct adding *adding)
{
	const struct fold_options *options = adding->context->options;
	if (options->branch_history && add_history(adding))
		return;
	if (!options->chains)
		return;
	if (add_resolved(adding))
		return;
	adding->inlines = adding->returns_here = options->inlines == STACK_INLINES_ALL;
	if (adding->in->sample->chain_count)
		add_recorded(adding);
}

/* In place: it is not copied while its parts are still on their way into the cache. */
static void fill_entry(const struct fold_feed *feed, const struct fold_sample *in, uint32_t actor, struct set_entry *ret)
{
	const struct fold_options *options = feed->context->options;
	const struct sample *sample = in->sample;
	*ret = (struct set_entry){
		.entry = {.actor = actor,
			  .inner = FOLD_NONE,
			  .outer = FOLD_NONE,
			  .count = 1,
			  .event = in->event->index & (READER_EVENTS_MAX - 1),
			  .cpumode = sample->cpumode,
			  .period = options->by_weight ? (sample->weight ? sample->weight : 1) : sample->period},
		.time = sample->time,
		.first = options->records == FOLD_RECORDS_DROPPED ? NULL : sample->header,
	};
}

/* Of stacks for pictures only addresses in the kernel, which are counted, and those that may have no chain. */
static bool needs_leaf(const struct fold_context *context, const struct fold_sample *in)
{
	const struct fold_options *options = context->options;
	return !options->loose || !options->chains || options->hide_unresolved || in->sample->cpumode == CPUMODE_KERNEL ||
	       !in->sample->chain_count || stack_exceeds_chain(context->machine, &in->event->attr);
}

void fold_feed_sample(struct fold_feed *feed, const struct fold_sample *in)
{
	const struct fold_context *context = feed->context;
	const struct fold_options *options = context->options;
	if (options->accept && !options->accept(options->context, in))
		return;
	const struct recent_actor *actor = find_actor(context, feed, in);
	if (feed->counts)
		return fold_counts_add(feed->counts, in, actor, space_of(feed, &actor->space, in->sample->cpumode));
	struct adding adding = {.context = context, .feed = feed, .in = in, .space = &actor->space};
	if (options->branches) {
		struct set_entry entry;
		fill_entry(feed, in, actor->actor, &entry);
		if (begin_branches(&adding, &entry))
			add_branches(&adding, &entry);
		return;
	}
	adding.pending = next_pending(feed);
	fill_entry(feed, in, actor->actor, &adding.pending->entry);
	if (options->extra)
		adding.pending->entry.extra = find_extra(context, feed, in);
	else if (options->apart)
		adding.pending->entry.extra = in->event->attr.sample_type & PERF_SAMPLE_CPU ? in->sample->cpu : FOLD_NONE;
	adding.pending->has_leaf = needs_leaf(context, in);
	if (adding.pending->has_leaf)
		push_lookup(&adding, in->sample->cpumode, in->sample->ip, false);
	add_stack(&adding);
}
