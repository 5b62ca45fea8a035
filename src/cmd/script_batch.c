/* Samples become text on several threads: one thread reads a few thousand records (the machine grows meanwhile), then all threads make
 * slices of them into text (the machine rests), then the slices are written in order. The first batches are small, so that the first lines
 * come at once. */
#include "cmd/script_batch.h"

#include "base/mem.h"
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

enum {
	SLICE = 256, /* records a thread takes at a time */
	FIRST_RECORDS = 64,
	MOST_RECORDS = 8192,
	MOST_SLICES = MOST_RECORDS / SLICE,
	MUCH_TEXT = 8 << 20, /* bytes of a batch; then the next one is smaller */
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

struct script_batch {
	struct session *session;
	struct resolver *resolver;
	const struct script_filter *filter; /* NULL: all pass */
	unsigned int jobs;
	struct script_text **texts; /* by worker */
	struct item *items;
	size_t count, limit;
	struct strbuf between;
	struct slice slices[MOST_SLICES];
};

struct script_batch *script_batch_create(struct session *session, struct resolver *resolver, const struct script_filter *filter,
					 unsigned int jobs, struct script_text *(*create_text)(void *context), void *context)
{
	struct script_batch *batch = mem_zalloc(sizeof(*batch));
	batch->session = session;
	batch->resolver = resolver;
	batch->filter = script_filter_is_empty(filter) ? NULL : filter;
	batch->jobs = jobs;
	batch->texts = mem_alloc_array(jobs, sizeof(*batch->texts));
	for (unsigned int i = 0; i < jobs; i++)
		batch->texts[i] = create_text(context);
	batch->items = mem_alloc_array(MOST_RECORDS, sizeof(*batch->items));
	batch->limit = FIRST_RECORDS;
	return batch;
}

void script_batch_destroy(struct script_batch *batch)
{
	if (!batch)
		return;
	for (unsigned int i = 0; i < batch->jobs; i++)
		script_text_destroy(batch->texts[i]);
	for (size_t i = 0; i < MOST_SLICES; i++)
		strbuf_deinit(&batch->slices[i].text);
	strbuf_deinit(&batch->between);
	free(batch->texts);
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
	if (sample_decode(&batch->session->reader->layouts[record->event->index], &record->event->attr, record->header, &sample)) {
		slice->broken = true;
		return;
	}
	/* Without events' switches the filter has no state to change. */
	if (batch->filter && !script_filter_passes((struct script_filter *)batch->filter, batch->session->machine, batch->resolver, record,
						   &sample, item->thread))
		return;
	script_text_sample(text, record, &sample, item->thread, &slice->text);
}

static void format_slice(void *context, unsigned int worker, size_t number)
{
	struct script_batch *batch = context;
	struct slice *slice = &batch->slices[number];
	size_t begin = number * SLICE, end = begin + SLICE < batch->count ? begin + SLICE : batch->count;
	strbuf_clear(&slice->text);
	slice->broken = false;
	for (size_t i = begin; i < end; i++)
		format_item(batch, batch->texts[worker], &batch->items[i], slice);
}

/* Has the broken ones counted, on this one thread. */
static void note_broken(struct script_batch *batch, size_t number)
{
	for (size_t i = number * SLICE; i < (number + 1) * SLICE && i < batch->count; i++) {
		struct sample sample;
		if (batch->items[i].record.header)
			(void)session_decode(batch->session, &batch->items[i].record, &sample);
	}
}

struct error *script_batch_run(struct script_batch *batch, struct error *(*write)(void *context, const char *text, size_t length),
			       void *context)
{
	size_t slices = (batch->count + SLICE - 1) / SLICE, total = 0;
	struct error *error = NULL;
	pool_run(batch->jobs, slices, format_slice, batch);
	for (size_t i = 0; i < slices && !error; i++) {
		struct slice *slice = &batch->slices[i];
		if (slice->broken)
			note_broken(batch, i);
		total += slice->text.len;
		error = write(context, slice->text.data, slice->text.len);
	}
	if (total > MUCH_TEXT)
		batch->limit = batch->limit / 2 > SLICE ? batch->limit / 2 : SLICE;
	else if (batch->limit < MOST_RECORDS)
		batch->limit *= 2;
	batch->count = 0;
	strbuf_clear(&batch->between);
	return error;
}
