/* Fold: what a caller feeds and takes out.
 *
 * What was added since the last swap hangs from `tables`: distinct frames, actors and extra values, and a set of entries for each feed. To
 * swap is to hand all that over to a new fold and to begin with empty tables, so that neither knows of the other:
 *
 *	feed 1 ──► set ─┐                          feed 1 ──► set' ─┐
 *	feed 2 ──► set ─┴─ tables ─ fold    ──►    feed 2 ──► set' ─┴─ tables' ─ fold        set, set ─ tables ─ the swapped one
 *
 * What feeds remember in front of the tables are ids of those, and is forgotten with them.
 *
 * To merge is to add the entries of a finished fold as a feed's are: in the numbers of the other's tables, in batches, to a set of their
 * own.
 */
#include "analysis/report/fold_internal.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* ---- feeds ---- */

static uint64_t samples_since_swap(const struct fold *fold)
{
	return fold->session->record_counts[RECORD_SAMPLE] - fold->private->samples_before;
}

/* What is made of the tables' ids. `tables` may be the same for all of the fold's feeds only under its lock. `keeps_places`: they are as
 * feed_stop() left them, and the tables have the same frames. */
static void feed_start(struct fold_feed *feed, struct fold_tables *tables, bool keeps_places)
{
	const struct fold_context *context = feed->context;
	uint64_t samples = samples_since_swap(feed->fold);
	if (keeps_places)
		feed->places.tables = tables;
	else
		fold_places_init(&feed->places, tables, context->resolver, context->machine, samples);
	fold_recent_init(&feed->parts);
	feed->set = fold_tables_add_set(tables);
	feed->set->shares_frames = context->options->shared_frames && samples > FOLD_MANY_SAMPLES;
	if (context->options->loose) {
		feed->loose = fold_loose_create(feed->fold->session->reader->has_times, samples);
		vec_push(&tables->loose, feed->loose);
	}
	feed->counts = feed->counted ? fold_counts_create(&feed->places, feed->set, samples) : NULL;
	feed->recent = mem_zalloc_array(FOLD_RECENT_ACTORS, sizeof(*feed->recent));
	if (context->options->extra)
		feed->recent_extras = mem_zalloc_array(FOLD_RECENT_EXTRAS, sizeof(*feed->recent_extras));
}

/* The batch into the set, and why stacks end into `fold`. */
static void feed_stop(struct fold_feed *feed, struct fold *fold, bool keeps_places)
{
	fold_feed_flush(feed);
	fold_counts_destroy(take_pointer(feed->counts));
	stack_ends_merge(fold->ends, &feed->ends);
	stack_ends_deinit(&feed->ends);
	feed->ends = (struct stack_ends){0};
	if (!keeps_places)
		fold_places_deinit(&feed->places);
	fold_recent_deinit(&feed->parts);
	free(feed->recent);
	free(feed->recent_extras);
}

static void feed_init(struct fold_feed *feed, struct fold *fold)
{
	struct fold_private *private = fold->private;
	*feed = (struct fold_feed){.fold = fold, .context = &private->context, .counted = fold_counts_may(&private->options)};
	feed->kernel = maps_state_at(private->context.machine->kernel_maps, 0);
	feed->guest = maps_state_at(private->context.machine->guest_maps, 0);
	feed->extra = mem_alloc_array(private->options.extra_words + 1, sizeof(uint64_t));
	pthread_mutex_init(&feed->lock, NULL);
	pthread_mutex_lock(&private->lock);
	feed_start(feed, private->tables, false);
	vec_push(&private->feeds, feed);
	pthread_mutex_unlock(&private->lock);
}

static void feed_deinit(struct fold_feed *feed)
{
	struct fold_private *private = feed->fold->private;
	pthread_mutex_lock(&private->lock);
	size_t at = 0;
	while (private->feeds.data[at] != feed)
		at++;
	private->feeds.data[at] = *vec_last(&private->feeds);
	private->feeds.len--;
	feed_stop(feed, feed->fold, false);
	pthread_mutex_unlock(&private->lock);
	pthread_mutex_destroy(&feed->lock);
	stack_deinit(&feed->stack);
	vec_deinit(&feed->words);
	vec_deinit(&feed->unwound);
	vec_deinit(&feed->lookups);
	vec_deinit(&feed->ips);
	vec_deinit(&feed->frames);
	free(feed->extra);
}

