/* Samples in the order of time → lines and sums (trace_replay.h).
 *
 *	raw_syscalls:sys_enter ──► thread: number, arguments, time ──► raw_syscalls:sys_exit ──► call
 *	page faults, any other event ──► line
 *
 * Live the BPF program may tell of calls instead (trace_strings.h): its moments come in between, before the first record that is later.
 * When nothing else happens, the marks of rounds say how far all is known (capture/live.h).
 *
 * A call that lasts is shown as waiting before the next line of another thread; a short one is not, or lines of threads that run at the
 * same time would tear each other apart. */
#include "cmd/trace/replay.h"

#include "analysis/script/filter.h"
#include "analysis/syscalls/syscall_sums.h"
#include "app/hint.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/opening.h"
#include "cmd/trace/ends.h"
#include "cmd/trace/event.h"
#include "cmd/trace/stack.h"
#include "cmd/trace/strings.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LASTS_NS = 100000, FORGET_AFTER = 1024, ROUNDS_BEHIND = 3 };

enum kind {
	KIND_UNKNOWN,
	KIND_ENTER,
	KIND_EXIT,
	KIND_MAJOR_FAULT,
	KIND_MINOR_FAULT,
	KIND_RUNTIME,
	KIND_SIGNAL,
	KIND_SENT,
	KIND_END,
	KIND_OTHER
};

/* What is known of an event of the recording, by its index. */
struct replayed_event {
	enum kind kind;
	const struct tracepoint *tracepoint;
	const struct tracepoint_field *number, *value; /* of calls: id, args or ret; KIND_RUNTIME: value */
	uint64_t shown;
};

struct replayed_thread {
	uint32_t pid, tid;
	const struct untrusted *comm; /* interned by the machine */
	bool in_call;
	bool told; /* its call is shown as waiting, or will be */
	uint16_t number;
	uint64_t entered;
	uint64_t arguments[SYSCALL_ARGUMENTS];
};

/* A call that has begun; stale when its thread is in another one. */
struct begun {
	struct replayed_thread *thread;
	uint64_t entered;
};

struct replay {
	struct trace *trace;
	struct opening opening;
	struct script_filter filter;
	bool filtered;
	struct map64 threads; /* tid → struct replayed_thread * */
	VEC(struct replayed_event) events;
	VEC(struct begun) begun; /* in the order of time … */
	size_t first_begun;	 /* … from here on */
	bool shows_ends;	 /* signals and ends of threads by tracepoints, as lines of their own */
	struct trace_ends ends;
	struct trace_stacks *stacks; /* NULL = not wanted */
	struct strbuf text, detail;
	uint64_t generation;		/* of the machine, when names were taken */
	uint64_t rounds[ROUNDS_BEHIND]; /* when the last ones ended */
	uint64_t round_count;
};

/* ---- who and what ---- */

static enum kind kind_of(const struct event *event, bool own_runtime)
{
	if (event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_PAGE_FAULTS_MAJ)
		return KIND_MAJOR_FAULT;
	if (event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_PAGE_FAULTS_MIN)
		return KIND_MINOR_FAULT;
	if (!strcmp(event->name, "raw_syscalls:sys_enter"))
		return KIND_ENTER;
	if (!strcmp(event->name, "raw_syscalls:sys_exit"))
		return KIND_EXIT;
	return own_runtime && !strcmp(event->name, "sched:sched_stat_runtime") ? KIND_RUNTIME : KIND_OTHER;
}

static enum kind kind_of_end(const char *name, enum kind otherwise)
{
	if (!strcmp(name, TRACE_SIGNAL_EVENT))
		return KIND_SIGNAL;
	if (!strcmp(name, TRACE_SENT_EVENT))
		return KIND_SENT;
	return strcmp(name, TRACE_END_EVENT) != 0 ? otherwise : KIND_END;
}

static bool has_event(const struct replay *replay, const char *name)
{
	const struct event_list *events = &replay->opening.session->reader->events;

	for (size_t i = 0; i < events->events.len; i++)
		if (!strcmp(events->events.data[i]->name, name))
			return true;
	return false;
}

