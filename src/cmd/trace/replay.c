/* Samples in the order of time → lines and sums (replay.h).
 *
 *	raw_syscalls:sys_enter ──► thread: number, arguments, time ──► raw_syscalls:sys_exit ──► call
 *	page faults, any other event ──► line
 *
 * Live the BPF program may tell of calls instead (strings.h): its moments come in between, before the first record that is later.
 * When nothing else happens, the marks of rounds say how far all is known (capture/live.h).
 *
 * A call that lasts is shown as waiting before the next line of another thread; a short one is not, or lines of threads that run at the
 * same time would tear each other apart. */
#include "cmd/trace/replay_internal.h"

#include "analysis/syscalls/syscall_sums.h"
#include "app/hint.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/trace/event.h"
#include "cmd/trace/strings.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTER_EVENT "raw_syscalls:sys_enter"

/* ---- who and what ---- */

struct calling_thread *replay_get_thread(struct replay *replay, uint32_t pid, uint32_t tid, const struct thread *thread, uint64_t time)
{
	struct calling_thread *ours = open_calls_thread(&replay->calls, tid);
	const struct untrusted *comm = thread_comm(thread, time);

	if (ours->comm == comm)
		return ours;
	ours->pid = pid;
	ours->comm = comm;
	if (replay->trace->printer)
		trace_printer_name(replay->trace->printer, pid, tid, comm);
	if (replay->trace->sums && replay->trace->options->summary_mode == TRACE_BY_THREAD)
		syscall_sums_name(replay->trace->sums, tid, comm);
	return ours;
}

/* Whose sums the sample belongs to. */
static uint64_t owner_of(const struct replay *replay, const struct sample *sample)
{
	enum trace_summary_mode mode = replay->trace->options->summary_mode;
	const struct untrusted *name;

	if (mode != TRACE_BY_CGROUP)
		return mode == TRACE_TOTAL ? 0 : sample->tid;
	if (!syscall_sums_has(replay->trace->sums, sample->cgroup) &&
	    (name = machine_cgroup(replay->opening.session->machine, sample->cgroup)))
		syscall_sums_name(replay->trace->sums, sample->cgroup, name);
	return sample->cgroup;
}

/* ---- calls ---- */

void replay_tell_waiting(struct replay *replay, struct calling_thread *thread)
{
	struct syscall call;

	if (!thread->in_call || thread->told || !replay->trace->printer)
		return;
	open_calls_fill(thread, replay->trace->table.calls[thread->number], &call);
	if (replay->trace->strings)
		trace_strings_fill_entry(replay->trace->strings, &call);
	trace_printer_wait(replay->trace->printer, &call);
	thread->told = true;
}

/* Before a line of `thread` at `time`. */
void replay_tell_all_waiting(struct replay *replay, const struct calling_thread *thread, uint64_t time)
{
	for (struct calling_thread *each; (each = open_calls_next_lasting(&replay->calls, time));)
		if (each != thread)
			replay_tell_waiting(replay, each);
}

/* Calls in which others wait come before it. */
static void print_call(struct replay *replay, const struct syscall *call, const struct calling_thread *thread, uint64_t now)
{
	replay_tell_all_waiting(replay, thread, now);
	trace_printer_call(replay->trace->printer, call);
}

/* Hands the stack that was taken last to the printer, for the next line. */
static void give_stack(struct replay *replay)
{
	if (replay->trace->options->call_graph)
		trace_printer_stack(replay->trace->printer, replay->stacks);
}

/* Numbers from a recording may be anything. */
static bool is_selected(const struct replay *replay, uint64_t number)
{
	return number < SYSCALL_NUMBERS && replay->trace->table.selected[number];
}

