/* A recording's hardware trace as samples between its records.
 *
 * Not done here: what a kind of trace means (decoder.h), samples as records (made_events.c). */
#include "analysis/itrace/itrace.h"

#include "analysis/itrace/decoder.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_SIZE = 256 << 10, CPUS_MAX = 1 << 16, QUEUES_MAX = 1 << 16 };
enum { AUX_TRUNCATED = 1 };

static const struct trace_decoder *const DECODERS[] = {
	&trace_decoder_spe,	  &trace_decoder_bts, &trace_decoder_ptt,
#ifdef LIBIPT
	&trace_decoder_pt,
#endif
#ifdef LIBOPENCSD
	&trace_decoder_coresight,
#endif
};

static const struct trace_decoder *decoder_of(uint32_t type)
{
	for (size_t i = 0; i < sizeof(DECODERS) / sizeof(DECODERS[0]); i++)
		if (DECODERS[i]->type == type)
			return DECODERS[i];
	return NULL;
}

/* Why there is no decoder for what is known; NULL = it isn't. */
static struct error *missing_decoder(uint32_t type)
{
#ifndef LIBIPT
	if (type == TRACE_INTEL_PT)
		return error_new_kind(ERROR_UNSUPPORTED, "this perf was built without libipt");
#endif
#ifndef LIBOPENCSD
	if (type == TRACE_CORESIGHT)
		return error_new_kind(ERROR_UNSUPPORTED, "this perf was built without libopencsd");
#endif
	(void)type;
	return NULL;
}

static const char *trace_name(uint32_t type)
{
	static const char *const NAMES[] = {NULL, "Intel PT", "Intel BTS", "CoreSight", "Arm SPE", "s390 CPUMSF", "HiSilicon PTT"};
	return type < sizeof(NAMES) / sizeof(NAMES[0]) && NAMES[type] ? NAMES[type] : "an unknown kind";
}

/* ── Who runs ── */

static struct trace_runner *runner_on(struct itrace *itrace, uint32_t cpu)
{
	const struct trace_runner nobody = {(uint32_t)-1, (uint32_t)-1};
	if (cpu >= CPUS_MAX)
		return NULL;
	while (itrace->runners.len <= cpu)
		vec_push(&itrace->runners, nobody);
	return &itrace->runners.data[cpu];
}

struct trace_runner trace_runner_of(const struct trace_queue *queue)
{
	const struct itrace *itrace = queue->itrace;
	if (queue->tid != (uint32_t)-1)
		return (struct trace_runner){trace_process_of(itrace, queue->tid), queue->tid};
	return queue->cpu < itrace->runners.len ? itrace->runners.data[queue->cpu] : (struct trace_runner){(uint32_t)-1, (uint32_t)-1};
}

uint32_t trace_process_of(const struct itrace *itrace, uint32_t tid)
{
	const struct thread *thread = machine_thread(itrace->session->machine, tid, itrace->model_time);
	return thread ? thread->pid : (uint32_t)-1;
}

/* The buffer was full, perhaps a thread's own, whose records have no CPU. */
static void note_truncated(struct itrace *itrace, const struct record_aux *aux, const struct sample_id *where)
{
	if (!(aux->flags & AUX_TRUNCATED))
		return;
	itrace->counts.truncated++;
	if (itrace->decoder && itrace->decoder->type == TRACE_INTEL_PT)
		trace_put_lost(itrace, where);
}