static struct replayed_event *look_up(struct replay *replay, const struct event *event)
{
	while (replay->events.len <= event->index)
		vec_push(&replay->events, (struct replayed_event){0});
	struct replayed_event *known = &replay->events.data[event->index];
	if (known->kind)
		return known;
	known->kind = kind_of(event, replay->trace->options->sched);
	if (replay->shows_ends && has_event(replay, "raw_syscalls:sys_enter"))
		known->kind = kind_of_end(event->name, known->kind);
	const struct tracepoint_formats *formats = replay->opening.session->reader->formats;
	if (event->attr.type == PERF_TYPE_TRACEPOINT && formats)
		known->tracepoint = tracepoint_by_id(formats, (int)event->attr.config);
	if (known->tracepoint && (known->kind == KIND_ENTER || known->kind == KIND_EXIT)) {
		known->number = tracepoint_field(known->tracepoint, "id");
		known->value = tracepoint_field(known->tracepoint, known->kind == KIND_ENTER ? "args" : "ret");
	} else if (known->tracepoint && known->kind == KIND_RUNTIME) {
		known->value = tracepoint_field(known->tracepoint, "runtime");
	}
	return known;
}

static struct replayed_thread *get_thread(struct replay *replay, uint32_t pid, uint32_t tid, const struct thread *thread, uint64_t time)
{
	bool is_new;
	uint64_t *slot = map64_insert(&replay->threads, tid, &is_new);
	const struct untrusted *comm = thread_comm(thread, time);

	if (is_new)
		*slot = (uint64_t)(uintptr_t)mem_zalloc(sizeof(struct replayed_thread));
	struct replayed_thread *ours = (struct replayed_thread *)(uintptr_t)*slot;
	if (ours->comm == comm)
		return ours;
	ours->pid = pid;
	ours->tid = tid;
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

static void fill_call(const struct replay *replay, const struct replayed_thread *thread, unsigned int number, struct syscall *ret)
{
	*ret = (struct syscall){.description = replay->trace->table.calls[number],
				.time = thread->entered,
				.pid = thread->pid,
				.tid = thread->tid,
				.blind = true};
	memcpy(ret->arguments, thread->arguments, sizeof(ret->arguments));
}

static void tell_waiting(struct replay *replay, struct replayed_thread *thread)
{
	struct syscall call;

	if (!thread->in_call || thread->told || !replay->trace->printer)
		return;
	fill_call(replay, thread, thread->number, &call);
	if (replay->trace->strings)
		trace_strings_fill_entry(replay->trace->strings, &call);
	trace_printer_wait(replay->trace->printer, &call);
	thread->told = true;
}

/* Before a line of `thread` at `time`. */
static void tell_all_waiting(struct replay *replay, const struct replayed_thread *thread, uint64_t time)
{
	for (; replay->first_begun < replay->begun.len; replay->first_begun++) {
		const struct begun *begun = &replay->begun.data[replay->first_begun];
		bool stale = !begun->thread->in_call || begun->thread->entered != begun->entered;
		if (!stale && begun->entered + LASTS_NS > time)
			break;
		if (!stale && begun->thread != thread)
			tell_waiting(replay, begun->thread);
	}
	if (replay->first_begun < FORGET_AFTER)
		return;
	replay->begun.len -= replay->first_begun;
	memmove(replay->begun.data, replay->begun.data + replay->first_begun, replay->begun.len * sizeof(*replay->begun.data));
	replay->first_begun = 0;
}

static void print_call(struct replay *replay, const struct syscall *call, const struct replayed_thread *thread, uint64_t now)
{
	tell_all_waiting(replay, thread, now);
	trace_printer_call(replay->trace->printer, call);
}

static void give_stack(struct replay *replay)
{
	if (replay->trace->options->call_graph)
		trace_printer_stack(replay->trace->printer, replay->stacks);
}

static bool is_selected(const struct replay *replay, uint64_t number)
{
	return number < SYSCALL_NUMBERS && replay->trace->table.selected[number];
}

/* Its arguments are there. */
static void begin_call(struct replay *replay, struct replayed_thread *thread, unsigned int number, uint64_t time)
{
	bool shows = replay->trace->printer && !replay->trace->options->print.completed_only;
	struct syscall call;

	thread->number = (uint16_t)number;
	thread->entered = time;
	thread->told = false;
	fill_call(replay, thread, number, &call);
	if (!syscall_never_returns(call.description)) {
		thread->in_call = true;
		if (shows)
			vec_push(&replay->begun, (struct begun){thread, time});
	} else if (shows) {
		print_call(replay, &call, thread, time);
	}
}

static bool is_short_of(const struct trace_options *options, const struct syscall *call)
{
	return call->duration < options->shortest || (options->failures && !syscall_failed(call->result));
}

/* A call that is wanted has ended. */
static void end_call(struct replay *replay, const struct syscall *call, const struct replayed_thread *thread, uint64_t owner, uint64_t now)
{
	if (replay->trace->sums)
		syscall_sums_add(replay->trace->sums, owner, call, replay->trace->options->histograms);
	if (!replay->trace->printer)
		return;
	give_stack(replay);
	print_call(replay, call, thread, now);
}

static void take_enter(struct replay *replay, const struct replayed_event *event, const struct sample *sample,
		       struct replayed_thread *thread)
{
	uint64_t number = event->number ? tracepoint_read(event->number, sample->raw, sample->raw_size) : SYSCALL_NUMBERS;
	struct tracepoint_field argument;
	size_t length = 0;