/* Its arguments are there. */
void replay_begin_call(struct replay *replay, struct calling_thread *thread, unsigned int number, uint64_t time)
{
	bool shows = replay->trace->printer && !replay->trace->options->print.completed_only;
	const struct syscall_description *description = replay->trace->table.calls[number];
	struct syscall call;

	open_calls_begin(&replay->calls, thread, number, time, shows);
	if (!syscall_never_returns(description))
		return;
	thread->in_call = false;
	open_calls_fill(thread, description, &call);
	if (shows)
		print_call(replay, &call, thread, time);
}

bool replay_is_short(const struct trace_options *options, const struct syscall *call)
{
	return call->duration < options->shortest || (options->failures && !syscall_failed(call->result));
}

/* A call that is wanted has ended. */
void replay_end_call(struct replay *replay, const struct syscall *call, const struct calling_thread *thread, uint64_t owner, uint64_t now)
{
	if (replay->trace->sums)
		syscall_sums_add(replay->trace->sums, owner, call, replay->trace->options->histograms);
	if (!replay->trace->printer)
		return;
	give_stack(replay);
	print_call(replay, call, thread, now);
}

/* A sample that passed the filter, and whose it is. */
struct arrival {
	const struct record *record;
	const struct sample *sample;
	struct thread *thread;
	struct calling_thread *ours;
};

/* Of raw_syscalls:sys_enter and sys_exit: their first field. */
static uint64_t call_number(const struct tracker_event *event)
{
	return event->fields[0] ? event->values[0] : SYSCALL_NUMBERS;
}

/* A call begins: its arguments are in the second field, an array of so many words. */
static void take_enter(struct replay *replay, const struct tracker_event *event, struct calling_thread *thread)
{
	const struct tracepoint_field *arguments = event->fields[1];
	const struct sample *sample = tracker_sample(event);
	uint64_t number = call_number(event);
	struct tracepoint_field argument;
	size_t length = 0;

	thread->in_call = false;
	if (!is_selected(replay, number))
		return;
	const void *bytes = arguments ? tracepoint_read_bytes(arguments, sample->raw, sample->raw_size, &length) : NULL;
	for (uint32_t i = 0; i < SYSCALL_ARGUMENTS && bytes; i++) {
		uint32_t size = arguments->element_size;
		argument = *arguments;
		argument.flags &= TRACEPOINT_FIELD_SWAPPED;
		argument.size = argument.element_size = size;
		argument.offset = i * size;
		thread->arguments[i] = tracepoint_read(&argument, bytes, length);
	}
	const char *name = replay->trace->table.calls[number]->name;
	if (replay->shows_ends && (!strcmp(name, "exit") || !strcmp(name, "exit_group")))
		thread_ends_take_exit(&replay->ends, sample->pid, sample->tid, name[4] == '_', thread->arguments[0]);
	replay_begin_call(replay, thread, (unsigned int)number, sample->time);
}

/* Whose stack is too short isn't shown. */
static bool take_stack(struct replay *replay, const struct arrival *arrival, bool is_call)
{
	if (!replay->stacks)
		return true;
	return trace_stacks_take(replay->stacks, arrival->record, arrival->sample, arrival->thread, is_call) >=
	       replay->trace->options->min_stack;
}

/* A call ends. Where its beginning wasn't recorded it is shown without a time and arguments. */
static void take_exit(struct replay *replay, const struct tracker_event *event, const struct arrival *arrival)
{
	const struct trace_options *options = replay->trace->options;
	const struct sample *sample = tracker_sample(event);
	struct calling_thread *ours = arrival->ours;
	uint64_t number = call_number(event);
	struct syscall call;

	if (!is_selected(replay, number)) {
		ours->in_call = false;
		return;
	}
	bool whole = open_calls_end(ours, (unsigned int)number, replay->trace->table.calls[number], sample->time, (int64_t)event->values[1],
				    &call);
	if (replay->trace->strings)
		trace_strings_fill(replay->trace->strings, &call, sample->time);
	if (replay_is_short(options, &call) || !take_stack(replay, arrival, true))
		return;
	if (options->flamegraph && whole)
		trace_stacks_weigh(replay->stacks, ours->comm, call.description->name, call.duration);
	replay_end_call(replay, &call, ours, replay->trace->sums ? owner_of(replay, sample) : 0, sample->time);
}