/* Takes note of a record that tells who runs from now on, or what is missing. */
static void follow_switch(struct itrace *itrace, const struct record *record)
{
	const struct record_header *header = record->header;
	struct sample_id id;
	if (!record->event || record_is_of_guest(header))
		return;
	sample_id_decode(&itrace->session->reader->layouts[record->event->index], header, &id);
	if (header->type == RECORD_AUX)
		return note_truncated(itrace, (const struct record_aux *)header, &id);
	struct trace_runner *runner = runner_on(itrace, id.cpu);
	if (!runner)
		return;
	switch (header->type) {
	case RECORD_SWITCH:
		if (!(header->misc & RECORD_MISC_SWITCH_OUT))
			*runner = (struct trace_runner){id.pid, id.tid};
		break;
	case RECORD_SWITCH_CPU_WIDE: {
		const struct record_switch_cpu_wide *wide = (const struct record_switch_cpu_wide *)header;
		bool out = header->misc & RECORD_MISC_SWITCH_OUT;
		*runner = out ? (struct trace_runner){wide->other_pid, wide->other_tid} : (struct trace_runner){id.pid, id.tid};
		break;
	}
	case RECORD_ITRACE_START: {
		const struct record_itrace_start *start = (const struct record_itrace_start *)header;
		*runner = (struct trace_runner){start->pid, start->tid};
		break;
	}
	}
}

/* ── Queues ── */

static bool is_before(const struct trace_queue *a, const struct trace_queue *b)
{
	return a->time != b->time ? a->time < b->time : a->index < b->index;
}

static void put_in_heap(struct itrace *itrace, size_t at, uint32_t place)
{
	itrace->heap.data[at] = place;
	itrace->queues.data[place].place = (uint32_t)at;
}

static void swap_in_heap(struct itrace *itrace, size_t a, size_t b)
{
	uint32_t moved = itrace->heap.data[a];
	put_in_heap(itrace, a, itrace->heap.data[b]);
	put_in_heap(itrace, b, moved);
}

static bool is_before_in_heap(const struct itrace *itrace, size_t a, size_t b)
{
	return is_before(&itrace->queues.data[itrace->heap.data[a]], &itrace->queues.data[itrace->heap.data[b]]);
}

/* The order in which queues are decoded is a heap of their places; ended ones are taken out. */
static void sift_down(struct itrace *itrace, size_t at)
{
	for (;;) {
		size_t least = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < itrace->heap.len; child++)
			if (is_before_in_heap(itrace, child, least))
				least = child;
		if (least == at)
			return;
		swap_in_heap(itrace, at, least);
		at = least;
	}
}

static void take_out(struct itrace *itrace, size_t at)
{
	uint32_t last = itrace->heap.data[--itrace->heap.len];
	if (at == itrace->heap.len)
		return;
	put_in_heap(itrace, at, last);
	for (; at && is_before_in_heap(itrace, at, (at - 1) / 2); at = (at - 1) / 2)
		swap_in_heap(itrace, at, (at - 1) / 2);
	sift_down(itrace, at);
}

static int by_thread(const void *a, const void *b, void *context)
{
	const struct itrace *itrace = context;
	const struct trace_queue *x = &itrace->queues.data[*(const uint32_t *)a], *y = &itrace->queues.data[*(const uint32_t *)b];
	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return is_before(x, y) ? -1 : is_before(y, x);
}

/* So that the end of a thread finds its own at once. */
static void order_by_thread(struct itrace *itrace)
{
	for (size_t i = 0; i < itrace->heap.len; i++)
		vec_push(&itrace->by_thread, itrace->heap.data[i]);
	if (itrace->by_thread.len)
		qsort_r(itrace->by_thread.data, itrace->by_thread.len, sizeof(*itrace->by_thread.data), by_thread, itrace);
	for (size_t i = itrace->by_thread.len; i-- > 0;)
		*map64_insert(&itrace->next_of_thread, itrace->queues.data[itrace->by_thread.data[i]].owner, NULL) = i + 1;
}

static void begin_queues(struct itrace *itrace)
{
	for (size_t i = 0; i < itrace->queues.len; i++) {
		struct trace_queue *queue = &itrace->queues.data[i];
		queue->decoder = itrace->decoder->open(queue);
		itrace->decoder->step(queue);
		if (!queue->ended)
			vec_push(&itrace->heap, (uint32_t)i);
	}
	for (size_t i = 0; i < itrace->heap.len; i++)
		put_in_heap(itrace, i, itrace->heap.data[i]);
	for (size_t i = itrace->heap.len / 2; i-- > 0;)
		sift_down(itrace, i);
	if (itrace->timeless)
		order_by_thread(itrace);
}

