/* perf trace live, with the BPF program: its ring is emptied when it is a quarter full, and ten times a second. */
#include "cmd/trace/trace.h"

#include "analysis/syscalls/syscall_sums.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/output.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/trace/program.h"
#include "kernel/cgroups.h"
#include "kernel/poller.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { TICK_MS = 100, IDLE_TICKS = 5, ENDED_KEPT = 10000 };

struct live {
	struct trace *trace;
	struct trace_program program;
	int epoll, signals;
	bool stop;
	uint64_t lost; /* what has been told */
	/* The threads that ended last: calls of others may still name them. */
	uint32_t ended[ENDED_KEPT]; /* by number, in a circle */
	uint64_t ended_count;
	struct map64 ended_numbers; /* tid → number */
};

static void live_deinit(struct live *live)
{
	trace_program_close(&live->program);
	map64_deinit(&live->ended_numbers);
	cleanup_close_fd(&live->epoll);
	cleanup_close_fd(&live->signals);
}

static struct error *watch(struct live *live)
{
	struct epoll_event ring = {.events = EPOLLIN | EPOLLET}, signals = {.events = EPOLLIN, .data.u32 = 1};
	static const int list[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, 0};

	live->signals = poller_signal_fd(list);
	live->epoll = epoll_create1(EPOLL_CLOEXEC);
	/* Edge-triggered: the ring is readable with its first byte, but we are to be woken only when the program says so. */
	if (live->signals < 0 || live->epoll < 0 ||
	    epoll_ctl(live->epoll, EPOLL_CTL_ADD, bpf_syscalls_fd(live->program.syscalls), &ring) < 0 ||
	    epoll_ctl(live->epoll, EPOLL_CTL_ADD, live->signals, &signals) < 0)
		return error_system(errno, "waiting for system calls");
	return NULL;
}

/* ---- following ---- */

void trace_show_mark(const struct trace *trace, const struct thread_record *thread, const char *name, const char *mark,
		     const struct strbuf *detail)
{
	cleanup_free char *text = mem_printf("%s %s %s", mark, detail->data, mark);

	trace_printer_event(
		trace->printer,
		&(struct trace_line){
			.time = thread->time, .pid = thread->pid, .tid = thread->tid, .name = name, .detail = detail->data, .text = text});
}

void trace_show_signal(const struct trace *trace, const struct signal_record *record)
{
	struct strbuf detail = {0};

	syscall_add_signal(record->number, record->info, sizeof(record->info), &detail);
	trace_show_mark(trace, &record->thread, "signal", "---", &detail);
	strbuf_deinit(&detail);
}

void trace_show_exit(const struct trace *trace, const struct exit_record *record)
{
	struct strbuf detail = {0};

	syscall_add_end(record->status, &detail);
	trace_show_mark(trace, &record->thread, "exit", "+++", &detail);
	strbuf_deinit(&detail);
}

/* The printer forgets a thread when so many others have ended since, and its id isn't used again. */
static void note_end(struct live *live, uint32_t tid)
{
	uint64_t number = live->ended_count++;
	uint32_t *place = &live->ended[number % ENDED_KEPT];
	const uint64_t *known = number >= ENDED_KEPT ? map64_find(&live->ended_numbers, *place) : NULL;

	if (known && *known == number - ENDED_KEPT) {
		trace_printer_forget(live->trace->printer, *place);
		map64_remove(&live->ended_numbers, *place);
	}
	*place = tid;
	*map64_insert(&live->ended_numbers, tid, NULL) = number;
}

