/* The kernel's tracepoint of a thread's end has no status (include/trace/events/sched.h): it is what the thread or its process passed to
 * exit() or exit_group(), or the signal whose default action ended it (signal(7)), whichever came first. A signal that ends a process
 * reaches its threads as a SIGKILL of the kernel's own, so that which it was has to be known from when it was sent; and what is ignored is
 * never delivered (kernel/signal.c, complete_signal() and sig_ignored()). */
#include "cmd/trace/ends.h"

#include "analysis/syscalls/syscall.h"

#include <signal.h>

void trace_ends_deinit(struct trace_ends *ends)
{
	map64_deinit(&ends->statuses);
	map64_deinit(&ends->sent);
}

static uint64_t key_of(uint32_t id, bool whole)
{
	return (uint64_t)id << 1 | whole;
}

/* The first stays. */
static void note(struct trace_ends *ends, uint64_t key, uint32_t status)
{
	bool is_new;
	uint64_t *slot = map64_insert(&ends->statuses, key, &is_new);

	if (is_new)
		*slot = status;
}

void trace_ends_note_exit(struct trace_ends *ends, uint32_t pid, uint32_t tid, bool whole, uint64_t argument)
{
	note(ends, key_of(whole ? pid : tid, whole), (uint32_t)(argument & 0xff) << 8);
}

static bool ends_by_default(uint64_t number)
{
	switch (number) {
	case SIGCHLD:
	case SIGCONT:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case SIGURG:
	case SIGWINCH:
		return false;
	default:
		return true;
	}
}

static uint64_t read_field(const struct tracepoint *tracepoint, const char *name, const struct sample *sample)
{
	const struct tracepoint_field *field = tracepoint ? tracepoint_field(tracepoint, name) : NULL;

	return field ? tracepoint_read(field, sample->raw, sample->raw_size) : 0;
}

static void show(const struct trace *trace, const struct sample *sample, const char *name, const char *mark, const struct strbuf *detail)
{
	trace_show_mark(trace, &(struct thread_record){.time = sample->time, .pid = sample->pid, .tid = sample->tid}, name, mark, detail);
}

static void show_signal(const struct trace *trace, const struct tracepoint *tracepoint, const struct sample *sample)
{
	struct strbuf detail = {0};

	syscall_add_signal_code((uint32_t)read_field(tracepoint, "sig", sample), (int32_t)read_field(tracepoint, "code", sample), &detail);
	show(trace, sample, "signal", "---", &detail);
	strbuf_deinit(&detail);
}

void trace_ends_take_signal(struct trace_ends *ends, const struct trace *trace, const struct tracepoint *tracepoint,
			    const struct sample *sample)
{
	uint64_t number = read_field(tracepoint, "sig", sample);
	const uint64_t *sent = map64_find(&ends->sent, sample->tid);

	if (number != SIGKILL)
		show_signal(trace, tracepoint, sample);
	if (read_field(tracepoint, "sa_handler", sample) || !ends_by_default(number))
		return;
	if (!sent)
		sent = map64_find(&ends->sent, sample->pid);
	note(ends, key_of(sample->pid, true), (uint32_t)(number == SIGKILL && sent ? *sent : number) & 0x7f);
}

bool trace_ends_take_sent(struct trace_ends *ends, const struct tracepoint *tracepoint, const struct sample *sample, uint32_t *ret_thread)
{
	enum { DELIVERED, IGNORED }; /* include/trace/events/signal.h */
	uint64_t result = read_field(tracepoint, "result", sample);
	bool is_new;

	*ret_thread = (uint32_t)read_field(tracepoint, "pid", sample);
	if (result == DELIVERED)
		*map64_insert(&ends->sent, *ret_thread, &is_new) = read_field(tracepoint, "sig", sample);
	return result == IGNORED;
}

void trace_ends_show_ignored(const struct trace *trace, const struct tracepoint *tracepoint, const struct sample *sample, uint32_t pid,
			     uint32_t tid)
{
	struct sample of_target = *sample;

	of_target.pid = pid;
	of_target.tid = tid;
	show_signal(trace, tracepoint, &of_target);
}

void trace_ends_take_end(struct trace_ends *ends, const struct trace *trace, const struct sample *sample)
{
	const uint64_t *status = map64_find(&ends->statuses, key_of(sample->tid, false));
	struct strbuf detail = {0};

	if (!status)
		status = map64_find(&ends->statuses, key_of(sample->pid, true));
	if (status)
		syscall_add_end((uint32_t)*status, &detail);
	else
		strbuf_add_str(&detail, "exited");
	show(trace, sample, "exit", "+++", &detail);
	strbuf_deinit(&detail);
}