/* The time of the queue that comes after the first one. */
static uint64_t second_time(const struct itrace *itrace)
{
	uint64_t time = UINT64_MAX;
	for (size_t child = 1; child <= 2 && child < itrace->heap.len; child++)
		if (itrace->queues.data[itrace->heap.data[child]].time < time)
			time = itrace->queues.data[itrace->heap.data[child]].time;
	return time;
}

/* Decodes what comes before `until`. False: the chunk is full before that. */
static bool run_queues(struct itrace *itrace, uint64_t until)
{
	while (itrace->heap.len) {
		struct trace_queue *queue = &itrace->queues.data[itrace->heap.data[0]];
		uint64_t second = second_time(itrace);
		while (!queue->ended && queue->time < until && queue->time <= second && itrace->out.len < CHUNK_SIZE)
			itrace->decoder->step(queue);
		if (queue->ended)
			take_out(itrace, 0);
		else
			sift_down(itrace, 0);
		if (itrace->out.len >= CHUNK_SIZE)
			return false;
		if (itrace->heap.len && itrace->queues.data[itrace->heap.data[0]].time >= until)
			return true;
	}
	return true;
}

/* Decodes what a thread has left that ends. False: the chunk is full before that. */
static bool run_thread(struct itrace *itrace, uint32_t tid)
{
	uint64_t *next = map64_find(&itrace->next_of_thread, tid);
	for (; next && *next <= itrace->by_thread.len; ++*next) {
		struct trace_queue *queue = &itrace->queues.data[itrace->by_thread.data[*next - 1]];
		if (queue->owner != tid)
			break;
		while (!queue->ended && itrace->out.len < CHUNK_SIZE)
			itrace->decoder->step(queue);
		if (!queue->ended)
			return false;
		take_out(itrace, queue->place);
	}
	return true;
}

/* ── The feed ── */

/* Whether it is of use behind: not what describes the recording, which is known already, nor what has no place there. */
static bool passes_on(const struct record_header *header)
{
	switch (header->type) {
	case RECORD_AUXTRACE:
	case RECORD_HEADER_ATTR:
	case RECORD_HEADER_EVENT_TYPE:
	case RECORD_HEADER_TRACING_DATA:
	case RECORD_HEADER_BUILD_ID:
	case RECORD_HEADER_FEATURE:
	case RECORD_EVENT_UPDATE:
		return false;
	}
	return true;
}

/* Records whose size isn't a multiple of 8, which no kernel writes, are counted as broken. */
static void pass_on(struct itrace *itrace, const struct record *record)
{
	follow_switch(itrace, record);
	if (record->header->size % 8)
		reader_diagnostics_note(&itrace->session->reader->diagnostics, record->offset, "size isn't a multiple of 8");
	else if (record->header->type == RECORD_SAMPLE)
		trace_put_recorded(itrace, record);
	else if (passes_on(record->header))
		strbuf_add(&itrace->out, record->header, record->header->size);
}

/* What comes before the record that was read; false: the chunk is full. Without times that is known of a thread that ends. */
static bool run_before(struct itrace *itrace)
{
	const struct record *record = &itrace->pending;
	if (!itrace->timeless)
		return !record->time || run_queues(itrace, record->time);
	if (record->header->type != RECORD_EXIT || record_is_of_guest(record->header))
		return true;
	return run_thread(itrace, ((const struct record_task *)record->header)->tid);
}

/* Without times all that is left is decoded at the end of the records. */
static struct error *advance(struct itrace *itrace)
{
	struct error *error = NULL;
	if (itrace->has_pending) {
		if (!run_before(itrace))
			return NULL;
		itrace->model_time = itrace->pending.model_time;
		pass_on(itrace, &itrace->pending);
		itrace->has_pending = false;
		return NULL;
	}
	int got = itrace->at_end ? 0 : session_next(itrace->session, &itrace->pending, &error);
	itrace->has_pending = got > 0;
	itrace->at_end = got == 0;
	if (itrace->at_end)
		itrace->ended = run_queues(itrace, UINT64_MAX);
	return error;
}

