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

/* The ring of the slots' counters of one direction; none when there are no such counters. */
static int open_slots(struct ring_set *set, const struct ring_set_counter *counters, size_t count, struct slot_range slots, int cpu,
		      bool overwrite)
{
	struct ring *ring = NULL;

	for (size_t slot = slots.begin; slot < slots.end; slot++)
		for (size_t i = 0; i < count; i++) {
			int fd = counters[i].counter->fds[slot];
			if (fd < 0 || counters[i].overwrite != overwrite)
				continue;
			if (ring) {
				if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0)
					return -errno;
				add_member(ring, fd);
				continue;
			}
			int status = ring_open(&set->rings[set->count], fd, cpu, set->pages, overwrite);
			if (status < 0)
				return status;
			ring = &set->rings[set->count++];
			add_member(ring, fd);
			set->overwritten += overwrite;
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
		int status = open_slots(set, counters, count, slots, by_thread ? -1 : target->cpus[place], i % 2);
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
