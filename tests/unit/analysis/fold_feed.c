/* A fold that is fed: in pieces, from two threads, swapped and merged, from a stream while the machine grows: what comes out is what the
 * whole recording gives, byte for byte.
 *
 * The recording is made here: processes of this program's own code (so that there are symbols), of which one maps another file over it in
 * the middle; two events; stacks of the kernel and of users; threads of one name; samples of equal times. */
#include "analysis/report/fold.h"
#include "analysis/report/rows.h"
#include "perfdata/writer.h"

#include <limits.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* With sanitizers, which take most of their time here, as many as tables of 100 lines and trees of 300 nodes need, and slices until what is
 * known is forgotten once (KEPT_MOST in fold_feed.c). */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SAMPLES = 3000, SLICES = 35 };
#else
enum { SAMPLES = 6000, SLICES = 80 };
#endif

enum { MAPPED = 1 << 19, PROCESSES = 7, THREADS = 3, BASE = 0x400000, MOVED = SAMPLES / 2, FIRST_TIME = 1000, DEEPEST = 60 };

struct fixture {
	char folder[32];
	char path[48];
	struct event_list events;
	struct features features;
	struct writer *writer;
	VEC(uint64_t) recursion[PROCESSES]; /* the outermost address first */
	char *whole[2];			    /* what the whole recording gives, by whether threads are apart; NULL: not asked for yet */
};

static uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

static void no_error(struct error *error)
{
	if (error)
		print_error("%s\n", error_message(error));
	assert_null(error);
}

/* ---- the recording ---- */

/* What follows each record that is no sample: PERF_SAMPLE_TID, _TIME, _IDENTIFIER. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time, id;
};

static void append(struct fixture *fixture, void *record, size_t size)
{
	struct iovec piece = {record, size};
	((struct record_header *)record)->size = (uint16_t)size;
	no_error(writer_append(fixture->writer, &piece, 1));
}

static void append_comm(struct fixture *fixture, uint32_t pid, uint32_t tid, const char *name)
{
	struct {
		struct record_header header;
		uint32_t pid, tid;
		char name[16];
		struct trailer trailer;
	} record = {.header.type = PERF_RECORD_COMM, .pid = pid, .tid = tid, .trailer = {pid, tid, 1, 10}};
	memcpy(record.name, name, strlen(name));
	append(fixture, &record, sizeof(record));
}

extern const char __executable_start, etext; /* the linker's */

/* Where in this program the last MAPPED bytes of its code begin: before them there may be a lot that has no symbols. */
static uint64_t code_offset(void)
{
	const uint64_t end = (uintptr_t)&etext - (uintptr_t)&__executable_start;
	return end > MAPPED ? (end - MAPPED) & ~(uint64_t)4095 : 0;
}

static void append_map(struct fixture *fixture, uint32_t pid, const char *path, uint64_t time)
{
	struct {
		struct record_header header;
		uint32_t pid, tid;
		uint64_t start, length, offset;
		char path[PATH_MAX];
		struct trailer trailer;
	} record = {.header = {PERF_RECORD_MMAP, CPUMODE_USER, 0},
		    .pid = pid,
		    .tid = pid,
		    .start = BASE,
		    .length = 1 << 24,
		    .offset = code_offset(),
		    .trailer = {pid, pid, time, 10}};
	snprintf(record.path, sizeof(record.path), "%s", path);
	append(fixture, &record, sizeof(record));
}

static uint64_t draw_address(uint64_t *seed)
{
	return BASE + draw(seed, MAPPED) / 64 * 64;
}

/* A stack that returns some way and descends again. */
static uint64_t recurse(struct fixture *fixture, uint32_t process, uint64_t *seed, uint64_t *chain)
{
	uint32_t depth = DEEPEST - draw(seed, DEEPEST / 2);
	typeof(fixture->recursion[0]) *path = &fixture->recursion[process];
	uint32_t left = draw(seed, DEEPEST);
	path->len = left < path->len ? left : path->len;
	path->len = depth < path->len ? depth : path->len;
	while (path->len < depth)
		vec_push(path, draw_address(seed));
	for (uint32_t i = 0; i < depth; i++)
		chain[i] = path->data[depth - 1 - i];
	return depth;
}

