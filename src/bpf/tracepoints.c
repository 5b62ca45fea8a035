/* Looks at the formats of the scheduler's tracepoints (tracepoints.h). */
#include "bpf/tracepoints.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "kernel/tracing/tracefs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* As the format's text has them. */
static const struct {
	const char *system, *event, *fields[4];
} expected[] = {
	{"sched",
	 "sched_switch",
	 {" prev_pid;\toffset:24;\tsize:4;", " prev_state;\toffset:32;\tsize:8;", " next_comm[16];\toffset:40;",
	  " next_pid;\toffset:56;\tsize:4;"}},
	{"sched", "sched_waking", {" comm[16];\toffset:8;", " pid;\toffset:24;\tsize:4;"}},
	{"sched", "sched_wakeup", {" comm[16];\toffset:8;", " pid;\toffset:24;\tsize:4;"}},
	{"sched", "sched_wakeup_new", {" comm[16];\toffset:8;", " pid;\toffset:24;\tsize:4;"}},
	{"task", "task_newtask", {" pid;\toffset:8;\tsize:4;"}},
};

struct error *bpf_tracepoints_check(void)
{
	cleanup_free char *tracefs = NULL;
	struct error *error = tracefs_find("", &tracefs);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected) && !error; i++) {
		struct strbuf format = {0};
		error = tracefs_event_format(tracefs, expected[i].system, expected[i].event, &format);
		for (size_t j = 0; j < 4 && expected[i].fields[j] && !error; j++)
			if (!strstr(strbuf_str(&format), expected[i].fields[j]))
				error = error_new_kind(ERROR_UNSUPPORTED,
						       "this kernel has other fields in %s:%s than BPF programs expect there",
						       expected[i].system, expected[i].event);
		strbuf_deinit(&format);
	}
	return error;
}

struct error *bpf_pid_namespace(uint64_t *ret_device, uint64_t *ret_inode)
{
	struct stat status;
	if (stat("/proc/self/ns/pid", &status) < 0)
		return error_system(errno, "/proc/self/ns/pid");
	*ret_device = status.st_dev;
	*ret_inode = status.st_ino;
	return NULL;
}