	thread->in_call = false;
	if (!is_selected(replay, number))
		return;
	const void *bytes = event->value ? tracepoint_read_bytes(event->value, sample->raw, sample->raw_size, &length) : NULL;
	for (uint32_t i = 0; i < SYSCALL_ARGUMENTS && bytes; i++) {
		uint32_t size = event->value->element_size;
		argument = *event->value;
		argument.flags &= TRACEPOINT_FIELD_SWAPPED;
		argument.size = argument.element_size = size;
		argument.offset = i * size;
		thread->arguments[i] = tracepoint_read(&argument, bytes, length);
	}
	const char *name = replay->trace->table.calls[number]->name;
	if (replay->shows_ends && (!strcmp(name, "exit") || !strcmp(name, "exit_group")))
		trace_ends_note_exit(&replay->ends, sample->pid, sample->tid, name[4] == '_', thread->arguments[0]);
	begin_call(replay, thread, (unsigned int)number, sample->time);
}

/* Whose stack is too short isn't shown. */
static bool take_stack(struct replay *replay, const struct record *record, const struct sample *sample, struct thread *thread, bool is_call)
{
	if (!replay->stacks)
		return true;
	return trace_stacks_take(replay->stacks, record, sample, thread, is_call) >= replay->trace->options->min_stack;
}

static void take_exit(struct replay *replay, const struct record *record, const struct replayed_event *event, const struct sample *sample,
		      struct replayed_thread *ours, struct thread *thread)
{
	const struct trace_options *options = replay->trace->options;
	uint64_t number = event->number ? tracepoint_read(event->number, sample->raw, sample->raw_size) : SYSCALL_NUMBERS;
	bool whole = ours->in_call && ours->number == number;
	struct syscall call;

	ours->in_call = false;
	if (!is_selected(replay, number))
		return;
	fill_call(replay, ours, (unsigned int)number, &call);
	call.result = event->value ? (int64_t)tracepoint_read(event->value, sample->raw, sample->raw_size) : 0;
	if (whole)
		call.duration = sample->time > call.time ? sample->time - call.time : 0;
	else
		call.time = 0; /* its beginning was not seen */
	if (replay->trace->strings)
		trace_strings_fill(replay->trace->strings, &call, sample->time);
	if (is_short_of(options, &call) || !take_stack(replay, record, sample, thread, true))
		return;
	if (options->flamegraph && whole)
		trace_stacks_weigh(replay->stacks, ours->comm, call.description->name, call.duration);
	end_call(replay, &call, ours, replay->trace->sums ? owner_of(replay, sample) : 0, sample->time);
}

/* ---- events ---- */

static void resolve(struct replay *replay, const struct record *record, const struct thread *thread, uint8_t mode, uint64_t address,
		    struct frame *ret)
{
	const struct machine *machine = replay->opening.session->machine;

