/* Samples become text on several threads, a load of a thousand records at a time. Two loads take turns:
 *
 *	helpers       │ text of load 1 ………………………………………………… │ text of load 2 …
 *	main thread   │ write load 0, gather load 2, text of load 1 │ write load 1, …
 *	              ▲ apply load 1                                ▲ apply load 2
 *
 * While text is made the machine rests; between two loads the side-band of the next one is applied to it, at times that no sample before it
 * has (session_part_times()). The first loads are small, so that the first lines come at once. */
#include "cmd/script/batch.h"

#include "arch/own.h"
#include "base/mem.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	SLICE = 64, /* records a thread takes at a time */
	FIRST_RECORDS = 64,
	FIRST_SLICE = 8, /* of the first load */
	MOST_RECORDS = 1024,
	MOST_SLICES = MOST_RECORDS / SLICE,
	LOOKS = 2000,	     /* some 50 to 100 µs */
	MUCH_TEXT = 4 << 20, /* bytes of a load; then the next one is smaller */
	FORGET = 16 << 20,   /* bytes of the recording that are forgotten at a time */
};

struct item {
	struct record record;
	bool is_text;	       /* already */
	size_t offset, length; /* then: in `between` */
};

struct slice {
	struct strbuf text;
	bool broken; /* a record of it could not be decoded */
};

struct load {
	struct item *items;
	size_t count;
	struct strbuf between;
	struct slice slices[MOST_SLICES];
	size_t slice_size;  /* records */
	size_t slice_count; /* 0: not made into text yet */
};

struct batch;

struct helper {
	struct batch *batch;
	pthread_t thread;
	struct script_text *text; /* NULL: it hasn't worked yet */
};

struct batch {
	const struct script_batch_options *options;
	const struct script_filter *filter; /* NULL: all pass */
	struct script_text *text;	    /* of the main thread */
	struct helper *helpers;
	unsigned int helper_count;
	struct load loads[2];
	size_t limit;	    /* records of a load */
	uint64_t forgotten; /* where in the recording what was read and isn't needed any more ends */
	bool ended;	    /* the session */

	/* A new run: the helpers are woken, all take slices of the load until there are none. */
	pthread_mutex_t lock;
	pthread_cond_t begin, end;
	_Atomic unsigned int run;     /* its number; UINT_MAX = the helpers are to end */
	_Atomic unsigned int working; /* helpers that aren't done with it */
	struct load *load;
	_Atomic size_t next_slice;
};

/* ---- text ---- */

static bool is_sample(const struct item *item)
{
	return item->record.event && item->record.is_sample;
}

/* Process and thread of a sample, or -1. */
static void ids_of(const struct session *session, const struct record *record, uint32_t ret[2])
{
	const struct sample_layout *layout = &session->reader->layouts[record->event->index];
	ret[0] = ret[1] = (uint32_t)-1;
	if (layout->tid)
		memcpy(ret, (const uint8_t *)record->header + layout->tid, 2 * sizeof(*ret));
}

static struct thread *thread_of(struct session *session, const struct record *record)
{
	uint32_t ids[2];
	ids_of(session, record, ids);
	return machine_thread_or_placeholder(session->machine, ids[0], ids[1], record->model_time);
}

/* False when the record could not be decoded. */
static bool format_sample(const struct batch *batch, struct script_text *text, const struct record *record, struct strbuf *out)
{
	const struct script_batch_options *options = batch->options;
	struct sample sample;
	if (session_decode_uncounted(options->session, record, &sample))
		return false;
	struct thread *thread = thread_of(options->session, record);
	/* Without events' switches the filter has no state to change. */
	if (!batch->filter || script_filter_passes((struct script_filter *)batch->filter, options->session->machine, options->resolver,
						   record, &sample, thread))
		script_text_sample(text, record, &sample, thread, out);
	return true;
}

static void format_item(const struct batch *batch, struct script_text *text, const struct load *load, const struct item *item,
			struct slice *slice)
{
	if (item->is_text && !item->length)
		return; /* there may be no text at all */
	if (item->is_text)
		strbuf_add(&slice->text, load->between.data + item->offset, item->length);
	else if (!format_sample(batch, text, &item->record, &slice->text))
		slice->broken = true;
}

