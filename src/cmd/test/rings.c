/* Checks of what comes through a ring: samples, losses, side-band, times. Page faults are the events that can be made to the count. */
#include "cmd/test/test.h"

#include "arch/own.h"
#include "base/cleanup.h"
#include "event/attr.h"
#include "kernel/measure.h"
#include "kernel/perf_open.h"
#include "kernel/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 64, MANY_PAGES = 2000, SPIN_NS = 100000000, PLACEHOLDER = 16 };

static struct perf_event_attr fault_attr(uint64_t period, uint64_t sample_type)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false);

	attr.sample_period = period;
	attr.sample_type = sample_type;
	return attr;
}

/* Memory of `count` pages that nobody has touched; NULL when there is none. */
static char *new_pages(size_t count)
{
	size_t size = count * (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return NULL;
	madvise(pages, size, MADV_NOHUGEPAGE);
	return pages;
}

struct touching {
	volatile char *pages;
	size_t first, count;
};

static void touch(void *context)
{
	const struct touching *touching = context;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < touching->count; i++)
		touching->pages[(touching->first + i) * size] = 1;
}

/* How many samples there are whose first word is an address of ours; checks that they come in the order in which they were touched. */
static size_t count_ours(struct check *check, const struct strbuf *records, const struct touching *touching)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE), before = 0;
	const struct perf_event_header *header;
	size_t at = 0, count = 0;

	while ((header = measure_find(records, &at, PERF_RECORD_SAMPLE))) {
		uint64_t address;
		memcpy(&address, header + 1, sizeof(address));
		if (address - (uintptr_t)touching->pages >= (touching->first + touching->count) * size)
			continue;
		if (address <= before && before)
			check_fail(check, "samples are out of order");
		before = address;
		count++;
	}
	return count;
}

static void samples_by_mmap(struct check *check)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_ADDR);
	struct touching touching = {.pages = new_pages(PAGES), .count = PAGES};
	struct strbuf records = {0};

	int status = measure_records(&attr, -1, 16, touch, &touching, &records);
	if (check_opened(check, status, &attr, "page-faults"))
		check_equal(check, "samples of 64 pages", count_ours(check, &records, &touching), PAGES);
	strbuf_deinit(&records);
}

/* One sample for each so many events. */
static void sampling_period(struct check *check)
{
	enum { PERIOD = 8 };
	struct perf_event_attr attr = fault_attr(PERIOD, PERF_SAMPLE_ADDR);
	struct touching touching = {.pages = new_pages(MANY_PAGES), .count = MANY_PAGES};
	struct strbuf records = {0};

	int status = measure_records(&attr, -1, 32, touch, &touching, &records);
	if (check_opened(check, status, &attr, "page-faults"))
		check_range(check, "samples of 2000 pages, one for 8", count_ours(check, &records, &touching), MANY_PAGES / PERIOD - 1,
			    MANY_PAGES / PERIOD + 1);
	strbuf_deinit(&records);
}

static size_t count_records(const struct strbuf *records, uint32_t type)
{
	size_t at = 0, count = 0;

	while (measure_find(records, &at, type))
		count++;
	return count;
}

/* In nanoseconds, of samples with address and time; UINT64_MAX when there are fewer than two. */
static uint64_t shortest_distance(const struct strbuf *records)
{
	uint64_t shortest = UINT64_MAX, last = 0;
	const struct perf_event_header *header;
	size_t at = 0;

	while ((header = measure_find(records, &at, PERF_RECORD_SAMPLE))) {
		uint64_t time = ((const uint64_t *)(header + 1))[1];
		if (last && time - last < shortest)
			shortest = time - last;
		last = time;
	}
	return shortest;
}

/* Samples by the clock: as often as asked for, and never more. Where a hypervisor takes the CPU away ticks are missing, but not all: one
 * of some tries must have two in a row. */
