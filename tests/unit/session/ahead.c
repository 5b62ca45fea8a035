/* Reading ahead: what session_next_sample() gives depends neither on a thread that reads ahead nor on events that nobody asks for. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "made_records.h"
#include "session/session.h"
#include "session/session_internal.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

enum { WANTED_ID = 11, OTHER_ID = 12, UNKNOWN_ID = 13, ROUNDS = 400, SAMPLES = 200, TID = 7, STOPS = 200000, LONG_ROUND = 200000 };

static void add_sample(struct strbuf *out, uint64_t id, uint64_t time)
{
	struct {
		struct record_header header;
		uint64_t identifier;
		uint32_t pid, tid;
		uint64_t time;
	} record = {{RECORD_SAMPLE, 2, sizeof(record)}, id, TID, TID, time};
	strbuf_add(out, &record, sizeof(record));
}

/* Shorter than the event's fields, but with a time. */
static void add_short_sample(struct strbuf *out)
{
	struct {
		struct record_header header;
		uint64_t identifier;
	} record = {{RECORD_SAMPLE, 2, sizeof(record)}, OTHER_ID};
	strbuf_add(out, &record, sizeof(record));
}

/* Rounds of two CPUs' samples, one behind the other, as they are drained; names change; now and then something is late, unknown or broken.
 */
static void make_rounds(struct strbuf *out)
{
	uint64_t random = 1;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t begin = 1000000 * (round + 1);
		for (uint64_t cpu = 0; cpu < 2; cpu++) {
			for (uint64_t i = 0; i < SAMPLES / 2; i++) {
				random = hash_mix(random);
				add_sample(out, random % 3 ? OTHER_ID : WANTED_ID, begin + i * 9000 + random % 5000);
			}
		}
		char name[] = {(char)('a' + round % 26), 0};
		made_comm(out, 0, name, &(struct made_trailer){TID, TID, begin + 500000, WANTED_ID});
		if (round % 50 == 10) {
			add_sample(out, WANTED_ID, begin > 5000000 ? begin - 5000000 : 1); /* late, after one that nobody wants */
			add_sample(out, UNKNOWN_ID, begin);
			add_short_sample(out);
		}
		made_round(out, round);
		if (round % 50 == 20) {
			const struct record_header init = {.type = RECORD_FINISHED_INIT, .size = sizeof(init)};
			strbuf_add(out, &init, sizeof(init));
		}
	}
	assert_true(out->len > 2 << 20);
}

/* Nothing but records in front of which reading ahead comes to rest, and others between them. */
static void make_stops(struct strbuf *out)
{
	const struct record_stat_config stop = {.header = {.type = RECORD_STAT_CONFIG, .size = sizeof(stop)}};
	for (uint64_t i = 0; i < STOPS; i++) {
		made_round(out, i);
		strbuf_add(out, &stop, sizeof(stop));
	}
}

static struct error *next_chunk(void *context, struct reader_chunk **ret)
{
	struct strbuf *records = context;
	if (records->len)
		*ret = made_chunk(records);
	return NULL;
}

/* `make` makes the records. */
static struct session *open_records(void (*make)(struct strbuf *out), unsigned int jobs)
{
	static const char *const names[] = {"wanted", "other"};
	static const uint64_t ids[] = {WANTED_ID, OTHER_ID};
	struct event_list events = {0};
	struct strbuf records = {0};
	struct session *session;
	make(&records);
	for (size_t i = 0; i < 2; i++) {
		struct event *event = event_list_add(&events, names[i]);
		event->attr.type = PERF_TYPE_SOFTWARE;
		event->attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
		event->attr.sample_id_all = 1;
		vec_push(&event->ids, ids[i]);
	}
	const struct reader_feed feed = {next_chunk, &records};
	struct session_options options = {.reader = reader_open_feed("rounds", &feed, &events, NULL), .streaming = true, .jobs = jobs};
	assert_null(reader_spool(options.reader));
	assert_null(session_open(&options, &session));
	return session;
}

static bool is_named_wanted(void *context, const struct event *event)
{
	return !strcmp(event->name, "wanted");
}

static struct session *open_session(unsigned int jobs)
{
	return open_records(make_rounds, jobs);
}

struct walk {
	uint64_t samples, hash; /* of those that are wanted, with their order, times and the thread's name */
	uint64_t others;
	uint64_t told; /* hash of what else comes, and when */
	uint64_t broken, counted, records;
	uint64_t digested, by_turns;
};

static void hash_other(void *context, const struct record *record)
{
	struct walk *walk = context;
	walk->told = hash_combine(walk->told, hash_combine(hash_combine(record->time, record->model_time), record->offset));
}

