/* Calls, signals and ends of threads that the BPF program tells of, among the records of other events. */
#include "cmd/trace/replay_internal.h"
#include "cmd/trace/strings.h"
#include "perfdata/records.h"

#include <string.h>

static void take_begin(struct replay *replay, struct calling_thread *thread, const struct syscall_record *record)
{
	if (thread->in_call && thread->entered == record->thread.time)
		return; /* told already */
	memcpy(thread->arguments, record->arguments, sizeof(thread->arguments));
	replay_begin_call(replay, thread, record->number, record->thread.time);
}

static void take_end(struct replay *replay, struct calling_thread *thread, const struct syscall_record *record, uint64_t now)
{
	const struct trace_options *options = replay->trace->options;
	struct syscall call;

	thread->in_call = false;
	open_calls_fill(thread, replay->trace->table.calls[record->number], &call);
	call.time = record->thread.time;
	call.duration = record->duration;
	call.result = record->result;
	memcpy(call.arguments, record->arguments, sizeof(call.arguments));
	trace_strings_fill(replay->trace->strings, &call, now);
	if (!replay_is_short(options, &call))
		replay_end_call(replay, &call, thread, options->summary_mode == TRACE_TOTAL ? 0 : thread->tid, now);
}

static void take_moment(struct replay *replay, const struct trace_moment *moment)
{
	const struct thread_record *record = &moment->record.thread;
	struct thread *thread = machine_thread_or_new(replay->opening.session->machine, record->pid, record->tid, moment->time);
	struct calling_thread *ours = replay_get_thread(replay, record->pid, record->tid, thread, moment->time);
	bool is_call = moment->kind == MOMENT_BEGIN || moment->kind == MOMENT_END, discarding = replay->filter.discarding;

	replay->trace->samples += is_call;
	if (replay->trace->printer && !discarding && (is_call || replay->trace->signals))
		trace_printer_begin(replay->trace->printer, moment->time);
	if (!is_call && replay->trace->signals && !discarding) {
		replay_tell_all_waiting(replay, ours, moment->time);
		replay_tell_waiting(replay, ours);
	}
	if (moment->kind == MOMENT_BEGIN && !discarding)
		take_begin(replay, ours, &moment->record.call);
	else if (moment->kind == MOMENT_END && !discarding)
		take_end(replay, ours, &moment->record.call, moment->time);
	else if (moment->kind == MOMENT_SIGNAL && !discarding)
		trace_show_signal(replay->trace, &moment->record.signal);
	if (moment->kind != MOMENT_EXIT)
		return;
	if (replay->trace->signals && !discarding)
		trace_show_exit(replay->trace, &moment->record.exit);
	trace_strings_forget(replay->trace->strings, record->tid);
}

void replay_take_moments(struct replay *replay, uint64_t until)
{
	struct trace_printer *printer = replay->trace->printer;
	struct trace_moment moment;

	while (replay->trace->strings && !(printer && trace_printer_done(printer)) &&
	       trace_strings_next(replay->trace->strings, until, &moment))
		take_moment(replay, &moment);
}

/* All records before the end of the round before the last two have been delivered now (order.h): the next round had the last of them, the
 * mark behind that one made room for what is as new as they are. */
void replay_take_round(struct replay *replay, const struct record_header *header)
{
	const struct record_timed_round *round = (const void *)header;
	uint64_t *slot = &replay->rounds[replay->round_count % ROUNDS_BEHIND];

	if (header->size < sizeof(*round))
		return;
	if (replay->round_count++ >= ROUNDS_BEHIND)
		replay_take_moments(replay, *slot);
	*slot = round->ended_ns;
}
