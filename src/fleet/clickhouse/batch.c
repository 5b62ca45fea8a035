/* Windows into rows. Samples that are alike for the engine (event, labels, stack under the thread's name) are one row, whatever
 * threads they are of. Ids are hashes of what they stand for, the same from every machine:
 *
 *	frame   build-id, file, function, source, line; without a symbol the address in the file instead of a function
 *	stack   what was measured, the thread's name, and its frames
 *	labels  names with their values */
#include "fleet/clickhouse/batch.h"

#include "base/buildid.h"
#include "base/mem.h"
#include "base/sink.h"
#include "fleet/clickhouse/naming.h"
#include "fleet/clickhouse/row_binary.h"
#include "view/export/gzip.h"

#include <stdlib.h>

enum { KNOWN_MAX = 1 << 20, DAY_SECONDS = 86400, FRAME_ID = 1, STACK_ID, LABELS_ID };
#define SECOND_NS UINT64_C(1000000000)
static const char magic[8] = "perfCH1\n";

/* ---- what is known ---- */

void clickhouse_known_init(struct clickhouse_known *known)
{
	*known = (struct clickhouse_known){0};
	pthread_mutex_init(&known->lock, NULL);
}

void clickhouse_known_deinit(struct clickhouse_known *known)
{
	map64_deinit(&known->ids);
	pthread_mutex_destroy(&known->lock);
}

/* A full one begins anew: all is described once more. */
void clickhouse_known_add(struct clickhouse_known *known, uint64_t id, uint16_t day)
{
	pthread_mutex_lock(&known->lock);
	if (known->ids.count >= KNOWN_MAX)
		map64_deinit(&known->ids);
	*map64_insert(&known->ids, id, NULL) = day;
	pthread_mutex_unlock(&known->lock);
}

static bool is_known(struct clickhouse_known *known, uint64_t id, uint16_t day)
{
	if (!known)
		return false;
	pthread_mutex_lock(&known->lock);
	const uint64_t *last = map64_find(&known->ids, id);
	bool today = last && *last == day;
	pthread_mutex_unlock(&known->lock);
	return today;
}

/* ---- encoding ---- */

struct row_made {
	uint32_t event, set;
	uint64_t stack, value, count;
};

struct label_set {
	uint64_t id;
	const char *service;
};

struct encoding {
	const struct window *window;
	struct clickhouse_known *known;
	uint16_t day;
	uint32_t second;
	struct strbuf parts[CLICKHOUSE_PARTS];
	uint32_t rows[CLICKHOUSE_PARTS];
	struct strbuf ids;
	struct strbuf scratch;
	uint64_t *frame_ids;	/* by frame; 0 = not made */
	struct map64 described; /* ids that the batch has */
	struct map64 stack_ids; /* (event, stack, comm) → id */
	struct label_set *sets; /* by set; id 0 = not made */
	VEC(struct row_made) made;
};

/* Whether the batch is to describe it; then it does. */
static bool is_new(struct encoding *encoding, uint64_t id)
{
	bool fresh;
	map64_insert(&encoding->described, id, &fresh);
	if (!fresh || is_known(encoding->known, id, encoding->day))
		return false;
	row_add_u64(&encoding->ids, id);
	return true;
}

/* Never 0, which stands for nothing. */
static uint64_t id_of(const struct strbuf *text, uint64_t which)
{
	uint64_t id = hash_id(strbuf_str(text), text->len, which);
	return id ? id : 1;
}

static struct strbuf *begin_row(struct encoding *encoding, enum clickhouse_part part)
{
	encoding->rows[part]++;
	return &encoding->parts[part];
}