struct fold_feed *fold_feed_open(struct fold *fold)
{
	struct fold_feed *feed = mem_zalloc(sizeof(*feed));
	feed_init(feed, fold);
	return feed;
}

void fold_feed_close(struct fold_feed *feed)
{
	if (!feed)
		return;
	feed_deinit(feed);
	free(feed);
}

void fold_sample_complete(struct fold_sample *sample, struct machine *machine)
{
	if (!sample->thread)
		sample->thread = session_sample_thread(machine, sample->sample, sample->model_time);
	if (!sample->comm)
		sample->comm = thread_comm_settled(sample->thread, sample->model_time);
}

/* Other files have the numbers by which it knew them: of those that had no frame, which would have kept them. Nothing waits: they went at
 * the end of an epoch. */
static void __attribute__((noinline)) forget_places(struct fold_feed *feed)
{
	const struct fold_context *context = feed->context;
	uint64_t samples = samples_since_swap(feed->fold);
	fold_counts_destroy(take_pointer(feed->counts));
	fold_places_deinit(&feed->places);
	fold_recent_deinit(&feed->parts);
	fold_places_init(&feed->places, feed->fold->private->tables, context->resolver, context->machine, samples);
	fold_recent_init(&feed->parts);
	feed->counts = feed->counted ? fold_counts_create(&feed->places, feed->set, samples) : NULL;
	feed->drops = context->machine->drops;
}

void fold_add(struct fold_feed *feed, const struct fold_sample *samples, size_t count)
{
	pthread_mutex_lock(&feed->lock);
	/* The machine may have grown: what a state of an address space was valid for may have ended. */
	feed->turn++;
	feed->kernel = (struct maps_state){.from = 1};
	if (feed->drops != feed->context->machine->drops)
		forget_places(feed);
	for (size_t i = 0; i < count; i++) {
		struct fold_sample sample = samples[i];
		fold_sample_complete(&sample, feed->context->machine);
		fold_feed_sample(feed, &sample);
	}
	if (feed->context->options->records == FOLD_RECORDS_COPIED)
		fold_feed_flush(feed);
	pthread_mutex_unlock(&feed->lock);
}

/* ---- a whole session ---- */

static void worker_init(void *state, void *fold)
{
	struct fold_feed *feed = state;
	feed_init(feed, fold);
}

static void worker_sample(void *state, void *fold, const struct event *event, const struct sample *sample, uint64_t model_time)
{
	struct fold_sample in = {.event = event, .sample = sample, .model_time = model_time};
	(void)fold;
	fold_sample_complete(&in, ((struct fold_feed *)state)->context->machine);
	fold_feed_sample(state, &in);
}

/* What samples were counted by becomes entries: on each worker's own thread, not when they are merged. */
static void worker_finish(void *state, void *fold)
{
	struct fold_feed *feed = state;
	(void)fold;
	fold_feed_flush(feed);
	fold_counts_destroy(take_pointer(feed->counts));
}

static void worker_deinit(void *state, void *fold)
{
	(void)fold;
	feed_deinit(state);
}

/* Sets are merged later, in parallel: fold_pack(). */
static void worker_merge(void *state, void *other, void *fold)
{
	(void)state;
	(void)other;
	(void)fold;
}

struct error *fold_add_session(struct fold *fold)
{
	const struct reducer reducer = {.state_size = sizeof(struct fold_feed),
					.init = worker_init,
					.sample = worker_sample,
					.finish = worker_finish,
					.merge = worker_merge,
					.deinit = worker_deinit,
					.every = fold->private->options.every,
					.fixed_only = !fold_needs_whole_samples(&fold->private->options)};
	struct fold_feed *feed;
	struct error *error = session_reduce(fold->session, &reducer, fold, (void **)&feed);
	if (error)
		return error;
	feed_deinit(feed);
	free(feed);
	return NULL;
}

/* ---- folds ---- */