static void sampling_frequency(struct check *check)
{
	enum { RATE = 1000, PERIOD_US = 1000000 / RATE, EXPECTED = RATE / (1000000000 / SPIN_NS), TRIES = 5 };
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false);
	uint64_t spin = SPIN_NS, distance_us = UINT64_MAX;

	attr.freq = 1;
	attr.sample_freq = RATE;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
	for (int i = 0; i < TRIES && distance_us > PERIOD_US * 3 / 2; i++) {
		struct strbuf records = {0};
		int status = measure_records(&attr, -1, 16, measure_spin, &spin, &records);
		size_t samples = count_records(&records, PERF_RECORD_SAMPLE);
		uint64_t shortest_us = shortest_distance(&records) / 1000;
		strbuf_deinit(&records);
		if (!check_opened(check, status, &attr, "task-clock"))
			return;
		check_log(check, "%zu samples, %llu µs apart and more", samples, (unsigned long long)shortest_us);
		check_range(check, "samples of 100 ms at 1000 Hz", samples, 0, EXPECTED * 13 / 10);
		distance_us = shortest_us < distance_us ? shortest_us : distance_us;
	}
	check_range(check, "microseconds between two samples at 1000 Hz", distance_us, 0, PERIOD_US * 3 / 2);
}

/* A ring that is too small: what doesn't fit is counted, so that nothing is lost without a word. */
static void ring_overflow(struct check *check)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_ADDR);
	struct touching touching = {.pages = new_pages(MANY_PAGES), .count = MANY_PAGES};
	struct ring ring;
	struct iovec pieces[2];
	struct strbuf records = {0};
	uint64_t data[2] = {0};

	attr.read_format = EVENT_FORMAT_LOST;
	cleanup_close int fd = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd == -EINVAL) {
		check_skip(check, "this kernel does not count lost samples (requires Linux 6.0)");
		return;
	}
	if (!check_opened(check, fd, &attr, "page-faults"))
		return;
	int status = ring_open(&ring, fd, -1, 1, false);
	if (status < 0) {
		check_skip(check, "cannot map a ring of one page: %s", strerror(-status));
		return;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	touch(&touching);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	int count = ring_read(&ring, pieces);
	for (int i = 0; i < count; i++)
		strbuf_add(&records, pieces[i].iov_base, pieces[i].iov_len);
	if (read(fd, data, sizeof(data)) != sizeof(data))
		check_fail(check, "the counter cannot be read");
	size_t samples = count_records(&records, PERF_RECORD_SAMPLE);
	check_range(check, "samples in the ring", samples, 100, MANY_PAGES / 2);
	check_range(check, "page faults", data[0], MANY_PAGES, MANY_PAGES + PLACEHOLDER);
	check_equal(check, "samples and losses", samples + data[1], data[0]);
	ring_close(&ring);
	strbuf_deinit(&records);
}

/* poll() wakes up at every tenth event, not before. The event's own count tells which that is: another page may be missing, too, when the
 * kernel has moved it. */
static void ring_wakeups(struct check *check)
{
	enum { EVENTS = 10, ROUNDS = 3 };
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_ADDR);
	struct touching touching = {.pages = new_pages(PAGES), .count = 1};
	struct ring ring;

	touching.first = PAGES - 1; /* its own first page faults, beforehand */
	touch(&touching);
	attr.wakeup_events = EVENTS;
	cleanup_close int fd = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (!check_opened(check, fd, &attr, "page-faults"))
		return;
	int status = ring_open(&ring, fd, -1, 8, false);
	if (status < 0) {
		check_skip(check, "cannot map a ring of 8 pages: %s", strerror(-status));
		return;
	}
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	uint64_t faults = 0, wakeups = 0;
	for (touching.first = 0; touching.first < EVENTS * ROUNDS; touching.first++) {
		uint64_t before = faults;
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		touch(&touching);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		bool awake = poll(&polled, 1, 0) == 1 && (polled.revents & POLLIN);
		if (read(fd, &faults, sizeof(faults)) != sizeof(faults))
			check_fail(check, "the counter cannot be read");
		if (awake != (faults / EVENTS > before / EVENTS))
			check_fail(check, "%s after event %llu", awake ? "woken up" : "not woken up", (unsigned long long)faults);
		wakeups += awake;
	}
	check_range(check, "page faults", faults, EVENTS * ROUNDS, EVENTS * ROUNDS + PLACEHOLDER);
	check_equal(check, "wakeups", wakeups, faults / EVENTS);
	ring_close(&ring);
}