static void append_sample(struct fixture *fixture, uint64_t *seed, uint64_t time)
{
	struct {
		struct record_header header;
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time, period, chain_count, chain[DEEPEST + 16];
	} record = {.header.type = RECORD_SAMPLE, .id = 10 + draw(seed, 5) / 4, .time = time, .period = 1 + draw(seed, 1000)};
	bool kernel = draw(seed, 4) == 0;
	record.pid = 100 + 10 * draw(seed, PROCESSES);
	record.tid = record.pid + draw(seed, THREADS);
	record.header.misc = kernel ? CPUMODE_KERNEL : CPUMODE_USER;
	uint64_t n = 0;
	if (kernel) {
		record.chain[n++] = PERF_CONTEXT_KERNEL;
		for (uint32_t i = 1 + draw(seed, 3); i > 0; i--)
			record.chain[n++] = 0xffffffff81000000 + 64 * draw(seed, 20);
	}
	record.chain[n++] = PERF_CONTEXT_USER;
	for (uint32_t i = 1 + draw(seed, 4); i > 0; i--)
		record.chain[n++] = draw_address(seed);
	if (draw(seed, 8) == 0)
		n += recurse(fixture, (record.pid - 100) / 10, seed, record.chain + n);
	record.ip = record.chain[kernel || draw(seed, 2)];
	if (record.ip >= PERF_CONTEXT_MAX)
		record.ip = record.chain[1];
	record.chain_count = n;
	append(fixture, &record, offsetof(typeof(record), chain) + n * sizeof(uint64_t));
}

static void write_recording(struct fixture *fixture)
{
	char program[PATH_MAX] = "";
	uint64_t seed = 11;
	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	no_error(writer_open(&(struct writer_options){.path = fixture->path}, &fixture->events, &fixture->features, &fixture->writer));
	for (uint32_t pid = 100; pid < 100 + 10 * PROCESSES; pid += 10) {
		append_map(fixture, pid, program, 1);
		for (uint32_t i = 0; i < THREADS; i++)
			append_comm(fixture, pid, pid + i, (const char *[]){"one", "two", "three"}[(pid / 10 + i) % 3]);
	}
	/* Two samples have each time, more of them one. */
	for (uint32_t i = 0; i < SAMPLES; i++) {
		if (i == MOVED)
			append_map(fixture, 110, "/nonexistent/other", FIRST_TIME + MOVED / 2);
		append_sample(fixture, &seed, FIRST_TIME + (i % 100 ? i / 2 : i / 2 - i / 2 % 5));
		if (i % 500 == 499)
			no_error(writer_finish_round(fixture->writer));
	}
	no_error(writer_finish_data(fixture->writer));
	no_error(writer_finish(fixture->writer, &fixture->features));
	writer_close(fixture->writer);
}

