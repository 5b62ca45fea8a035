/* AUX areas in a file of memory, of which the test is the kernel: what is read of full traces, and of ones that are overwritten. */
#include "kernel/aux_area.h"

#include "kernel/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

struct fake {
	int fd;
	size_t page, size; /* bytes of a page, of the area */
	struct ring ring;
	struct aux_area area;
	uint8_t *memory; /* the area, as the kernel sees it */
	uint64_t written;
};

static void fake_init(struct fake *fake, size_t pages, bool overwrite)
{
	*fake = (struct fake){.fd = memfd_create("ring", 0), .page = (size_t)sysconf(_SC_PAGESIZE)};
	fake->size = pages * fake->page;
	assert_int_equal(ftruncate(fake->fd, (off_t)(2 * fake->page + fake->size)), 0);
	assert_int_equal(ring_open(&fake->ring, fake->fd, 3, 1, false), 0);
	assert_int_equal(aux_area_open(&fake->area, &fake->ring, pages, overwrite), 0);
	assert_int_equal(fake->ring.page->aux_offset, 2 * fake->page);
	assert_int_equal(fake->ring.page->aux_size, fake->size);
	fake->memory = mmap(NULL, fake->size, PROT_READ | PROT_WRITE, MAP_SHARED, fake->fd, (off_t)(2 * fake->page));
	assert_true(fake->memory != MAP_FAILED);
}

static void fake_deinit(struct fake *fake)
{
	munmap(fake->memory, fake->size);
	aux_area_close(&fake->area);
	ring_close(&fake->ring);
	close(fake->fd);
}

/* Bytes 1, 2, … 255, 1 … go on from where they were. `counts`: the head is how much there was, not where it is. */
static void trace(struct fake *fake, size_t bytes, bool counts)
{
	for (size_t i = 0; i < bytes; i++, fake->written++)
		fake->memory[fake->written % fake->size] = (uint8_t)(1 + fake->written % 255);
	__atomic_store_n(&fake->ring.page->aux_head, counts ? fake->written : fake->written % fake->size, __ATOMIC_RELEASE);
}

/* What is read is the `expected` bytes before the newest one. */
static void expect(struct fake *fake, uint64_t most, uint64_t expected)
{
	struct iovec pieces[2];
	int count = aux_area_read(&fake->area, most, pieces);
	uint64_t at = fake->written - expected;

	assert_int_equal(fake->area.end - fake->area.begin, expected);
	for (int i = 0; i < count; i++)
		for (size_t k = 0; k < pieces[i].iov_len; k++, at++)
			assert_int_equal(((const uint8_t *)pieces[i].iov_base)[k], 1 + at % 255);
	assert_int_equal(at, fake->written);
	aux_area_consume(&fake->area);
}

static void full(void **state)
{
	struct fake fake;

	fake_init(&fake, 2, false);
	expect(&fake, fake.size, 0);
	trace(&fake, 100, true);
	expect(&fake, fake.size, 100);
	assert_int_equal(fake.ring.page->aux_tail, 100);
	/* Round and round: pieces that wrap, and one that fills all of it. */
	for (int i = 0; i < 20; i++) {
		trace(&fake, fake.size - 77, true);
		expect(&fake, fake.size, fake.size - 77);
		assert_int_equal(fake.ring.page->aux_tail, fake.written);
	}
	trace(&fake, fake.size, true);
	expect(&fake, fake.size, fake.size);
	/* What comes between reading and giving back stays for the next time. */
	struct iovec pieces[2];
	trace(&fake, 10, true);
	aux_area_read(&fake.area, fake.size, pieces);
	trace(&fake, 5, true);
	aux_area_consume(&fake.area);
	assert_int_equal(fake.ring.page->aux_tail, fake.written - 5);
	expect(&fake, fake.size, 5);
	fake_deinit(&fake);
}

/* Drivers whose head is a place: once it has gone round, all of the area is what there is. */
static void overwritten_by_place(void **state)
{
	struct fake fake;

	fake_init(&fake, 1, true);
	expect(&fake, fake.size, 0);
	trace(&fake, 1000, false);
	expect(&fake, fake.size, 1000);
	trace(&fake, 500, false);
	expect(&fake, fake.size, 500);
	assert_int_equal(fake.area.begin, 1000);
	trace(&fake, fake.size, false);
	expect(&fake, fake.size, fake.size);
	trace(&fake, 10, false);
	expect(&fake, fake.size, fake.size);
	trace(&fake, 10 * fake.size + 3, false);
	expect(&fake, 256, 256);
	assert_int_equal(fake.ring.page->aux_tail, 0);
	fake_deinit(&fake);
}

/* Round for the first time between two readings: the place is lower than before, or the memory behind it isn't zero any more. */
static void overwritten_before_the_second_reading(void **state)
{
	struct fake fake;

	fake_init(&fake, 1, true);
	trace(&fake, 3000, false);
	expect(&fake, fake.size, 3000);
	trace(&fake, fake.size - 1000, false);
	expect(&fake, fake.size, fake.size);
	fake_deinit(&fake);
}

/* Drivers whose head counts tell exactly what is new. */
static void overwritten_by_count(void **state)
{
	struct fake fake;

	fake_init(&fake, 1, true);
	trace(&fake, 1000, true);
	expect(&fake, fake.size, 1000);
	trace(&fake, fake.size, true);
	expect(&fake, fake.size, fake.size);
	trace(&fake, 10, true);
	expect(&fake, fake.size, 10);
	trace(&fake, 3 * fake.size, true);
	expect(&fake, fake.size, fake.size);
	fake_deinit(&fake);
}

int kernel_aux_area_tests(void);
int kernel_aux_area_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full),
		cmocka_unit_test(overwritten_by_place),
		cmocka_unit_test(overwritten_before_the_second_reading),
		cmocka_unit_test(overwritten_by_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