struct fold *fold_create(struct session *session, struct resolver *resolver, const struct fold_options *options)
{
	struct fold *fold = mem_zalloc(sizeof(*fold));
	struct fold_private *private = fold->private = mem_zalloc(sizeof(*private));
	fold->session = session;
	fold->ends = mem_zalloc(sizeof(*fold->ends));
	private->options = *options;
	if (!private->options.jobs)
	private->options.jobs = session->jobs ? session->jobs : 1;
	private->context = (struct fold_context){.options = &private->options, .machine = session->machine, .resolver = resolver};
	pthread_mutex_init(&private->lock, NULL);
	private->tables = fold_tables_create(&private->options);
	return fold;
}

static void swap_ends(struct fold *a, struct fold *b)
{
	struct stack_ends *ends = a->ends;
	a->ends = b->ends;
	b->ends = ends;
}

/* A live view swaps every few seconds, and meets the same code again. What is looked up then stays known, until half of it may be of no use
 * any more. */
static bool keeps_numbers(struct fold_private *private)
{
	enum { KEPT_MOST = 30, FRAMES_FEW = 4096 };
	const struct fold_options *options = &private->options;
	if (!options->any_address || options->loose || options->extra_words || private->feeds.len != 1)
		return false;
	size_t frames = fold_tables_frame_count(private->tables);
	if (!private->kept)
	private->frames_first = frames;
	if (private->kept++ < KEPT_MOST && frames <= 2 * private->frames_first + FRAMES_FEW)
		return true;
	private->kept = 0;
	return false;
}

struct fold *fold_swap(struct fold *fold)
{
	struct fold_private *private = fold->private;
	struct fold *taken = fold_create(fold->session, private->context.resolver, &private->options);
	struct fold_tables *empty = taken->private->tables;
	empty->options = &private->options;
	pthread_mutex_lock(&private->lock);
	swap_ends(fold, taken);
	bool keeps = keeps_numbers(private);
	for (size_t i = 0; i < private->feeds.len; i++) {
		struct fold_feed *feed = private->feeds.data[i];
		pthread_mutex_lock(&feed->lock);
		feed_stop(feed, taken, keeps);
		if (keeps)
			fold_tables_keep(empty, private->tables, hash_combine((uintptr_t) private, ++private->swaps));
		feed_start(feed, empty, keeps);
		pthread_mutex_unlock(&feed->lock);
	}
	private->samples_before = fold->session->record_counts[RECORD_SAMPLE];
	taken->private->tables = private->tables;
	taken->private->tables->options = &taken->private->options;
	private->tables = empty;
	private->merged = NULL;
	pthread_mutex_unlock(&private->lock);
	return taken;
}

static void finish(struct fold *fold, bool with_details)
{
	struct fold_private *private = fold->private;
	if (!private->tables)
		return;
	assert(!private->feeds.len);
	if (private->options.loose)
		fold_loose_pack(private->tables, fold);
	else
		fold_pack(private->tables, fold, with_details);
	fold_tables_destroy(private->tables);
	private->tables = NULL;
	private->merged = NULL;
}

/* Of what came in some order nobody asks for the first samples, if they aren't kept. */
void fold_finish(struct fold *fold)
{
	const struct fold_options *options = &fold->private->options;
	finish(fold, !options->any_address || options->extra_words || options->apart || options->records != FOLD_RECORDS_DROPPED);
}

struct error *fold_of_session(struct session *session, struct resolver *resolver, const struct fold_options *options, struct fold **ret)
{
	/* Large arrays go back to the system when they are freed: the next step needs the memory. */
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	struct fold *fold = fold_create(session, resolver, options);
	const struct reader *reader = session->reader;
	bool small =
		!options->extra_words && !options->apart && options->records == FOLD_RECORDS_STABLE && reader->data_end <= FOLD_SMALL_FILE;
	fold->private->options.loose &= small && options->chains && !options->branches && options->by_file && !options->by_line;
	if (small)
		fold->private->tables->records = reader->records;
	struct error *error = fold_add_session(fold);
	if (error) {
		fold_destroy(fold);
		return error;
	}
	finish(fold, options->extra_words > 0 || options->apart);
	*ret = fold;
	return NULL;
}