static int set_up(void **state)
{
	struct fixture *fixture = mem_zalloc(sizeof(*fixture));
	strcpy(fixture->folder, "/tmp/perf-fold-XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/perf.data", fixture->folder);
	for (uint64_t i = 0; i < 2; i++) {
		struct event *event = event_list_add(&fixture->events, i ? "instructions" : "cycles");
		event->attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					  PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
		event->attr.sample_id_all = 1;
		vec_push(&event->ids, 10 + i);
	}
	write_recording(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	int status = unlink(fixture->path) | rmdir(fixture->folder);
	event_list_deinit(&fixture->events);
	features_deinit(&fixture->features);
	for (size_t i = 0; i < PROCESSES; i++)
		vec_deinit(&fixture->recursion[i]);
	free(fixture->whole[false]);
	free(fixture->whole[true]);
	free(fixture);
	return status;
}

/* ---- reading it ---- */

struct reading {
	struct session *session;
	struct resolver *resolver;
	struct fold_options options;
	struct arena chains;
	VEC(struct sample) samples;
	VEC(struct fold_sample) inputs; /* all, of the file */
};

static void open_reading(struct reading *reading, const struct fixture *fixture, bool streaming)
{
	static const struct symbol_options symbols = {.buildid_dir = "/nonexistent", .proc = "/nonexistent"};
	const struct session_options options = {.input.path = fixture->path, .jobs = 2, .streaming = streaming};
	*reading = (struct reading){.options = {.chains = true, .jobs = 2}};
	no_error(session_open(&options, &reading->session));
	reading->resolver = resolver_create(reading->session->machine, &symbols);
}

static void close_reading(struct reading *reading)
{
	resolver_destroy(reading->resolver);
	session_close(reading->session);
	arena_deinit(&reading->chains);
	vec_deinit(&reading->samples);
	vec_deinit(&reading->inputs);
}

static struct fold *create(const struct reading *reading)
{
	return fold_create(reading->session, reading->resolver, &reading->options);
}

/* The samples as somebody else would have them. What session_next() gives is gone after the next one: records are those of the file. */
static void gather(struct reading *reading)
{
	struct record record;
	struct error *error = NULL;
	int more;
	while ((more = session_next(reading->session, &record, &error)) > 0) {
		struct sample sample;
		if (record.header->type != RECORD_SAMPLE)
			continue;
		assert_true(session_decode(reading->session, &record, &sample));
		sample.header = (const struct record_header *)(reading->session->reader->records + record.offset);
		sample.chain = arena_copy(&reading->chains, sample.chain, sample.chain_count * sizeof(uint64_t));
		vec_push(&reading->samples, sample);
		vec_push(&reading->inputs, (struct fold_sample){.event = record.event, .model_time = record.model_time});
	}
	no_error(error);
	assert_int_equal(more, 0);
	assert_int_equal(reading->inputs.len, SAMPLES);
	for (size_t i = 0; i < SAMPLES; i++)
		reading->inputs.data[i].sample = &reading->samples.data[i];
}

/* ---- what is compared ---- */

static void print_entry(struct fold *fold, const struct fold_entry *entry, bool records, struct strbuf *out)
{
	const struct fold_actor *actor = &fold->actors[entry->actor];
	const struct fold_detail *detail = &fold->details[entry - fold->entries];
	strbuf_printf(out, "%lu %u ×%u %lu %s/%u %u:", detail->time, entry->event, entry->count, entry->period, untrusted_raw(actor->comm),
		      actor->thread->tid, entry->cpumode);
	for (uint32_t i = 0, depth = fold_depth(fold, entry); i < depth; i++) {
		const struct fold_frame *frame = &fold->frames[fold_frame_id(fold, entry, i)];
		strbuf_printf(out, " %s", fold_frame_name(fold, fold_frame_id(fold, entry, i)));
		if (!frame->symbol)
			strbuf_printf(out, "+%lx", frame->ip);
	}
	if (records)
		strbuf_printf(out, " %u bytes, %016lx", detail->first->size, ((const uint64_t *)detail->first)[2]);
	strbuf_add_char(out, '\n');
}

static void print_cell(const struct rows *rows, uint32_t row, const struct key *key, struct strbuf *out)
{
	struct key_source source;
	rows_source(rows, row, key, &source);
	if (key->text)
		key->text(rows->context, key, &source, out);
	else
		strbuf_add_str(out, key->string(rows->context, key, &source));
	strbuf_add_char(out, ' ');
}

/* The table that `report --children -s comm,dso,sym` shows of an event. */
static void print_rows(const struct reading *reading, struct fold *fold, const struct event *event, struct strbuf *out)
{
	const struct key *keys[] = {key_find("comm", false), key_find("dso", false), key_find("symbol", false)};
	const bool skipped[3] = {0};
	struct intern strings = {0};
	struct arena arena = {0};
	struct key_context context = {
		.fold = fold, .session = reading->session, .resolver = reading->resolver, .strings = &strings, .arena = &arena};
	const struct rows_options options = {.events = &event,
					     .event_count = 1,
					     .keys = keys,
					     .key_count = 3,
					     .sort = keys,
					     .sort_skipped = skipped,
					     .sort_count = 3,
					     .children = true,
					     .jobs = 2};
	struct rows *rows = rows_create(fold, &context, &options);
	assert_true(rows->shown_count > 100);
	strbuf_printf(out, "%s: %lu samples, %lu\n", event->name, rows->samples[0], rows->total[0]);
	for (size_t i = 0; i < rows->shown_count; i++) {
		const struct row_sums *sums = &rows->sums[rows->order[i]];
		strbuf_printf(out, "%lu %lu %lu ", sums->children, sums->period, sums->count);
		for (size_t k = 0; k < 3; k++)
			print_cell(rows, rows->order[i], keys[k], out);
		strbuf_add_char(out, '\n');
	}
	rows_destroy(rows);
	intern_deinit(&strings);
	arena_deinit(&arena);
}

/* All there is to see; the fold is finished and destroyed. */
static char *print_fold(const struct reading *reading, struct fold *fold, bool records)
{
	struct strbuf out = {0};
	fold_finish(fold);
	for (size_t i = 0; i < fold->entry_count; i++)
		print_entry(fold, &fold->entries[i], records, &out);
	for (size_t i = 0; i < reading->session->reader->events.events.len; i++)
		print_rows(reading, fold, reading->session->reader->events.events.data[i], &out);
	fold_destroy(fold);
	return out.data;
}

static char *fold_whole(const struct fixture *fixture, bool threads)
{
	struct reading reading;
	open_reading(&reading, fixture, false);
	reading.options.threads = threads;
	struct fold *fold = fold_create(reading.session, reading.resolver, &reading.options);
	no_error(fold_add_session(fold));
	char *text = print_fold(&reading, fold, false);
	close_reading(&reading);
	return text;
}

/* To be freed. */
static char *whole(struct fixture *fixture, bool threads)
{
	if (!fixture->whole[threads])
		fixture->whole[threads] = fold_whole(fixture, threads);
	return strdup(fixture->whole[threads]);
}

/* Frees both. */
static void check_equal(char *text, char *expected)
{
	const char *a = text, *b = expected;
	while (*a && *a == *b)
		a++, b++;
	if (*a != *b)
		fail_msg("differs at '%.100s', expected '%.100s'", a, b);
	free(text);
	free(expected);
}

/* ---- tests ---- */

static void in_pieces(void **state)
{
	struct reading reading;
	open_reading(&reading, *state, false);
	gather(&reading);
	struct fold *fold = create(&reading);
	struct fold_feed *feed = fold_feed_open(fold);
	for (size_t at = 0, count = 1; at < SAMPLES; at += count, count = count % 97 + 1) {
		if (count > SAMPLES - at)
			count = SAMPLES - at;
		fold_add(feed, reading.inputs.data + at, count);
	}
	fold_feed_close(feed);
	check_equal(print_fold(&reading, fold, false), whole(*state, false));
	close_reading(&reading);
}

static bool take_all(void *context, const struct fold_sample *sample)
{
	(void)context;
	(void)sample;
	return true;
}

/* Of choices, the bits of a number, ThreadSanitizer sees both sides of each, and not all of them together. */
#ifdef __SANITIZE_THREAD__
enum { VARIANTS_STEP = 3 };
#else
enum { VARIANTS_STEP = 1 };
#endif

/* Samples without stacks are counted by address where nobody wants to see each of them (fold_counts.c), of which the table has fewer lines
 * than there are: it gives what the way of all samples gives. */
static void by_address_without_stacks(void **state)
{
	for (unsigned int variant = 0; variant < 8; variant += VARIANTS_STEP) {
		struct reading reading;
		open_reading(&reading, *state, false);
		reading.options = (struct fold_options){
			.jobs = 2, .threads = variant & 1, .hide_unresolved = variant >> 1 & 1, .by_address = variant >> 2 & 1};
		gather(&reading);
		struct fold *all = create(&reading);
		reading.options.accept = take_all;
		struct fold *fold = create(&reading);
		struct fold_feed *feed = fold_feed_open(fold);
		fold_add(feed, reading.inputs.data, SAMPLES);
		fold_feed_close(feed);
		no_error(fold_add_session(all));
		char *expected = print_fold(&reading, fold, true);
		check_equal(print_fold(&reading, all, true), expected);
		close_reading(&reading);
	}
}

/* A thread's share: pieces of 50 samples, one in two. */
struct feeding {
	struct fold *fold;
	const struct fold_sample *inputs;
	size_t first, end;
	pthread_barrier_t *halfway; /* both have added half of their samples: swapped here, if it isn't NULL */
};

static void *feed_share(void *argument)
{
	const struct feeding *feeding = argument;
	struct fold_feed *feed = fold_feed_open(feeding->fold);
	for (size_t at = feeding->first; at < feeding->end; at += 100)
		fold_add(feed, feeding->inputs + at, 50);
	if (feeding->halfway) {
		pthread_barrier_wait(feeding->halfway);
		pthread_barrier_wait(feeding->halfway);
		for (size_t at = feeding->end + feeding->first; at < SAMPLES; at += 100)
			fold_add(feed, feeding->inputs + at, 50);
	}
	fold_feed_close(feed);
	return NULL;
}

static void from_two_threads(void **state)
{
	for (int threads_apart = 0; threads_apart < 2; threads_apart++) {
		struct reading reading;
		open_reading(&reading, *state, false);
		reading.options.threads = threads_apart;
		gather(&reading);
		struct feeding shares[] = {{create(&reading), reading.inputs.data, 0, SAMPLES, NULL},
					   {NULL, reading.inputs.data, 50, SAMPLES, NULL}};
		shares[1].fold = shares[0].fold;
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, feed_share, &shares[1]), 0);
		feed_share(&shares[0]);
		pthread_join(thread, NULL);
		check_equal(print_fold(&reading, shares[0].fold, false), whole(*state, threads_apart));
		close_reading(&reading);
	}
}

