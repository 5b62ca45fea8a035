/* The recorder as a source (live.h). It moves what is in the rings here instead of into a file, one pass each time that the session has
 * nothing left to read: fetched, not pushed, so that one thread does it all and nothing piles up.
 *
 * What isn't done here: order, the model and counts of losses (session), what the rings are (capture/recorder.c). */
#include "capture/live.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/strbuf.h"
#include "capture/afterwards.h"
#include "capture/gather/gather.h"
#include "capture/off_cpu_samples.h"
#include "capture/python/python_frames.h"
#include "capture/recorder.h"
#include "capture/stack_chains.h"
#include "capture/stack_way.h"
#include "model/machine.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TICK_NS = 100000000, LOSSES_EVERY_NS = 1000000000, LOSSES_EVERY_TICKS = 5 };

/* Of names: in no folder, since they are wanted here only. */
struct live_file {
	struct buildid id;
	struct strbuf bytes;
};

struct live {
	struct recorder_options options;
	struct recorder_sink sink;
	struct recorder *recorder;
	struct counter_set counters;
	struct stack_walker *walker;	 /* or NULL */
	struct off_cpu_samples *off_cpu; /* or NULL */
	struct python_frames_taker taker;
	struct python_frames *python;
	pthread_mutex_t files_lock;
	VEC(struct live_file) files;
	struct reader *reader;	   /* its events are those of the recorder */
	bool taken;		   /* the reader is the session's */
	struct strbuf chunk;	   /* what was read since the last one was given out */
	size_t usual_size;	   /* of those before: that of the largest, which is forgotten slowly */
	uint64_t losses_looked_ns; /* at the counters', when last */
	bool closes_slowly;	   /* some counter does (afterwards.h) */
	enum { LIVE_NEW, LIVE_RUNS, LIVE_ENDED } state;
};

static void append(void *context, const struct iovec *pieces, int count)
{
	struct live *live = context;

	if (!live->chunk.len)
		strbuf_reserve(&live->chunk, live->usual_size);
	for (int i = 0; i < count; i++)
		strbuf_add(&live->chunk, pieces[i].iov_base, pieces[i].iov_len);
}

/* ---- frames of Python ---- */

static void keep_file(void *context, const char *name, const struct buildid *id, const struct strbuf *bytes)
{
	struct live *live = context;
	struct live_file file = {.id = *id};

	(void)name;
	strbuf_add(&file.bytes, bytes->data, bytes->len);
	pthread_mutex_lock(&live->files_lock);
	vec_push(&live->files, file);
	pthread_mutex_unlock(&live->files_lock);
}

/* The oldest one: a later one may have the same functions, and so the same build-id. */
static void drop_file(void *context, const struct buildid *id)
{
	struct live *live = context;
	struct live_file *files = live->files.data;

	pthread_mutex_lock(&live->files_lock);
	for (size_t i = 0; i < live->files.len; i++) {
		if (!buildid_equal(&files[i].id, id))
			continue;
		strbuf_deinit(&files[i].bytes);
		memmove(&files[i], &files[i + 1], (--live->files.len - i) * sizeof(*files));
		break;
	}
	pthread_mutex_unlock(&live->files_lock);
}

static void *find_file(void *context, const struct buildid *id, size_t *ret_size)
{
	struct live *live = context;
	void *found = NULL;

	pthread_mutex_lock(&live->files_lock);
	for (size_t i = live->files.len; i > 0 && !found; i--) {
		const struct live_file *file = &live->files.data[i - 1];
		if (!buildid_equal(&file->id, id))
			continue;
		found = mem_alloc(file->bytes.len);
		memcpy(found, file->bytes.data, file->bytes.len);
		*ret_size = file->bytes.len;
	}
	pthread_mutex_unlock(&live->files_lock);
	return found;
}

/* ---- fetching ---- */

static struct error *finish(struct live *live)
{
	struct error *error = recorder_end(live->recorder), *finish_error = recorder_finish(live->recorder);

	live->state = LIVE_ENDED;
	if (!error)
		return finish_error;
	error_free(finish_error);
	return error;
}

