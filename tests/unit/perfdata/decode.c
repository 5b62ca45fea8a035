/* Layouts and the decoder: every field where the kernel puts it, and words instead of a crash for what doesn't fit. */
#include "perfdata/layout.h"
#include "perfdata/reader.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct made {
	union {
		struct record_header header;
		uint64_t words[64];
	};
};

static struct record_header *make(struct made *made, const uint64_t *words, size_t count)
{
	memset(made, 0, sizeof(*made));
	memcpy(made->words + 1, words, count * 8);
	made->header = (struct record_header){RECORD_SAMPLE, CPUMODE_USER, (uint16_t)(8 + 8 * count)};
	return &made->header;
}

static void test_fixed(void **state)
{
	struct event_attr attr = {.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
						 PERF_SAMPLE_PERIOD};
	const uint64_t words[] = {77, 0x400000, 10 | 11ull << 32, 5000, 0x1234, 77, 78, 3, 9};
	struct sample_layout layout;
	struct made made;
	struct sample sample;
	sample_layout_init(&layout, &attr);
	assert_int_equal(layout.variable, 8 + 9 * 8);
	assert_null(sample_decode(&layout, &attr, make(&made, words, 9), &sample));
	assert_int_equal(sample.ip, 0x400000);
	assert_int_equal(sample.pid, 10);
	assert_int_equal(sample.tid, 11);
	assert_int_equal(sample.time, 5000);
	assert_int_equal(sample.addr, 0x1234);
	assert_int_equal(sample.id, 77);
	assert_int_equal(sample.stream_id, 78);
	assert_int_equal(sample.cpu, 3);
	assert_int_equal(sample.period, 9);
	assert_int_equal(sample.cpumode, CPUMODE_USER);
	assert_non_null(sample_decode(&layout, &attr, make(&made, words, 8), &sample));
}

/* One structure for one sample after the other, of two events with different fields: what one left never shows in the next. */
static void test_fixed_anew(void **state)
{
	const struct event_attr attrs[] = {
		{.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
				PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD},
		{.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN, .sample_period = 4},
	};
	const uint64_t words[] = {0x400000, 10 | 11ull << 32, 5000, 0x1234, 77, 78, 3, 9};
	struct sample sample, anew;
	struct made made;
	memset(&anew, 0, sizeof(anew));
	for (int i = 0; i < 4; i++) {
		struct sample_layout layout;
		sample_layout_init(&layout, &attrs[i % 2]);
		const struct record_header *header = make(&made, words, 8 - i / 2);
		const char *broken = sample_decode_fixed(&layout, &attrs[i % 2], header, &sample);
		assert_ptr_equal(sample_decode_fixed_anew(&layout, &attrs[i % 2], header, &anew), broken);
		if (!broken)
			assert_memory_equal(&anew, &sample, sizeof(sample));
	}
}

/* Hopping takes whole samples at their place, and leaves all else to reader_record(). */
static void test_hopping(void **state)
{
	uint64_t words[8] = {0};
	const struct reader reader = {.records = (const uint8_t *)words, .data_end = sizeof(words)};
	struct record_header *header = (struct record_header *)(words + 1);
	*header = (struct record_header){RECORD_SAMPLE, 0, 24};
	assert_int_equal(reader_sample_size(&reader, 8), 24);
	assert_int_equal(reader_sample_size(&reader, 12), 0);
	for (uint16_t size = 0; size < 80; size++) {
		header->size = size;
		assert_int_equal(reader_sample_size(&reader, 8), size % 8 || size < 8 || size > 56 ? 0 : size);
	}
	*header = (struct record_header){RECORD_COMM, 0, 24};
	assert_int_equal(reader_sample_size(&reader, 8), 0);
	const struct reader cut = {.records = reader.records, .data_end = 12};
	*header = (struct record_header){RECORD_SAMPLE, 0, 8};
	assert_int_equal(reader_sample_size(&cut, 8), 0);
	assert_int_equal(reader_ask_ahead(&cut, 8, 0), 72); /* by lines, from before the end */
	assert_int_equal(reader_ask_ahead(&reader, 40, 200), 200);
}

