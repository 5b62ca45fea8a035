/* Opening events. What may give way does: precision, kernel space, the event "cycles" itself where there is no hardware for it, and weak
 * groups; each only as far as the person did not insist. What cannot is explained. */
#include "capture/counting/counter_set.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "capture/sampling.h"
#include "kernel/cgroups.h"
#include "kernel/limits.h"
#include "kernel/refusal.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same bytes under the kernel's name (event/attr.h). */
static struct perf_event_attr *kernel_attr(struct event *event)
{
	return (struct perf_event_attr *)&event->attr;
}

static bool is_absent(int error)
{
	return error == ENOENT || error == ENXIO || error == ENODEV || error == EOPNOTSUPP;
}

/* Takes something back after a refusal. True when it is worth trying again. */
static bool fall_back(struct counter_set *counters, struct event_list *events, struct event *event, int error)
{
	if (!counters->absent && is_absent(error) && sampling_fall_back_to_clock(events, event))
		return counters->fell_back_to_clock = true;
	if ((error == EACCES || error == EPERM) && !limits_can_profile_kernel() && limits_paranoid() >= 2 &&
	    sampling_fall_back_to_user(events, event))
		return counters->fell_back_to_user = true;
	return false;
}

static void ungroup(struct event_list *events, struct event *leader)
{
	unsigned int end = leader->index + leader->members;

	for (unsigned int i = leader->index; i < end && i < events->events.len; i++) {
		struct event *event = events->events.data[i];
		event->attr.disabled = 1;
		event->attr.enable_on_exec = leader->attr.enable_on_exec;
		event->leader = i;
		event->members = 1;
	}
}

/* After a refusal: the event may be left out. What a weak group cannot hold may fit alone, and whose leader is left out fits alone, too. */
static bool may_be_absent(const struct counter_set *counters, struct event_list *events, struct event *event, int error)
{
	struct event *leader = events->events.data[event->leader];

	if (!counters->absent || !(is_absent(error) || error == EINVAL))
		return false;
	if (leader->weak_group && leader != event)
		return false;
	if (leader->weak_group)
		ungroup(events, leader);
	return true;
}

static struct error *open_event(struct counter_set *counters, struct event_list *events, struct event *event)
{
	struct counter_target target = counters->target;
	const struct counter *leader = event->leader == event->index ? NULL : &counters->each[event->leader];
	cleanup_close int cgroup = -1;
	cleanup_free int *only = NULL;
	size_t only_count = 0;
	struct counter_failure failure;
	const char *asked_for = event->name;
	bool for_user_only = false;

	if (event->cgroup) {
		cgroup = cgroups_open(event->cgroup, NULL, 0);
		if (cgroup < 0)
			return error_new("no such control group '%s' in /sys/fs/cgroup", event->cgroup);
		/* Counters of the root group would wait for a switch to another group, which never comes where there is none; they count
		 * all that runs. */
		if (!cgroups_is_root(cgroup))
			target.cgroup = cgroup;
	}
	if (event->everywhere)
		target.measured = NULL;
	if (event->pmu_cpus)
		number_parse_list(event->pmu_cpus, &only, &only_count);
	while (counter_open(&counters->each[event->index], &counters->state, kernel_attr(event), event->precise_max, &target, leader, only,
			    only_count, &failure) < 0) {
		if (fall_back(counters, events, event, failure.error)) {
			for_user_only |= counters->fell_back_to_user;
			continue;
		}
		if (may_be_absent(counters, events, event, failure.error)) {
			counters->absent[event->index] = true;
			return NULL;
		}
		struct refusal refusal = {.error = failure.error,
					  .event = asked_for,
					  .attr = kernel_attr(event),
					  .cpu = failure.cpu,
					  .pid = failure.thread,
					  .group = leader};
		return refusal_explain(&refusal);
	}
	/* The clock that took the place of the default event shows the precision that it got, cycles don't: as the kernel's perf names
	 * them. */
	if (event->is_default && event->attr.type == PERF_TYPE_SOFTWARE && !for_user_only)
		sampling_rename(events, event, "cpu-clock");
	return NULL;
}

/* A weak group that the hardware cannot hold becomes single events. */
static bool break_weak_group(struct counter_set *counters, struct event_list *events, struct event *member, struct error *error)
{
	struct event *leader = events->events.data[member->leader];

	if (!leader->weak_group || leader == member || error_kind(error) == ERROR_PERMISSION)
		return false;
	for (unsigned int i = leader->index; i < member->index; i++)
		counter_close(&counters->each[i]);
	ungroup(events, leader);
	return true;
}

static struct error *apply_filters(const struct counter_set *counters, const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		int status = event->filter ? counter_set_filter(&counters->each[i], event->filter) : 0;
		if (status < 0 && event->address_filter)
			return error_system(-status,
					    "%s: filter '%s': refused by the driver (Intel PT knows 'filter' and 'tracestop', and neither "
					    "'start' nor 'stop'; CoreSight either the former or the latter)",
					    event->name, event->filter);
		if (status == -EINVAL)
			return error_new("%s: the kernel rejected the filter '%s'; its fields are listed in its format file in "
					 "/sys/kernel/tracing/events",
					 event->name, event->filter);
		if (status < 0)
			return error_system(-status, "%s: filter '%s'", event->name, event->filter);
	}
	return NULL;
}

