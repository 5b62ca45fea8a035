/* Control groups with a limit of CPU time, in which the processes in question are seen now and then: what they were held back for since
 * they were first seen there. */
#include "cmd/where/where.h"

#include "kernel/proc.h"

#include <fcntl.h>
#include <string.h>

enum { MOST_GROUPS = 16 };

static struct where_limit *limit_in(struct where_limits *limits, const struct cpu_limit *now)
{
	for (size_t i = 0; i < limits->all.len; i++)
		if (!strcmp(limits->all.data[i].first.directory, now->directory))
			return &limits->all.data[i];
	if (limits->all.len == MOST_GROUPS)
		return NULL;
	vec_push(&limits->all, (struct where_limit){.first = *now, .last = *now});
	return vec_last(&limits->all);
}

void where_limits_look(struct where_limits *limits, pid_t pid)
{
	struct cpu_limit now;
	if (!limits->mounts.len)
		proc_read_file(AT_FDCWD, "/proc/self/mountinfo", &limits->mounts);
	struct where_limit *limit = cpu_limit_of(strbuf_str(&limits->mounts), pid, &now) ? limit_in(limits, &now) : NULL;
	if (limit)
		map64_insert(&limit->pids, (uint64_t)pid, NULL);
}

/* Whoever is started is in the group of whoever starts it. */
static bool is_in(const struct where_limit *limit, const struct where_thread *thread)
{
	while (thread && !map64_find(&limit->pids, thread->task.thread->pid))
		thread = thread->parent;
	return thread;
}

const struct where_limit *where_limits_find(const struct where_limits *limits, const struct where_reason *reason)
{
	enum { LEAST_PERCENT = 20 };
	const struct where_limit *most = NULL;
	uint64_t most_ns = reason->ns / 100 * LEAST_PERCENT;
	for (size_t i = 0; i < limits->all.len; i++) {
		const struct where_limit *limit = &limits->all.data[i];
		uint64_t ns = limit->last.throttled_ns - limit->first.throttled_ns;
		size_t in = 0;
		while (in < reason->queued.len && is_in(limit, reason->queued.data[in]))
			in++;
		if (in && in == reason->queued.len && ns > most_ns) {
			most = limit;
			most_ns = ns;
		}
	}
	return most;
}

static void remove_at(struct where_limits *limits, size_t i)
{
	map64_deinit(&limits->all.data[i].pids);
	limits->all.len--;
	memmove(&limits->all.data[i], &limits->all.data[i + 1], (limits->all.len - i) * sizeof(*limits->all.data));
}

void where_limits_finish(struct where_limits *limits)
{
	for (size_t i = limits->all.len; i > 0; i--) {
		struct where_limit *limit = &limits->all.data[i - 1];
		if (!cpu_limit_read(&limit->last) || limit->last.throttled <= limit->first.throttled ||
		    limit->last.throttled_ns < limit->first.throttled_ns) /* no limit, none that mattered, or the group was made anew */
			remove_at(limits, i - 1);
	}
}

void where_limits_deinit(struct where_limits *limits)
{
	while (limits->all.len)
		remove_at(limits, limits->all.len - 1);
	vec_deinit(&limits->all);
	strbuf_deinit(&limits->mounts);
}