/* Whoever shows what came so far, while two threads feed. */
static void swapped_under_two_threads(void **state)
{
	struct reading reading;
	pthread_barrier_t halfway;
	open_reading(&reading, *state, false);
	gather(&reading);
	pthread_barrier_init(&halfway, NULL, 3);
	struct fold *fold = create(&reading);
	struct feeding shares[] = {{fold, reading.inputs.data, 0, SAMPLES / 2, &halfway},
				   {fold, reading.inputs.data, 50, SAMPLES / 2, &halfway}};
	pthread_t threads[2];
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, feed_share, &shares[i]), 0);
	pthread_barrier_wait(&halfway);
	struct fold *first = fold_swap(fold);
	pthread_barrier_wait(&halfway);
	/* At any time: samples come in one of the two. */
	struct fold *second = fold_swap(fold);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	uint64_t count = 0;
	fold_finish(first);
	for (size_t i = 0; i < first->entry_count; i++)
		count += first->entries[i].count;
	assert_int_equal(count, SAMPLES / 2);
	fold_merge(fold, first);
	fold_merge(fold, second);
	fold_destroy(first);
	fold_destroy(second);
	check_equal(print_fold(&reading, fold, false), whole(*state, false));
	close_reading(&reading);
}

/* As a display does that adds each interval to what it has shown before. */
static void merged_slice_by_slice(void **state)
{
	struct reading reading;
	open_reading(&reading, *state, false);
	gather(&reading);
	struct fold *fold = create(&reading), *total = NULL;
	struct fold_feed *feed = fold_feed_open(fold);
	for (size_t at = 0; at < SAMPLES; at += SAMPLES / 8) {
		fold_add(feed, reading.inputs.data + at, SAMPLES / 8);
		struct fold *slice = fold_swap(fold);
		if (total)
			fold_merge(slice, total);
		fold_destroy(total);
		fold_finish(slice);
		total = slice;
	}
	fold_feed_close(feed);
	fold_finish(fold);
	assert_int_equal(fold->entry_count, 0);
	fold_destroy(fold);
	check_equal(print_fold(&reading, total, false), whole(*state, false));
	close_reading(&reading);
}

