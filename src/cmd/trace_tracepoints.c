/* Tracing by recording (trace_tracepoints.h). We record, as `perf record` does, into a pipe; a process of our own reads it and shows what happened. So the
 * workload and the signals are the recorder's, and what is live and what is recorded goes one way.
 *
 *	workload ──► rings ──► recorder (this process) ──► pipe ──► trace_replay() (the other one)
 */
#include "cmd/trace_tracepoints.h"

#include "app/command.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/record.h"
#include "cmd/trace_replay.h"
#include "cmd/trace_strings.h"
#include "event/parse.h"
#include "session/attached.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_NUMBERS = 100, FILTER_LIMIT = 3500, RING_PAGES = 1024 };

/* The words of a command line for `perf record`. */
struct words {
	VEC(char *) list;
	struct arena texts;
};

static void add(struct words *words, const char *first, const char *second)
{
	vec_push(&words->list, arena_strdup(&words->texts, first));
	if (second)
		vec_push(&words->list, arena_strdup(&words->texts, second));
}

static void add_if(struct words *words, const char *option, const char *argument)
{
	if (argument)
		add(words, option, argument);
}

/* ---- what is recorded ---- */

/* Those who are left out: the process that shows, who carries our output away, and --filter-pids. The kernel takes a page of text; the rest is left out when
 * it is shown. */
static void add_left_out(const struct trace *trace, pid_t shower, struct strbuf *filter)
{
	for (size_t i = 0; i < trace->left_out.len && filter->len < FILTER_LIMIT; i++)
		strbuf_printf(filter, "%scommon_pid != %d", filter->len ? " && " : "", (int)trace->left_out.data[i]);
	if (shower)
		strbuf_printf(filter, "%scommon_pid != %d", filter->len ? " && " : "", (int)shower);
}

/* The numbers of the calls that are wanted, or of those that aren't, when there are few. */
static void add_numbers(const struct trace_table *table, struct strbuf *filter)
{
	struct strbuf numbers = {0};
	unsigned int wanted = 0;

	for (unsigned int i = 0; i < SYSCALL_NUMBERS; i++)
		wanted += table->selected[i];
	bool is_wanted = wanted <= MOST_NUMBERS;
	if (!is_wanted && SYSCALL_NUMBERS - wanted > MOST_NUMBERS)
		return;
	for (unsigned int i = 0; i < SYSCALL_NUMBERS; i++)
		if (table->selected[i] == is_wanted)
			strbuf_printf(&numbers, "%sid %s %u", numbers.len ? is_wanted ? " || " : " && " : "", is_wanted ? "==" : "!=", i);
	if (numbers.len && filter->len + numbers.len < FILTER_LIMIT)
		strbuf_printf(filter, filter->len ? " && (%s)" : "%s", strbuf_str(&numbers));
	strbuf_deinit(&numbers);
}

static void add_calls(const struct trace *trace, pid_t shower, struct words *words)
{
	static const char *const events[] = {"raw_syscalls:sys_enter/call-graph=no/", "raw_syscalls:sys_exit"};
	struct strbuf filter = {0};

	if (shower)
		add_left_out(trace, shower, &filter);
	add_numbers(&trace->table, &filter);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		add(words, "-e", events[i]);
		if (filter.len)
			add(words, "--filter", strbuf_str(&filter));
		if (shower)
			add(words, "--exclude-perf", NULL);
	}
	strbuf_deinit(&filter);
}

static bool are_tracepoints(const struct trace *trace, const char *text)
{
	struct event_list list = {0};
	struct error *error = event_words_apply(&(struct event_words){.data = &(struct event_word){.kind = WORD_EVENT, .text = text}, .len = 1}, &list,
						trace->catalog, true);
	bool all = !error;

	for (size_t i = 0; i < list.events.len; i++)
		all &= list.events.data[i]->attr.type == PERF_TYPE_TRACEPOINT;
	error_free(error);
	event_list_deinit(&list);
	return all;
}

