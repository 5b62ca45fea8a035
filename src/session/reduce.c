/* Samples in any order on several threads.
 *
 * The file is cut into pieces of a few MB between records (pass 1 noted where). Each worker has a state of its own and takes the next piece
 * that nobody has taken yet; when all are done, the states are merged one after the other. Nothing is shared but what no longer changes:
 * mapping, layouts, machine.
 *
 *	pieces   |  0  |  1  |  2  |  3  |  4  | …
 *	worker 0    ▲           ▲     ▲                state 0 ◄── merge ── state 1
 *	worker 1          ▲                 ▲
 */
#include "base/pool.h"
#include "session/session_internal.h"

#include <string.h>

struct worker {
	void *state;
	reading_values values;		       /* of the counters, where the worker is */
	struct reader_diagnostics diagnostics; /* only broken records and changes */
	struct sample fixed;		       /* where no more than the fixed part is looked at */
	size_t near;			       /* for ties_time() */
	VEC(uint64_t) chain;		       /* of a sample whose user part came later, put together */
};

struct reduction {
	struct session *session;
	size_t every; /* 1 = all pieces */
	const struct reducer *reducer;
	void *context;
	struct worker *workers;
};

/* Reducers need not know that a chain came in two parts. */
static void join_chain(struct worker *worker, struct sample *sample)
{
	uint64_t count = sample->chain_count + sample->deferred_count;
	worker->chain.len = 0;
	vec_reserve(&worker->chain, count);
	memcpy(worker->chain.data, sample->chain, sample->chain_count * sizeof(uint64_t));
	memcpy(worker->chain.data + sample->chain_count, sample->deferred, sample->deferred_count * sizeof(uint64_t));
	sample->chain = worker->chain.data;
	sample->chain_count = count;
	sample->deferred_count = 0;
}

static bool passes_filter(const struct session_private *private, const struct sample_layout *layout, const struct sample *sample)
{
	return !private->filter.active || (filter_accepts_cpu(&private->filter, sample->cpu) &&
					   filter_accepts_time(&private->filter, layout->time ? sample->time : FILTER_NO_TIME));
}

static uint64_t model_time_of(const struct session_private *private, struct worker *worker, const struct sample *sample, uint64_t offset)
{
	if (private->offset_times)
		return offset;
	return sample->time ? ties_time(&private->ties, sample->time, offset, &worker->near) : UINT64_MAX;
}

/* For reducers that look at no more than the fixed part. */
static void reduce_fixed_part(const struct reduction *reduction, struct worker *worker, const struct event *event,
			      const struct record_header *header, uint64_t offset)
{
	const struct session *session = reduction->session;
	const struct sample_layout *layout = &session->reader->layouts[event->index];
	struct sample *sample = &worker->fixed;
	const char *broken = sample_decode_fixed_anew(layout, &event->attr, header, sample);
	if (broken)
		return reader_diagnostics_note(&worker->diagnostics, offset, broken);
	if (passes_filter(session->private, layout, sample))
		reduction->reducer->sample(worker->state, reduction->context, event, sample,
					   model_time_of(session->private, worker, sample, offset));
}

static void reduce_sample(const struct reduction *reduction, struct worker *worker, const struct record_header *header, uint64_t offset)
{
	const struct session *session = reduction->session;
	const struct session_private *private = session->private;
	const struct reducer *reducer = reduction->reducer;
	const struct event *event = reader_event(session->reader, header);
	struct sample sample;
	if (!event)
		return; /* pass 1 counted it */
	const struct sample_layout *layout = &session->reader->layouts[event->index];
	bool splits = readings_splits(&private->readings, layout);
	if (reducer->fixed_only && !splits)
		return reduce_fixed_part(reduction, worker, event, header, offset);
	const char *broken = private->filter.active ? sample_decode_fixed(layout, &event->attr, header, &sample) : NULL;
	bool wanted = broken || passes_filter(private, layout, &sample);
	if (!wanted && !splits)
		return;
	if (!broken)
		broken = sample_decode(layout, &event->attr, header, &sample);
	if (broken)
		return reader_diagnostics_note(&worker->diagnostics, offset, broken);
	deferred_attach(&private->deferred, &event->attr, &sample);
	if (sample.deferred_count)
		join_chain(worker, &sample);
	uint64_t model_time = model_time_of(private, worker, &sample, offset);
	if (!splits)
		return reducer->sample(worker->state, reduction->context, event, &sample, model_time);
	uint64_t index = 0;
	while ((event = readings_next(&private->readings, session->reader, layout, worker->values, &index, &sample)))
		if (wanted)
			reducer->sample(worker->state, reduction->context, event, &sample, model_time);
}