void fold_destroy(struct fold *fold)
{
	if (!fold)
		return;
	struct fold_private *private = fold->private;
	assert(!private->feeds.len);
	fold_tables_destroy(private->tables);
	vec_deinit(&private->feeds);
	pthread_mutex_destroy(&private->lock);
	intern_deinit(&private->names);
	arena_deinit(&private->records);
	free(private->frame_names);
	for (size_t i = 0; i < private->loose.len; i++)
		fold_loose_destroy(private->loose.data[i]);
	vec_deinit(&private->loose);
	free(private->packed_frames);
	free(private);
	stack_ends_deinit(fold->ends);
	free(fold->ends);
	free(fold->entries);
	free(fold->details);
	free(fold->pieces);
	free(fold->actors);
	free(fold->extras);
	free(fold->frame_ids);
	free(fold->frames);
	free(fold->functions);
	free(fold);
}

/* ---- the machine's next epoch ---- */

static void carry_actors(struct fold_actor *actors, size_t count, struct carrying *carrying)
{
	for (size_t i = 0; i < count; i++) {
		actors[i].thread = machine_carry_thread(carrying, actors[i].thread);
		actors[i].comm = machine_carry_name(carrying, actors[i].comm);
	}
}

static void carry_frames(struct fold_frame *frames, size_t count, struct carrying *carrying)
{
	for (size_t i = 0; i < count; i++)
		if (frames[i].map)
			frames[i].map = machine_carry_map(carrying, frames[i].map);
}

static void carry_ends(const struct stack_ends *ends, struct carrying *carrying)
{
	for (size_t i = 0; i < ends->list.len; i++)
		machine_carry_file(carrying, ends->list.data[i].dso);
}

/* What it remembers would be found by addresses that others may have now. */
static void carry_feed(struct fold_feed *feed, struct carrying *carrying)
{
	pthread_mutex_lock(&feed->lock);
	fold_feed_flush(feed);
	fold_counts_flush(feed->counts);
	memset(feed->recent, 0, FOLD_RECENT_ACTORS * sizeof(*feed->recent));
	carry_ends(&feed->ends, carrying);
	pthread_mutex_unlock(&feed->lock);
}

void fold_carry(struct fold *fold, struct carrying *carrying)
{
	struct fold_private *private = fold->private;
	struct fold_tables *tables = private->tables;
	carry_ends(fold->ends, carrying);
	if (!tables) {
		carry_actors(fold->actors, fold->actor_count, carrying);
		carry_frames(fold->frames, fold->frame_count, carrying);
		return;
	}
	pthread_mutex_lock(&private->lock);
	for (size_t i = 0; i < private->feeds.len; i++)
		carry_feed(private->feeds.data[i], carrying);
	carry_actors(tables->actors.data, tables->actors.len, carrying);
	fold_tables_index_actors(tables);
	for (size_t i = 0; i < FOLD_SHARDS; i++)
		carry_frames(tables->frames[i].frames.data, tables->frames[i].frames.len, carrying);
	pthread_mutex_unlock(&private->lock);
}

/* ---- merging ---- */

/* The numbers of the elements of `from` in `tables`; FOLD_NONE for those that no entry has needed so far: some may have none any more. */
struct renumbered {
	struct fold_tables *tables;
	struct fold_set *set;
	const struct fold *from;
	uint32_t *frames, *actors;
};

/* Frames that were in tables of the same lineage have their numbers there. */
static void keep_frames(struct renumbered *numbers)
{
	const struct fold_private *private = numbers->from->private;
	if (!private->lineage || private->lineage != numbers->tables->lineage)
		return;
	for (uint32_t shard = 0; shard < FOLD_SHARDS; shard++) {
		for (uint32_t i = 0; i < private->kept_frames[shard]; i++)
			numbers->frames[private->firsts[shard] + i] = i * FOLD_SHARDS + shard;
	}
}

static void renumber(struct renumbered *numbers)
{
	const struct fold *from = numbers->from;
	numbers->frames = mem_alloc_array(from->frame_count + 1, sizeof(uint32_t));
	numbers->actors = mem_alloc_array(from->actor_count + 1, sizeof(uint32_t));
	memset(numbers->frames, 0xff, from->frame_count * sizeof(uint32_t));
	memset(numbers->actors, 0xff, from->actor_count * sizeof(uint32_t));
	keep_frames(numbers);
}

static uint32_t number_of_frame(const struct renumbered *numbers, uint32_t frame)
{
	uint32_t *number = &numbers->frames[frame];
	if (*number == FOLD_NONE)
		*number = fold_tables_frame(numbers->tables, &numbers->from->frames[frame]);
	return *number;
}