/* The newest records stay in an overwritten ring, the newest first. */
static void backward_ring(struct check *check)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_ADDR);
	struct touching touching = {.pages = new_pages(MANY_PAGES), .count = MANY_PAGES};
	struct strbuf records = {0};
	size_t at = 0, found = 0;
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE), expected = (uintptr_t)touching.pages + (MANY_PAGES - 1) * size, address;
	const struct perf_event_header *header;

	attr.write_backward = 1;
	int status = measure_records(&attr, -1, 1, touch, &touching, &records);
	if (!check_opened(check, status, &attr, "page-faults"))
		return;
	while ((header = measure_find(&records, &at, PERF_RECORD_SAMPLE))) {
		memcpy(&address, header + 1, sizeof(address));
		if (address != expected)
			continue;
		expected -= size;
		found++;
	}
	/* 16 bytes each; the oldest may be cut. */
	check_range(check, "newest samples without a gap", found, size / 16 - PLACEHOLDER, size / 16);
	strbuf_deinit(&records);
}

/* Two events in one ring: their ids tell them apart. Not one event twice: Linux 6.18 was seen to give samples of a software event that is
 * open twice one and the same id. */
static void shared_ring(struct check *check)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_IDENTIFIER);
	struct touching touching = {.pages = new_pages(PAGES), .count = PAGES};
	size_t at = 0, counts[2] = {0};
	struct strbuf records = {0};
	const struct perf_event_header *header;
	struct iovec pieces[2];
	struct ring ring;

	cleanup_close int first = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	attr.sample_period = 2;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	cleanup_close int second = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (!check_opened(check, first < 0 ? first : second, &attr, "page-faults"))
		return;
	int status = ring_open(&ring, first, -1, 16, false);
	if (status < 0 || ioctl(second, PERF_EVENT_IOC_SET_OUTPUT, first) < 0) {
		check_fail(check, "cannot share a ring: %s", strerror(status < 0 ? -status : errno));
		return;
	}
	ioctl(first, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(second, PERF_EVENT_IOC_ENABLE, 0);
	touch(&touching);
	ioctl(second, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(first, PERF_EVENT_IOC_DISABLE, 0);
	int count = ring_read(&ring, pieces);
	for (int i = 0; i < count; i++)
		strbuf_add(&records, pieces[i].iov_base, pieces[i].iov_len);
	while ((header = measure_find(&records, &at, PERF_RECORD_SAMPLE))) {
		uint64_t id;
		memcpy(&id, header + 1, sizeof(id));
		counts[0] += id == perf_open_id(first);
		counts[1] += id == perf_open_id(second);
	}
	check_range(check, "samples of the first", counts[0], PAGES, PAGES + PLACEHOLDER);
	check_range(check, "samples of the second", counts[1], PAGES / 2 - 1, (PAGES + PLACEHOLDER) / 2);
	ring_close(&ring);
	strbuf_deinit(&records);
}

/* What a child does that is to be told of: gets a name, maps code, ends. */
static void live_and_die(void *context)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_NAME, "renamed");
		int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		_exit(0);
	}
	*(pid_t *)context = pid;
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void live_and_die_often(void *context)
{
	pid_t pid;

	for (size_t i = *(size_t *)context; i; i--)
		live_and_die(&pid);
}

/* Where the first record of that type whose first word is `pid` ends; 0 when there is none. */
static size_t find_of(const struct strbuf *records, uint32_t type, pid_t pid)
{
	const struct perf_event_header *header;
	size_t at = 0;

	while ((header = measure_find(records, &at, type))) {
		int32_t whose;
		memcpy(&whose, header + 1, sizeof(whose));
		if (whose == pid)
			return at;
	}
	return 0;
}

static void side_band(struct check *check)
{
	static const struct {
		const char *name;
		uint32_t type;
	} steps[] = {{"fork", PERF_RECORD_FORK}, {"comm", PERF_RECORD_COMM}, {"mmap2", PERF_RECORD_MMAP2}, {"exit", PERF_RECORD_EXIT}};
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, false);
	struct strbuf records = {0};
	int cpu = check->probes->cpus[0];
	size_t before = 0;
	pid_t pid = 0;

	attr.mmap = attr.mmap2 = attr.comm = attr.task = attr.inherit = 1;
	/* The kernel gives no ring to who inherits and is on all CPUs: everything happens on one. */
	measure_on_cpu(cpu);
	int status = measure_records(&attr, cpu, 16, live_and_die, &pid, &records);
	if (!check_opened(check, status, &attr, "dummy"))
		return;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		size_t at = find_of(&records, steps[i].type, pid);
		check_log(check, "%s record of the child: ends at %zu", steps[i].name, at);
		if (at <= before)
			check_fail(check, "the %s record of the child is %s", steps[i].name, at ? "out of order" : "missing");
		before = at;
	}
	strbuf_deinit(&records);
}