static void take_record(struct live *live, const struct syscalls_record *record)
{
	struct trace_printer *printer = live->trace->printer;
	struct syscall_sums *sums = live->trace->sums;
	const struct thread_record *thread = (const struct thread_record *)(const void *)record;
	struct syscall call;
	enum trace_news news = trace_syscalls_take(live->program.calls, record, &call);
	uint64_t lost = trace_syscalls_lost(live->program.calls);

	if (lost && printer)
		trace_printer_lost(printer, lost);
	live->lost += lost;
	switch (news) {
	case TRACE_CALL:
		if (printer)
			trace_printer_call(printer, &call);
		if (sums && !syscall_never_returns(call.description))
			syscall_sums_add(sums, live->trace->options->summary_mode == TRACE_TOTAL ? 0 : call.tid, &call,
					 live->trace->options->histograms);
		break;
	case TRACE_WAIT:
		if (printer)
			trace_printer_wait(printer, &call);
		break;
	case TRACE_NAME:
		map64_remove(&live->ended_numbers, thread->tid);
		if (printer)
			trace_printer_name(printer, thread->pid, thread->tid,
					   untrusted(((const struct name_record *)(const void *)record)->name));
		if (sums && live->trace->options->summary_mode == TRACE_BY_THREAD)
			syscall_sums_name(sums, thread->tid, untrusted(((const struct name_record *)(const void *)record)->name));
		break;
	case TRACE_FORK:
		map64_remove(&live->ended_numbers, thread->tid);
		if (printer)
			trace_printer_fork(printer, thread->pid, thread->tid,
					   ((const struct fork_record *)(const void *)record)->parent_tid);
		if (sums && live->trace->options->summary_mode == TRACE_BY_THREAD)
			syscall_sums_inherit_name(sums, thread->tid, ((const struct fork_record *)(const void *)record)->parent_tid);
		break;
	case TRACE_EXIT:
		if (printer)
			trace_printer_exit(printer, thread->tid);
		if (live->trace->signals)
			trace_show_exit(live->trace, (const struct exit_record *)(const void *)record);
		if (printer)
			note_end(live, thread->tid);
		break;
	case TRACE_SIGNAL:
		trace_show_signal(live->trace, (const struct signal_record *)(const void *)record);
		break;
	case TRACE_NOTHING:
		break;
	}
}

static void take_signals(struct live *live)
{
	struct signalfd_siginfo info;

	while (read(live->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			live->stop |= live->trace->workload.pid && workload_ended(&live->trace->workload);
		} else {
			live->stop = true;
			live->trace->signal = (int)info.ssi_signo;
		}
	}
}

/* Empties the ring; returns how many records there were. While the trace goes on (not `last`) it may never be empty: signals end it all the
 * same. */
static struct error *drain(struct live *live, bool last, size_t *ret_count)
{
	struct trace_printer *printer = live->trace->printer;
	const struct syscalls_record *record;
	struct error *error = NULL;

	*ret_count = 0;
	while (!error && !(printer && trace_printer_done(printer)) && (record = bpf_syscalls_next(live->program.syscalls))) {
		take_record(live, record);
		if (++*ret_count % 1024)
			continue;
		if (printer)
			error = trace_printer_write(printer);
		if (!last)
			take_signals(live);
		if (!last && live->stop)
			break;
	}
	if (!error && printer)
		error = trace_printer_write(printer);
	live->stop |= printer && trace_printer_done(printer);
	return error;
}

/* Processes that were named and are all gone leave nothing to wait for. */
static bool targets_gone(const struct trace *trace)
{
	for (size_t i = 0; i < trace->targets.len; i++)
		if (kill(trace->targets.data[i], 0) == 0 || errno != ESRCH)
			return false;
	return trace->targets.len && !trace->workload.pid;
}

static struct error *follow(struct live *live)
{
	struct epoll_event events[4];
	unsigned int idle = 0;
	uint64_t delay = live->trace->options->delay_ms, begin = delay ? clock_now_ns(CLOCK_MONOTONIC) + delay * 1000000 : 0;
	size_t count = 0;
	struct error *error = NULL;

	while (!live->stop && !error) {
		if (begin && clock_now_ns(CLOCK_MONOTONIC) >= begin) {
			bpf_syscalls_pause(live->program.syscalls, false);
			begin = 0;
		}
		int ready = epoll_wait(live->epoll, events, 4, TICK_MS);
		if (ready < 0 && errno != EINTR)
			return error_system(errno, "epoll_wait");
		take_signals(live);
		live->stop |= targets_gone(live->trace);
		error = drain(live, false, &count);
		idle = count ? 0 : idle + 1;
		if (idle == IDLE_TICKS && live->trace->printer) {
			trace_printer_flush_waiting(live->trace->printer);
			if (!error)
				error = trace_printer_write(live->trace->printer);
		}
	}
	bpf_syscalls_stop(live->program.syscalls);
	if (!error)
		error = drain(live, true, &count);
	return error;
}

/* ---- the end ---- */