/* ---- events ---- */

/* For arguments that are thread ids; NULL where nobody knows it. */
static const struct untrusted *name_of_thread(void *context, uint32_t tid)
{
	const struct replay *replay = context;
	const struct thread *thread = machine_thread(replay->opening.session->machine, tid, UINT64_MAX);

	return thread && thread->comm_count ? thread_comm(thread, UINT64_MAX) : NULL;
}

/* The event's own text into replay->detail. */
static void describe(struct replay *replay, const struct arrival *arrival, bool fault)
{
	const struct record *record = arrival->record;
	const struct sample *sample = arrival->sample;
	const struct trace_event_where where = {.machine = replay->opening.session->machine,
						.resolver = replay->opening.resolver,
						.thread = arrival->thread,
						.time = record->model_time};
	const struct tracepoint *tracepoint = record->event->tracepoint;
	const struct trace_options *options = replay->trace->options;
	const struct trace_event_style style = {
		.zeros = options->print.style.zeros, .thread_name = name_of_thread, .thread_name_context = replay};

	if (fault) {
		trace_event_add_fault(&where, sample, &replay->detail);
	} else if (tracepoint && options->print_formats) {
		tracepoint_print(tracepoint, sample->raw, sample->raw_size, &replay->detail);
	} else if (tracepoint) {
		trace_event_add_fields(tracepoint, sample, &style, &replay->detail);
	} else {
		trace_event_add_address(&where, sample, &replay->detail);
	}
}

/* Of a recording everything is shown, unless -e or -F says what. */
static bool is_named(const struct trace *trace, const char *name, bool fault)
{
	const struct trace_options *options = trace->options;
	const struct event_list *list = &trace->events.list;

	if (!options->input || (!options->words.len && !options->faults))
		return true;
	for (size_t i = 0; i < list->events.len; i++)
		if (!strcmp(list->events.data[i]->name, name))
			return true;
	return fault && options->faults;
}

/* How often the event was shown, for nr=. Valid until the next event is new. */
static uint64_t *shown_of(struct replay *replay, const struct event *event)
{
	while (replay->shown.len <= event->index)
		vec_push(&replay->shown, 0);
	return &replay->shown.data[event->index];
}

/* Page faults of one kind. */
static bool is_fault(const struct event *event, uint64_t config)
{
	return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == config;
}

