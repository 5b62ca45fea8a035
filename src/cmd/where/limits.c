/* Control groups with a limit of CPU time, in which the processes in question are seen now and then: what they were held back for since
 * they were first seen there. */
#include "cmd/where/where.h"

#include <string.h>

enum { MOST_GROUPS = 16 };

void where_limits_look(struct where_limits *limits, pid_t pid)
{
	struct cpu_limit now;
	if (!cpu_limit_of(pid, &now))
		return;
	for (size_t i = 0; i < limits->all.len; i++)
		if (!strcmp(limits->all.data[i].first.directory, now.directory))
			return;
	if (limits->all.len < MOST_GROUPS)
		vec_push(&limits->all, (struct where_limit){now, now});
}

static void remove_at(struct where_limits *limits, size_t i)
{
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
	vec_deinit(&limits->all);
}
