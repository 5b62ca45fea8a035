/* Samples become text on several threads, a load of a thousand records at a time. Two loads take turns:
 *
 *	helpers       │ text of load 1, a slice at a time ………… │ text of load 2 …
 *	main thread   │ gather load 2, slices of load 1 ……………… │ gather load 3 …
 *	              ▲ apply load 1                           ▲ apply load 2
 *
 * While text is made the machine rests; between two loads the side-band of the next one is applied to it, at times that no sample before it
 * has (session_part_times()). The first loads are small, so that the first lines come at once.
 *
 * Whoever has finished the slice whose turn it is to be written writes it, and those behind it that others have finished by then. So
 * each thread needs memory for the text of a few slices only, which stays in its processor's cache. */
#include "cmd/script/batch.h"

#include "arch/own.h"
#include "base/cleanup.h"
#include "base/mem.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_RECORDS = 1024, /* of a load */
	FIRST_RECORDS = 64,
	MOST_SLICE = 64, /* records a thread takes at a time, … */
	LEAST_SLICE = 8,
	SLICE_TEXT = 32 << 10, /* … which is about so many bytes of text */
	MOST_SLICES = MOST_RECORDS / LEAST_SLICE,
	TEXTS = 4, /* slices whose text a thread can have, until they are written */
	MOST_WORKERS = 16,
	LOOKS = 2000,	   /* some 50 to 100 µs */
	FORGET = 16 << 20, /* bytes of the recording that are forgotten at a time */
};

struct item {
	struct record record;
	bool is_text;	       /* already */
	size_t offset, length; /* then: in `between` */
};

struct slice {
	struct slice_text *text; /* NULL: isn't made yet */
	bool broken;		 /* a record of it could not be decoded */
};

/* The memory for the text of a slice. */
struct slice_text {
	struct strbuf text;
	bool taken; /* until it is written */
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

/* The first one is the main thread. */
struct worker {
	struct batch *batch;
	pthread_t thread;
	struct script_text *text; /* NULL: it hasn't worked yet */
	struct slice_text texts[TEXTS];
};

struct batch {
	const struct script_batch_options *options;
	const struct script_filter *filter; /* NULL: all pass */
	struct worker workers[MOST_WORKERS];
	unsigned int helper_count;
	struct load loads[2];
	size_t limit;	    /* records of a load */
	size_t slice_size;  /* of the next one */
	uint64_t forgotten; /* where in the recording what was read and isn't needed any more ends */
	bool ended;	    /* the session */

	/* A new run: the helpers are woken, all take slices of the load until there are none. */
	pthread_mutex_t lock;
	pthread_cond_t begin, end;
	_Atomic unsigned int run;     /* its number; UINT_MAX = the helpers are to end */
	_Atomic unsigned int working; /* helpers that aren't done with it */
	struct load *load;
	_Atomic size_t next_slice;

