/* perf timechart record: `perf record` with the events of a timechart. */
#include "app/command.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cmd/timechart/timechart.h"
#include "kernel/tracing/tracefs.h"

#include <stdlib.h>
#include <string.h>

#define R struct timechart_recorded
const struct option timechart_record_table[] = {
	OPTION_FLAG('P', "power-only", R, power_only, "record only what CPUs do: idle states and frequencies"),
	OPTION_FLAG('T', "tasks-only", R, tasks_only, "record only what tasks do: switches and wake-ups"),
	OPTION_FLAG('I', "io-only", R, io_only, "record only system calls that move data, or wait for some"),
	OPTION_FLAG('g', "callchain", R, stacks, "record stacks, too"),
	OPTION_END,
};

/* ---- events ---- */

static const char *const task_events[] = {"sched_wakeup", "sched_switch", NULL};
static const char *const power_events[] = {"cpu_frequency", "cpu_idle", NULL};
static const char *const calls[] = {
	"read",	    "pread64",	       "readv",	     "preadv",	  "preadv2", "write",	 "pwrite64", "writev",	"pwritev", "pwritev2",
	"sync",	    "sync_file_range", "fsync",	     "fdatasync", "msync",   "recvfrom", "recvmmsg", "recvmsg", "sendto",  "sendmsg",
	"sendmmsg", "epoll_pwait",     "epoll_wait", "poll",	  "ppoll",   "pselect6", "select",   NULL,
};

/* Those that this kernel has. */
static void add_events(struct strbuf *out, const char *tracefs, const char *system, const char *prefix, const char *const *names)
{
	for (; *names; names++) {
		struct strbuf name = {0};
		int id;
		strbuf_printf(&name, "%s%s", prefix, *names);
		if (tracefs_event_id(tracefs, system, strbuf_str(&name), &id))
			strbuf_printf(out, "%s%s:%s", out->len ? "," : "", system, strbuf_str(&name));
		strbuf_deinit(&name);
	}
}

static struct error *choose_events(const struct timechart_recorded *wanted, struct strbuf *out)
{
	cleanup_free char *tracefs = NULL;
	struct error *error = tracefs_find("", &tracefs);
	if (error)
		return error;
	if (wanted->io_only) {
		add_events(out, tracefs, "syscalls", "sys_enter_", calls);
		add_events(out, tracefs, "syscalls", "sys_exit_", calls);
		return out->len ? NULL : error_new("this kernel has no events of system calls (CONFIG_FTRACE_SYSCALLS)");
	}
	if (!wanted->power_only)
		add_events(out, tracefs, "sched", "", task_events);
	if (!wanted->tasks_only)
		add_events(out, tracefs, "power", "", power_events);
	return out->len ? NULL : error_new("this kernel has none of the events of a timechart (sched:*, power:*)");
}

/* ---- options ---- */

static bool takes(struct timechart_recorded *wanted, char letter)
{
	const struct {
		char letter;
		bool *flag;
	} flags[] = {{'P', &wanted->power_only}, {'T', &wanted->tasks_only}, {'I', &wanted->io_only}, {'g', &wanted->stacks}};
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		if (flags[i].letter == letter) {
			*flags[i].flag = true;
			return true;
		}
	}
	return false;
}

/* "-T", "-gT", "--tasks-only": false when a letter isn't ours. */
static bool take_word(struct timechart_recorded *wanted, const char *word)
{
	for (const struct option *option = timechart_record_table; option->kind == OPTION_KIND_FLAG; option++)
		if (!strncmp(word, "--", 2) && !strcmp(word + 2, option->long_name))
			return takes(wanted, option->short_name);
	struct timechart_recorded taken = *wanted;
	if (word[0] != '-' || !word[1] || word[1] == '-')
		return false;
	for (const char *letter = word + 1; *letter; letter++)
		if (!takes(&taken, *letter))
			return false;
	*wanted = taken;
	return true;
}

int timechart_take_letters(int argc, char **argv, struct timechart_recorded *wanted)
{
	int at = 1;
	while (at < argc && take_word(wanted, argv[at]))
		at++;
	return at;
}

struct error *timechart_record(struct timechart_recorded *wanted, int argc, char **argv, int *ret_status)
{
	static const char *const always[] = {"record", "-a", "-R", "-c", "1", "-e"};
	const struct option *others = command_find("record")->options;
	struct strbuf events = {0};
	VEC(char *) words = {0};
	int at = 1, span;
	while (at < argc) {
		if (take_word(wanted, argv[at])) {
			at++;
			continue;
		}
		if (argv[at][0] != '-' || !strcmp(argv[at], "--") || (span = options_span(others, argv + at)) <= 0)
			break;
		for (int end = at + span; at < end && at < argc; at++)
			vec_push(&words, argv[at]);
	}
	for (; at < argc; at++)
		vec_push(&words, argv[at]);
	struct error *error = NULL;
	if (wanted->power_only && wanted->tasks_only)
		error = error_new_kind(ERROR_USAGE, "-P and -T cannot be combined: they leave nothing to record");
	if (!error && wanted->io_only && (wanted->power_only || wanted->tasks_only))
		error = error_new_kind(ERROR_USAGE, "-I records system calls alone: omit -P and -T");
	if (!error)
		error = choose_events(wanted, &events);
	VEC(const char *) before = {0};
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		vec_push(&before, always[i]);
	vec_push(&before, strbuf_str(&events));
	if (wanted->io_only) /* its own system calls would make it write more, without end */
		vec_push(&before, "--exclude-perf");
	if (wanted->stacks)
		vec_push(&before, "-g");
	if (!error)
		error = command_run_with(before.data, before.len, words.data, (int)words.len, ret_status);
	vec_deinit(&before);
	strbuf_deinit(&events);
	vec_deinit(&words);
	return error;
}