static struct error *next_chunk(void *context, struct reader_chunk **ret)
{
	struct itrace *itrace = context;
	struct error *error = NULL;
	*ret = NULL;
	while (!error && !itrace->ended && itrace->out.len < CHUNK_SIZE)
		error = advance(itrace);
	if (error || !itrace->out.len)
		return error;
	struct reader_chunk *chunk = mem_zalloc(sizeof(*chunk));
	chunk->size = itrace->out.len;
	chunk->data = (const uint8_t *)strbuf_detach(&itrace->out);
	*ret = chunk;
	return NULL;
}

/* ── Opening ── */

/* In the head of a pipe form, or where the header says that there is some. */
bool itrace_is_in(struct reader *recording)
{
	if (!recording->stable)
		return false;
	if (features_has(&recording->features, FEATURE_AUXTRACE))
		return true;
	uint64_t offset = recording->data_offset;
	const struct record_header *header;
	while (recording->pipe && (header = reader_record(recording, &offset, false)) && header->type >= RECORD_USER_START)
		if (header->type == RECORD_AUXTRACE_INFO)
			return true;
	return false;
}

/* Of a CPU, or of a thread where there is none. */
static void add_piece(struct itrace *itrace, struct map64 *places, const struct trace_queue *owner, struct trace_piece piece)
{
	bool fresh;
	if (itrace->queues.len == QUEUES_MAX && !map64_find(places, owner->index))
		return;
	uint64_t *place = map64_insert(places, owner->index, &fresh);
	if (fresh) {
		*place = itrace->queues.len;
		vec_push(&itrace->queues, *owner);
	}
	vec_push(&itrace->queues.data[*place].pieces, piece);
}

static void add_recorded(struct itrace *itrace, struct map64 *places, const struct record_auxtrace *record, uint64_t offset)
{
	uint64_t size;
	const struct reader *reader = itrace->session->reader;
	if (reader_in_file(reader, &record->header))
		offset = (uint64_t)((const uint8_t *)record - reader->records);
	const void *trace = reader_trace(reader, &record->header, offset, &size);
	const struct trace_queue owner = {.itrace = itrace,
					  .index = record->index,
					  .cpu = (uint32_t)record->cpu,
					  .tid = record->cpu == -1 ? (uint32_t)record->tid : (uint32_t)-1,
					  .owner = (uint32_t)record->tid};
	if (trace)
		add_piece(itrace, places, &owner, (struct trace_piece){trace, size});
}

/* What a sample brings of the trace: of its CPU the newest, a part of which the sample before may have had as well. */
static void add_sampled(struct itrace *itrace, struct map64 *places, const struct record_header *header)
{
	const struct reader *reader = itrace->session->reader;
	const struct event *event = reader_event(reader, header);
	struct sample sample;
	if (!event || !(event->attr.sample_type & PERF_SAMPLE_AUX) ||
	    sample_decode(&reader->layouts[event->index], &event->attr, header, &sample) || !sample.aux_size)
		return;
	const bool by_cpu = event->attr.sample_type & PERF_SAMPLE_CPU;
	const struct trace_queue owner = {.itrace = itrace,
					  .index = by_cpu ? sample.cpu : sample.tid,
					  .cpu = by_cpu ? sample.cpu : (uint32_t)-1,
					  .tid = by_cpu ? (uint32_t)-1 : sample.tid,
					  .owner = by_cpu ? (uint32_t)-1 : sample.tid};
	itrace->in_samples = true;
	add_piece(itrace, places, &owner, (struct trace_piece){sample.aux, sample.aux_size});
}

static bool has_traces_in_samples(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->attr.sample_type & PERF_SAMPLE_AUX)
			return true;
	return false;
}