/* All rows, by their keys; the fold is finished and destroyed. */
static char *rows_of(const struct reading *reading, struct fold *fold)
{
	struct strbuf out = {0};
	fold_finish(fold);
	for (size_t i = 0; i < reading->session->reader->events.events.len; i++)
		print_rows(reading, fold, reading->session->reader->events.events.data[i], &out);
	fold_destroy(fold);
	return out.data;
}

/* A live view: what is looked up stays known from slice to slice, more often than that goes on. */
static void merged_with_known_places(void **state)
{
	for (unsigned int variant = 0; variant < 4; variant += VARIANTS_STEP) {
		struct reading reading;
		bool merges_first = variant & 2; /* as perf top: what is older becomes known, too */
		open_reading(&reading, *state, false);
		reading.options.chains = variant & 1;
		gather(&reading);
		struct fold *all = create(&reading), *total = NULL;
		no_error(fold_add_session(all));
		reading.options.any_address = true;
		struct fold *fold = create(&reading);
		struct fold_feed *feed = fold_feed_open(fold);
		for (size_t i = 0; i < SLICES; i++) {
			size_t begin = SAMPLES * i / SLICES, end = SAMPLES * (i + 1) / SLICES;
			fold_add(feed, reading.inputs.data + begin, end - begin);
			if (total && merges_first)
				fold_merge(fold, total);
			struct fold *slice = fold_swap(fold);
			if (total && !merges_first)
				fold_merge(slice, total);
			fold_destroy(total);
			fold_finish(slice);
			total = slice;
		}
		fold_feed_close(feed);
		fold_destroy(fold);
		char *expected = rows_of(&reading, all);
		check_equal(rows_of(&reading, total), expected);
		close_reading(&reading);
	}
}