/* To ask a counter interrupts its CPU. */
static uint64_t losses_every_ns(const struct live *live)
{
	uint64_t ticks_ns = LOSSES_EVERY_TICKS * live->options.drain_every_ns;

	return ticks_ns > LOSSES_EVERY_NS ? ticks_ns : LOSSES_EVERY_NS;
}

static struct error *step(struct live *live)
{
	struct error *error = recorder_step(live->recorder);
	uint64_t now = clock_now_ns(CLOCK_MONOTONIC);

	if (error || now < live->losses_looked_ns + losses_every_ns(live))
		return error;
	live->losses_looked_ns = now;
	return recorder_write_lost(live->recorder);
}

static struct error *fetch(struct live *live)
{
	if (live->state == LIVE_NEW) {
		live->state = LIVE_RUNS;
		return recorder_begin(live->recorder);
	}
	return recorder_goes_on(live->recorder) ? step(live) : finish(live);
}

static struct error *next_chunk(void *context, struct reader_chunk **ret)
{
	struct live *live = context;
	struct error *error = NULL;

	while (!error && !live->chunk.len && live->state != LIVE_ENDED)
		error = fetch(live);
	if (error || !live->chunk.len)
		return error;
	struct reader_chunk *chunk = mem_zalloc(sizeof(*chunk));
	chunk->data = (const uint8_t *)live->chunk.data;
	chunk->size = live->chunk.len;
	live->usual_size = chunk->size > live->usual_size ? chunk->size : live->usual_size - live->usual_size / 16;
	live->chunk = (struct strbuf){0};
	*ret = chunk;
	return NULL;
}

/* ---- opening ---- */

static void describe(const struct live_options *options, struct features *features)
{
	const struct gather_options gather = {.catalog = options->catalog};

	gather_features(&gather, features);
	error_free(gather_tracing_data(options->catalog, options->events, features));
	if (options->sampling->clockid_given)
		gather_clock(options->sampling->clockid, features);
}

/* How stacks are unwound; whoever reads sees call chains. */
static struct error *choose_way(const struct live_options *options, struct sampling *sampling, struct live *live)
{
	sampling->python = live->options.python = live->python;
	struct error *why = NULL, *error = stack_way_choose(options->events, sampling, options->target, NULL, &live->walker, &why);

	if (why)
		log_info("%s", error_message(why));
	error_free(why);
	if (!error && options->off_cpu && !live->walker && sampling->callgraph != CALLCHAIN_FP)
		error_free(stack_walker_open_rows(sampling, &live->walker));
	live->options.walker = live->walker;
	return error;
}

/* Behind the counters, whose ids it needs. */
static struct error *open_off_cpu(const struct live_options *options, struct live *live)
{
	const struct off_cpu_samples_options samples = {
		.events = &live->reader->events,
		.target = options->target,
		.by_cpu = true,
		.inherit = true,
		.kernel_stacks = true,
		.user_stacks = true,
		.threshold_ns = options->off_cpu_ns,
		.every_ns = options->off_cpu_every_ns,
		.walker = live->walker,
		.depth = options->sampling->max_stack,
	};
	struct error *error = off_cpu_samples_open(&samples, &live->off_cpu);

	if (!error)
		live->options.source = off_cpu_samples_source(live->off_cpu);
	return error_wrap(error, "time off the CPU");
}

static struct error *open_counters(const struct live_options *options, struct live *live)
{
	struct event_list *events = options->events;
	struct sampling sampling = *options->sampling;
	struct error *error = NULL;

	for (size_t i = 0; i < events->events.len && !error; i++) {
		error = sampling_refuse(events->events.data[i], false);
		sampling.listener |= events->events.data[i]->overwrite == EVENT_YES; /* side-band must not be overwritten */
	}
	if (!error && options->off_cpu)
		error = off_cpu_samples_add_event(events, options->catalog);
	if (!error)
		error = choose_way(options, &sampling, live);
	if (!error)
		error = sampling_configure(events, &sampling);
	if (!error && options->off_cpu)
		off_cpu_samples_configure(events, live->walker);
	return error ? error : counter_set_open(&live->counters, events, options->target);
}