static void test_absent(void **state)
{
	struct event_attr attr = {.sample_type = PERF_SAMPLE_IP, .sample_period = 1000};
	struct sample_layout layout;
	struct made made;
	struct sample sample;
	const uint64_t ip = 1;
	sample_layout_init(&layout, &attr);
	assert_null(sample_decode(&layout, &attr, make(&made, &ip, 1), &sample));
	assert_true(sample.pid == UINT32_MAX);
	assert_true(sample.cpu == UINT32_MAX);
	assert_true(sample.id == UINT64_MAX);
	assert_int_equal(sample.time, 0);
	assert_int_equal(sample.period, 1000);
}

static void test_variable(void **state)
{
	struct event_attr attr = {.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |
						 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT_STRUCT |
						 PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_AUX,
				  .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED,
				  .branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX,
				  .sample_regs_user = 0x5};
	const uint64_t words[] = {
		2,
		100,
		11,
		1,
		22,
		2, /* read: two counters */
		2,
		CALLCHAIN_USER,
		0x400000, /* chain */
		12 | 0x61ull << 32,
		0x62, /* raw: 4 + 12 bytes */
		1,
		5,
		0x10,
		0x20,
		2, /* one branch */
		2,
		0xaa,
		0xbb, /* registers 0 and 2 */
		16,
		1,
		2,
		8, /* stack: 16 bytes, 8 of them valid */
		7 | 8ull << 32 | 9ull << 48,
		0x1234, /* weights, data source */
		8,
		0x99, /* aux */
	};
	enum { COUNT = sizeof(words) / 8 };
	struct sample_layout layout;
	struct made made;
	struct sample sample;
	sample_layout_init(&layout, &attr);
	assert_null(sample_decode(&layout, &attr, make(&made, words, COUNT), &sample));
	assert_int_equal(sample.time_enabled, 100);
	assert_int_equal(sample.counter_count, 2);
	assert_int_equal(sample_counter(&layout, &sample, 1).value, 22);
	assert_int_equal(sample_counter(&layout, &sample, 1).id, 2);
	assert_int_equal(sample_counter(&layout, &sample, 2).value, 0);
	assert_int_equal(sample.chain_count, 2);
	assert_int_equal(sample.chain[1], 0x400000);
	assert_int_equal(sample.raw_size, 12);
	assert_int_equal(*(const uint8_t *)sample.raw, 0x61);
	assert_int_equal(sample.branch_count, 1);
	assert_int_equal(sample.branch_hw_index, 5);
	assert_int_equal(sample.branches[0].to, 0x20);
	assert_int_equal(sample.regs_user.values[1], 0xbb);
	assert_int_equal(sample.stack_size, 16);
	assert_int_equal(sample.stack_valid, 8);
	assert_int_equal(sample.weight, 7);
	assert_int_equal(sample.ins_lat, 8);
	assert_int_equal(sample.p_stage_cyc, 9);
	assert_int_equal(sample.data_src, 0x1234);
	assert_int_equal(*(const uint64_t *)sample.aux, 0x99);
	for (size_t count = 0; count < COUNT; count++)
		assert_non_null(sample_decode(&layout, &attr, make(&made, words, count), &sample));
}

static void test_counts_that_lie(void **state)
{
	const uint64_t lies[] = {UINT64_MAX, UINT64_MAX / 8, 1ull << 61, 1000, 20};
	const uint64_t types[] = {PERF_SAMPLE_CALLCHAIN,  PERF_SAMPLE_RAW, PERF_SAMPLE_BRANCH_STACK,
				  PERF_SAMPLE_STACK_USER, PERF_SAMPLE_AUX, PERF_SAMPLE_READ};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		for (size_t j = 0; j < sizeof(lies) / sizeof(lies[0]); j++) {
			struct event_attr attr = {.sample_type = types[i], .read_format = PERF_FORMAT_GROUP};
			struct sample_layout layout;
			struct made made;
			struct sample sample;
			/* raw has a 32-bit length */
			uint64_t words[] = {types[i] == PERF_SAMPLE_RAW && !(uint32_t)lies[j] ? 99 : lies[j], 0};
			sample_layout_init(&layout, &attr);
			assert_non_null(sample_decode(&layout, &attr, make(&made, words, 2), &sample));
		}
	}
}