/* The columns behind id, day and version. */
static void add_frame_columns(const struct samples *samples, const struct samples_frame *frame, struct strbuf *row)
{
	const struct samples_function *function = &samples->functions.data[frame->function];
	const struct samples_file *file = function->file == SAMPLES_NONE ? NULL : &samples->files.data[function->file];
	char build_id[41] = "";
	if (file)
		buildid_format(&file->build_id, build_id);
	row_add_text(row, build_id);
	row_add_u64(row, function->symbol ? 0 : frame->file_address);
	row_add_text(row, file ? file->name : "");
	row_add_text(row, function->symbol || !file ? function->name : "");
	row_add_text(row, frame->source_file);
	row_add_u32(row, frame->source_file ? frame->line : 0);
	row_add_u8(row, file && file->kernel ? FRAME_KERNEL : function->kind);
	row_add_u8(row, frame->inlined);
}

static uint64_t frame_id(struct encoding *encoding, uint32_t number)
{
	const struct samples *samples = encoding->window->samples;
	const struct samples_frame *frame = &samples->frames.data[number];
	if (encoding->frame_ids[number])
		return encoding->frame_ids[number];
	strbuf_clear(&encoding->scratch);
	add_frame_columns(samples, frame, &encoding->scratch);
	uint64_t id = encoding->frame_ids[number] = id_of(&encoding->scratch, FRAME_ID);
	if (is_new(encoding, id)) {
		struct strbuf *row = begin_row(encoding, PART_FRAMES);
		row_add_u64(row, id);
		row_add_u16(row, encoding->day);
		row_add_u32(row, encoding->day + (samples->functions.data[frame->function].symbol ? (uint32_t)CLICKHOUSE_NAMED : 0));
		strbuf_add(row, encoding->scratch.data, encoding->scratch.len);
	}
	return id;
}

static void add_event_columns(const struct samples_event *event, struct strbuf *row)
{
	row_add_text(row, event->name);
	row_add_text(row, event->nanoseconds ? "ns" : "");
}

/* The outermost frame first. */
static uint64_t make_stack(struct encoding *encoding, const struct samples_row *sample, const char *comm)
{
	const struct samples *samples = encoding->window->samples;
	const struct samples_event *event = &samples->events.data[sample->event];
	samples_path path = {0};
	struct strbuf columns = {0};
	samples_stack_path(samples, sample->stack, &path);
	if (!path.len && sample->frame != SAMPLES_NONE)
		vec_push(&path, sample->frame);
	add_event_columns(event, &columns);
	row_add_text(&columns, comm);
	row_add_length(&columns, path.len);
	for (size_t i = 0; i < path.len; i++)
		row_add_u64(&columns, frame_id(encoding, path.data[i]));
	uint64_t id = id_of(&columns, STACK_ID);
	if (is_new(encoding, id)) {
		struct strbuf *row = begin_row(encoding, PART_STACKS);
		row_add_u64(row, id);
		row_add_u16(row, encoding->day);
		strbuf_add(row, columns.data, columns.len);
	}
	strbuf_deinit(&columns);
	vec_deinit(&path);
	return id;
}

static uint64_t stack_id(struct encoding *encoding, const struct samples_row *sample)
{
	const char *comm = encoding->window->samples->actors.data[sample->actor].comm;
	uint64_t place = sample->stack ? sample->stack : (uint64_t)sample->frame << 32;
	uint64_t whose = hash_combine(sample->event, hash_bytes(comm ? comm : "", comm ? strlen(comm) : 0));
	uint64_t *id = map64_insert(&encoding->stack_ids, hash_combine(place, whose), NULL);
	if (!*id)
		*id = make_stack(encoding, sample, comm);
	return *id;
}

/* Names and values of a set's labels, as two arrays. */
static void add_labels(const struct window *window, uint32_t set, struct strbuf *columns)
{
	struct window_labels labels = {0};
	window_labels_of_set(window, set, &labels);
	row_add_length(columns, labels.list.len);
	for (size_t i = 0; i < labels.list.len; i++)
		row_add_text(columns, labels.list.data[i].name);
	row_add_length(columns, labels.list.len);
	for (size_t i = 0; i < labels.list.len; i++)
		row_add_text(columns, labels.list.data[i].value);
	vec_deinit(&labels.list);
}

