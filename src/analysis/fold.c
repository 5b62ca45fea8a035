/* Fold: every sample finds its entry.
 *
 * Nearly all time goes into a few look-ups per sample. Addresses become frames through small tables of the worker (fold_place.c); the frames of each part
 * of the stack become a piece, and what a sample was then an entry, in tables that all workers share (fold_tables.c).
 */
#include "analysis/fold_internal.h"

#include "base/mem.h"

#include <linux/perf_event.h>
#include <malloc.h>
#include <stdlib.h>

struct fold_context {
	struct fold *fold;
	const struct fold_options *options;
	struct fold_tables *tables;
	struct machine *machine;
	struct resolver *resolver;
};

enum { RECENT_ACTORS = 1024 };

/* Who ran, and where its files were: the same threads come again and again. */
struct recent_actor {
	const struct thread *thread;
	const char *comm;
	struct maps_state space;
	uint32_t actor, who;
};

struct fold_worker {
	struct fold_places places;
	struct recent_actor *recent;
	struct maps_state kernel;
	struct stack stack;
	VEC(uint64_t) words;
	VEC(uint32_t) frames; /* of the piece that is being made */
	uint64_t *extra;
};

/* A sample on its way. */
struct adding {
	struct fold_context *context;
	struct fold_worker *worker;
	const struct fold_sample *in;
	const struct maps_state *space; /* of the thread's process */
	struct fold_entry *entry;
	bool unwound; /* the user part comes from registers and stack bytes: inlined functions are looked for */
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
	uint64_t start = machine->kernel_start;
	return start && ip >= start ? CPUMODE_KERNEL : CPUMODE_USER;
}

static const struct maps_state *state_for(const struct adding *adding, uint8_t cpumode)
{
	return cpumode == CPUMODE_KERNEL ? &adding->worker->kernel : cpumode == CPUMODE_USER ? adding->space : NULL;
}

static uint32_t frame_of(const struct adding *adding, uint8_t cpumode, uint64_t ip)
{
	return fold_places_frame(&adding->worker->places, state_for(adding, cpumode), cpumode, ip);
}

static uint32_t piece_of(const struct adding *adding, bool kernel)
{
	struct fold_worker *worker = adding->worker;
	return fold_tables_piece(adding->context->tables, worker->frames.data, (uint32_t)worker->frames.len, kernel);
}

static void push_frames(const struct adding *adding, uint8_t mode, uint64_t ip)
{
	struct fold_worker *worker = adding->worker;
	if (adding->unwound && adding->context->options->inlines && mode == CPUMODE_USER) {
		const uint32_t *frames;
		size_t count = fold_places_functions(&worker->places, adding->space, ip, &frames);
		for (size_t i = 0; i < count; i++)
			vec_push(&worker->frames, frames[i]);
		return;
	}
	uint32_t frame = frame_of(adding, mode, ip);
	if (frame != FOLD_NONE)
		vec_push(&worker->frames, frame);
}

/* A part of a chain with its markers. */
static uint32_t make_piece(const struct adding *adding, const uint64_t *words, uint64_t count, bool kernel)
{
	uint8_t mode = kernel ? CPUMODE_KERNEL : CPUMODE_USER;
	bool by_address = false;
	adding->worker->frames.len = 0;
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
		push_frames(adding, mode, ip);
	}
	return piece_of(adding, kernel);
}

static void add_chain(const struct adding *adding, const uint64_t *chain, uint64_t count)
{
	uint64_t split = chain_split(chain, count);
	if (split)
		adding->entry->inner = make_piece(adding, chain, split, true);
	if (split < count)
		adding->entry->outer = make_piece(adding, chain + split, count - split, false);
}

/* The chain of samples that have user registers and stack, or branch stacks as call graph: made by the resolver of stacks, into worker->words. */
static bool unwound_chain(struct adding *adding)
{
	struct fold_context *context = adding->context;
	struct fold_worker *worker = adding->worker;
	const struct fold_sample *in = adding->in;
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
	adding->unwound = worker->stack.unwound;
	return true;
}