/* Where few rows are asked for, those that come first. */
static void first_rows_of_many(void **state)
{
	struct reading reading;
	open_reading(&reading, *state, false);
	reading.options.chains = false;
	struct fold *fold = create(&reading);
	no_error(fold_add_session(fold));
	fold_finish(fold);
	const struct key *keys[] = {key_find("overhead", false), key_find("comm", false), key_find("symbol", false)};
	const bool skipped[3] = {0};
	const struct event *event = reading.session->reader->events.events.data[0];
	struct intern strings = {0};
	struct key_context context = {.fold = fold, .session = reading.session, .resolver = reading.resolver, .strings = &strings};
	struct rows_options options = {.events = &event,
				       .event_count = 1,
				       .keys = keys + 1,
				       .key_count = 2,
				       .sort = keys,
				       .sort_skipped = skipped,
				       .sort_count = 3};
	struct rows *all = rows_create(fold, &context, &options);
	for (options.most = 1; options.most < all->row_count; options.most += options.most / 4 + 1) {
		struct rows *some = rows_create(fold, &context, &options);
		assert_true(some->shown_count >= options.most);
		assert_memory_equal(some->order, all->order, some->shown_count * sizeof(*some->order));
		assert_int_equal(some->total[0], all->total[0]);
		rows_destroy(some);
	}
	options.most = 1;
	struct rows *first = rows_create(fold, &context, &options);
	assert_true(first->shown_count < all->shown_count);
	rows_destroy(first);
	rows_destroy(all);
	fold_destroy(fold);
	intern_deinit(&strings);
	close_reading(&reading);
}

/* A slice knows nothing of what came before and after it. */
static void slice_is_what_was_added(void **state)
{
	struct reading reading;
	open_reading(&reading, *state, false);
	gather(&reading);
	struct fold *fold = create(&reading), *alone = create(&reading);
	struct fold_feed *feed = fold_feed_open(fold), *other = fold_feed_open(alone);
	fold_add(feed, reading.inputs.data, SAMPLES / 3);
	fold_destroy(fold_swap(fold));
	fold_add(feed, reading.inputs.data + SAMPLES / 3, SAMPLES / 3);
	struct fold *slice = fold_swap(fold);
	fold_add(feed, reading.inputs.data + 2 * SAMPLES / 3, SAMPLES / 3);
	fold_add(other, reading.inputs.data + SAMPLES / 3, SAMPLES / 3);
	fold_feed_close(feed);
	fold_feed_close(other);
	fold_destroy(fold);
	fold_finish(slice);
	fold_finish(alone);
	assert_int_equal(slice->frame_count, alone->frame_count);
	assert_int_equal(slice->piece_count, alone->piece_count);
	check_equal(print_fold(&reading, slice, false), print_fold(&reading, alone, false));
	close_reading(&reading);
}

/* Records that go when they have been added, of a machine that grows meanwhile. */
static char *stream(const struct fixture *fixture, enum fold_records records, size_t batch)
{
	struct reading reading;
	struct record record;
	struct error *error = NULL;
	open_reading(&reading, fixture, true);
	reading.options.records = records;
	struct fold *fold = create(&reading), *slice = NULL;
	struct fold_feed *feed = fold_feed_open(fold);
	size_t added = 0;
	while (session_next(reading.session, &record, &error) > 0) {
		struct sample sample;
		uint64_t copy[DEEPEST + 32];
		if (record.header->type != RECORD_SAMPLE)
			continue;
		assert_true(session_decode(reading.session, &record, &sample));
		assert_true(record.header->size <= sizeof(copy));
		memcpy(copy, record.header, record.header->size);
		sample.header = (struct record_header *)copy;
		fold_add(feed, &(struct fold_sample){.event = record.event, .sample = &sample, .model_time = record.model_time}, 1);
		memset(copy, 0xee, sizeof(copy));
		if (++added == batch)
			slice = fold_swap(fold);
	}
	no_error(error);
	fold_feed_close(feed);
	if (slice)
		fold_merge(fold, slice);
	fold_destroy(slice);
	char *text = print_fold(&reading, fold, records == FOLD_RECORDS_COPIED);
	close_reading(&reading);
	return text;
}

/* Lines in any order: entries of equal times are in the order of their records only where records stay. */
static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *sort_lines(char *text)
{
	VEC(char *) lines = {0};
	struct strbuf out = {0};
	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		vec_push(&lines, line);
	qsort(lines.data, lines.len, sizeof(char *), by_text);
	for (size_t i = 0; i < lines.len; i++)
		strbuf_printf(&out, "%s\n", lines.data[i]);
	vec_deinit(&lines);
	free(text);
	return out.data;
}

static void from_a_stream(void **state)
{
	char *text = stream(*state, FOLD_RECORDS_DROPPED, SIZE_MAX);
	check_equal(sort_lines(strdup(text)), sort_lines(whole(*state, false)));
	check_equal(stream(*state, FOLD_RECORDS_DROPPED, SAMPLES / 3), text);
}

