/* One ring for each CPU, or for each thread when the target has no CPUs. The kernel lets counters share a ring (PERF_EVENT_IOC_SET_OUTPUT)
 * when they are on the same CPU, or on the same thread without one, and when they write in the same direction. */
#include "kernel/ring_set.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

struct slot_range {
	size_t begin, end; /* of counter.fds */
};

/* The list doubles whenever its length is a power of two, so that no capacity has to be kept. */
static void add_member(struct ring *ring, int fd)
{
	if (!(ring->member_count & (ring->member_count - 1))) /* 0 or a power of two: full */
		ring->members = mem_resize(ring->members, (ring->member_count ? 2 * ring->member_count : 1) * sizeof(*ring->members));
	ring->members[ring->member_count++] = fd;
}

int ring_next_member(struct ring *ring)
{
	return ring->member_watched < ring->member_count ? ring->members[ring->member_watched++] : -1;
}

/* Lets a counter write into the ring, which is mapped on the first one. */
static int join_ring(struct ring_set *set, struct ring **ring, int fd, int cpu, bool overwrite)
{
	int status = 0;

	if (*ring) {
		status = ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (*ring)->fd) < 0 ? -errno : 0;
	} else if ((status = ring_open(&set->rings[set->count], fd, cpu, set->pages, overwrite)) == 0) {
		*ring = &set->rings[set->count++];
		set->overwritten += overwrite;
	}
	if (status == 0)
		add_member(*ring, fd);
	return status;
}

/* The ring of the slots' counters of one direction; none when there are no such counters. Those that trace come first. */
static int open_slots(struct ring_set *set, const struct ring_set_counter *counters, size_t count, struct slot_range slots, int cpu,
		      bool overwrite)
{
	struct ring *ring = NULL;
	size_t slot_count = slots.end - slots.begin;

	for (size_t i = 0; i < 2 * count * slot_count; i++) {
		bool traces = i < count * slot_count;
		const struct ring_set_counter *each = &counters[i % count];
		int fd = each->counter->fds[slots.begin + i / count % slot_count];
		if (fd < 0 || each->overwrite != overwrite || each->traces != traces)
			continue;
		int status = join_ring(set, &ring, fd, cpu, overwrite);
		if (status < 0)
			return status;
		ring->tracer_count += traces;
	}
	return 0;
}

int ring_set_open(struct ring_set *set, const struct ring_set_counter *counters, size_t count, const struct counter_target *target,
		  size_t pages)
{
	bool by_thread = target->cpu_count == 1 && target->cpus[0] < 0;
	size_t places = by_thread ? target->thread_count : target->cpu_count;

	*set = (struct ring_set){.rings = mem_zalloc_array(2 * places, sizeof(*set->rings)), .pages = pages};
	for (size_t i = 0; i < 2 * places; i++) {
		size_t place = i / 2;
		struct slot_range slots = by_thread ? (struct slot_range){place, place + 1}
						    : (struct slot_range){place * target->thread_count, (place + 1) * target->thread_count};
		size_t before = set->count;
		int status = open_slots(set, counters, count, slots, by_thread ? -1 : target->cpus[place], i % 2);
		if (set->count > before)
			set->rings[before].place = place;
		if (status < 0) {
			ring_set_close(set);
			return status;
		}
	}
	return 0;
}

void ring_set_close(struct ring_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		ring_close(&set->rings[i]);
	free(set->rings);
	*set = (struct ring_set){0};
}