static void make_set(struct encoding *encoding, uint32_t number, struct label_set *ret)
{
	const struct window *window = encoding->window;
	struct strbuf columns = {0};
	add_labels(window, number, &columns);
	ret->id = id_of(&columns, LABELS_ID);
	const char *service = window_label(window, number, "service");
	service = service ? service : window_label(window, number, "unit");
	ret->service = service ? service : "";
	if (is_new(encoding, ret->id)) {
		struct strbuf *row = begin_row(encoding, PART_LABELS);
		row_add_u64(row, ret->id);
		row_add_u16(row, encoding->day);
		strbuf_add(row, columns.data, columns.len);
	}
	strbuf_deinit(&columns);
}

static int compare_rows(const void *a, const void *b)
{
	const struct row_made *x = a, *y = b;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return x->set < y->set ? -1 : x->set > y->set;
}

static void make_rows(struct encoding *encoding)
{
	const struct window *window = encoding->window;
	const struct samples *samples = window->samples;
	for (size_t i = 0; i < samples->rows.len; i++) {
		const struct samples_row *sample = &samples->rows.data[i];
		uint32_t thread = samples->actors.data[sample->actor].thread;
		uint32_t set = thread < window->thread_sets.len ? window->thread_sets.data[thread] : 0;
		vec_push(&encoding->made, (struct row_made){sample->event, set, stack_id(encoding, sample), sample->period, sample->count});
	}
	if (encoding->made.len)
		qsort(encoding->made.data, encoding->made.len, sizeof(*encoding->made.data), compare_rows);
}

static void add_sample(struct encoding *encoding, const struct row_made *made)
{
	const struct window *window = encoding->window;
	const struct samples_event *event = &window->samples->events.data[made->event];
	struct label_set *set = &encoding->sets[made->set];
	if (!set->id)
		make_set(encoding, made->set, set);
	struct strbuf *row = begin_row(encoding, PART_SAMPLES);
	row_add_u32(row, encoding->second);
	row_add_text(row, window->host);
	row_add_text(row, set->service);
	add_event_columns(event, row);
	row_add_u64(row, set->id);
	row_add_u64(row, made->stack);
	row_add_u64(row, made->value);
	row_add_u32(row, made->count > UINT32_MAX ? UINT32_MAX : (uint32_t)made->count);
}

static uint64_t add_samples(struct encoding *encoding)
{
	uint64_t stored = 0;
	make_rows(encoding);
	for (size_t i = 0; i < encoding->made.len;) {
		struct row_made sum = encoding->made.data[i];
		for (i++; i < encoding->made.len && !compare_rows(&sum, &encoding->made.data[i]); i++) {
			sum.value += encoding->made.data[i].value;
			sum.count += encoding->made.data[i].count;
		}
		stored += sum.count;
		add_sample(encoding, &sum);
	}
	return stored;
}

static void add_window(struct encoding *encoding, uint64_t stored)
{
	const struct window *window = encoding->window;
	struct strbuf *row = begin_row(encoding, PART_WINDOWS);
	strbuf_add(row, window->id, sizeof(window->id));
	row_add_text(row, window->host);
	row_add_text(row, window->host_id);
	row_add_u32(row, encoding->second);
	row_add_u64(row, window->begin_ns);
	row_add_u64(row, window->end_ns);
	row_add_u32(row, encoding->rows[PART_SAMPLES]);
	row_add_u64(row, window->taken);
	row_add_u64(row, stored);
	row_add_u64(row, window->lost);
	row_add_u64(row, window->dropped);
}

static void add_part(const struct encoding *encoding, enum clickhouse_part part, struct strbuf *out)
{
	const struct strbuf *rows = &encoding->parts[part];
	row_add_u32(out, encoding->rows[part]);
	size_t at = out->len;
	row_add_u32(out, 0);
	if (rows->len) {
		const struct sink text = sink_to_text(out);
		struct sink packed;
		struct gzip *gzip = gzip_begin(&text, &packed);
		sink_write(&packed, rows->data, rows->len);
		gzip_end(gzip);
	}
	uint32_t size = (uint32_t)(out->len - at - sizeof(size));
	memcpy(out->data + at, &size, sizeof(size));
}

