/* One tracing: everything is set up, the command is let go, lines are handed on until it has ended, and everything is put back. */
#include "app/command.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "cmd/ftrace.h"
#include "kernel/poller.h"
#include "kernel/tracefs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum tag { TAG_SIGNAL, TAG_TEXT, TAG_DELAY };
enum { CHUNK = 1 << 16, LONGEST_LINE = 1 << 16 };

struct tracing {
	struct function_tracer *tracer;
	struct poller poller;
	struct workload workload;
	struct strbuf rest; /* the beginning of a line */
	ftrace_visitor *visit;
	void *context;
	int signal; /* that ended it; 0 = none */
	bool done;
	struct error *error;
};

static void hand_on_lines(struct tracing *tracing)
{
	const char *at = strbuf_str(&tracing->rest), *end = at + tracing->rest.len, *newline;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		tracing->visit(tracing->context, at, (size_t)(newline - at));
		at = newline + 1;
	}
	size_t left = (size_t)(end - at);
	if (left > LONGEST_LINE)
		left = 0;
	if (left)
		memmove(tracing->rest.data, at, left);
	tracing->rest.len = left;
}

/* All that is there now. */
static void read_text(struct tracing *tracing)
{
	ssize_t got;

	while ((got = read(function_tracer_fd(tracing->tracer), strbuf_reserve(&tracing->rest, CHUNK), CHUNK)) > 0) {
		strbuf_advance(&tracing->rest, (size_t)got);
		hand_on_lines(tracing);
	}
}

static void take_signals(struct tracing *tracing)
{
	struct signalfd_siginfo info;

	while (poller_next_signal(&tracing->poller, &info)) {
		if (info.ssi_signo == SIGCHLD) {
			tracing->done |= tracing->workload.pid && workload_ended(&tracing->workload);
			continue;
		}
		tracing->signal = (int)info.ssi_signo;
		tracing->done = true;
	}
}

static void wait_for_end(struct tracing *tracing)
{
	struct epoll_event events[4];

	while (!tracing->done && !tracing->error) {
		int count = poller_wait(&tracing->poller, events, 4);
		for (int i = 0; i < count; i++) {
			if (events[i].data.u64 == TAG_SIGNAL)
				take_signals(tracing);
			else if (events[i].data.u64 == TAG_TEXT)
				read_text(tracing);
			else if (events[i].data.u64 == TAG_DELAY)
				tracing->error = function_tracer_switch(tracing->tracer, true);
		}
		if (count < 0)
			tracing->error = error_system(errno, "waiting");
	}
}

/* The threads that are traced besides the command's. */
static struct error *find_targets(const struct ftrace_options *options, struct pid_list *ret)
{
	struct pid_list pids = {0};
	struct error *error = NULL;

	if (options->pids)
		error = proc_parse_pids(options->pids, false, &pids);
	for (size_t i = 0; !error && i < pids.len; i++)
		error = proc_threads(pids.data[i], ret);
	vec_deinit(&pids);
	if (!error && options->tids) {
		struct pid_list tids = {0};
		error = proc_parse_pids(options->tids, true, &tids);
		for (size_t i = 0; i < tids.len; i++)
			vec_push(ret, tids.data[i]);
		vec_deinit(&tids);
	}
	return error;
}

static struct error *open_tracer(const struct ftrace_options *options, struct tracing *tracing)
{
	struct function_tracer_options own = options->tracing;
	struct pid_list pids = {0};
	cleanup_free int *cpus = NULL;
	cleanup_free char *tracefs = NULL;
	struct error *error = find_targets(options, &pids);

	if (!error && options->cpus && !number_parse_list(options->cpus, &cpus, &own.cpu_count))
		error = error_new_kind(ERROR_USAGE, "-C '%s': CPUs are a list such as 0-3,7", options->cpus);
	if (!error)
		error = tracefs_find("", &tracefs);
	own.pids = pids.data;
	own.pid_count = pids.len;
	own.cpus = cpus;
	own.tracer = options->tracer;
	if (!error)
		error = function_tracer_open(tracefs, &own, &tracing->tracer);
	vec_deinit(&pids);
	return error;
}

static struct error *trace(const struct ftrace_options *options, char **command, struct strbuf *header, struct tracing *tracing)
{
	struct error *error = NULL;

	if (command && !options->system_wide && tracing->workload.pid)
		error = function_tracer_add_pid(tracing->tracer, tracing->workload.pid);
	if (error)
		return error;
	if (header)
		function_tracer_add_header(tracing->tracer, header);
	poller_watch(&tracing->poller, function_tracer_fd(tracing->tracer), EPOLLIN, TAG_TEXT);
	cleanup_close int timer = options->delay_ms ? poller_timer(&tracing->poller, options->delay_ms * 1000000, 0, TAG_DELAY) : -1;
	if (timer < 0)
		error = function_tracer_switch(tracing->tracer, true);
	if (!error && command)
		error = workload_release(&tracing->workload);
	if (error)
		return error;
	wait_for_end(tracing);
	error = function_tracer_switch(tracing->tracer, false);
	read_text(tracing);
	uint64_t lost = function_tracer_lost(tracing->tracer);
	if (lost)
		log_warning("%llu entries were lost: the kernel's buffer was full. A larger one (-m 64M) or fewer functions (-T) mend that",
			    (unsigned long long)lost);
	if (tracing->error) {
		error_free(error);
		error = tracing->error;
	}
	return error;
}

static void take_status(const struct tracing *tracing, int *ret_status)
{
	const struct workload *workload = &tracing->workload;

	if (tracing->signal)
		*ret_status = COMMAND_ENDS_BY_SIGNAL + tracing->signal;
	else if (workload->pid && workload->waited)
		*ret_status =
			WIFEXITED(workload->status) ? WEXITSTATUS(workload->status) : COMMAND_ENDS_BY_SIGNAL + WTERMSIG(workload->status);
}

struct error *ftrace_run(const struct ftrace_options *options, char **command, struct strbuf *header, ftrace_visitor *visit, void *context,
			 int *ret_status)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, 0};
	struct tracing tracing = {.visit = visit, .context = context};
	struct error *error = command ? workload_start(&tracing.workload, command, false) : NULL;

	if (error)
		return error;
	poller_open(&tracing.poller);
	poller_take_signals(&tracing.poller, signals, TAG_SIGNAL);
	error = open_tracer(options, &tracing);
	if (!error)
		error = trace(options, command, header, &tracing);
	function_tracer_close(tracing.tracer);
	workload_stop(&tracing.workload);
	poller_close(&tracing.poller);
	if (!error)
		take_status(&tracing, ret_status);
	workload_deinit(&tracing.workload);
	strbuf_deinit(&tracing.rest);
	return error;
}
