/* Samples become text on several threads: one thread reads a few thousand records (the machine grows meanwhile), then all threads make
 * slices of them into text (the machine rests; the reading thread first reads ahead), then the slices are written in order. The first
 * batches are small, so that the first lines come at once. */
#include "cmd/script_batch.h"

#include "base/mem.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	SLICE = 64, /* records a thread takes at a time */
	FIRST_RECORDS = 64,
	MOST_RECORDS = 2048,
	MOST_SLICES = MOST_RECORDS / SLICE,
	MUCH_TEXT = 4 << 20, /* bytes of a batch; then the next one is smaller */
	FORGET = 16 << 20,   /* bytes of the recording that are forgotten at a time */
};

struct item {
	struct record record; /* header NULL: text that is there already */
	struct thread *thread;
	size_t offset, length; /* of that text */
};

struct slice {
	struct strbuf text;
	bool broken; /* a record of it could not be decoded */
};

struct helper {
	struct script_batch *batch;
	pthread_t thread;
	struct script_text *text;
};

struct script_batch {
	struct session *session;
	struct resolver *resolver;
	const struct script_filter *filter; /* NULL: all pass */
	struct script_text *text;	    /* of the thread that reads */
	struct helper *helpers;
	unsigned int helper_count;
	struct item *items;
	size_t count, limit;
	uint64_t forgotten; /* where in the recording what was read and isn't needed any more ends */
	struct strbuf between;
	struct slice slices[MOST_SLICES];

	/* A new run: the helpers are woken, all take slices until there are none. */
	pthread_mutex_t lock;
	pthread_cond_t begin, end;
	unsigned int run;     /* its number; UINT_MAX = the helpers are to end */
	unsigned int working; /* helpers that aren't done with it */
	size_t slice_count;
	_Atomic size_t next_slice;
};

static void *help(void *argument);

struct script_batch *script_batch_create(struct session *session, struct resolver *resolver, const struct script_filter *filter,
					 unsigned int jobs, struct script_text *(*create_text)(void *context), void *context)
{
	struct script_batch *batch = mem_zalloc(sizeof(*batch));
	batch->session = session;
	batch->resolver = resolver;
	batch->filter = script_filter_is_empty(filter) ? NULL : filter;
	batch->text = create_text(context);
	batch->items = mem_alloc_array(MOST_RECORDS, sizeof(*batch->items));
	batch->limit = FIRST_RECORDS;
	pthread_mutex_init(&batch->lock, NULL);
	pthread_cond_init(&batch->begin, NULL);
	pthread_cond_init(&batch->end, NULL);
	batch->helpers = mem_zalloc_array(jobs, sizeof(*batch->helpers));
	for (unsigned int i = 0; i + 1 < jobs; i++) {
		struct helper *helper = &batch->helpers[i];
		*helper = (struct helper){.batch = batch, .text = create_text(context)};
		if (pthread_create(&helper->thread, NULL, help, helper)) {
			script_text_destroy(helper->text);
			break; /* fewer do as well */
		}
		batch->helper_count++;
	}
	return batch;
}

static void wake_helpers(struct script_batch *batch, unsigned int run)
{
	pthread_mutex_lock(&batch->lock);
	batch->run = run;
	batch->working = batch->helper_count;
	pthread_cond_broadcast(&batch->begin);
	pthread_mutex_unlock(&batch->lock);
}

void script_batch_destroy(struct script_batch *batch)
{
	if (!batch)
		return;
	wake_helpers(batch, UINT_MAX);
	for (unsigned int i = 0; i < batch->helper_count; i++) {
		pthread_join(batch->helpers[i].thread, NULL);
		script_text_destroy(batch->helpers[i].text);
	}
	pthread_cond_destroy(&batch->begin);
	pthread_cond_destroy(&batch->end);
	pthread_mutex_destroy(&batch->lock);
	for (size_t i = 0; i < MOST_SLICES; i++)
		strbuf_deinit(&batch->slices[i].text);
	strbuf_deinit(&batch->between);
	script_text_destroy(batch->text);
	free(batch->helpers);
	free(batch->items);
	free(batch);
}

/* Process and thread of a sample; what else is wrong with it is found, and counted, when it becomes text. */
static struct thread *thread_of(struct session *session, const struct record *record)
{
	const struct sample_layout *layout = &session->reader->layouts[record->event->index];
	uint32_t ids[2] = {(uint32_t)-1, (uint32_t)-1};
	if (layout->tid && layout->tid + sizeof(ids) <= record->header->size)
		memcpy(ids, (const uint8_t *)record->header + layout->tid, sizeof(ids));
	return machine_thread_or_new(session->machine, ids[0], ids[1], record->model_time);
}