static void choose_recorder(const struct live_options *options, struct live *live)
{
	const struct sampling *sampling = options->sampling;

	live->sink = (struct recorder_sink){append, live};
	live->options = (struct recorder_options){
		.sink = &live->sink,
		.quiet = true,
		.ring_pages = options->ring_pages,
		.drain_every_ns = options->tick_ns ? options->tick_ns : TICK_NS,
		.drops_files = true,
		.reads_overwritten = true,
		.start_disabled = options->delay_ms > 0,
		.synthesize_tasks = true,
		.synthesize_cgroups = sampling->cgroups,
		.namespaces = sampling->namespaces,
		.data_maps = sampling->address,
		.begun = options->begun,
		.signal = options->signal,
		.context = options->context,
		.is_workload_target = sampling->workload,
		.all_tasks = sampling->by_cpu,
		.map_timeout_ns = options->map_timeout_ns,
		.synth_jobs = options->synth_jobs ? options->synth_jobs : pool_default_jobs(),
	};
	if (options->delay_ms)
		vec_push(&live->options.edges_ms, options->delay_ms);
}

struct error *live_open(const struct live_options *options, struct live **ret)
{
	struct live *live = mem_zalloc(sizeof(*live));
	struct features features = {0};
	const struct reader_feed feed = {next_chunk, live, find_file};

	live->taker = (struct python_frames_taker){.take = keep_file, .drop = drop_file, .context = live, .one_name = true};
	live->python = python_frames_create(&live->taker);
	if (options->python_bytes)
		python_frames_limit(live->python, options->python_bytes);
	pthread_mutex_init(&live->files_lock, NULL);
	choose_recorder(options, live);
	struct error *error = open_counters(options, live);
	if (!error) {
		live->closes_slowly = afterwards_is_needed(options->events);
		describe(options, &features);
		live->reader = reader_open_feed(options->name ? options->name : "live", &feed, options->events, &features);
		error = options->off_cpu ? open_off_cpu(options, live) : NULL;
	}
	if (!error) {
		error = recorder_create(&live->options, &live->reader->events, &live->counters, options->workload, &live->recorder);
	}
	if (!error && options->opened)
		error = options->opened(options->context, &live->reader->events, &live->counters);
	if (error) {
		live_close(live, false);
		return error;
	}
	reader_refresh_events(live->reader); /* copies of stacks have counters of their own */
	live->losses_looked_ns = clock_now_ns(CLOCK_MONOTONIC);
	*ret = live;
	return NULL;
}

struct reader *live_take_reader(struct live *live)
{
	live->taken = true;
	return live->reader;
}

int live_fd(const struct live *live)
{
	return recorder_fd(live->recorder);
}

void live_stop(struct live *live)
{
	recorder_stop(live->recorder);
}

int live_signal(const struct live *live)
{
	return recorder_totals(live->recorder)->signal;
}

bool live_hides_addresses(const struct live *live)
{
	return recorder_totals(live->recorder)->addresses_hidden;
}

void live_shed(struct live *live)
{
	struct stack_chains *chains = recorder_stack_chains(live->recorder);
	if (chains)
		stack_chains_shed(chains);
}

bool live_thread_gone(void *context, const struct thread *thread)
{
	return (pid_t)thread->tid > 0 && kill((pid_t)thread->tid, 0) < 0 && errno == ESRCH;
}

uint64_t live_off_cpu_missed(const struct live *live)
{
	return live->off_cpu ? off_cpu_samples_missed(live->off_cpu) : 0;
}

uint64_t live_off_cpu_unseen(const struct live *live)
{
	return live->off_cpu ? off_cpu_samples_unseen(live->off_cpu) : 0;
}

void live_close(struct live *live, bool process_ends)
{
	if (!live)
		return;
	recorder_destroy(live->recorder);
	off_cpu_samples_close(live->off_cpu);
	if (process_ends && live->closes_slowly) {
		afterwards_leave(&live->counters);
		counters_abandon(&live->counters);
	} else {
		counter_set_close(&live->counters);
	}
	stack_walker_close(live->walker);
	python_frames_warn(live->python);
	python_frames_destroy(live->python);
	for (size_t i = 0; i < live->files.len; i++)
		strbuf_deinit(&live->files.data[i].bytes);
	vec_deinit(&live->files);
	pthread_mutex_destroy(&live->files_lock);
	if (!live->taken)
		reader_close(live->reader);
	strbuf_deinit(&live->chunk);
	vec_deinit(&live->options.edges_ms);
	free(live);
}