/* A line for anything that is no call; page faults look like calls without a duration. */
static void show_event(struct replay *replay, const struct arrival *arrival)
{
	struct trace_printer *printer = replay->trace->printer;
	const struct record *record = arrival->record;
	const struct sample *sample = arrival->sample;
	struct calling_thread *ours = arrival->ours;
	bool major = is_fault(record->event, PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	bool fault = major || is_fault(record->event, PERF_COUNT_SW_PAGE_FAULTS_MIN);
	const char *name = major ? "majfault" : fault ? "minfault" : record->event->name;
	uint64_t most = trace_limit_of(replay->trace, record->event->name), *shown = shown_of(replay, record->event);

	if (!printer || !is_named(replay->trace, record->event->name, fault) || (most && *shown >= most) ||
	    !take_stack(replay, arrival, false))
		return;
	++*shown;
	strbuf_clear(&replay->detail);
	strbuf_clear(&replay->text);
	text_add_safe(&replay->text, name, strlen(name));
	describe(replay, arrival, fault);
	strbuf_printf(&replay->text, fault ? " %s" : "(%s)", strbuf_str(&replay->detail));
	replay_tell_all_waiting(replay, ours, sample->time);
	if (!fault)
		replay_tell_waiting(replay, ours);
	give_stack(replay);
	trace_printer_event(printer, &(struct trace_line){.time = sample->time,
							  .pid = ours->pid,
							  .tid = ours->tid,
							  .name = name,
							  .detail = strbuf_str(&replay->detail),
							  .text = strbuf_str(&replay->text),
							  .momentary = fault});
}

/* ---- samples ---- */

/* --filter-pids; live the kernel leaves them out already. */
static bool is_left_out(const struct replay *replay, uint32_t pid)
{
	const struct pid_list *left_out = &replay->trace->left_out;

	for (size_t i = 0; i < left_out->len; i++)
		if ((uint32_t)left_out->data[i] == pid)
			return true;
	return false;
}

/* --print-sample: what the record itself says. */
static void show_header(struct replay *replay, const struct record *record, const struct sample *sample,
			const struct calling_thread *thread)
{
	strbuf_clear(&replay->text);
	text_add_safe(&replay->text, record->event->name, strlen(record->event->name));
	strbuf_printf(&replay->text, " %llu.%03llu ", (unsigned long long)(sample->time / 1000000),
		      (unsigned long long)(sample->time / 1000 % 1000));
	text_add_untrusted(&replay->text, thread->comm);
	strbuf_printf(&replay->text, " %u/%u [%d]", sample->pid, sample->tid, (int)sample->cpu);
	trace_printer_text(replay->trace->printer, strbuf_str(&replay->text));
}

/* False for samples that aren't to be shown. Otherwise the thread is known, and has its name of that time. */
static bool arrive(struct replay *replay, const struct record *record, const struct sample *sample, struct arrival *ret)
{
	struct machine *machine = replay->opening.session->machine;
	struct thread *thread = session_sample_thread(machine, sample, record->model_time);

	if (is_left_out(replay, sample->pid) ||
	    (replay->filtered && !script_filter_passes(&replay->filter, machine, replay->opening.resolver, record, sample, thread)))
		return false;
	struct calling_thread *ours = replay_get_thread(replay, sample->pid, sample->tid, thread, record->model_time);
	if (!replay->trace->samples++ && replay->trace->printer)
		trace_printer_begin(replay->trace->printer, sample->time);
	if (replay->trace->options->print_sample && replay->trace->printer)
		show_header(replay, record, sample, ours);
	*ret = (struct arrival){.record = record, .sample = sample, .thread = thread, .ours = ours};
	return true;
}

static void on_enter(void *context, const struct tracker_event *event)
{
	struct arrival arrival;

	if (arrive(context, event->record, tracker_sample(event), &arrival))
		take_enter(context, event, arrival.ours);
}

static void on_exit_of_call(void *context, const struct tracker_event *event)
{
	struct arrival arrival;

	if (arrive(context, event->record, tracker_sample(event), &arrival))
		take_exit(context, event, &arrival);
}

/* Anything that is neither a call nor a mark. */
static void take_event(struct replay *replay, const struct arrival *arrival)
{
	if (replay->trace->sums) {
		struct syscall_owner *owner = syscall_sums_owner(replay->trace->sums, owner_of(replay, arrival->sample));
		owner->events++;
		owner->major_faults += is_fault(arrival->record->event, PERF_COUNT_SW_PAGE_FAULTS_MAJ);
		owner->minor_faults += is_fault(arrival->record->event, PERF_COUNT_SW_PAGE_FAULTS_MIN);
	}
	show_event(replay, arrival);
}

/* sched:sched_stat_runtime adds up with --sched, and is an event like others without. */
static void on_runtime(void *context, const struct tracker_event *event)
{
	struct replay *replay = context;
	struct arrival arrival;

	if (!arrive(replay, event->record, tracker_sample(event), &arrival))
		return;
	if (!replay->trace->options->sched)
		take_event(replay, &arrival);
	else if (replay->trace->sums)
		syscall_sums_owner(replay->trace->sums, owner_of(replay, tracker_sample(event)))->runtime += event->values[0];
}

/* A signal or the end of a thread, where they have lines of their own; else it is an event like others, and false. */
static bool arrive_mark(struct replay *replay, const struct tracker_event *event, struct arrival *ret)
{
	if (!arrive(replay, event->record, tracker_sample(event), ret))
		return false;
	if (replay->shows_ends && tracker_has(replay->tracker, ENTER_EVENT))
		return true;
	take_event(replay, ret);
	return false;
}

static void show_mark(struct replay *replay, struct calling_thread *thread, uint32_t pid, uint64_t time, const char *name, const char *mark,
		      const struct strbuf *detail)
{
	trace_show_mark(replay->trace, &(struct thread_record){.time = time, .pid = pid, .tid = thread->tid}, name, mark, detail);
}

static void show_signal(struct replay *replay, const struct tracker_event *event, struct calling_thread *thread, uint32_t pid)
{
	struct strbuf detail = {0};

	syscall_add_signal_code((uint32_t)event->values[0], (int32_t)event->values[1], &detail);
	show_mark(replay, thread, pid, event->time, "signal", "---", &detail);
	strbuf_deinit(&detail);
}

static void tell_waiting_before(struct replay *replay, struct calling_thread *thread, uint64_t time)
{
	replay_tell_all_waiting(replay, thread, time);
	replay_tell_waiting(replay, thread);
}

/* sig, code, sa_handler */
static void on_signal(void *context, const struct tracker_event *event)
{
	const struct sample *sample = tracker_sample(event);
	struct replay *replay = context;
	struct arrival arrival;

	if (!arrive_mark(replay, event, &arrival))
		return;
	tell_waiting_before(replay, arrival.ours, sample->time);
	if (event->values[0] != SIGKILL)
		show_signal(replay, event, arrival.ours, sample->pid);
	thread_ends_take_signal(&replay->ends, sample->pid, sample->tid, event->values[0], event->values[2] != 0);
}

/* sig, code, result, pid: the sample is the sender's. What its target ignores is shown now, since nothing more will be heard of it. */
static void on_sent(void *context, const struct tracker_event *event)
{
	enum { DELIVERED, IGNORED }; /* include/trace/events/signal.h */
	struct replay *replay = context;
	struct arrival arrival;

	if (!arrive_mark(replay, event, &arrival))
		return;
	uint32_t target = (uint32_t)event->values[3];
	struct calling_thread *thread = open_calls_find(&replay->calls, target);
	if (event->values[2] == DELIVERED)
		thread_ends_take_sent(&replay->ends, target, event->values[0]);
	if (event->values[2] != IGNORED || !thread)
		return;
	tell_waiting_before(replay, thread, event->time);
	show_signal(replay, event, thread, thread->pid);
}

/* "+++ exited with 0 +++", or without a status where none is known. */
static void show_end(struct replay *replay, struct calling_thread *thread, uint32_t pid, uint64_t time)
{
	struct strbuf detail = {0};
	uint32_t status;

	if (thread_ends_status(&replay->ends, pid, thread->tid, &status))
		syscall_add_end(status, &detail);
	else
		strbuf_add_str(&detail, "ended, its status was not recorded");
	show_mark(replay, thread, pid, time, "exit", "+++", &detail);
	strbuf_deinit(&detail);
}

static void on_end(void *context, const struct tracker_event *event)
{
	const struct sample *sample = tracker_sample(event);
	struct replay *replay = context;
	struct arrival arrival;

	if (!arrive_mark(replay, event, &arrival))
		return;
	tell_waiting_before(replay, arrival.ours, sample->time);
	show_end(replay, arrival.ours, sample->pid, sample->time);
	arrival.ours->end_shown = true;
}

static const struct tracker_handler handlers[] = {
	{ENTER_EVENT, {"id", "args"}, on_enter},
	{"raw_syscalls:sys_exit", {"id", "ret"}, on_exit_of_call},
	{"sched:sched_stat_runtime", {"runtime"}, on_runtime},
	{TRACE_SIGNAL_EVENT, {"sig", "code", "sa_handler"}, on_signal},
	{TRACE_SENT_EVENT, {"sig", "code", "result", "pid"}, on_sent},
	{TRACE_END_EVENT, {NULL}, on_end},
	{0},
};

static void take_sample(struct replay *replay, const struct record *record)
{
	struct arrival arrival;
	struct sample sample;

	if (tracker_wants(replay->tracker, record))
		tracker_give(replay->tracker, record);
	else if (session_decode(replay->opening.session, record, &sample) && arrive(replay, record, &sample, &arrival))
		take_event(replay, &arrival);
}

/* ---- the loop ---- */

/* Of which the machine knows nothing any more. */
static bool forget_thread(void *context, const struct calling_thread *thread)
{
	const struct replay *replay = context;

	if (machine_thread(replay->opening.session->machine, thread->tid, UINT64_MAX))
		return false;
	if (replay->trace->printer)
		trace_printer_forget(replay->trace->printer, thread->tid);
	return true;
}

/* Names lie elsewhere afterwards. */
static void forget_threads(struct replay *replay)
{
	open_calls_forget(&replay->calls, forget_thread, replay);
	replay->generation = replay->opening.session->machine->generation;
}

/* The record is all that tells of the end where its tracepoint wasn't recorded, or hidden by a BPF program of others. */
static void take_thread_exit(struct replay *replay, const struct record *record)
{
	const struct record_task *exited = (const void *)record->header;
	struct calling_thread *thread = record->header->size >= sizeof(*exited) ? open_calls_find(&replay->calls, exited->tid) : NULL;

	if (!thread)
		return;
	bool in_call = thread->in_call;
	if (in_call && !replay->trace->options->shortest && !replay->trace->options->failures)
		replay_tell_waiting(replay, thread);
	thread->in_call = false;
	if (replay->shows_ends && !thread->end_shown && tracker_has(replay->tracker, ENTER_EVENT)) {
		replay_tell_all_waiting(replay, thread, record->time);
		show_end(replay, thread, thread->pid, record->time);
	}
	thread->end_shown = false; /* the next bearer of the id */
	if (in_call && replay->trace->printer)
		trace_printer_exit(replay->trace->printer, thread->tid);
}

static void take_lost(struct replay *replay, const struct record *record)
{
	const struct record_lost *lost = (const void *)record->header;

	if (replay->trace->printer && record->header->size >= sizeof(*lost))
		trace_printer_lost(replay->trace->printer, lost->count);
}

static struct error *follow(struct replay *replay)
{
	struct trace_printer *printer = replay->trace->printer;
	struct error *error = NULL;
	struct record record;

	while (!error && !(printer && trace_printer_done(printer)) && session_next(replay->opening.session, &record, &error) > 0) {
		if (replay->generation != replay->opening.session->machine->generation)
			forget_threads(replay);
		replay_take_moments(replay, record.time);
		if (record.header->type == RECORD_SAMPLE)
			take_sample(replay, &record);
		else if (record.header->type == RECORD_EXIT && !record_is_of_guest(record.header))
			take_thread_exit(replay, &record);
		else if (record.header->type == RECORD_LOST)
			take_lost(replay, &record);
		else if (record.header->type == RECORD_FINISHED_ROUND)
			replay_take_round(replay, record.header);
		if (printer && (record.header->type == RECORD_FINISHED_ROUND || trace_printer_is_full(printer)))
			error = trace_printer_write(printer);
	}
	if (!error && replay->trace->strings) {
		trace_strings_stop(replay->trace->strings);
		replay_take_moments(replay, UINT64_MAX);
	}
	if (!error && replay->trace->program_tells_calls)
		replay_tell_all_waiting(replay, NULL, UINT64_MAX);
	if (!error && printer)
		trace_printer_flush_waiting(printer);
	return error;
}

/* The recording's machine may have other numbers. */
static struct error *choose_table(struct replay *replay)
{
	const char *machine = replay->opening.session->reader->features.arch;

	return machine && syscall_abi_of(machine) != replay->trace->table.abi ? trace_select_events(replay->trace, machine) : NULL;
}

static bool tells_cgroups(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->attr.sample_type & PERF_SAMPLE_CGROUP)
			return true;
	return false;
}