	/* What is written. */
	pthread_mutex_t output_lock;
	pthread_cond_t written;
	size_t next_written; /* slice */
	bool writing;	     /* somebody is, and looks for more when he has done */
	struct error *error;
	_Atomic bool stopped; /* after an error, or when nobody reads any more */
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

static struct machine *machine_of(struct session *session, const struct record *record)
{
	const struct sample_layout *layout = &session->reader->layouts[record->event->index];
	const uint16_t offset = layout->id ? layout->id : layout->identifier;
	uint64_t id = 0;
	if (!layout->guests || !offset)
		return session->machine;
	memcpy(&id, (const uint8_t *)record->header + offset, sizeof(id));
	return machine_of_guest(session->machine, sample_find_guest(layout, id).machine_pid);
}

static struct thread *thread_of(struct session *session, const struct record *record)
{
	uint32_t ids[2];
	ids_of(session, record, ids);
	return machine_thread_or_placeholder(machine_of(session, record), ids[0], ids[1], record->model_time);
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

/* False when the record could not be decoded. */
static bool format_item(const struct batch *batch, struct script_text *text, const struct load *load, const struct item *item,
			struct strbuf *out)
{
	if (item->is_text && !item->length)
		return true; /* there may be no text at all */
	if (!item->is_text)
		return format_sample(batch, text, &item->record, out);
	strbuf_add(out, load->between.data + item->offset, item->length);
	return true;
}

static void format_slice(struct batch *batch, struct worker *worker, size_t number, struct slice_text *to)
{
	struct load *load = batch->load;
	size_t begin = number * load->slice_size, end = begin + load->slice_size;
	strbuf_clear(&to->text);
	for (size_t i = begin; i < end && i < load->count && !batch->stopped; i++)
		if (!format_item(batch, worker->text, load, &load->items[i], &to->text))
			load->slices[number].broken = true;
}

/* ---- writing ---- */

/* Memory of the worker's that is free; waits until there is some. */
static struct slice_text *take_text(struct batch *batch, struct worker *worker)
{
	struct slice_text *found = NULL;
	pthread_mutex_lock(&batch->output_lock);
	while (!found) {
		for (size_t i = 0; i < TEXTS && !found; i++)
			if (!worker->texts[i].taken)
				found = &worker->texts[i];
		if (!found)
			pthread_cond_wait(&batch->written, &batch->output_lock);
	}
	found->taken = true;
	pthread_mutex_unlock(&batch->output_lock);
	return found;
}

static void write_slice(struct batch *batch, struct slice_text *slice)
{
	struct script_output *output = batch->options->output;
	if (batch->stopped)
		return;
	batch->error = script_output_write(output, slice->text.data, slice->text.len);
	batch->stopped = batch->error || output->closed;
}

/* The slice has its text: writes it, and those behind it, as far as its turn has come; else somebody else will. */
static void finish_slice(struct batch *batch, size_t number, struct slice_text *text)
{
	struct load *load = batch->load;
	pthread_mutex_lock(&batch->output_lock);
	load->slices[number].text = text;
	while (!batch->writing && batch->next_written < load->slice_count && load->slices[batch->next_written].text) {
		struct slice_text *next = load->slices[batch->next_written].text;
		batch->writing = true;
		pthread_mutex_unlock(&batch->output_lock);
		write_slice(batch, next);
		pthread_mutex_lock(&batch->output_lock);
		batch->writing = false;
		batch->next_written++;
		next->taken = false;
		pthread_cond_broadcast(&batch->written);
	}
	pthread_mutex_unlock(&batch->output_lock);
}

static void format_slices(struct batch *batch, struct worker *worker)
{
	for (size_t number; (number = atomic_fetch_add(&batch->next_slice, 1)) < batch->load->slice_count;) {
		struct slice_text *text = take_text(batch, worker);
		format_slice(batch, worker, number, text);
		finish_slice(batch, number, text);
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
	struct worker *worker = argument;
	struct batch *batch = worker->batch;
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
		if (!worker->text)
			worker->text = batch->options->create_text(batch->options->context);
		format_slices(batch, worker);
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
	load->slice_size = batch->slice_size;
	load->slice_count = (load->count + load->slice_size - 1) / load->slice_size;
	memset(load->slices, 0, load->slice_count * sizeof(*load->slices));
	batch->load = load;
	batch->next_written = 0;
	atomic_store(&batch->next_slice, 0);
	/* One slice is the main thread's: side-band records at the times of samples make loads of a few records. */
	if (load->slice_count > 1)
		wake_helpers(batch, batch->run + 1 == UINT_MAX ? 1 : batch->run + 1);
}

static void finish_text(struct batch *batch)
{
	format_slices(batch, &batch->workers[0]);
	look_for_end(batch);
	pthread_mutex_lock(&batch->lock);
	while (batch->working)
		pthread_cond_wait(&batch->end, &batch->lock);
	pthread_mutex_unlock(&batch->lock);
}

static void start_helpers(struct batch *batch)
{
	unsigned int jobs = batch->options->session->jobs < MOST_WORKERS ? batch->options->session->jobs : MOST_WORKERS;
	for (unsigned int i = 1; i < jobs; i++) {
		struct worker *worker = &batch->workers[i];
		worker->batch = batch;
		if (pthread_create(&worker->thread, NULL, help, worker))
			break; /* fewer do as well */
		batch->helper_count++;
	}
}

static void batch_init(struct batch *batch, const struct script_batch_options *options)
{
	/* Nearly all of the first load's time goes into symbols: while one thread reads the kernel's, another one reads a file's. */
	*batch = (struct batch){.options = options, .limit = FIRST_RECORDS, .slice_size = LEAST_SLICE};
	batch->filter = script_filter_is_empty(options->filter) ? NULL : options->filter;
	batch->workers[0].text = options->create_text(options->context);
	for (size_t i = 0; i < 2; i++)
		batch->loads[i].items = mem_alloc_array(MOST_RECORDS, sizeof(struct item));
	pthread_mutex_init(&batch->lock, NULL);
	pthread_cond_init(&batch->begin, NULL);
	pthread_cond_init(&batch->end, NULL);
	pthread_mutex_init(&batch->output_lock, NULL);
	pthread_cond_init(&batch->written, NULL);
	start_helpers(batch);
}

static void batch_deinit(struct batch *batch)
{
	wake_helpers(batch, UINT_MAX);
	for (unsigned int i = 0; i <= batch->helper_count; i++) {
		struct worker *worker = &batch->workers[i];
		if (i)
			pthread_join(worker->thread, NULL);
		script_text_destroy(worker->text);
		for (size_t j = 0; j < TEXTS; j++)
			strbuf_deinit(&worker->texts[j].text);
	}
	pthread_cond_destroy(&batch->begin);
	pthread_cond_destroy(&batch->end);
	pthread_mutex_destroy(&batch->lock);
	pthread_cond_destroy(&batch->written);
	pthread_mutex_destroy(&batch->output_lock);
	for (size_t i = 0; i < 2; i++) {
		strbuf_deinit(&batch->loads[i].between);
		free(batch->loads[i].items);
	}
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
	sampled_ids_add(options->ids, machine_of(options->session, record), ids[0], ids[1], 1);
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

/* The load's text is written: it is empty then, and tells how large the next ones should be. */
static void finish_load(struct batch *batch, struct load *load, uint64_t text_size)
{
	for (size_t i = 0; i < load->slice_count; i++)
		if (load->slices[i].broken)
			count_broken(batch, load, i);
	if (load->count) {
		size_t fitting = SLICE_TEXT / (text_size / load->count + 1);
		batch->slice_size = fitting < LEAST_SLICE ? LEAST_SLICE : fitting > MOST_SLICE ? MOST_SLICE : fitting;
	}
	if (batch->limit < MOST_RECORDS)
		batch->limit *= 2;
	forget(batch, load);
	load->count = load->slice_count = 0;
	strbuf_clear(&load->between);
}

struct error *script_batch_show(const struct script_batch_options *options)
{
	struct batch *batch = mem_alloc(sizeof(*batch));
	struct load *now = &batch->loads[0], *other = &batch->loads[1];
	batch_init(batch, options);
	struct error *error = gather(batch, false, now);
	while (!error && now->count && !batch->stopped) {
		uint64_t before = options->output->written;
		apply(batch, now);
		begin_text(batch, now);
		error = gather(batch, true, other);
		finish_text(batch);
		finish_load(batch, now, options->output->written - before);
		if (!error && !batch->stopped)
			error = gather(batch, false, other);
		struct load *done = now;
		now = other;
		other = done;
	}
	if (!error)
		error = take_pointer(batch->error);
	else if (batch->error)
		error_free(batch->error);
	batch_deinit(batch);
	free(batch);
	return error;
}