static void format_slices(struct batch *batch, struct script_text *text)
{
	struct load *load = batch->load;
	for (size_t number; (number = atomic_fetch_add(&batch->next_slice, 1)) < load->slice_count;) {
		struct slice *slice = &load->slices[number];
		size_t begin = number * load->slice_size, end = begin + load->slice_size;
		strbuf_clear(&slice->text);
		slice->broken = false;
		for (size_t i = begin; i < end && i < load->count; i++)
			format_item(batch, text, load, &load->items[i], slice);
	}
}

/* ---- helpers ---- */

/* Before a thread sleeps it looks for a while whether that is needed: loads follow soon upon each other, and to be woken takes longer. */
static void look_for_run(struct batch *batch, unsigned int done)
{
	for (unsigned int i = 0; i < LOOKS && batch->run == done; i++)
		own_relax();
}

static void look_for_end(struct batch *batch)
{
	for (unsigned int i = 0; i < LOOKS && batch->working; i++)
		own_relax();
}

static void *help(void *argument)
{
	struct helper *helper = argument;
	struct batch *batch = helper->batch;
	unsigned int done = 0;
	for (;;) {
		look_for_run(batch, done);
		pthread_mutex_lock(&batch->lock);
		while (batch->run == done)
			pthread_cond_wait(&batch->begin, &batch->lock);
		done = batch->run;
		pthread_mutex_unlock(&batch->lock);
		if (done == UINT_MAX)
			return NULL;
		if (!helper->text)
			helper->text = batch->options->create_text(batch->options->context);
		format_slices(batch, helper->text);
		pthread_mutex_lock(&batch->lock);
		if (--batch->working == 0)
			pthread_cond_signal(&batch->end);
		pthread_mutex_unlock(&batch->lock);
	}
}

static void wake_helpers(struct batch *batch, unsigned int run)
{
	pthread_mutex_lock(&batch->lock);
	batch->run = run;
	batch->working = batch->helper_count;
	pthread_cond_broadcast(&batch->begin);
	pthread_mutex_unlock(&batch->lock);
}

static void begin_text(struct batch *batch, struct load *load)
{
	load->slice_count = (load->count + load->slice_size - 1) / load->slice_size;
	batch->load = load;
	atomic_store(&batch->next_slice, 0);
	/* One slice is the main thread's: side-band records at the times of samples make loads of a few records. */
	if (load->slice_count > 1)
		wake_helpers(batch, batch->run + 1 == UINT_MAX ? 1 : batch->run + 1);
}

static void finish_text(struct batch *batch)
{
	format_slices(batch, batch->text);
	look_for_end(batch);
	pthread_mutex_lock(&batch->lock);
	while (batch->working)
		pthread_cond_wait(&batch->end, &batch->lock);
	pthread_mutex_unlock(&batch->lock);
}

static void batch_init(struct batch *batch, const struct script_batch_options *options)
{
	*batch = (struct batch){.options = options, .limit = FIRST_RECORDS};
	batch->filter = script_filter_is_empty(options->filter) ? NULL : options->filter;
	batch->text = options->create_text(options->context);
	for (size_t i = 0; i < 2; i++) {
		batch->loads[i].items = mem_alloc_array(MOST_RECORDS, sizeof(struct item));
		batch->loads[i].slice_size = SLICE;
	}
	/* Nearly all of the first load's time goes into symbols: while one thread reads the kernel's, another one reads a file's. */
	batch->loads[0].slice_size = FIRST_SLICE;
	pthread_mutex_init(&batch->lock, NULL);
	pthread_cond_init(&batch->begin, NULL);
	pthread_cond_init(&batch->end, NULL);
	unsigned int jobs = options->session->jobs < MOST_SLICES ? options->session->jobs : MOST_SLICES;
	batch->helpers = mem_zalloc_array(jobs, sizeof(*batch->helpers));
	for (unsigned int i = 0; i + 1 < jobs; i++) {
		struct helper *helper = &batch->helpers[i];
		*helper = (struct helper){.batch = batch};
		if (pthread_create(&helper->thread, NULL, help, helper))
			break; /* fewer do as well */
		batch->helper_count++;
	}
}

static void batch_deinit(struct batch *batch)
{
	wake_helpers(batch, UINT_MAX);
	for (unsigned int i = 0; i < batch->helper_count; i++) {
		pthread_join(batch->helpers[i].thread, NULL);
		script_text_destroy(batch->helpers[i].text);
	}
	pthread_cond_destroy(&batch->begin);
	pthread_cond_destroy(&batch->end);
	pthread_mutex_destroy(&batch->lock);
	for (size_t i = 0; i < 2; i++) {
		for (size_t j = 0; j < MOST_SLICES; j++)
			strbuf_deinit(&batch->loads[i].slices[j].text);
		strbuf_deinit(&batch->loads[i].between);
		free(batch->loads[i].items);
	}
	script_text_destroy(batch->text);
	free(batch->helpers);
}

