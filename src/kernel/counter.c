/* Opening one event on CPUs × threads. A thread that ends while we open is simply left out: the kernel says ESRCH for it. */
#include "kernel/counter.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Without a list it does, and for counters that are bound to no CPU. */
static bool serves_cpu(const int *only, size_t count, int cpu)
{
	if (!only || cpu < 0)
		return true;
	for (size_t i = 0; i < count; i++)
		if (only[i] == cpu)
			return true;
	return false;
}

bool counter_target_measures(const struct counter_target *target, int cpu)
{
	return serves_cpu(target->measured, target->measured_count, cpu);
}

int counter_open(struct counter *counter, struct perf_open *state, struct perf_event_attr *attr, bool precise_max,
		 const struct counter_target *target, const struct counter *leader, const int *only_cpus, size_t only_count,
		 struct counter_failure *ret_failure)
{
	size_t slots = target->cpu_count * target->thread_count, opened = 0;
	bool cgroup = target->cgroup >= 0;

	counter->cpu_count = target->cpu_count;
	counter->thread_count = target->thread_count;
	counter->fds = mem_alloc_array(slots, sizeof(*counter->fds));
	counter->ids = mem_zalloc_array(slots, sizeof(*counter->ids));
	memset(counter->fds, 0xff, slots * sizeof(*counter->fds));

	for (size_t slot = 0; slot < slots; slot++) {
		int cpu = target->cpus[slot / target->thread_count];
		pid_t thread = cgroup ? target->cgroup : target->threads[slot % target->thread_count];
		int group = leader ? leader->fds[slot] : -1;
		if (!serves_cpu(only_cpus, only_count, cpu) || !counter_target_measures(target, cpu) || (leader && group < 0))
			continue;
		int fd = perf_open_counter(state, attr, precise_max, thread, cpu, group, cgroup ? PERF_FLAG_PID_CGROUP : 0);
		if (fd == -ESRCH && thread > 0 && target->thread_count > 1)
			continue;
		if (fd < 0) {
			*ret_failure = (struct counter_failure){.error = -fd, .cpu = cpu, .thread = thread};
			counter_close(counter);
			return fd;
		}
		counter->fds[slot] = fd;
		if (attr->read_format & PERF_FORMAT_ID)
			counter->ids[slot] = perf_open_id(fd);
		opened++;
	}
	if (opened || leader || only_cpus)
		return 0;
	*ret_failure = (struct counter_failure){.error = ESRCH, .cpu = -1, .thread = target->threads[0]};
	counter_close(counter);
	return -ESRCH;
}

void counter_close(struct counter *counter)
{
	for (size_t i = 0; i < counter_slots(counter); i++)
		if (counter->fds && counter->fds[i] >= 0)
			close(counter->fds[i]);
	free(counter->fds);
	free(counter->ids);
	memset(counter, 0, sizeof(*counter));
}

size_t counter_read(const struct counter *counter, size_t slot, uint64_t *words, size_t count)
{
	ssize_t got = counter->fds[slot] < 0 ? 0 : read(counter->fds[slot], words, count * sizeof(*words));
	return got < 0 ? 0 : (size_t)got / sizeof(*words);
}

int counter_ioctl(const struct counter *counter, unsigned long request, unsigned long argument)
{
	for (size_t i = 0; i < counter_slots(counter); i++)
		if (counter->fds[i] >= 0 && ioctl(counter->fds[i], request, argument) < 0)
			return -errno;
	return 0;
}

int counter_enable(const struct counter *counter)
{
	return counter_ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
}

int counter_disable(const struct counter *counter)
{
	return counter_ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
}

int counter_set_filter(const struct counter *counter, const char *filter)
{
	return counter_ioctl(counter, PERF_EVENT_IOC_SET_FILTER, (unsigned long)filter);
}