	resolver_frame(replay->opening.resolver, machine_maps(machine, thread, mode), mode, address, record->model_time, ret);
}

/* "[main+0x10] => /usr/bin/x@0x1000 (d.)": where, on what; d, x: data, code; k, .: by the kernel, by the program. */
static void describe_fault(struct replay *replay, const struct record *record, const struct sample *sample, const struct thread *thread)
{
	struct frame place, data;
	struct strbuf *out = &replay->detail;

	resolve(replay, record, thread, sample->cpumode, sample->ip, &place);
	resolve(replay, record, thread, sample->cpumode, sample->addr, &data);
	strbuf_add_char(out, '[');
	trace_add_place(&place, out);
	strbuf_add_str(out, "] => ");
	if (data.map) {
		const char *file = data.map->dso->name;
		text_add_safe(out, file, strlen(file));
		strbuf_printf(out, "@0x%llx", (unsigned long long)data.dso_addr);
	} else {
		strbuf_printf(out, "0x%llx", (unsigned long long)sample->addr);
	}
	strbuf_printf(out, " (%c%c)",
		      !data.map				   ? '?'
		      : data.map->prot & 4 /* PROT_EXEC */ ? 'x'
							   : 'd',
		      sample->cpumode == CPUMODE_KERNEL ? 'k' : '.');
}

static const struct untrusted *name_of_thread(void *context, uint32_t tid)
{
	const struct replay *replay = context;
	const struct thread *thread = machine_thread(replay->opening.session->machine, tid, UINT64_MAX);

	return thread && thread->comm_count ? thread_comm(thread, UINT64_MAX) : NULL;
}

static void describe_event(struct replay *replay, const struct record *record, const struct replayed_event *event,
			   const struct sample *sample, const struct thread *thread)
{
	const struct trace_options *options = replay->trace->options;
	const struct trace_event_style style = {
		.zeros = options->print.style.zeros, .thread_name = name_of_thread, .thread_name_context = replay};
	struct frame place;

	if (event->tracepoint && options->print_formats) {
		tracepoint_print(event->tracepoint, sample->raw, sample->raw_size, &replay->detail);
	} else if (event->tracepoint) {
		trace_event_add_fields(event->tracepoint, sample, &style, &replay->detail);
	} else {
		resolve(replay, record, thread, sample->cpumode, sample->ip, &place);
		trace_add_place(&place, &replay->detail);
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

static void take_event(struct replay *replay, const struct record *record, struct replayed_event *event, const struct sample *sample,
		       struct replayed_thread *ours, struct thread *thread)
{
	struct trace_printer *printer = replay->trace->printer;
	bool fault = event->kind == KIND_MAJOR_FAULT || event->kind == KIND_MINOR_FAULT;
	const char *name = event->kind == KIND_MAJOR_FAULT ? "majfault" : fault ? "minfault" : record->event->name;
	uint64_t most = trace_limit_of(replay->trace, record->event->name);

	if (!printer || !is_named(replay->trace, record->event->name, fault) || (most && event->shown >= most) ||
	    !take_stack(replay, record, sample, thread, false))
		return;
	event->shown++;
	strbuf_clear(&replay->detail);
	strbuf_clear(&replay->text);
	text_add_safe(&replay->text, name, strlen(name));
	if (fault)
		describe_fault(replay, record, sample, thread);
	else
		describe_event(replay, record, event, sample, thread);
	strbuf_printf(&replay->text, fault ? " %s" : "(%s)", strbuf_str(&replay->detail));
	tell_all_waiting(replay, ours, sample->time);
	if (!fault)
		tell_waiting(replay, ours);
	give_stack(replay);
	trace_printer_event(printer, &(struct trace_line){.time = sample->time,
							  .pid = ours->pid,
							  .tid = ours->tid,
							  .name = name,
							  .detail = strbuf_str(&replay->detail),
							  .text = strbuf_str(&replay->text),
							  .momentary = fault});
}

static bool is_end(const struct replayed_event *event)
{
	return event->kind >= KIND_SIGNAL && event->kind <= KIND_END;
}

static void count_event(struct replay *replay, const struct replayed_event *event, const struct sample *sample)
{
	if (!replay->trace->sums || event->kind == KIND_ENTER || event->kind == KIND_EXIT || is_end(event))
		return;
	struct syscall_owner *owner = syscall_sums_owner(replay->trace->sums, owner_of(replay, sample));
	owner->events += event->kind != KIND_RUNTIME;
	owner->major_faults += event->kind == KIND_MAJOR_FAULT;
	owner->minor_faults += event->kind == KIND_MINOR_FAULT;
	if (event->kind == KIND_RUNTIME && event->value)
		owner->runtime += tracepoint_read(event->value, sample->raw, sample->raw_size);
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
			const struct replayed_thread *thread)
{
	strbuf_clear(&replay->text);
	text_add_safe(&replay->text, record->event->name, strlen(record->event->name));
	strbuf_printf(&replay->text, " %llu.%03llu ", (unsigned long long)(sample->time / 1000000),
		      (unsigned long long)(sample->time / 1000 % 1000));
	text_add_untrusted(&replay->text, thread->comm);
	strbuf_printf(&replay->text, " %u/%u [%d]", sample->pid, sample->tid, (int)sample->cpu);
	trace_printer_text(replay->trace->printer, strbuf_str(&replay->text));
}

static void take_mark(struct replay *replay, const struct replayed_event *event, const struct sample *sample,
		      struct replayed_thread *thread)
{
	uint32_t target;
	if (event->kind == KIND_SENT) {
		bool ignored = trace_ends_take_sent(&replay->ends, event->tracepoint, sample, &target);
		const uint64_t *slot = map64_find(&replay->threads, target);
		if (!ignored || !slot)
			return;
		thread = (struct replayed_thread *)(uintptr_t)*slot;
	}
	tell_all_waiting(replay, thread, sample->time);
	tell_waiting(replay, thread);
	if (event->kind == KIND_SENT)
		trace_ends_show_ignored(replay->trace, event->tracepoint, sample, thread->pid, thread->tid);
	else if (event->kind == KIND_SIGNAL)
		trace_ends_take_signal(&replay->ends, replay->trace, event->tracepoint, sample);
	else
		trace_ends_take_end(&replay->ends, replay->trace, sample);
}

static void take_sample(struct replay *replay, const struct record *record)
{
	struct sample sample;

	if (!session_decode(replay->opening.session, record, &sample))
		return;
	struct thread *thread = machine_thread_or_new(replay->opening.session->machine, sample.pid, sample.tid, record->model_time);
	if (is_left_out(replay, sample.pid) ||
	    (replay->filtered &&
	     !script_filter_passes(&replay->filter, replay->opening.session->machine, replay->opening.resolver, record, &sample, thread)))
		return;
	struct replayed_thread *ours = get_thread(replay, sample.pid, sample.tid, thread, record->model_time);
	struct replayed_event *event = look_up(replay, record->event);
	if (!replay->trace->samples++ && replay->trace->printer)
		trace_printer_begin(replay->trace->printer, sample.time);
	if (replay->trace->options->print_sample && replay->trace->printer)
		show_header(replay, record, &sample, ours);
	count_event(replay, event, &sample);
	if (event->kind == KIND_ENTER)
		take_enter(replay, event, &sample, ours);
	else if (event->kind == KIND_EXIT)
		take_exit(replay, record, event, &sample, ours, thread);
	else if (is_end(event))
		take_mark(replay, event, &sample, ours);
	else if (event->kind != KIND_RUNTIME)
		take_event(replay, record, event, &sample, ours, thread);
}

/* ---- what the BPF program tells ---- */

static void take_begin(struct replay *replay, struct replayed_thread *thread, const struct syscall_record *record)
{
	if (thread->in_call && thread->entered == record->thread.time)
		return; /* told already */
	memcpy(thread->arguments, record->arguments, sizeof(thread->arguments));
	begin_call(replay, thread, record->number, record->thread.time);
}

static void take_end(struct replay *replay, struct replayed_thread *thread, const struct syscall_record *record, uint64_t now)
{
	const struct trace_options *options = replay->trace->options;
	struct syscall call;

	thread->in_call = false;
	fill_call(replay, thread, record->number, &call);
	call.time = record->thread.time;
	call.duration = record->duration;
	call.result = record->result;
	memcpy(call.arguments, record->arguments, sizeof(call.arguments));
	trace_strings_fill(replay->trace->strings, &call, now);
	if (!is_short_of(options, &call))
		end_call(replay, &call, thread, options->summary_mode == TRACE_TOTAL ? 0 : thread->tid, now);
}

static void take_moment(struct replay *replay, const struct trace_moment *moment)
{
	const struct thread_record *record = &moment->record.thread;
	struct thread *thread = machine_thread_or_new(replay->opening.session->machine, record->pid, record->tid, moment->time);
	struct replayed_thread *ours = get_thread(replay, record->pid, record->tid, thread, moment->time);
	bool is_call = moment->kind == MOMENT_BEGIN || moment->kind == MOMENT_END, discarding = replay->filter.discarding;

	replay->trace->samples += is_call;
	if (replay->trace->printer && !discarding && (is_call || replay->trace->signals))
		trace_printer_begin(replay->trace->printer, moment->time);
	if (!is_call && replay->trace->signals && !discarding) {
		tell_all_waiting(replay, ours, moment->time);
		tell_waiting(replay, ours);
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

static void take_moments(struct replay *replay, uint64_t until)
{
	struct trace_printer *printer = replay->trace->printer;
	struct trace_moment moment;

	while (replay->trace->strings && !(printer && trace_printer_done(printer)) &&
	       trace_strings_next(replay->trace->strings, until, &moment))
		take_moment(replay, &moment);
}

/* Threads of which the machine knows nothing any more go here as well, and names lie elsewhere. */
static void forget_threads(struct replay *replay)
{
	const struct machine *machine = replay->opening.session->machine;
	struct map64 kept = {0};
	size_t begun = 0;

	for (size_t i = replay->first_begun; i < replay->begun.len; i++) {
		const struct begun *each = &replay->begun.data[i];
		if (each->thread->in_call && each->thread->entered == each->entered)
			replay->begun.data[begun++] = *each;
	}
	replay->begun.len = begun;
	replay->first_begun = 0;
	map64_each (slot, &replay->threads) {
		struct replayed_thread *thread = map64_pointer(slot);
		thread->comm = NULL;
		if (thread->in_call || machine_thread(machine, thread->tid, UINT64_MAX)) {
			*map64_insert(&kept, thread->tid, NULL) = (uintptr_t)thread;
			continue;
		}
		if (replay->trace->printer)
			trace_printer_forget(replay->trace->printer, thread->tid);
		free(thread);
	}
	map64_deinit(&replay->threads);
	replay->threads = kept;
	replay->generation = machine->generation;
}

/* All records before the end of the round before the last two have been delivered now (order.h): the next round had the last of them, the
 * mark behind that one made room for what is as new as they are. */
static void take_round(struct replay *replay, const struct record_header *header)
{
	const struct record_timed_round *round = (const void *)header;
	uint64_t *slot = &replay->rounds[replay->round_count % ROUNDS_BEHIND];

	if (header->size < sizeof(*round))
		return;
	if (replay->round_count++ >= ROUNDS_BEHIND)
		take_moments(replay, *slot);
	*slot = round->ended_ns;
}

/* ---- the loop ---- */

static void take_thread_exit(struct replay *replay, const struct record *record)
{
	const struct record_task *exited = (const void *)record->header;
	uint64_t *slot = record->header->size >= sizeof(*exited) ? map64_find(&replay->threads, exited->tid) : NULL;
	struct replayed_thread *thread = slot ? (struct replayed_thread *)(uintptr_t)*slot : NULL;

	if (!thread || !thread->in_call)
		return;
	if (!replay->trace->options->shortest && !replay->trace->options->failures)
		tell_waiting(replay, thread);
	thread->in_call = false;
	if (replay->trace->printer)
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
		take_moments(replay, record.time);
		if (record.header->type == RECORD_SAMPLE)
			take_sample(replay, &record);
		else if (record.header->type == RECORD_EXIT)
			take_thread_exit(replay, &record);
		else if (record.header->type == RECORD_LOST)
			take_lost(replay, &record);
		else if (record.header->type == RECORD_FINISHED_ROUND)
			take_round(replay, record.header);
		if (printer && (record.header->type == RECORD_FINISHED_ROUND || trace_printer_is_full(printer)))
			error = trace_printer_write(printer);
	}
	if (!error && replay->trace->strings) {
		trace_strings_stop(replay->trace->strings);
		take_moments(replay, UINT64_MAX);
	}
	if (!error && replay->trace->program_tells_calls)
		tell_all_waiting(replay, NULL, UINT64_MAX);
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
	trace_ends_deinit(&replay->ends);
	trace_stacks_destroy(replay->stacks);
	script_filter_deinit(&replay->filter);
	map64_each (slot, &replay->threads)
		free(map64_pointer(slot));
	map64_deinit(&replay->threads);
	vec_deinit(&replay->events);
	vec_deinit(&replay->begun);
	strbuf_deinit(&replay->text);
	strbuf_deinit(&replay->detail);
	opening_end(&replay->opening);
}

/* Nobody misses them who doesn't know them: a hint. */
static void tell_absent_ends(const struct replay *replay)
{
	if (hint_is_wanted(STDERR_FILENO) && has_event(replay, "raw_syscalls:sys_enter") &&
	    !(has_event(replay, TRACE_SIGNAL_EVENT) && has_event(replay, TRACE_END_EVENT)))
		log_warning("The recording contains neither signals nor exit statuses; 'perf trace --signals record' records them");
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
