/* Records in the pieces of a ring: the one that straddles, and those that the kernel makes too long. */
#include "capture/ring_records.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { TRAILER = 16, BPF_EVENT = 24, LONG = BPF_EVENT + TRAILER + 24, COMM = 32 };

/* A BPF_EVENT that is too long between two other records: at each place where a ring may end, what comes out is whole and cut. */
static void test_cutting(void **state)
{
	union {
		uint64_t words[(2 * COMM + LONG) / 8];
		uint8_t bytes[2 * COMM + LONG];
	} ring;
	memset(&ring, 0x5a, sizeof(ring));
	*(struct record_header *)ring.bytes = (struct record_header){PERF_RECORD_COMM, 0, COMM};
	*(struct record_header *)(ring.bytes + COMM) = (struct record_header){PERF_RECORD_BPF_EVENT, 0, LONG};
	memset(ring.bytes + COMM + BPF_EVENT, 0x77, TRAILER);
	*(struct record_header *)(ring.bytes + COMM + LONG) = (struct record_header){PERF_RECORD_COMM, 0, COMM};
	for (size_t first = 8; first < sizeof(ring); first += 8) {
		const struct iovec pieces[] = {{ring.bytes, first}, {ring.bytes + first, sizeof(ring) - first}};
		struct strbuf out = {0};
		assert_true(ring_records_too_long(pieces, 2, TRAILER));
		ring_records_cut(pieces, 2, TRAILER, &out);
		assert_int_equal(out.len, 2 * COMM + BPF_EVENT + TRAILER);
		const struct record_header *cut = (const void *)(out.data + COMM);
		assert_int_equal(cut->type, PERF_RECORD_BPF_EVENT);
		assert_int_equal(cut->size, BPF_EVENT + TRAILER);
		assert_memory_equal(out.data + COMM + BPF_EVENT, ring.bytes + COMM + BPF_EVENT, TRAILER);
		assert_memory_equal(out.data + COMM + cut->size, ring.bytes + COMM + LONG, COMM);
		const struct iovec piece = {out.data, out.len};
		assert_false(ring_records_too_long(&piece, 1, TRAILER));
		strbuf_deinit(&out);
	}
}

int capture_ring_records_tests(void);
int capture_ring_records_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cutting)};
	return cmocka_run_group_tests_name("capture/ring_records", tests, NULL, NULL);
}