static void reduce_piece(void *context, unsigned int index, size_t number)
{
	const struct reduction *reduction = context;
	size_t piece = number * reduction->every;
	struct worker *worker = &reduction->workers[index];
	struct reader *reader = reduction->session->reader;
	const uint64_t *cuts = reduction->session->private->cuts.data;
	const struct readings *readings = &reduction->session->private->readings;
	uint64_t offset = cuts[piece], end = cuts[piece + 1], asked = 0;
	if (index == 0)
		session_report_progress(reduction->session, offset);
	if (!worker->state) {
		worker->state = mem_zalloc(reduction->reducer->state_size);
		reduction->reducer->init(worker->state, reduction->context);
	}
	if (readings->present) {
		if (!worker->values)
			worker->values = reading_values_create(readings);
		memcpy(worker->values, reduction->session->private->cut_values.data[piece], readings->count * sizeof(*worker->values));
	}
	while (offset < end) {
		asked = reader_ask_ahead(reader, offset, asked);
		uint16_t size = reader_sample_size(reader, offset);
		if (size && size <= end - offset) {
			reader_ask_next(reader, offset, size);
			reduce_sample(reduction, worker, (const struct record_header *)(reader->records + offset), offset);
			offset += size;
			continue;
		}
		uint64_t next = offset;
		const struct record_header *header = reader_record(reader, &next, false);
		if (!header) {
			worker->diagnostics.changed = true;
			return;
		}
		worker->diagnostics.changed |= next > end;
		if (header->type == RECORD_SAMPLE && next <= end)
			reduce_sample(reduction, worker, header, next - header->size);
		offset = next;
	}
	uint64_t left = cuts[piece];
	session_leave_behind(reduction->session, &left, end, 0);
}

static void finish_worker(void *context, unsigned int index, size_t number)
{
	const struct reduction *reduction = context;
	(void)index;
	if (reduction->workers[number].state)
		reduction->reducer->finish(reduction->workers[number].state, reduction->context);
}

/* All states into the first one; what was broken into the session's count. */
static void *merge_workers(struct reduction *reduction, unsigned int jobs)
{
	const struct reducer *reducer = reduction->reducer;
	struct reader_diagnostics *diagnostics = &reduction->session->reader->diagnostics;
	void *merged = NULL;
	for (unsigned int i = 0; i < jobs; i++) {
		struct worker *worker = &reduction->workers[i];
		free(worker->values);
		vec_deinit(&worker->chain);
		if (worker->diagnostics.broken_records && reduction->every == 1) { /* else they are met again */
			uint64_t before = diagnostics->broken_records;
			reader_diagnostics_note(diagnostics, worker->diagnostics.first_broken_offset, worker->diagnostics.first_broken);
			diagnostics->broken_records = before + worker->diagnostics.broken_records;
		}
		diagnostics->changed |= worker->diagnostics.changed;
		if (!merged) {
			merged = worker->state;
			continue;
		}
		if (!worker->state)
			continue;
		reducer->merge(merged, worker->state, reduction->context);
		if (reducer->deinit)
			reducer->deinit(worker->state, reduction->context);
		free(worker->state);
	}
	if (!merged) {
		merged = mem_zalloc(reducer->state_size);
		reducer->init(merged, reduction->context);
	}
	return merged;
}

size_t session_piece_count(const struct session *session)
{
	return session->private->cuts.len > 1 ? session->private->cuts.len - 1 : 0;
}

struct error *session_reduce(struct session *session, const struct reducer *reducer, void *context, void **ret_state)
{
	struct error *error = session_prepare(session);
	if (error)
		return error;
	size_t every = reducer->every ? reducer->every : 1, pieces = (session_piece_count(session) + every - 1) / every;
	unsigned int jobs = session->jobs < pieces ? session->jobs : pieces ? (unsigned int)pieces : 1;
	struct reduction reduction = {.session = session, .every = every, .reducer = reducer, .context = context};
	reduction.workers = mem_zalloc_array(jobs, sizeof(*reduction.workers));
	session_report_progress(session, 0);
	pool_run(jobs, pieces, reduce_piece, &reduction);
	session_report_progress(session, session->reader->data_end);
	if (reducer->finish)
		pool_run(jobs, jobs, finish_worker, &reduction);
	*ret_state = merge_workers(&reduction, jobs);
	free(reduction.workers);
	return NULL;
}