/* As add_sample() has made them; of some nothing can be taken. */
static bool digest(void *context, const struct event *event, const struct record_header *header, struct sample_digest *ret)
{
	uint64_t identifier, time;
	memcpy(&identifier, header + 1, sizeof(identifier));
	memcpy(&time, (const uint8_t *)header + 24, sizeof(time));
	ret->values[0] = identifier;
	ret->values[1] = time;
	return time % 7;
}

static void check_digest(const struct record *record)
{
	const uint64_t *values = record->digest->values;
	assert_int_equal(record->digest->event, record->event->index);
	assert_int_equal(values[0], record->event->ids.data[0]);
	assert_int_equal(values[1], record->time);
	assert_int_not_equal(record->time % 7, 0);
}

struct way {
	void (*make)(struct strbuf *out);
	unsigned int jobs;
	bool choose, digest;
	bool by_turns; /* samples that are digested come by session_next_turn(), as far as they do */
	uint64_t ends; /* sample behind which no digests are asked for any more; 0 = never */
};

static bool next(struct session *session, bool by_turns, struct walk *walk, struct record *ret, struct error **ret_error)
{
	struct session_turns *turns = by_turns ? session_digested_turns(session) : NULL;
	if (!turns || !session_next_turn(turns, ret))
		return session_next_sample(session, ret, ret_error) > 0;
	walk->by_turns++;
	return true;
}

static struct walk walk_so(struct way way)
{
	struct walk walk = {0};
	struct session *session = open_records(way.make, way.jobs);
	struct record record;
	struct error *error = NULL;
	session_tell_others(session, hash_other, &walk);
	if (way.digest) {
		assert_true(session_digest_samples(session, digest, NULL, 2));
		assert_false(session_digest_samples(session, digest, NULL, 2));
	}
	if (way.choose)
		session_choose_events(session, is_named_wanted, NULL);
	for (uint64_t i = 1; next(session, way.by_turns, &walk, &record, &error); i++) {
		if (record.digest) {
			check_digest(&record);
			assert_true(way.digest && (!way.ends || i <= way.ends));
			walk.digested++;
		}
		if (i == way.ends)
			session_end_digests(session);
		if (!is_named_wanted(NULL, record.event)) {
			walk.others++;
			continue;
		}
		const struct thread *thread = machine_thread_or_new(session->machine, TID, TID, record.model_time);
		const char *comm = untrusted_raw(thread_comm(thread, record.model_time));
		uint64_t times = hash_combine(record.time, record.model_time);
		walk.samples++;
		walk.hash = hash_combine(walk.hash, hash_combine(hash_combine(times, record.offset), hash_bytes(comm, strlen(comm))));
	}
	assert_null(error);
	walk.broken = session->reader->diagnostics.broken_records;
	walk.counted = session->event_counts[0].samples + session->event_counts[1].samples;
	walk.records = session->record_counts[RECORD_SAMPLE];
	session_close(session);
	return walk;
}

static struct walk walk(unsigned int jobs, bool choose)
{
	return walk_so((struct way){make_rounds, .jobs = jobs, .choose = choose});
}

static void check_same(const struct walk *a, const struct walk *b)
{
	assert_int_equal(a->samples, b->samples);
	assert_int_equal(a->hash, b->hash);
	assert_int_equal(a->told, b->told);
	assert_int_equal(a->broken, b->broken);
	assert_int_equal(a->counted, b->counted);
	assert_int_equal(a->records, b->records);
}

static void test_same_turns(void **state)
{
	struct walk alone = walk(1, false), ahead = walk(2, false), chosen = walk(1, true), both = walk(4, true);
	assert_true(alone.samples > 10000);
	assert_true(alone.broken >= 8);
	check_same(&alone, &ahead);
	check_same(&alone, &chosen);
	check_same(&alone, &both);
	assert_int_equal(alone.others, ahead.others);
	assert_true(chosen.others < alone.others / 10);
}

/* A round of more samples than digests are kept of. */
static void add_long_round(struct strbuf *out)
{
	for (uint64_t cpu = 0; cpu < 2; cpu++)
		for (uint64_t i = 0; i < LONG_ROUND; i++)
			add_sample(out, i % 3 ? OTHER_ID : WANTED_ID, 1000000000 + i * 10 + cpu);
	made_round(out, 0);
}

static void make_long_round(struct strbuf *out)
{
	make_rounds(out);
	add_long_round(out);
}

/* Nothing but samples that are known. */
static void make_samples(struct strbuf *out)
{
	for (uint64_t i = 0; i < SAMPLES; i++) {
		add_sample(out, WANTED_ID, 1000 + i);
		if (i % 10 == 9)
			made_round(out, i);
	}
	add_long_round(out);
	made_round(out, 0);
}