static uint32_t number_of_actor(const struct renumbered *numbers, uint32_t actor)
{
	uint32_t *number = &numbers->actors[actor];
	if (*number == FOLD_NONE) {
		uint32_t who;
		*number = fold_tables_actor(numbers->tables, &numbers->from->actors[actor], &who);
		fold_set_actor(numbers->set, *number, who);
	}
	return *number;
}

/* Returns how many. */
static uint32_t add_frames(const struct renumbered *numbers, uint32_t piece, bool kernel, uint32_t *to, struct fold_stretch *ret)
{
	*ret = (struct fold_stretch){.callers = FOLD_NONE};
	if (piece == FOLD_NONE)
		return 0;
	uint32_t count = fold_piece_copy(numbers->from, &numbers->from->pieces[piece], to);
	for (uint32_t i = 0; i < count; i++)
		to[i] = number_of_frame(numbers, to[i]);
	*ret = (struct fold_stretch){
		.present = true, .frames = to, .count = count, .callers = FOLD_NONE, .callers_hash = fold_pieces_hash_begin(kernel)};
	return count;
}

/* `frames` has room for the entry's stack; returns how many there are. */
static uint32_t make_item(const struct renumbered *numbers, const struct fold_entry *entry, uint32_t *frames, struct fold_item *ret)
{
	const struct fold *from = numbers->from;
	static const struct fold_detail nothing;
	const struct fold_detail *detail = from->details ? &from->details[entry - from->entries] : &nothing;
	*ret = (struct fold_item){.entry = {.entry = *entry, .time = detail->time, .first = detail->first}};
	ret->entry.entry.leaf = number_of_frame(numbers, entry->leaf);
	ret->entry.entry.actor = number_of_actor(numbers, entry->actor);
	if (from->extra_words)
		ret->entry.extra = fold_tables_extra(numbers->tables, from->extras + (size_t)detail->extra * from->extra_words);
	uint32_t inner = add_frames(numbers, entry->inner, true, frames, &ret->inner);
	uint32_t outer = add_frames(numbers, entry->outer, false, frames + inner, &ret->outer);
	ret->entry.entry.inner = ret->entry.entry.outer = FOLD_NONE;
	return inner + outer;
}

/* Of a batch: what there is room for before its items point there. */
static size_t count_frames(const struct fold *fold, size_t begin, size_t end)
{
	size_t count = 0;
	for (size_t i = begin; i < end; i++)
		count += fold_depth(fold, &fold->entries[i]);
	return count;
}

static void add_entries(const struct renumbered *numbers)
{
	const struct fold *from = numbers->from;
	struct fold_item items[FOLD_BATCH];
	VEC(uint32_t) frames = {0};
	for (size_t begin = 0, end; begin < from->entry_count; begin = end) {
		end = begin + FOLD_BATCH < from->entry_count ? begin + FOLD_BATCH : from->entry_count;
		vec_reserve(&frames, count_frames(from, begin, end));
		uint32_t used = 0;
		for (size_t i = begin; i < end; i++)
			used += make_item(numbers, &from->entries[i], frames.data + used, &items[i - begin]);
		fold_set_add(numbers->set, items, end - begin);
	}
	vec_deinit(&frames);
}

/* What was swapped out has a set that nobody feeds any more, a live view's is fed by who merges. */
static struct fold_set *set_to_merge_into(const struct fold_private *private)
{
	bool free = (!private->feeds.len || private->options.any_address) && private->tables->sets.len;
	return free ? private->tables->sets.data[0] : fold_tables_add_set(private->tables);
}

void fold_merge(struct fold *into, struct fold *from)
{
	struct fold_private *private = into->private;
	assert(private->tables);
	fold_finish(from);
	pthread_mutex_lock(&private->lock);
	if (!private->merged)
	private->merged = set_to_merge_into(private);
	stack_ends_merge(into->ends, from->ends);
	pthread_mutex_unlock(&private->lock);
	struct renumbered numbers = {.tables = private->tables, .set = private->merged, .from = from};
	renumber(&numbers);
	add_entries(&numbers);
	free(numbers.frames);
	free(numbers.actors);
}
