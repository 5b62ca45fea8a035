/* Rings in ordinary memory: what is read from forward ones and from ones that are overwritten. */
#include "kernel/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 4096 };

struct fake {
	struct perf_event_mmap_page page;
	uint8_t data[SIZE];
	struct ring ring;
};

static void fake_init(struct fake *fake, bool overwrite)
{
	memset(fake, 0, sizeof(*fake));
	fake->ring = (struct ring){.fd = -1, .page = &fake->page, .data = fake->data, .mask = SIZE - 1, .overwrite = overwrite};
}

static void put(struct fake *fake, uint64_t at, uint16_t size, uint32_t type)
{
	struct perf_event_header header = {.type = type, .size = size};

	memcpy(fake->data + (at & (SIZE - 1)), &header, sizeof(header));
}

static void test_forward(void **state)
{
	static struct fake fake;
	struct iovec pieces[2];

	fake_init(&fake, false);
	assert_int_equal(ring_read(&fake.ring, pieces), 0);
	fake.page.data_head = 100;
	assert_int_equal(ring_pending(&fake.ring), 100);
	assert_int_equal(ring_read(&fake.ring, pieces), 1);
	assert_ptr_equal(pieces[0].iov_base, fake.data);
	assert_int_equal(pieces[0].iov_len, 100);
	assert_int_equal(fake.page.data_tail, 0);
	/* What comes in between reading and giving back stays for the next time. */
	fake.page.data_head = 120;
	ring_consume(&fake.ring);
	assert_int_equal(fake.page.data_tail, 100);
	assert_int_equal(ring_pending(&fake.ring), 20);
}

static void test_forward_wraps(void **state)
{
	static struct fake fake;
	struct iovec pieces[2];

	fake_init(&fake, false);
	fake.ring.position = 10 * SIZE + 4000;
	fake.page.data_head = 11 * SIZE + 50;
	assert_int_equal(ring_read(&fake.ring, pieces), 2);
	assert_ptr_equal(pieces[0].iov_base, fake.data + 4000);
	assert_int_equal(pieces[0].iov_len, 96);
	assert_ptr_equal(pieces[1].iov_base, fake.data);
	assert_int_equal(pieces[1].iov_len, 50);
	ring_consume(&fake.ring);
	assert_int_equal(fake.page.data_tail, 11 * SIZE + 50);
}

/* The kernel writes downwards from 0: the newest record begins at the head. */
static void test_overwrite(void **state)
{
	static struct fake fake;
	struct iovec pieces[2];

	fake_init(&fake, true);
	put(&fake, (uint64_t)-64, 64, 9);
	put(&fake, (uint64_t)-104, 40, 9);
	fake.page.data_head = (uint64_t)-104;
	assert_int_equal(ring_read(&fake.ring, pieces), 1);
	assert_ptr_equal(pieces[0].iov_base, fake.data + SIZE - 104);
	assert_int_equal(pieces[0].iov_len, 104);
	ring_consume(&fake.ring);
	assert_int_equal(fake.page.data_tail, 0);
	/* The next snapshot has only what is newer. */
	put(&fake, (uint64_t)-128, 24, 9);
	fake.page.data_head = (uint64_t)-128;
	assert_int_equal(ring_read(&fake.ring, pieces), 1);
	assert_int_equal(pieces[0].iov_len, 24);
	assert_int_equal(ring_read(&fake.ring, pieces), 0);
}

/* Once round, the oldest record is damaged: it is left out. */
static void test_overwrite_full(void **state)
{
	static struct fake fake;
	struct iovec pieces[2];
	uint64_t at = 0;
	size_t total = 0;

	fake_init(&fake, true);
	for (int i = 0; i < 200; i++) {
		at -= 48;
		put(&fake, at, 48, 9);
	}
	fake.page.data_head = at;
	int count = ring_read(&fake.ring, pieces);
	assert_int_equal(count, 2);
	for (int i = 0; i < count; i++)
		total += pieces[i].iov_len;
	assert_int_equal(total, SIZE / 48 * 48);
	assert_ptr_equal(pieces[0].iov_base, fake.data + (at & (SIZE - 1)));
}

int kernel_ring_tests(void);
int kernel_ring_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forward),
		cmocka_unit_test(test_forward_wraps),
		cmocka_unit_test(test_overwrite),
		cmocka_unit_test(test_overwrite_full),
	};
	return cmocka_run_group_tests_name("kernel/ring", tests, NULL, NULL);
}
