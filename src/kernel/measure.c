/* Counting and sampling the calling thread. Rings are read once, at the end: what is done is small enough to fit. */
#include "kernel/measure.h"

#include "base/clock.h"
#include "kernel/perf_open.h"
#include "kernel/ring.h"

#include <errno.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Without `kernel` everybody may open it who may measure at all. */
struct perf_event_attr measure_attr(uint32_t type, uint64_t config, bool kernel)
{
	/* Kernels take a larger structure than theirs if the rest is zero (copy_struct_from_user()). */
	return (struct perf_event_attr){.type = type,
					.size = sizeof(struct perf_event_attr),
					.config = config,
					.disabled = 1,
					.exclude_kernel = !kernel,
					.exclude_hv = 1};
}

int measure_can_open(const struct perf_event_attr *attr, int pid, int cpu)
{
	int fd = perf_open_raw(attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

int measure_count(const struct perf_event_attr *attr, measure_work *work, void *context, uint64_t *ret, int *kept)
{
	int fd = perf_open_raw(attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC), status = 0;

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		status = -errno;
	work(context);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!status && read(fd, ret, sizeof(*ret)) != sizeof(*ret))
		status = -EIO;
	if (kept)
		*kept = fd;
	else
		close(fd);
	return status;
}

int measure_records(const struct perf_event_attr *attr, int cpu, size_t pages, measure_work *work, void *context, struct strbuf *records)
{
	struct ring ring;
	struct iovec pieces[2];
	int fd = perf_open_raw(attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return fd;
	int status = ring_open(&ring, fd, cpu, pages, attr->write_backward);
	if (status < 0) {
		close(fd);
		return status;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work(context);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	int count = ring_read(&ring, pieces);
	for (int i = 0; i < count; i++)
		strbuf_add(records, pieces[i].iov_base, pieces[i].iov_len);
	ring_close(&ring);
	close(fd);
	return 0;
}

const struct perf_event_header *measure_find(const struct strbuf *records, size_t *at, uint32_t type)
{
	const struct perf_event_header *header;

	for (; *at + sizeof(*header) <= records->len; *at += header->size) {
		header = (const void *)(records->data + *at);
		if (header->size < sizeof(*header) || header->size > records->len - *at)
			return NULL;
		if (header->type != type)
			continue;
		*at += header->size;
		return header;
	}
	return NULL;
}

void measure_touch_pages(void *context)
{
	size_t count = *(size_t *)context, size = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *pages = mmap(NULL, count * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return;
	madvise((void *)pages, count * size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < count; i++)
		pages[i * size] = 1;
	munmap((void *)pages, count * size);
}

void measure_call_getppid(void *context)
{
	for (size_t i = *(size_t *)context; i; i--)
		syscall(SYS_getppid);
}

void measure_spin(void *context)
{
	uint64_t end = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) + *(uint64_t *)context;

	while (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 1000; i++)
			;
}

void measure_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}