static void add_batch(const struct encoding *encoding, struct strbuf *out)
{
	strbuf_add(out, magic, sizeof(magic));
	row_add_u32(out, encoding->second);
	row_add_u16(out, encoding->day);
	row_add_u32(out, encoding->rows[PART_SAMPLES]);
	row_add_text(out, encoding->window->host);
	row_add_text(out, encoding->window->host_id);
	row_add_bytes(out, strbuf_str(&encoding->ids), encoding->ids.len);
	for (enum clickhouse_part part = 0; part < CLICKHOUSE_PARTS; part++)
		add_part(encoding, part, out);
}

/* Windows of all machines have few different times, which take little room then: those of a minute begin with one, those of ten
 * seconds at ten of them. When exactly they began the table of windows says. */
static uint32_t second_of(const struct window *window)
{
	uint64_t second = window->begin_ns / SECOND_NS, length = (window->end_ns - window->begin_ns + SECOND_NS / 2) / SECOND_NS;
	return (uint32_t)(second - second % (length >= 60 ? 60 : length >= 10 ? 10 : 1));
}

void clickhouse_encode(const struct window *window, struct clickhouse_known *known, struct strbuf *ret)
{
	struct encoding encoding = {.window = window, .known = known, .second = second_of(window)};
	encoding.day = (uint16_t)(encoding.second / DAY_SECONDS);
	encoding.frame_ids = mem_zalloc_array(window->samples->frames.len + 1, sizeof(*encoding.frame_ids));
	encoding.sets = mem_zalloc_array(window->sets.len + 1, sizeof(*encoding.sets));
	uint64_t stored = add_samples(&encoding);
	add_window(&encoding, stored);
	add_batch(&encoding, ret);
	for (enum clickhouse_part part = 0; part < CLICKHOUSE_PARTS; part++)
		strbuf_deinit(&encoding.parts[part]);
	strbuf_deinit(&encoding.ids);
	strbuf_deinit(&encoding.scratch);
	free(encoding.frame_ids);
	free(encoding.sets);
	map64_deinit(&encoding.described);
	map64_deinit(&encoding.stack_ids);
	vec_deinit(&encoding.made);
}

/* ---- opening ---- */

struct error *clickhouse_batch_open(const void *data, size_t size, struct clickhouse_batch *ret)
{
	struct cursor cursor = cursor_init(data, size, false);
	const void *begin = cursor_bytes(&cursor, sizeof(magic));
	bool is_one = begin && !memcmp(begin, magic, sizeof(magic));
	*ret = (struct clickhouse_batch){0};
	ret->second = cursor_u32(&cursor);
	ret->day = cursor_u16(&cursor);
	ret->rows = cursor_u32(&cursor);
	ret->host = row_text(&cursor, &ret->host_length);
	ret->host_id = row_text(&cursor, &ret->host_id_length);
	ret->ids = (const uint8_t *)row_text(&cursor, &ret->id_count);
	ret->id_count /= sizeof(uint64_t);
	for (enum clickhouse_part part = 0; part < CLICKHOUSE_PARTS; part++) {
		ret->parts[part].rows = cursor_u32(&cursor);
		ret->parts[part].size = cursor_u32(&cursor);
		ret->parts[part].data = cursor_bytes(&cursor, ret->parts[part].size);
	}
	return is_one && !cursor.failed ? NULL : error_new_kind(ERROR_FORMAT, "the batch is damaged, or of another version of perf");
}

void clickhouse_batch_known(const struct clickhouse_batch *batch, struct clickhouse_known *known)
{
	for (size_t i = 0; i < batch->id_count; i++) {
		uint64_t id;
		memcpy(&id, batch->ids + i * sizeof(id), sizeof(id));
		clickhouse_known_add(known, id, batch->day);
	}
}