static void take_sum(struct live *live, const struct syscall_sum_key *key, const struct syscall_sum *sum,
		     const struct syscall_histogram *histogram)
{
	struct trace *trace = live->trace;
	enum trace_summary_mode mode = trace->options->summary_mode;
	struct syscall_owner *owner = syscall_sums_owner(trace->sums, mode == TRACE_TOTAL	? 0
								      : mode == TRACE_BY_CGROUP ? key->cgroup
												: key->tid);
	struct syscall_total *total = syscall_sums_total(owner, trace->table.calls[key->number % TRACE_NUMBERS]);

	owner->events += 2 * sum->calls;
	total->calls += sum->calls;
	total->errors += sum->errors;
	total->total += sum->total;
	total->squares += (double)sum->squares_high * 18446744073709551616.0 + (double)sum->squares_low;
	if (sum->shortest < total->shortest)
		total->shortest = sum->shortest;
	if (sum->longest > total->longest)
		total->longest = sum->longest;
	if (!trace->options->histograms)
		return;
	if (!total->slots)
		total->slots = mem_zalloc_array(SYSCALL_SUM_SLOTS, sizeof(*total->slots));
	for (unsigned int i = 0; i < SYSCALL_SUM_SLOTS; i++)
		total->slots[i] += histogram->calls[i];
}

static void name_cgroup(void *context, uint64_t id, const char *name)
{
	struct trace *trace = context;

	if (syscall_sums_has(trace->sums, id))
		syscall_sums_name(trace->sums, id, untrusted(name));
}

static void take_sums(struct live *live)
{
	struct trace *trace = live->trace;
	enum trace_summary_mode mode = trace->options->summary_mode;
	struct syscall_sum_key key = {0};
	struct syscall_sum sum;
	struct syscall_histogram histogram;
	struct syscall_errno_key error = {0};
	uint64_t count;

	for (bool first = true;
	     bpf_syscalls_next_sum(live->program.syscalls, first, &key, &sum, trace->options->histograms ? &histogram : NULL);
	     first = false)
		take_sum(live, &key, &sum, &histogram);
	for (bool first = true; trace->options->errno_summary && bpf_syscalls_next_error(live->program.syscalls, first, &error, &count);
	     first = false) {
		struct syscall_owner *owner = syscall_sums_owner(trace->sums, mode == TRACE_TOTAL	? 0
									      : mode == TRACE_BY_CGROUP ? error.call.cgroup
													: error.call.tid);
		syscall_total_add_error(syscall_sums_total(owner, trace->table.calls[error.call.number % TRACE_NUMBERS]), error.error,
					count);
	}
	if (mode == TRACE_BY_CGROUP)
		cgroups_visit(true, name_cgroup, trace);
}

static void tell_losses(struct live *live)
{
	uint64_t lost = bpf_syscalls_lost(live->program.syscalls), unsummed = bpf_syscalls_unsummed(live->program.syscalls);

	if (lost > live->lost && live->trace->printer)
		trace_printer_lost(live->trace->printer, lost - live->lost);
	trace_program_warn_of_losses(&live->program);
	if (unsummed)
		log_warning("%llu system calls are missing from the summary: there were too many threads and system calls to count "
			    "them separately.",
			    (unsigned long long)unsummed);
}

static struct error *check_map(const struct live *live)
{
	const char *name = live->trace->options->map_dump;
	struct strbuf names = {0};
	struct error *error = NULL;

	if (name && !bpf_syscalls_has_map(live->program.syscalls, name, &names))
		error = error_new_kind(ERROR_USAGE, "--map-dump: the BPF program has no map '%s'; choose one of %s", name,
				       strbuf_str(&names));
	strbuf_deinit(&names);
	return error;
}

/* Behind the lines. */
static struct error *dump_map(const struct live *live)
{
	struct strbuf text = {0};
	bool closed = false;
	struct error *error = live->trace->printer ? trace_printer_write(live->trace->printer) : NULL;

	bpf_syscalls_dump_map(live->program.syscalls, live->trace->options->map_dump, &text);
	if (!error)
		error = output_write(live->trace->output, strbuf_str(&text), text.len, "the trace", &closed);
	strbuf_deinit(&text);
	return error;
}

struct error *trace_live(struct trace *trace)
{
	struct live live = {.trace = trace, .epoll = -1, .signals = -1};
	struct error *error = trace_program_open(trace, 0, &live.program);

	if (!error)
		error = check_map(&live);
	if (!error && trace->options->delay_ms) /* before the command can do anything */
		bpf_syscalls_pause(live.program.syscalls, true);
	if (!error) /* from now on a signal ends the trace, with all that it has seen */
		error = watch(&live);
	if (!error)
		error = bpf_syscalls_start(live.program.syscalls);
	if (!error && trace->workload.pid)
		error = workload_release(&trace->workload);
	if (!error)
		error = follow(&live);
	if (!error && trace->printer)
		trace_printer_flush_waiting(trace->printer);
	if (!error && trace->sums && trace->options->summary)
		take_sums(&live);
	if (!error)
		tell_losses(&live);
	if (!error && trace->options->map_dump)
		error = dump_map(&live);
	live_deinit(&live);
	return error;
}