/* Digests tell what the samples do, and change nothing else: of all but those in front of which reading comes to rest, or of which nothing
 * can be taken. */
static void test_digests(void **state)
{
	void (*const makes[])(struct strbuf * out) = {make_rounds, make_long_round};
	for (size_t i = 0; i < 2; i++) {
		struct walk plain = walk_so((struct way){makes[i], .jobs = 1});
		struct walk alone = walk_so((struct way){makes[i], .jobs = 1, .digest = true});
		struct walk ahead = walk_so((struct way){makes[i], .jobs = 2, .digest = true});
		struct walk chosen = walk_so((struct way){makes[i], .jobs = 2, .choose = true, .digest = true});
		struct walk ended = walk_so((struct way){makes[i], .jobs = 2, .digest = true, .by_turns = true, .ends = 10000});
		struct walk turns = walk_so((struct way){makes[i], .jobs = 2, .digest = true, .by_turns = true});
		assert_true(alone.digested > alone.samples / 2 && ahead.digested > ahead.samples / 2);
		check_same(&plain, &alone);
		check_same(&plain, &ahead);
		check_same(&plain, &chosen);
		check_same(&plain, &ended);
		check_same(&plain, &turns);
		assert_int_equal(turns.digested, ahead.digested);
		assert_true(turns.by_turns > turns.digested / 2 && ended.by_turns);
	}
}

/* The turn of one sample that was digested: by its digest, and without when nobody takes them any more. */
static void check_turn(struct session *session, const struct order_item *item)
{
	struct session_private *private = session->private;
	struct error *error = NULL;
	struct record with, without;
	for (int i = 0; i < 2; i++) {
		private->takes_digests = !i;
		private->turns.next = item;
		private->turns.end = item + 1;
		assert_true(session_next_sample(session, i ? &without : &with, &error) > 0);
	}
	private->takes_digests = true;
	check_digest(&with);
	assert_null(without.digest);
	assert_true(without.offset == with.offset && without.time == with.time && without.event == with.event);
}

/* The same on one thread. In the long round more samples wait than there are places for digests: these have none. What was given back is
 * there for others. */
static void test_digests_of_turns(void **state)
{
	enum { ROOM = 4096 };
	struct session *session = open_records(make_samples, 1);
	struct session_private *private = session->private;
	struct order_item *items = mem_alloc_array(ROOM, sizeof(*items));
	struct digests_share share = {0};
	struct error *error = NULL;
	struct record record;
	size_t count, digested = 0, without = 0;
	assert_true(session_digest_samples(session, digest, NULL, 2));
	assert_true(session_next_sample(session, &record, &error) > 0);
	while ((count = session_read_ahead(session, items, ROOM, &share))) {
		for (size_t i = 0; i < count; i++) {
			uint64_t number = items[i].offset & SESSION_SLOTS;
			without += !number;
			if (!number)
				continue;
			if (!digested++)
				check_turn(session, &items[i]);
			record = (struct record){.time = items[i].time, .digest = digests_at(&private->digests, number)};
			record.event = session->reader->events.events.data[record.digest->event];
			check_digest(&record);
		}
		digests_give_back(&private->digests, &share);
	}
	for (size_t i = 0; i < DIGESTS_BLOCKS; i++)
		digested += private->share.counts[i];		      /* of the turns before these */
	assert_in_range(digested, DIGESTS_MAX / 10 * 9, DIGESTS_MAX); /* the last block of a slice isn't full */
	assert_true(without > LONG_ROUND / 2);
	for (size_t i = 0; i < DIGESTS_BLOCKS; i++)
		assert_int_equal(private->digests.held[i], private->share.counts[i]);
	size_t blocks = 0;
	for (size_t i = 0; i < DIGESTS_BLOCKS; i++)
		blocks += private->digests.held[i] > 0;
	assert_int_equal(private->digests.free_count, DIGESTS_BLOCKS - blocks);
	session_end_digests(session);
	assert_true(!private->takes_digests && !private->digests.digester);
	free(items);
	session_close(session);
}

/* A sample that has many others in what lies behind its fields: what looks like records there is none. */
static void add_decoy(struct strbuf *out, uint64_t time)
{
	enum { COPIES = 1200 };
	struct strbuf records = {0};
	add_sample(&records, WANTED_ID, time);
	size_t fields = records.len;
	for (size_t i = 0; i < COPIES; i++)
		add_sample(&records, OTHER_ID, time + i);
	const uint16_t size = (uint16_t)(fields + COPIES * fields);
	assert_int_equal(records.len, size);
	memcpy(records.data + offsetof(struct record_header, size), &size, sizeof(size));
	strbuf_add(out, records.data, records.len);
	strbuf_deinit(&records);
}

