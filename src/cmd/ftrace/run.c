/* One tracing: everything is set up, the command is let go, lines are handed on until it has ended, and everything is put back. */
#include "app/command.h"
#include "app/ending.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "cmd/ftrace/ftrace.h"
#include "kernel/poller.h"
#include "kernel/tracing/tracefs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum tag { TAG_SIGNAL, TAG_TEXT, TAG_DELAY };
enum { CHUNK = 1 << 16, LONGEST_LINE = 1 << 16 };

struct tracing {
	struct function_tracer *tracer; /* or: */
	struct bpf_function_latency *bpf;
	struct poller poller;
	struct workload workload;
	struct strbuf rest; /* the beginning of a line */
	ftrace_visitor *visit;
	void *context;
	int signal; /* that ended it; 0 = none */
	bool done;
	struct error *error;
};

/* Whole lines go to the visitor; what is behind them waits for its end. A line that never ends is dropped. */
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

/* Begins or ends tracing, by whichever means. */
static struct error *switch_on(struct tracing *tracing, bool on)
{
	if (tracing->bpf)
		bpf_function_latency_switch(tracing->bpf, on);
	return tracing->bpf ? NULL : function_tracer_switch(tracing->tracer, on);
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

/* The command's end, or whoever wants us to end. */
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

/* Text is handed on as it comes. */
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
				tracing->error = switch_on(tracing, true);
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

/* In tracefs, where this user may. */
static struct error *open_kernels_tracer(const struct function_tracer_options *options, struct tracing *tracing)
{
	cleanup_free char *tracefs = NULL;
	struct error *error = tracefs_find("", &tracefs);

	return error ? error : function_tracer_open(tracefs, options, &tracing->tracer);
}

/* For the one function of -T. The command counts as a target of its own. */
static struct error *open_bpf(const struct ftrace_options *options, const struct function_tracer_options *own, bool command,
			      struct tracing *tracing)
{
	const struct bpf_function_latency_options settings = {.config = {.in_ns = options->in_ns,
									 .by_task = own->pid_count || (command && !options->system_wide),
									 .on_cpus = own->cpu_count != 0},
							      .targets = own->pid_count + 1,
							      .cpus = own->cpus,
							      .cpu_count = own->cpu_count};
	struct error *error = bpf_function_latency_open(own->functions.items.data[0], &settings, &tracing->bpf);

	for (size_t i = 0; !error && i < own->pid_count; i++)
		error = bpf_function_latency_add_target(tracing->bpf, own->pids[i]);
	if (!error && settings.config.by_task && command)
		error = bpf_function_latency_add_target(tracing->bpf, tracing->workload.pid);
	return error ? error : bpf_function_latency_start(tracing->bpf);
}

/* Targets and CPUs as lists; they are needed only here. */
static struct error *open_tracer(const struct ftrace_options *options, bool command, struct tracing *tracing)
{
	struct function_tracer_options own = options->tracing;
	struct pid_list pids = {0};
	cleanup_free int *cpus = NULL;
	struct error *error = find_targets(options, &pids);

	if (!error && options->cpus && !number_parse_list(options->cpus, &cpus, &own.cpu_count))
		error = error_new_kind(ERROR_USAGE, "-C: invalid list of CPUs '%s': expected a list such as 0-3,7", options->cpus);
	own.pids = pids.data;
	own.pid_count = pids.len;
	own.cpus = cpus;
	own.tracer = options->tracer;
	if (!error)
		error = options->use_bpf ? open_bpf(options, &own, command, tracing) : open_kernels_tracer(&own, tracing);
	vec_deinit(&pids);
	return error;
}

/* What came before the end, and a warning of what was lost. */
static void read_rest(struct tracing *tracing)
{
	read_text(tracing);
	uint64_t lost = function_tracer_lost(tracing->tracer);
	if (lost)
		log_warning("%llu entries were lost because the kernel's buffer was full. Use a larger buffer (-m 64M) or trace fewer "
			    "functions (-T)",
			    (unsigned long long)lost);
}

static struct error *trace(const struct ftrace_options *options, char **command, struct strbuf *header, struct tracing *tracing)
{
	struct error *error = NULL;

	if (!tracing->bpf && command && !options->system_wide && tracing->workload.pid)
		error = function_tracer_add_pid(tracing->tracer, tracing->workload.pid);
	if (error)
		return error;
	if (header)
		function_tracer_add_header(tracing->tracer, header);
	if (tracing->tracer)
		poller_watch(&tracing->poller, function_tracer_fd(tracing->tracer), EPOLLIN, TAG_TEXT);
	cleanup_close int timer = options->delay_ms ? poller_timer(&tracing->poller, options->delay_ms * 1000000, 0, TAG_DELAY) : -1;
	if (timer < 0)
		error = switch_on(tracing, true);
	if (!error && command)
		error = workload_release(&tracing->workload);
	if (error)
		return error;
	wait_for_end(tracing);
	error = switch_on(tracing, false);
	if (tracing->tracer)
		read_rest(tracing);
	if (tracing->error) {
		error_free(error);
		error = tracing->error;
	}
	return error;
}

static void take_sums(const struct tracing *tracing, struct function_latency_sums *ret)
{
	uint64_t missed = bpf_function_latency_missed(tracing->bpf);

	bpf_function_latency_read(tracing->bpf, ret);
	if (missed)
		log_warning("%llu calls could not be measured: they were nested too deeply, or memory ran out", (unsigned long long)missed);
}

/* `tracing` has what becomes of the text. `ret_sums`: of a BPF program, else NULL. */
static struct error *run(const struct ftrace_options *options, char **command, struct strbuf *header, struct tracing *tracing,
			 struct function_latency_sums *ret_sums, int *ret_status)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, 0};
	struct error *error = command ? workload_start(&tracing->workload, command, false) : NULL;

	if (error)
		return error;
	poller_open(&tracing->poller);
	poller_take_signals(&tracing->poller, signals, TAG_SIGNAL);
	error = open_tracer(options, command, tracing);
	if (!error)
		error = trace(options, command, header, tracing);
	if (!error && ret_sums)
		take_sums(tracing, ret_sums);
	function_tracer_close(tracing->tracer);
	bpf_function_latency_close(tracing->bpf);
	workload_stop(&tracing->workload);
	poller_close(&tracing->poller);
	if (!error)
		*ret_status = ending_status(ENDING_TRACE, &tracing->workload, tracing->signal);
	workload_deinit(&tracing->workload);
	strbuf_deinit(&tracing->rest);
	return error;
}

struct error *ftrace_run(const struct ftrace_options *options, char **command, struct strbuf *header, ftrace_visitor *visit, void *context,
			 int *ret_status)
{
	struct tracing tracing = {.visit = visit, .context = context};

	return run(options, command, header, &tracing, NULL, ret_status);
}

struct error *ftrace_run_bpf(const struct ftrace_options *options, char **command, struct function_latency_sums *ret_sums, int *ret_status)
{
	struct tracing tracing = {0};

	return run(options, command, NULL, &tracing, ret_sums, ret_status);
}