static void collect_ids(const struct counter_set *counters, struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++) {
		struct event *event = events->events.data[i];
		const struct counter *counter = &counters->each[i];
		event->ids.len = 0;
		for (size_t slot = 0; slot < counter_slots(counter); slot++)
			if (counter->fds[slot] >= 0)
				vec_push(&event->ids, counter->ids[slot]);
	}
}

/* Nothing to open: the tool counts it, or the leader of its group is absent. */
static bool is_left_out(struct counter_set *counters, const struct event *event)
{
	if (!counters->absent)
		return false;
	if (counters->absent[event->leader])
		counters->absent[event->index] = true;
	return counters->absent[event->index] || event->tool;
}

static struct error *open_all(struct counter_set *counters, struct event_list *events, const struct counter_target *target, bool *absent)
{
	size_t count = events->events.len;

	*counters = (struct counter_set){
		.each = mem_zalloc_array(count, sizeof(*counters->each)), .count = count, .target = *target, .absent = absent};
	counters->target.cgroup = -1;
	limits_raise_files(count * target->cpu_count * target->thread_count);
	for (size_t i = 0; i < count; i++) {
		struct event *event = events->events.data[i];
		struct error *error = is_left_out(counters, event) ? NULL : open_event(counters, events, event);
		if (!error)
			continue;
		unsigned int leader = event->leader;
		if (break_weak_group(counters, events, event, error)) {
			error_free(error);
			i = (size_t)leader - 1; /* once more from there; the loop's increment undoes a wrap below 0 */
			continue;
		}
		counter_set_close(counters);
		return error;
	}
	collect_ids(counters, events);
	struct error *error = apply_filters(counters, events);
	if (error)
		counter_set_close(counters);
	return error;
}

struct error *counter_set_open(struct counter_set *counters, struct event_list *events, const struct counter_target *target)
{
	return open_all(counters, events, target, NULL);
}

struct error *counter_set_open_present(struct counter_set *counters, struct event_list *events, const struct counter_target *target)
{
	return open_all(counters, events, target, mem_zalloc_array(events->events.len + 1, sizeof(bool)));
}

void counter_set_close(struct counter_set *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		counter_close(&counters->each[i]);
	free(counters->each);
	free(counters->absent);
	*counters = (struct counter_set){0};
}

void counters_abandon(struct counter_set *counters)
{
	for (size_t i = 0; i < counters->count; i++) {
		free(counters->each[i].fds);
		free(counters->each[i].ids);
	}
	free(counters->each);
	free(counters->absent);
	*counters = (struct counter_set){0};
}

void counters_keep_only(const struct counter_set *counters)
{
	int highest = -1;

	for (size_t i = 0; i < counters->count; i++)
		for (size_t slot = 0; slot < counter_slots(&counters->each[i]); slot++)
			if (counters->each[i].fds[slot] > highest)
				highest = counters->each[i].fds[slot];
	cleanup_free bool *kept = mem_zalloc_array((size_t)highest + 2, sizeof(*kept));
	for (size_t i = 0; i < counters->count; i++)
		for (size_t slot = 0; slot < counter_slots(&counters->each[i]); slot++)
			if (counters->each[i].fds[slot] >= 0)
				kept[counters->each[i].fds[slot]] = true;
	for (int fd = 0; fd <= highest; fd++)
		if (!kept[fd])
			close(fd);
	syscall(__NR_close_range, (unsigned int)highest + 1, ~0u, 0);
}

void counter_set_enable(struct counter_set *counters, const struct event_list *events)
{
	for (size_t i = 0; i < counters->count; i++)
		if (events->events.data[i]->leader == i)
			counter_enable(&counters->each[i]);
}

void counter_set_disable(struct counter_set *counters, const struct event_list *events)
{
	for (size_t i = 0; i < counters->count; i++)
		if (events->events.data[i]->leader == i)
			counter_disable(&counters->each[i]);
}

void counters_switch(struct counter_set *counters, const struct event_list *events, const char *name, bool on)
{
	for (size_t i = 0; i < counters->count; i++) {
		const struct event *event = events->events.data[i];
		if (*name ? !strcmp(name, event->name) : event->leader == i)
			on ? counter_enable(&counters->each[i]) : counter_disable(&counters->each[i]);
	}
}

uint64_t counters_lost(const struct counter *counter, const struct event_attr *attr, size_t slot)
{
	uint64_t values[5];
	size_t count = 1;

	/* With PERF_FORMAT_GROUP the layout depends on the group: its members say nothing of their own there. */
	if (!(attr->read_format & EVENT_FORMAT_LOST) || (attr->read_format & PERF_FORMAT_GROUP) || counter->fds[slot] < 0)
		return 0;
	count += (attr->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0;
	count += (attr->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0;
	count += (attr->read_format & PERF_FORMAT_ID) != 0;
	if (read(counter->fds[slot], values, sizeof(values)) < (ssize_t)((count + 1) * sizeof(values[0])))
		return 0;
	return values[count];
}