static void make_decoys(struct strbuf *out)
{
	for (uint64_t round = 0; round < ROUNDS / 2; round++) {
		for (uint64_t i = 0; i < SAMPLES; i++)
			add_sample(out, i % 3 ? OTHER_ID : WANTED_ID, 1000000 * (round + 1) + i * 5000 % 70000);
		if (round % 2)
			add_decoy(out, 1000000 * (round + 1) + 500);
		made_round(out, round);
	}
}

/* Reads to the end; before each of some samples all slices in reach are hopped over, as another thread does it. */
static struct walk walk_in_slices(void (*make)(struct strbuf *out), bool ahead)
{
	enum { EVERY = 1000, IN_REACH = 8 };
	struct walk walk = {0};
	struct session *session = open_records(make, 1);
	struct record record;
	struct error *error = NULL;
	session_tell_others(session, hash_other, &walk);
	assert_true(session_digest_samples(session, digest, NULL, 2));
	while (session_next_sample(session, &record, &error) > 0) {
		walk.digested += record.digest != NULL;
		if (record.digest)
			check_digest(&record);
		walk.hash = hash_combine(walk.hash, hash_combine(hash_combine(record.time, record.model_time), record.offset));
		unsigned int hopped = 0;
		while (ahead && walk.samples % EVERY == 0 && slices_hop_ahead(session->private->slices))
			hopped++;
		assert_in_range(hopped, ahead && !walk.samples, IN_REACH);
		walk.samples++;
	}
	assert_null(error);
	walk.counted = session->event_counts[0].samples + session->event_counts[1].samples;
	walk.records = session->record_counts[RECORD_SAMPLE];
	walk.broken = session->reader->diagnostics.broken_records;
	assert_int_equal(session->private->slices_foreseen > 0, ahead);
	const struct digests *digests = &session->private->digests;
	size_t held = 0;
	for (size_t i = 0; i < DIGESTS_BLOCKS; i++)
		held += digests->held[i] > 0;
	assert_int_equal(digests->free_count + held, DIGESTS_BLOCKS);
	session_close(session);
	return walk;
}

/* Whether samples are known beforehand changes nothing, and where a guess was wrong it isn't believed. */
static void test_slices(void **state)
{
	void (*const makes[])(struct strbuf * out) = {make_rounds, make_decoys};
	for (size_t i = 0; i < 2; i++) {
		struct walk one_by_one = walk_in_slices(makes[i], false), ahead = walk_in_slices(makes[i], true);
		check_same(&one_by_one, &ahead);
		assert_int_equal(one_by_one.digested, ahead.digested);
	}
}

/* Whoever has seen enough leaves a thread that is at work. */
static void test_left_early(void **state)
{
	for (size_t count = 0; count < 20000; count += 6000) {
		struct session *session = open_session(2);
		struct record record;
		struct error *error;
		for (size_t i = 0; i < count; i++)
			assert_int_equal(session_next_sample(session, &record, &error), 1);
		session_close(session);
	}
}

struct told {
	const struct session *session;
	size_t names;
	uint64_t newest;
};

static void take_other(void *context, const struct record *record)
{
	struct told *told = context;
	told->names += record->header->type == RECORD_COMM;
	told->newest = record->time > told->newest ? record->time : told->newest;
}

/* Other records come between the samples, in the order of time. */
static void test_others(void **state)
{
	struct told told = {0};
	struct session *session = open_session(2);
	struct record record;
	struct error *error;
	size_t late = 0;
	session_tell_others(session, take_other, &told);
	while (session_next_sample(session, &record, &error) > 0)
		late += record.time < told.newest;
	assert_int_equal(told.names, ROUNDS);
	assert_int_equal(late, ROUNDS / 50);
	session_close(session);
}

/* A thread that always comes to rest at once isn't waited for each time. */
static void test_stops(void **state)
{
	struct session *session = open_records(make_stops, 2);
	struct rusage before, after;
	struct record record;
	struct error *error;
	getrusage(RUSAGE_THREAD, &before);
	assert_int_equal(session_next_sample(session, &record, &error), 0);
	getrusage(RUSAGE_THREAD, &after);
	assert_in_range(after.ru_nvcsw - before.ru_nvcsw, 0, STOPS / 100);
	session_close(session);
}

int session_ahead_tests(void);
int session_ahead_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_turns), cmocka_unit_test(test_digests), cmocka_unit_test(test_digests_of_turns),
		cmocka_unit_test(test_left_early), cmocka_unit_test(test_others),  cmocka_unit_test(test_stops),
		cmocka_unit_test(test_slices),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