static void add_others(const struct trace *trace, pid_t shower, struct words *words)
{
	const struct event_words *events = &trace->events.words;
	struct strbuf filter = {0};

	add_left_out(trace, shower, &filter);
	for (size_t i = 0; i < events->len; i++) {
		const struct event_word *word = &events->data[i];
		add(words, word->kind == WORD_EVENT ? "-e" : "--filter", word->text);
		if (word->kind != WORD_EVENT || !shower || !are_tracepoints(trace, word->text))
			continue;
		if (filter.len)
			add(words, "--filter", strbuf_str(&filter));
		add(words, "--exclude-perf", NULL);
	}
	strbuf_deinit(&filter);
}

/* `shower`: the process that reads, 0 = none. */
static void add_events(const struct trace *trace, pid_t shower, struct words *words)
{
	const struct trace_options *options = trace->options;

	if (trace->calls)
		add_calls(trace, shower, words);
	if (options->faults & TRACE_MAJOR_FAULTS)
		add(words, "-e", "major-faults/period=1/");
	if (options->faults & TRACE_MINOR_FAULTS)
		add(words, "-e", "minor-faults/period=1/");
	if (options->faults)
		add(words, "-d", NULL); /* addresses */
	add_others(trace, shower, words);
	if (options->sched)
		add(words, "-e", "sched:sched_stat_runtime");
	if (options->summary_mode == TRACE_BY_CGROUP)
		add(words, "--all-cgroups", NULL);
	if (options->call_graph || options->flamegraph)
		add(words, "--call-graph", options->call_graph ? options->call_graph : "fp");
}

static void add_target(const struct trace *trace, struct words *words)
{
	const struct trace_options *options = trace->options;
	char number[32];

	if (options->system_wide)
		add(words, "-a", NULL);
	add_if(words, "-p", options->pids);
	add_if(words, "-t", options->tids);
	add_if(words, "-u", options->user);
	add_if(words, "-C", options->cpus);
	add_if(words, "-G", options->cgroup);
	if (options->no_inherit)
		add(words, "--no-inherit", NULL);
	snprintf(number, sizeof(number), "%llu", (unsigned long long)options->delay_ms);
	add_if(words, "-D", options->delay_ms ? number : NULL);
	snprintf(number, sizeof(number), "%llu", (unsigned long long)options->map_timeout_ms);
	add_if(words, "--proc-map-timeout", options->map_timeout_ms ? number : NULL);
	size_t pages = options->ring_bytes / (size_t)sysconf(_SC_PAGESIZE);
	snprintf(number, sizeof(number), "%zu", options->ring_bytes ? pages : (size_t)RING_PAGES);
	add(words, "-m", number);
}

/* ---- the process that shows ---- */

enum { REPORT_FINE = -1, REPORT_ENOUGH = -2 };

/* What it has to tell at its end. */
struct report {
	int32_t kind; /* of its error, or REPORT_FINE, REPORT_ENOUGH */
	char text[4000];
};

struct shower {
	pid_t pid;
	int data, report; /* we write to the one and read from the other */
};

static void show(struct trace *trace, int data, int report)
{
	cleanup_free char *path = mem_printf("/proc/self/fd/%d", data);
	struct report what = {.kind = REPORT_FINE};

	signal(SIGINT, SIG_IGN); /* the stream ends when the recorder does */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	struct error *error = trace->wants_strings ? trace_strings_open(trace, getppid(), &trace->strings) : NULL;
	ssize_t written = write(report, "", 1); /* the recorder waits for that */
	if (!error)
		error = trace_replay(trace, path, true);
	if (!error)
		error = trace_show_end(trace);
	if (error) {
		what.kind = error_kind(error);
		snprintf(what.text, sizeof(what.text), "%s", error_message(error));
	} else if (trace->printer && trace_printer_done(trace->printer)) {
		what.kind = REPORT_ENOUGH;
	}
	written = write(report, &what, offsetof(struct report, text) + strlen(what.text) + 1);
	trace_strings_close(trace->strings);
	close(data);
	_exit(written < 0);
}