static void count_exits(struct check *check)
{
	enum { CHILDREN = 5 };
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, false);
	struct strbuf records = {0};
	int cpu = check->probes->cpus[0];

	attr.task = attr.inherit = 1;
	measure_on_cpu(cpu);
	int status = measure_records(&attr, cpu, 16, live_and_die_often, &(size_t){CHILDREN}, &records);
	if (!check_opened(check, status, &attr, "dummy"))
		return;
	check_equal(check, "exit records of 5 children", count_records(&records, PERF_RECORD_EXIT), CHILDREN);
	check_equal(check, "fork records of 5 children", count_records(&records, PERF_RECORD_FORK), CHILDREN);
	strbuf_deinit(&records);
}

/* Off the CPU and on again, for each child that needs the same one. (A short sleep may be over before the task has left the CPU.) Also told
 * to who may not see the kernel. */
static void switch_records(struct check *check)
{
	enum { CHILDREN = 10 };
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, false);
	struct strbuf records = {0};
	const struct perf_event_header *header;
	size_t at = 0, out = 0, in = 0;

	attr.context_switch = 1;
	measure_on_cpu(check->probes->cpus[0]);
	int status = measure_records(&attr, -1, 16, live_and_die_often, &(size_t){CHILDREN}, &records);
	if (!check_opened(check, status, &attr, "dummy"))
		return;
	while ((header = measure_find(&records, &at, PERF_RECORD_SWITCH))) {
		out += (header->misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
		in += (header->misc & PERF_RECORD_MISC_SWITCH_OUT) == 0;
	}
	check_range(check, "switches out for 10 children", out, CHILDREN, 1000);
	check_range(check, "switches in", in, out, out + 1);
	strbuf_deinit(&records);
}

static void sample_clock(struct check *check)
{
	if (check_has(check, "clocks") && !check_is_ok(check, "clocks"))
		check_fail(check, "sample times do not follow the requested clock: 'perf doctor -v clocks'");
}

/* perf_event_mmap_page: time = zero + counter × mult >> shift, in two halves so that nothing overflows. */
static uint64_t counter_to_time(const struct perf_event_mmap_page *page, uint64_t counter)
{
	uint64_t high = counter >> page->time_shift, low = counter & ((1ull << page->time_shift) - 1);

	return page->time_zero + high * page->time_mult + (low * page->time_mult >> page->time_shift);
}

/* Three times in a row: a sample, the counter, a sample. */
static void counter_time(struct check *check)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_TIME);
	struct touching touching = {.pages = new_pages(2), .count = 1};
	struct ring ring;
	uint64_t counter = 0, times[2] = {0};

	cleanup_close int fd = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (!check_opened(check, fd, &attr, "page-faults") || ring_open(&ring, fd, -1, 8, false) < 0)
		return;
	bool can = ring.page->cap_user_time_zero;
	for (int i = 0; can && i < 2; i++) {
		struct iovec pieces[2];
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		touching.first = (size_t)i;
		touch(&touching);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		if (ring_read(&ring, pieces) == 1) /* the last record is that of the page */
			memcpy(&times[i], (char *)pieces[0].iov_base + pieces[0].iov_len - 8, 8);
		ring_consume(&ring);
		if (!i)
			can = own_counter(&counter);
	}
	uint64_t time = can ? counter_to_time(ring.page, counter) : 0;
	if (!can)
		check_skip(check, "the kernel does not provide the conversion from TSC to time (the TSC is not stable)");
	else if (time < times[0] || time > times[1])
		check_fail(check, "%llu is not between the samples of %llu and %llu", (unsigned long long)time,
			   (unsigned long long)times[0], (unsigned long long)times[1]);
	ring_close(&ring);
}

const struct check_row ring_checks[] = {
	{"Read samples using the mmap interface", samples_by_mmap},
	{"Sampling period", sampling_period},
	{"Sampling frequency", sampling_frequency},
	{"Ring overflow is counted", ring_overflow},
	{"Ring wakeups", ring_wakeups},
	{"Read backward ring buffer", backward_ring},
	{"Two events in one ring", shared_ring},
	{"PERF_RECORD_* events of a child", side_band},
	{"Number of exit events", count_exits},
	{"Track with context switch records", switch_records},
	{"Clocks of sample times", sample_clock},
	{"Convert perf time to TSC", counter_time},
	{NULL, NULL},
};