/* Raw data behind a chain, found without the rest: as much as there is, whatever the counts say. */
static void test_raw_that_lies(void **state)
{
	const uint64_t chains[] = {0, 1, 2, 3, 1ull << 40, UINT64_MAX};
	const struct event_attr attr = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW};
	struct sample_layout layout;
	struct sample_raw raw;
	struct made made;
	sample_layout_init(&layout, &attr);
	for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
		for (size_t count = 0; count < 8; count++) {
			uint64_t words[8] = {5000, chains[i]};
			bool fits = count >= 3 && chains[i] <= count - 3;
			if (fits)
				words[2 + chains[i]] = 4;
			assert_int_equal(sample_find_raw(&layout, make(&made, words, count), &raw), fits);
			assert_true(!fits || (raw.chain_count == chains[i] && raw.raw_size == 4));
		}
	}
}

/* A KSYMBOL record of the name "ab", the trailer behind it as the kernel writes it, and `excess` bytes of what lay in the ring. */
static struct record_header *make_long(struct made *made, uint32_t type, size_t excess)
{
	const uint64_t ksymbol[] = {0xffffffffc0000000, 100 | 1ull << 32, 0x6261, 10 | 11ull << 32, 5000, 77},
		       bpf_event[] = {1 | 9ull << 32, 0x1122334455667788, 10 | 11ull << 32, 5000, 77},
		       poke[] = {0xffffffff81000000, 1 | 5ull << 16 | 0x9090ull << 32, 0x90909090, 10 | 11ull << 32, 5000, 77};
	const uint64_t *words = type == PERF_RECORD_KSYMBOL ? ksymbol : type == PERF_RECORD_BPF_EVENT ? bpf_event : poke;
	size_t count = type == PERF_RECORD_BPF_EVENT ? 5 : 6;
	struct record_header *header = make(made, words, count);
	memset(made->words + 1 + count, 0x5a, excess);
	*header = (struct record_header){type, 0, (uint16_t)(8 + 8 * count + excess)};
	return header;
}

static void test_records_that_are_too_long(void **state)
{
	const struct event_attr attr = {.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER, .sample_id_all = 1};
	const uint32_t types[] = {PERF_RECORD_KSYMBOL, PERF_RECORD_BPF_EVENT, PERF_RECORD_TEXT_POKE};
	struct sample_layout layout;
	struct sample_id id;
	struct made made;
	sample_layout_init(&layout, &attr);
	assert_int_equal(layout.trailer, 24);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		for (size_t excess = 0; excess <= 64; excess += 8) {
			const struct record_header *header = make_long(&made, types[i], excess);
			assert_int_equal(record_excess(header, layout.trailer), excess);
			sample_id_decode(&layout, header, &id);
			assert_int_equal(id.tid, 11);
			assert_int_equal(id.time, 5000);
			assert_int_equal(id.id, 77);
			assert_int_equal(record_excess(header, 0), 0);
		}
	/* What isn't told to others, or is too short to say what its fields are. */
	struct record_header *header = make_long(&made, PERF_RECORD_BPF_EVENT, 32);
	header->type = PERF_RECORD_COMM;
	assert_int_equal(record_excess(header, layout.trailer), 0);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		for (uint16_t size = 8; size < 48; size += 8) {
			header = make_long(&made, types[i], 0);
			header->size = size;
			assert_true(record_excess(header, layout.trailer) < size);
		}
}

static void test_trailer(void **state)
{
	struct event_attr attr = {.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
				  .sample_id_all = 1};
	const uint64_t words[] = {0, 10 | 11ull << 32, 5000, 3, 77};
	struct sample_layout layout;
	struct made made;
	struct sample_id id;
	sample_layout_init(&layout, &attr);
	sample_id_decode(&layout, make(&made, words, 5), &id);
	assert_int_equal(id.pid, 10);
	assert_int_equal(id.tid, 11);
	assert_int_equal(id.time, 5000);
	assert_int_equal(id.cpu, 3);
	assert_int_equal(id.id, 77);
	sample_id_decode(&layout, make(&made, words, 3), &id);
	assert_int_equal(id.time, 0);
	assert_true(id.cpu == UINT32_MAX);
}

int perfdata_decode_tests(void);
int perfdata_decode_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_variable),
		cmocka_unit_test(test_counts_that_lie),
		cmocka_unit_test(test_raw_that_lies),
		cmocka_unit_test(test_trailer),
		cmocka_unit_test(test_fixed_anew),
		cmocka_unit_test(test_hopping),
		cmocka_unit_test(test_records_that_are_too_long),
	};
	return cmocka_run_group_tests_name("perfdata/decode", tests, NULL, NULL);
}