static struct error *choose(struct replay *replay, bool live)
{
	const struct trace_options *options = replay->trace->options;
	struct session *session = replay->opening.session;
	struct error *error = NULL;

	if (!live && options->summary_mode == TRACE_BY_CGROUP && !tells_cgroups(&session->reader->events))
		return error_new("the recording does not contain control groups; record them with 'perf trace record --all-cgroups'");
	replay->tracker = tracker_create(session, handlers, replay);
	replay->filter.show_on_off = options->show_on_off;
	if (options->switch_on || options->switch_off)
		error = script_filter_set_switches(&replay->filter, &session->reader->events, options->switch_on, options->switch_off);
	if (!error && !live && options->pids)
		error = script_filter_add_ids(options->pids, &replay->filter.pids);
	if (!error && !live && options->tids)
		error = script_filter_add_ids(options->tids, &replay->filter.tids);
	replay->filtered = !script_filter_is_empty(&replay->filter);
	if (!error && (options->call_graph || options->flamegraph)) {
		struct trace_stack_options stacks = {.max_depth = (unsigned int)options->max_stack,
						     .kernel_of_calls = options->kernel_graph};
		replay->stacks = trace_stacks_create(session, replay->opening.resolver, &stacks);
	}
	return error;
}

static void replay_deinit(struct replay *replay)
{
	thread_ends_deinit(&replay->ends);
	tracker_destroy(replay->tracker);
	trace_stacks_destroy(replay->stacks);
	script_filter_deinit(&replay->filter);
	open_calls_deinit(&replay->calls);
	vec_deinit(&replay->shown);
	strbuf_deinit(&replay->text);
	strbuf_deinit(&replay->detail);
	opening_end(&replay->opening);
}