bool script_batch_add_sample(struct script_batch *batch, const struct record *record)
{
	struct item *item = &batch->items[batch->count++];
	item->record = *record;
	item->thread = thread_of(batch->session, record);
	return batch->count >= batch->limit;
}

bool script_batch_add_text(struct script_batch *batch, const char *text, size_t length)
{
	batch->items[batch->count++] = (struct item){.offset = batch->between.len, .length = length};
	strbuf_add(&batch->between, text, length);
	return batch->count >= batch->limit;
}

static void format_item(struct script_batch *batch, struct script_text *text, const struct item *item, struct slice *slice)
{
	const struct record *record = &item->record;
	struct sample sample;
	if (!record->header) {
		strbuf_add(&slice->text, batch->between.data + item->offset, item->length);
		return;
	}
	if (session_decode_uncounted(batch->session, record, &sample)) {
		slice->broken = true;
		return;
	}
	/* Without events' switches the filter has no state to change. */
	if (batch->filter && !script_filter_passes((struct script_filter *)batch->filter, batch->session->machine, batch->resolver, record,
						   &sample, item->thread))
		return;
	script_text_sample(text, record, &sample, item->thread, &slice->text);
}

static void format_slices(struct script_batch *batch, struct script_text *text)
{
	for (size_t number; (number = atomic_fetch_add(&batch->next_slice, 1)) < batch->slice_count;) {
		struct slice *slice = &batch->slices[number];
		size_t begin = number * SLICE, end = begin + SLICE < batch->count ? begin + SLICE : batch->count;
		strbuf_clear(&slice->text);
		slice->broken = false;
		for (size_t i = begin; i < end; i++)
			format_item(batch, text, &batch->items[i], slice);
	}
}

static void *help(void *argument)
{
	struct helper *helper = argument;
	struct script_batch *batch = helper->batch;
	unsigned int done = 0;
	pthread_mutex_lock(&batch->lock);
	for (;;) {
		while (batch->run == done)
			pthread_cond_wait(&batch->begin, &batch->lock);
		done = batch->run;
		if (done == UINT_MAX)
			break;
		pthread_mutex_unlock(&batch->lock);
		format_slices(batch, helper->text);
		pthread_mutex_lock(&batch->lock);
		if (--batch->working == 0)
			pthread_cond_signal(&batch->end);
	}
	pthread_mutex_unlock(&batch->lock);
	return NULL;
}

static void format_all(struct script_batch *batch)
{
	atomic_store(&batch->next_slice, 0);
	wake_helpers(batch, batch->run + 1 == UINT_MAX ? 1 : batch->run + 1);
	if (batch->helper_count)
		session_read_ahead(batch->session);
	format_slices(batch, batch->text);
	pthread_mutex_lock(&batch->lock);
	while (batch->working)
		pthread_cond_wait(&batch->end, &batch->lock);
	pthread_mutex_unlock(&batch->lock);
}

/* Has the broken ones counted, on this one thread. */
static void count_broken(struct script_batch *batch, size_t number)
{
	for (size_t i = number * SLICE; i < (number + 1) * SLICE && i < batch->count; i++) {
		struct sample sample;
		if (batch->items[i].record.header)
			(void)session_decode(batch->session, &batch->items[i].record, &sample);
	}
}

/* Lets go of the recording's memory before the records of this batch: later ones follow, or lie not far behind. */
static void forget(struct script_batch *batch)
{
	const struct reader *reader = batch->session->reader;
	uint64_t first = UINT64_MAX;
	for (size_t i = 0; i < batch->count; i++) {
		uint64_t offset = (uint64_t)((const uint8_t *)batch->items[i].record.header - reader->records);
		if (batch->items[i].record.header && offset < reader->data_end && offset < first)
			first = offset;
	}
	if (!reader->stable || first == UINT64_MAX || first < batch->forgotten || first - batch->forgotten < FORGET)
		return;
	reader_forget(reader, batch->forgotten, first);
	batch->forgotten = first;
}

struct error *script_batch_run(struct script_batch *batch, struct error *(*write)(void *context, const char *text, size_t length),
			       void *context)
{
	size_t total = 0;
	struct error *error = NULL;
	batch->slice_count = (batch->count + SLICE - 1) / SLICE;
	format_all(batch);
	for (size_t i = 0; i < batch->slice_count && !error; i++) {
		struct slice *slice = &batch->slices[i];
		if (slice->broken)
			count_broken(batch, i);
		total += slice->text.len;
		error = write(context, slice->text.data, slice->text.len);
	}
	if (total > MUCH_TEXT)
		batch->limit = batch->limit / 2 > SLICE ? batch->limit / 2 : SLICE;
	else if (batch->limit < MOST_RECORDS)
		batch->limit *= 2;
	forget(batch);
	batch->count = 0;
	strbuf_clear(&batch->between);
	return error;
}