/* The records that entries have are their first samples'. */
static void records_are_copied(void **state)
{
	char *copied = stream(*state, FOLD_RECORDS_COPIED, SIZE_MAX);
	check_equal(stream(*state, FOLD_RECORDS_COPIED, SAMPLES / 3), strdup(copied));
	struct reading reading;
	open_reading(&reading, *state, false);
	struct fold *fold = fold_create(reading.session, reading.resolver, &reading.options);
	no_error(fold_add_session(fold));
	check_equal(sort_lines(copied), sort_lines(print_fold(&reading, fold, true)));
	close_reading(&reading);
}

/* The recording's records as running events give them: chunk after chunk, each gone when the next one comes. */
struct rings {
	struct reader *recording;
	uint64_t at;
};

static struct error *next_chunk(void *context, struct reader_chunk **ret)
{
	struct rings *rings = context;
	struct strbuf data = {0};
	const struct record_header *header;
	while (data.len < 5000 && (header = reader_record(rings->recording, &rings->at, true)))
		strbuf_add(&data, header, header->size);
	if (data.len) {
		*ret = mem_zalloc(sizeof(**ret));
		(*ret)->size = data.len;
		(*ret)->data = (const uint8_t *)strbuf_detach(&data);
	}
	return NULL;
}

static void copy_events(const struct event_list *from, struct event_list *to)
{
	for (size_t i = 0; i < from->events.len; i++) {
		const struct event *event = from->events.data[i];
		struct event *copy = event_list_add(to, event->name);
		copy->attr = event->attr;
		for (size_t id = 0; id < event->ids.len; id++)
			vec_push(&copy->ids, event->ids.data[id]);
	}
}

static void open_live(struct reading *reading, const struct fixture *fixture, struct rings *rings)
{
	const struct reader_feed feed = {next_chunk, rings};
	static const struct symbol_options symbols = {.buildid_dir = "/nonexistent", .proc = "/nonexistent"};
	struct event_list events = {0};
	copy_events(&fixture->events, &events);
	no_error(reader_open(&(struct reader_options){.path = fixture->path}, &rings->recording));
	rings->at = rings->recording->data_offset;
	const struct session_options options = {.reader = reader_open_feed("rings", &feed, &events, NULL), .streaming = true};
	*reading = (struct reading){.options = {.chains = true, .jobs = 2, .records = FOLD_RECORDS_COPIED}};
	no_error(session_open(&options, &reading->session));
	reading->resolver = resolver_create(reading->session->machine, &symbols);
}

/* What came so far joins what came before, as often as a display is drawn. */
static void take_slice(struct fold *fold, struct fold **total)
{
	struct fold *slice = fold_swap(fold);
	if (*total)
		fold_merge(slice, *total);
	fold_destroy(*total);
	fold_finish(slice);
	*total = slice;
}

static void from_a_live_source(void **state)
{
	struct reading reading;
	struct rings rings;
	struct record record;
	struct error *error = NULL;
	open_live(&reading, *state, &rings);
	struct fold *fold = create(&reading), *total = NULL;
	struct fold_feed *feed = fold_feed_open(fold);
	size_t slices = 0;
	while (session_next(reading.session, &record, &error) > 0) {
		struct sample sample;
		if (record.header->type == RECORD_FINISHED_ROUND && ++slices % 3 == 0)
			take_slice(fold, &total);
		if (record.header->type != RECORD_SAMPLE)
			continue;
		assert_true(session_decode(reading.session, &record, &sample));
		fold_add(feed, &(struct fold_sample){.event = record.event, .sample = &sample, .model_time = record.model_time}, 1);
	}
	no_error(error);
	assert_true(slices > 5);
	take_slice(fold, &total);
	fold_feed_close(feed);
	fold_destroy(fold);
	check_equal(sort_lines(print_fold(&reading, total, false)), sort_lines(whole(*state, false)));
	close_reading(&reading);
	reader_close(rings.recording);
}

/* Two recordings that are compared: each has a session and a fold of its own, and neither knows of the other. */
static void of_two_recordings(void **state)
{
	struct reading readings[2];
	struct fold *folds[2];
	struct fold_feed *feeds[2];
	for (size_t i = 0; i < 2; i++) {
		open_reading(&readings[i], *state, false);
		gather(&readings[i]);
		folds[i] = create(&readings[i]);
		feeds[i] = fold_feed_open(folds[i]);
	}
	for (size_t at = 0; at < SAMPLES; at += 100)
		for (size_t i = 0; i < 2; i++)
			fold_add(feeds[i], readings[i].inputs.data + at, 100);
	for (size_t i = 0; i < 2; i++) {
		fold_feed_close(feeds[i]);
		check_equal(print_fold(&readings[i], folds[i], false), whole(*state, false));
		close_reading(&readings[i]);
	}
}