static struct error *start_shower(struct trace *trace, struct shower *ret)
{
	int data[2], report[2];

	if (pipe2(data, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0)
		return error_system(errno, "pipe");
	fcntl(data[1], F_SETPIPE_SZ, 1 << 20);
	pid_t pid = fork();
	if (pid < 0)
		return error_system(errno, "fork");
	if (!pid) {
		close(data[1]);
		close(report[0]);
		show(trace, data[0], report[1]);
	}
	close(data[0]);
	close(report[1]);
	*ret = (struct shower){.pid = pid, .data = data[1], .report = report[0]};
	char ready;
	while (read(report[0], &ready, 1) < 0 && errno == EINTR)
		;
	return NULL;
}

static struct error *end_shower(struct shower *shower, bool *ret_enough)
{
	struct report what = {.kind = ERROR_OTHER, .text = "the process that shows the trace has died"};
	size_t got = 0;
	ssize_t more;

	close(shower->data);
	while ((more = read(shower->report, (char *)&what + got, sizeof(what) - 1 - got)) > 0 || (more < 0 && errno == EINTR))
		got += more > 0 ? (size_t)more : 0;
	close(shower->report);
	while (waitpid(shower->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*ret_enough = what.kind == REPORT_ENOUGH;
	return what.kind < 0 ? NULL : error_new_kind((enum error_kind)what.kind, "%s", what.text);
}

/* ---- both ---- */

/* BPF programs of others may hide what we are to show. */
static struct error *warn_of_programs(const struct trace *trace)
{
	struct event_list calls = {0};
	struct error *error = trace->calls ? event_parse(&calls, trace->catalog, "raw_syscalls:sys_enter,raw_syscalls:sys_exit") : NULL;

	if (!error) {
		attached_warn(&calls, NULL);
		attached_warn(&trace->events.list, NULL);
	}
	event_list_deinit(&calls);
	return error;
}

struct error *trace_by_tracepoints(struct trace *trace, char **command, int *ret_status)
{
	struct words words = {0};
	struct shower shower = {0};
	bool enough = false;
	struct error *error = warn_of_programs(trace);

	if (!error)
		error = start_shower(trace, &shower);

	if (error)
		return error;
	cleanup_free char *path = mem_printf("/proc/self/fd/%d", shower.data);
	add(&words, "record", "-q");
	add(&words, "-o", path);
	add(&words, "-B", "-N");
	if (trace->wants_strings)
		add(&words, "-k", "mono");
	add_events(trace, shower.pid, &words);
	add_target(trace, &words);
	add(&words, "--", NULL);
	for (; *command; command++)
		add(&words, *command, NULL);
	vec_push(&words.list, NULL);
	enum log_level level = log_level();
	error = record_feed((int)words.list.len - 1, words.list.data, shower.pid, ret_status);
	log_set_level(level); /* record's -q is not ours */
	struct error *shown = end_shower(&shower, &enough);
	if (enough) {
		error_free(error);
		error = NULL;
		*ret_status = 0;
	} else if (!error) {
		error = shown;
		shown = NULL;
	}
	error_free(shown);
	vec_deinit(&words.list);
	arena_deinit(&words.texts);
	return error;
}

struct error *trace_record(struct trace *trace, char **rest, int *ret_status)
{
	struct words words = {0};

	add(&words, "record", "-R");
	add_if(&words, "-o", trace->options->output);
	add_events(trace, 0, &words);
	add_target(trace, &words);
	for (; *rest; rest++)
		add(&words, *rest, NULL);
	vec_push(&words.list, NULL);
	struct error *error = command_find("record")->run((int)words.list.len - 1, words.list.data, ret_status);
	vec_deinit(&words.list);
	arena_deinit(&words.texts);
	return error;
}