/* Nobody misses them who doesn't know them: a hint. */
static void tell_absent_ends(const struct replay *replay)
{
	if (hint_is_wanted(STDERR_FILENO) && tracker_has(replay->tracker, ENTER_EVENT) && !tracker_has(replay->tracker, TRACE_SIGNAL_EVENT))
		log_warning("The recording contains no signals, nor which of them ended a process; 'perf trace record' records them");
}

struct error *trace_replay(struct trace *trace, const char *path, struct reader *reader)
{
	const bool live = reader != NULL;
	struct replay replay = {.trace = trace, .shows_ends = trace->signals && !trace->strings};
	struct input_options input;

	input_options_init(&input);
	input.input = path;
	input.force = trace->options->force;
	input.jobs = 1;
	input.sandbox = trace->options->sandbox;
	const char *picture = trace->options->flamegraph;
	struct opening_options opening = {
		.input = &input,
		.reader = reader,
		.cpus = live ? NULL : trace->options->cpus,
		.streaming = true,
		.confined = live ? NULL : "trace",
		.output = picture ? picture : "-",
	};
	struct error *error = opening_begin(&replay.opening, &opening);
	if (!error)
		error = choose_table(&replay);
	if (!error)
		error = choose(&replay, live);
	if (!error)
		error = follow(&replay);
	if (!error)
		opening_warn(&replay.opening);
	if (!error && !live && replay.shows_ends)
		tell_absent_ends(&replay);
	if (!error && trace->options->flamegraph)
		error = trace_stacks_draw(replay.stacks, trace->options->flamegraph);
	replay_deinit(&replay);
	return error;
}