/* ---- stacks for pictures ---- */

static bool accept_first(void *context, const struct fold_sample *sample)
{
	(void)context;
	return sample->event->index == 0;
}

static void print_node(const struct calltree_node *node, int depth, struct strbuf *out)
{
	strbuf_printf(out, "%*s%s %s %u %lu %lu %lu %lu\n", depth, "", node->label ? node->label : "", node->module ? node->module : "",
		      node->kind, node->total, node->total_count, node->self, node->self_count);
	for (const struct calltree_node *child = node->children; child; child = child->sibling)
		print_node(child, depth + 1, out);
}

/* Files are in no order. */
static uint64_t sum_modules(const struct calltree *tree)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < tree->module_count; i++)
		sum += tree->modules[i].self * (1 + strlen(tree->modules[i].name));
	return sum;
}

static char *print_tree(const struct fixture *fixture, bool loose, unsigned int jobs, const struct fold_calltree_options *options)
{
	struct reading reading;
	struct strbuf out = {0};
	struct fold *fold;
	open_reading(&reading, fixture, false);
	reading.session->jobs = reading.options.jobs = jobs;
	reading.options.by_file = true;
	reading.options.loose = loose;
	reading.options.threads = options->by_thread;
	reading.options.accept = accept_first;
	no_error(fold_of_session(reading.session, reading.resolver, &reading.options, &fold));
	assert_int_equal(fold->entry_count == 0, loose);
	struct calltree *tree = fold_calltree(fold, options);
	uint64_t all, hidden = fold_count_hidden(fold, &all);
	assert_true(all > SAMPLES / 2 && hidden > SAMPLES / 16);
	strbuf_printf(&out, "%lu of %lu, %d; least %lu of %lu, %lu\n", hidden, all, fold_has_one_period(fold, 0), tree->least, tree->nodes,
		      sum_modules(tree));
	print_node(&tree->root, 0, &out);
	calltree_destroy(tree);
	fold_destroy(fold);
	close_reading(&reading);
	return out.data;
}

/* ThreadSanitizer looks at two threads: one has no races, and three have those of two. AddressSanitizer at the others. */
#ifdef __SANITIZE_THREAD__
enum { FEWEST_JOBS = 2, MOST_JOBS = 2, JOBS_STEP = 1 };
#elif defined(__SANITIZE_ADDRESS__)
enum { FEWEST_JOBS = 1, MOST_JOBS = 3, JOBS_STEP = 2 };
#else
enum { FEWEST_JOBS = 1, MOST_JOBS = 3, JOBS_STEP = 1 };
#endif

/* The same tree as of entries, of all nodes and of the heaviest, whatever the number of threads. */
static void pictures_need_no_entries(void **state)
{
	for (unsigned int jobs = FEWEST_JOBS; jobs <= MOST_JOBS; jobs += JOBS_STEP) {
		for (int way = 0; way < 8; way += VARIANTS_STEP) {
			const struct fold_calltree_options options = {.most = way & 1 ? 1 << 20 : 300,
								      .deepest = 1000,
								      .reverse = way & 2,
								      .count = way & 1,
								      .by_comm = jobs > 1,
								      .by_thread = way & 4};
			check_equal(print_tree(*state, true, jobs, &options), print_tree(*state, false, jobs, &options));
		}
	}
}

int analysis_fold_feed_tests(void);
int analysis_fold_feed_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(by_address_without_stacks),
		cmocka_unit_test(from_two_threads),
		cmocka_unit_test(swapped_under_two_threads),
		cmocka_unit_test(merged_slice_by_slice),
		cmocka_unit_test(merged_with_known_places),
		cmocka_unit_test(first_rows_of_many),
		cmocka_unit_test(slice_is_what_was_added),
		cmocka_unit_test(from_a_stream),
		cmocka_unit_test(records_are_copied),
		cmocka_unit_test(from_a_live_source),
		cmocka_unit_test(of_two_recordings),
		cmocka_unit_test(pictures_need_no_entries),
	};
	return cmocka_run_group_tests_name("analysis/fold_feed", tests, set_up, tear_down);
}