/* Where the trace is, and what describes it, before the records are read: they may lie in front of it. */
static void find_trace(struct itrace *itrace)
{
	struct reader *reader = itrace->session->reader;
	uint64_t offset = reader->data_offset, next = offset;
	const struct record_header *header;
	struct map64 places = {0};
	bool in_samples = has_traces_in_samples(&reader->events);
	for (; (header = reader_record(reader, &next, false)); offset = next) {
		if (header->type == RECORD_AUXTRACE_INFO && !itrace->info)
			itrace->info = (const struct record_auxtrace_info *)header;
		if (header->type == RECORD_TIME_CONV && !itrace->clock.multiplier)
			trace_clock_init(&itrace->clock, (const struct record_time_conv *)header);
		if (header->type == RECORD_AUX)
			itrace->aux_flags |= ((const struct record_aux *)header)->flags;
		if (header->type == RECORD_AUXTRACE)
			add_recorded(itrace, &places, (const struct record_auxtrace *)header, offset);
		if (header->type == RECORD_SAMPLE && in_samples)
			add_sampled(itrace, &places, header);
	}
	map64_deinit(&places);
}

/* What is asked for and can't be there is said: samples without a call chain look as if nobody had called. */
static void tell_what_is_not_added(const struct itrace *itrace)
{
	const struct itrace_options *options = &itrace->options;
	struct strbuf useless = {0};
	if (options->given && (options->added_chain || options->added_branches) && !itrace->adds_parts)
		log_warning("'G' and 'L' of --itrace add nothing here: they need a trace of Intel PT with times");
	itrace_options_add_useless(options, itrace->decoder->letters, &useless);
	if (useless.len)
		log_warning("%s of --itrace: nothing is made of it from a trace of %s", strbuf_str(&useless), itrace->decoder->name);
	strbuf_deinit(&useless);
	if (options->given && (options->chain || options->last_branches) && !itrace->decoder->has_instructions)
		log_warning("'g' and 'l' of --itrace add nothing to what is made of %s", itrace->decoder->name);
}

static void begin(struct itrace *itrace)
{
	find_trace(itrace);
	trace_events_copy(itrace);
	itrace->decoder = itrace->info ? decoder_of(itrace->info->type) : NULL;
	if (itrace->info && !itrace->decoder)
		itrace->obstacle = missing_decoder(itrace->info->type);
	if (itrace->decoder && itrace->decoder->load && (itrace->obstacle = itrace->decoder->load()))
		itrace->decoder = NULL;
	if (!itrace->decoder)
		return;
	if ((itrace->obstacle = itrace->decoder->begin(itrace, itrace->info)))
		itrace->decoder = NULL;
	if (!itrace->decoder)
		return;
	tell_what_is_not_added(itrace);
	begin_queues(itrace);
}

struct error *itrace_open(struct reader *recording, const struct itrace_options *options, const struct symbol_options *symbols,
			  struct itrace **ret)
{
	const struct session_options session_options = {.reader = recording, .streaming = true, .whole_groups = true};
	struct itrace *itrace = mem_zalloc(sizeof(*itrace));
	struct symbol_options here = *symbols;
	itrace->options = *options;
	struct error *error = session_open(&session_options, &itrace->session);
	if (error) {
		itrace_close(itrace);
		return error;
	}
	here.same_machine = session_is_of_this_machine(itrace->session);
	itrace->resolver = resolver_create(itrace->session->machine, &here);
	begin(itrace);
	*ret = itrace;
	return NULL;
}

struct reader *itrace_reader(struct itrace *itrace)
{
	struct reader *recording = itrace->session->reader;
	const struct reader_feed feed = {.next = next_chunk, .context = itrace, .of = recording};
	return reader_open_feed(recording->path, &feed, &itrace->events, &recording->features);
}

