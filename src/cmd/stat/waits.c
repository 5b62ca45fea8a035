/* How long the measured threads could have run while others had the CPU: the scheduler's own notes, at the beginning and the end. Of a
 * command only its first thread is known, and of threads only those that are there all the time; advice compares what they ran with what
 * was counted, and so knows whether that is all. */
#include "cmd/stat/stat.h"

#include "base/mem.h"

#include <stdlib.h>

void stat_waits_begin(struct stat_run *run)
{
	free(run->scheduled_before);
	run->scheduled_before = NULL;
	if (!targets_are_tasks(&run->options.targets))
		return;
	run->scheduled_before = mem_zalloc_array(run->threads.len + 1, sizeof(*run->scheduled_before));
	for (size_t i = 0; i < run->threads.len; i++)
		proc_scheduled(run->threads.data[i], &run->scheduled_before[i]);
}

void stat_waits_end(struct stat_run *run)
{
	struct proc_scheduled now;

	for (size_t i = 0; run->scheduled_before && i < run->threads.len; i++) {
		const struct proc_scheduled *before = &run->scheduled_before[i];
		if (!proc_scheduled(run->threads.data[i], &now) || now.ran_ns < before->ran_ns) /* gone; its number may be another's */
			continue;
		run->scheduled.ran_ns += now.ran_ns - before->ran_ns;
		run->scheduled.waited_ns += now.waited_ns - before->waited_ns;
	}
	if (run->scheduled_before || !run->command)
		return;
	run->scheduled.ran_ns += run->workload.scheduled.ran_ns;
	run->scheduled.waited_ns += run->workload.scheduled.waited_ns;
}