static void add_recorded(const struct adding *adding)
{
	const struct fold_options *options = adding->context->options;
	struct fold_worker *worker = adding->worker;
	const uint64_t *chain = adding->in->sample->chain;
	uint64_t count = adding->in->sample->chain_count;
	uint64_t most = options->max_stack ? options->max_stack : 127;
	uint64_t begin = count > most && options->keep_outermost ? chain_outermost(chain, count, most) : 0;
	if (!begin) {
		add_chain(adding, chain, options->keep_outermost ? count : chain_limit(chain, count, most));
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
	const struct fold_options *options = adding->context->options;
	add_chain(adding, worker->words.data, chain_limit(worker->words.data, worker->words.len, options->max_stack ? options->max_stack : 127));
	return true;
}

/* A branch from one address to another: the space is seen by the address. Both are kept, or none. */
static void make_branch_piece(const struct adding *adding, const struct branch_entry *branch)
{
	const struct machine *machine = adding->context->machine;
	uint32_t from = frame_of(adding, mode_by_address(machine, branch->from), branch->from);
	uint32_t to = frame_of(adding, mode_by_address(machine, branch->to), branch->to);
	adding->worker->frames.len = 0;
	if (from != FOLD_NONE && to != FOLD_NONE) {
		vec_push(&adding->worker->frames, from);
		vec_push(&adding->worker->frames, to);
	}
	adding->entry->outer = piece_of(adding, false);
}

/* Every branch counts 1, whatever the sample's period. */
static void add_branches(const struct adding *adding)
{
	const struct fold_options *options = adding->context->options;
	const struct fold_sample *in = adding->in;
	struct sample one = *in->sample;
	struct fold_sample branch = *in;
	branch.sample = &one;
	one.branch_count = 1;
	one.period = adding->entry->period = 1;
	for (uint64_t i = 0; i < in->sample->branch_count; i++) {
		one.branches = &in->sample->branches[i];
		if (options->extra) {
			options->extra(options->context, &branch, adding->worker->extra);
			adding->entry->extra = fold_tables_extra(adding->context->tables, adding->worker->extra);
		}
		make_branch_piece(adding, one.branches);
		fold_tables_entry(adding->context->tables, adding->entry);
	}
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
	if (unwound_chain(adding))
		add_chain(adding, adding->worker->words.data, adding->worker->words.len);
	else if (adding->in->sample->chain_count)
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
		.period = sample->period,
		.time = sample->time,
		.first = sample->header,
	};
	struct adding adding = {.context = context, .worker = worker, .in = &in, .space = &actor->space, .entry = &entry};
	entry.leaf = frame_of(&adding, sample->cpumode, sample->ip);
	if (entry.leaf == FOLD_NONE)
		return;
	if (options->branches) {
		/* Where the sample was doesn't matter: the same frame for all. */
		entry.leaf = fold_tables_frame(context->tables, &(struct fold_frame){0});
		add_branches(&adding);
		return;
	}
	if (options->extra) {
		options->extra(options->context, &in, worker->extra);
		entry.extra = fold_tables_extra(context->tables, worker->extra);
	}
	add_stack(&adding);
	fold_tables_entry(context->tables, &entry);
}

static void worker_init(void *state, void *argument)
{
	struct fold_worker *worker = state;
	struct fold_context *context = argument;
	*worker = (struct fold_worker){.kernel = maps_state_at(context->machine->kernel_maps, 0),
				       .recent = mem_zalloc_array(RECENT_ACTORS, sizeof(*worker->recent)),
				       .extra = mem_alloc_array(context->options->extra_words + 1, sizeof(uint64_t))};
	fold_places_init(&worker->places, context->tables, context->resolver, context->machine);
}

static void worker_deinit(void *state, void *argument)
{
	struct fold_worker *worker = state;
	(void)argument;
	fold_places_deinit(&worker->places);
	free(worker->recent);
	stack_deinit(&worker->stack);
	vec_deinit(&worker->words);
	vec_deinit(&worker->frames);
	free(worker->extra);
}

/* Workers share their tables: nothing is left to be merged. */
static void worker_merge(void *state, void *other, void *argument)
{
	(void)state;
	(void)other;
	(void)argument;
}

/* Whether more of a sample is looked at than its fixed part. */
static bool needs_whole_samples(const struct fold_options *options)
{
	return options->chains || options->branches || options->branch_history || options->extra || options->accept;
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
		worker_deinit(worker, &context);
		free(worker);
		fold_tables_pack(tables, fold);
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