void itrace_diagnostics_text(const struct itrace *itrace, struct strbuf *out)
{
	const struct trace_counts *counts = &itrace->counts;
	if (itrace->decoder)
		itrace->session->reader->diagnostics.auxtrace_bytes = 0; /* it wasn't skipped */
	session_diagnostics_text(itrace->session, out);
	if (!itrace->decoder)
		strbuf_printf(out, "%sits hardware trace (%s) isn't decoded%s%s", out->len ? "\n" : "",
			      itrace->info ? trace_name(itrace->info->type) : "no AUXTRACE_INFO record says of which kind",
			      itrace->obstacle ? ": " : "", itrace->obstacle ? error_message(itrace->obstacle) : "");
	if (counts->lost_bytes)
		strbuf_printf(out, "%s%" PRIu64 " bytes of the hardware trace aren't packets of %s: what they tell is missing",
			      out->len ? "\n" : "", counts->lost_bytes, itrace->decoder->name);
	if (counts->errors)
		strbuf_printf(out,
			      "%s%" PRIu64 " times the hardware trace couldn't be followed (%" PRIu64
			      " times because the code is not at hand): what "
			      "ran then is missing up to where the trace tells a whole address; --itrace=e shows where",
			      out->len ? "\n" : "", counts->errors, counts->no_code);
	if (counts->truncated)
		strbuf_printf(out,
			      "%sthe buffer of the hardware trace was full %" PRIu64
			      " times: what was traced then is missing (record -m,SIZE "
			      "sets the size of the buffer)",
			      out->len ? "\n" : "", counts->truncated);
}

void itrace_close(struct itrace *itrace)
{
	if (!itrace)
		return;
	for (size_t i = 0; i < itrace->queues.len; i++) {
		struct trace_queue *queue = &itrace->queues.data[i];
		if (queue->decoder)
			itrace->decoder->close(queue->decoder);
		vec_deinit(&queue->pieces);
	}
	if (itrace->decoder)
		itrace->decoder->end(itrace);
	vec_deinit(&itrace->queues);
	vec_deinit(&itrace->heap);
	vec_deinit(&itrace->by_thread);
	map64_deinit(&itrace->next_of_thread);
	vec_deinit(&itrace->runners);
	flow_stacks_deinit(&itrace->flow);
	last_branches_deinit(&itrace->last);
	trace_code_deinit(itrace);
	strbuf_deinit(&itrace->out);
	event_list_deinit(&itrace->events);
	error_free(itrace->obstacle);
	resolver_destroy(itrace->resolver);
	session_close(itrace->session);
	free(itrace);
}

void trace_dump_bytes(const uint8_t *trace, size_t offset, size_t length, struct strbuf *out)
{
	enum { WIDTH = 16 };
	strbuf_printf(out, ".  %08zx: ", offset);
	for (size_t i = 0; i < WIDTH; i++) {
		if (i < length)
			strbuf_printf(out, " %02x", trace[offset + i]);
		else
			strbuf_add_str(out, "   ");
	}
	strbuf_add_char(out, ' ');
}

/* What describes the trace stands in front of it. */
static const struct record_auxtrace_info *find_info(struct reader *recording, uint64_t until)
{
	uint64_t offset = recording->data_offset;
	const struct record_header *header;
	while (offset < until && (header = reader_record(recording, &offset, false)))
		if (header->type == RECORD_AUXTRACE_INFO)
			return (const struct record_auxtrace_info *)header;
	return NULL;
}

void itrace_dump_record(struct reader *recording, const struct record_header *header, uint64_t offset, struct strbuf *out)
{
	uint64_t size;
	if ((header->type != RECORD_AUXTRACE && header->type != RECORD_AUXTRACE_INFO) || !recording->stable)
		return;
	const struct record_auxtrace_info *info = find_info(recording, offset + 1);
	const struct trace_decoder *decoder = info ? decoder_of(info->type) : NULL;
	if (header->type == RECORD_AUXTRACE_INFO && decoder && decoder->describe)
		decoder->describe((const struct record_auxtrace_info *)header, out);
	const void *trace = reader_trace(recording, header, offset, &size);
	if (trace && decoder && decoder->dump)
		decoder->dump(
			&(struct trace_dump){
				.info = info, .cpu = ((const struct record_auxtrace *)header)->cpu, .data = trace, .size = size},
			out);
	else if (trace)
		strbuf_printf(out, ".\n. ... %s data: size %#" PRIx64 " bytes, whose packets aren't shown\n",
			      trace_name(info ? info->type : 0), size);
}
