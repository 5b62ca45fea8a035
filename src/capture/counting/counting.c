/* Counting. A group is read by its leader: one system call, and on another CPU one interrupt, for all members. What isn't done here:
 * adding up, scaling, and intervals (analysis/counting/counts.h). */
#include "capture/counting/counting.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <linux/perf_event.h>
#include <string.h>

/* Members of a group of the kernel's own events. Reading it takes 2 words for each, and perf_event_open() refuses groups whose sample would
 * be larger than 16 KB. */
enum { BUNDLE_MOST = 500 };

static void leave_group(struct event_list *events, struct event *event)
{
	struct event *leader = events->events.data[event->leader];
	unsigned int end = leader->index + leader->members;
	struct event *heir = NULL;

	if (leader->members < 2)
		return;
	if (event != leader) {
		event->leader = event->index;
		event->members = 1;
		return;
	}
	for (unsigned int i = leader->index + 1; i < end && i < events->events.len; i++) {
		struct event *member = events->events.data[i];
		if (member->leader != leader->index)
			continue;
		if (!heir) {
			heir = member;
			heir->members = end - i;
			heir->weak_group = leader->weak_group;
			heir->attr.pinned |= leader->attr.pinned;
			heir->attr.exclusive |= leader->attr.exclusive;
		}
		member->leader = heir->index;
	}
	leader->members = 1;
}

void counting_set_unit(struct event *event)
{
	bool clock = event->attr.type == PERF_TYPE_SOFTWARE && !event->tool &&
		     (event->attr.config == PERF_COUNT_SW_TASK_CLOCK || event->attr.config == PERF_COUNT_SW_CPU_CLOCK);

	if (event->tool) {
		event->unit = "ns";
	} else if (clock) {
		event->unit = "msec";
		event->scale = 1e-6;
	}
}

static bool is_kernels_own(const struct event *event)
{
	return !event->tool && (event->attr.type == PERF_TYPE_SOFTWARE || event->attr.type == PERF_TYPE_TRACEPOINT) && !event->pmu_cpus &&
	       !event->bpf_counter;
}

static bool fits_bundle(const struct event *leader, const struct event *event)
{
	if (!is_kernels_own(event) || event->members != 1 || event->leader != event->index || event->attr.pinned || event->attr.exclusive)
		return false;
	if (event->inherit != leader->inherit || event->attr.exclude_kernel != leader->attr.exclude_kernel ||
	    event->attr.exclude_user != leader->attr.exclude_user)
		return false;
	return event->cgroup && leader->cgroup ? !strcmp(event->cgroup, leader->cgroup) : event->cgroup == leader->cgroup;
}

static void bundle(struct event_list *events)
{
	size_t count = events->events.len;

	for (size_t i = 0; i < count;) {
		struct event *leader = events->events.data[i];
		size_t end = i + 1;
		if (fits_bundle(leader, leader))
			while (end < count && end - i < BUNDLE_MOST && fits_bundle(leader, events->events.data[end]))
				end++;
		for (size_t j = i + 1; j < end; j++) {
			events->events.data[j]->leader = leader->index;
			events->events.data[j]->members = 0;
		}
		if (end > i + 1) {
			leader->members = (unsigned int)(end - i);
			leader->weak_group = true;
		}
		i = end;
	}
}

static void configure(struct event *event, const struct event *leader, const struct counting_scope *scope)
{
	struct event_attr *attr = &event->attr;
	bool leads = event == leader;

	attr->size = sizeof(*attr);
	attr->sample_type = 0;
	attr->sample_period = 0;
	attr->freq = 0;
	attr->precise_ip = 0;
	event->precise_max = false;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (leader->members > 1)
		attr->read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	if (scope->identified) {
		attr->read_format |= PERF_FORMAT_ID;
		attr->sample_type = PERF_SAMPLE_IDENTIFIER;
	}
	attr->inherit = !scope->no_inherit;
	if (event->inherit)
		attr->inherit = event->inherit == EVENT_YES;
	if (scope->all_user) {
		attr->exclude_user = 0;
		attr->exclude_kernel = attr->exclude_hv = 1;
	}
	if (scope->all_kernel) {
		attr->exclude_user = 1;
		attr->exclude_kernel = 0;
	}
	attr->disabled = leads;
	attr->enable_on_exec = leads && scope->workload && !scope->delayed;
}

void counting_configure(struct event_list *events, const struct counting_scope *scope)
{
	for (size_t i = 0; i < events->events.len; i++) {
		struct event *event = events->events.data[i];
		if (event->tool)
			leave_group(events, event);
		counting_set_unit(event);
	}
	if (!scope->no_bundles)
		bundle(events);
	for (size_t i = 0; i < events->events.len; i++) {
		struct event *event = events->events.data[i];
		configure(event, events->events.data[event->leader], scope);
	}
}

static void read_single(const struct counter *counter, struct counter_value *cells)
{
	uint64_t words[4]; /* the last one, if any, is an id */

	for (size_t slot = 0; slot < counter_slots(counter); slot++) {
		cells[slot].open = counter->fds[slot] >= 0;
		if (counter_read(counter, slot, words, 4) >= 3)
			cells[slot] =
				(struct counter_value){.value = words[0], .enabled_ns = words[1], .running_ns = words[2], .open = true};
	}
}

/* The member with this id in a slot; `guess` is where it is when none was left out. */
static size_t find_member(const struct counter_set *counters, size_t first, size_t members, size_t slot, uint64_t id, size_t guess)
{
	if (guess < members && counter_slots(&counters->each[first + guess]) && counters->each[first + guess].ids[slot] == id)
		return first + guess;
	for (size_t i = first; i < first + members; i++)
		if (counter_slots(&counters->each[i]) && counters->each[i].ids[slot] == id)
			return i;
	return SIZE_MAX;
}

static void read_group(const struct counter_set *counters, size_t first, size_t members, struct counter_value *const *cells)
{
	const struct counter *leader = &counters->each[first];
	size_t most = 3 + 2 * members;
	cleanup_free uint64_t *words = mem_alloc_array(most, sizeof(*words));

	for (size_t slot = 0; slot < counter_slots(leader); slot++) {
		size_t got = counter_read(leader, slot, words, most), guess = 0;
		cells[first][slot].open = leader->fds[slot] >= 0;
		if (got < 3)
			continue;
		for (size_t i = 0; i < words[0] && 4 + 2 * i < got; i++, guess++) {
			size_t member = find_member(counters, first, members, slot, words[4 + 2 * i], guess);
			if (member == SIZE_MAX)
				continue;
			guess = member - first;
			cells[member][slot] = (struct counter_value){
				.value = words[3 + 2 * i], .enabled_ns = words[1], .running_ns = words[2], .open = true};
		}
	}
}

void counting_read(const struct counter_set *counters, const struct event_list *events, struct counter_value *const *cells)
{
	for (size_t i = 0; i < counters->count; i++) {
		const struct event *event = events->events.data[i];
		if (event->leader != i || !counter_slots(&counters->each[i]))
			continue;
		if (event->attr.read_format & PERF_FORMAT_GROUP)
			read_group(counters, i, event->members, cells);
		else
			read_single(&counters->each[i], cells[i]);
	}
}