/* ---- the main thread ---- */

/* Fills the load as far as that is possible: while helpers are at work (`resting`), until reading on could change the events. */
static struct error *gather(struct batch *batch, bool resting, struct load *load)
{
	struct error *error = NULL;
	while (load->count < batch->limit && !batch->ended) {
		struct item *item = &load->items[load->count];
		int found = session_gather(batch->options->session, resting, &item->record, &error);
		if (found > 0) {
			item->is_text = false;
			load->count++;
			continue;
		}
		batch->ended = !resting || found < 0;
		break;
	}
	return error;
}

static void count_ids(const struct script_batch_options *options, const struct record *record)
{
	uint32_t ids[2];
	if (!options->ids || record->header->size < options->session->reader->layouts[record->event->index].variable)
		return;
	ids_of(options->session, record, ids);
	sampled_ids_add(options->ids, ids[0], ids[1], 1);
}

/* Brings the machine to the end of the load. */
static void apply(const struct batch *batch, struct load *load)
{
	const struct script_batch_options *options = batch->options;
	for (size_t i = 0; i < load->count; i++) {
		struct item *item = &load->items[i];
		session_part_times(options->session, &item->record);
		if (is_sample(item)) {
			session_apply(options->session, &item->record);
			count_ids(options, &item->record);
			continue;
		}
		session_apply(options->session, &item->record);
		item->offset = load->between.len;
		options->add_record(options->context, &item->record, &load->between);
		item->length = load->between.len - item->offset;
		item->is_text = true;
	}
}

/* Has the broken ones counted, on this one thread. */
static void count_broken(const struct batch *batch, const struct load *load, size_t number)
{
	for (size_t i = number * load->slice_size; i < (number + 1) * load->slice_size && i < load->count; i++) {
		struct sample sample;
		if (is_sample(&load->items[i]))
			(void)session_decode(batch->options->session, &load->items[i].record, &sample);
	}
}

/* Lets go of the recording's memory before the records of this load: later ones follow, or lie not far behind. */
static void forget(struct batch *batch, const struct load *load)
{
	const struct reader *reader = batch->options->session->reader;
	uint64_t first = UINT64_MAX;
	for (size_t i = 0; i < load->count; i++) {
		uint64_t offset = load->items[i].record.offset;
		if (offset < reader->data_end && offset < first)
			first = offset;
	}
	if (first == UINT64_MAX || first < batch->forgotten || first - batch->forgotten < FORGET)
		return;
	reader_forget(reader, batch->forgotten, first);
	batch->forgotten = first;
}

/* Writes the load's text, if it has any; then it is empty. */
static struct error *write_load(struct batch *batch, struct load *load)
{
	size_t total = 0;
	struct error *error = NULL;
	for (size_t i = 0; i < load->slice_count && !error; i++) {
		struct slice *slice = &load->slices[i];
		if (slice->broken)
			count_broken(batch, load, i);
		total += slice->text.len;
		error = script_output_write(batch->options->output, slice->text.data, slice->text.len);
	}
	if (total > MUCH_TEXT)
		batch->limit = batch->limit / 2 > SLICE ? batch->limit / 2 : SLICE;
	else if (load->slice_count && batch->limit < MOST_RECORDS)
		batch->limit *= 2;
	forget(batch, load);
	load->count = load->slice_count = 0;
	load->slice_size = SLICE;
	strbuf_clear(&load->between);
	return error;
}

struct error *script_batch_show(const struct script_batch_options *options)
{
	struct batch batch;
	struct load *now = &batch.loads[0], *other = &batch.loads[1];
	batch_init(&batch, options);
	struct error *error = gather(&batch, false, now);
	while (!error && now->count && !options->output->closed) {
		apply(&batch, now);
		begin_text(&batch, now);
		error = write_load(&batch, other);
		if (error || options->output->closed)
			atomic_store(&batch.next_slice, now->slice_count); /* nobody wants them */
		else
			error = gather(&batch, true, other);
		finish_text(&batch);
		if (!error && !options->output->closed)
			error = gather(&batch, false, other);
		struct load *done = now;
		now = other;
		other = done;
	}
	if (!error)
		error = write_load(&batch, other);
	batch_deinit(&batch);
	return error;
}
