/* Samples in the order of time → lines and sums (trace_replay.h).
 *
 *	raw_syscalls:sys_enter ──► thread: number, arguments, time ──► raw_syscalls:sys_exit ──► call
 *	page faults, any other event ──► line
 *
 * A call that lasts is shown as waiting before the next line of another thread; a short one is not, or lines of threads that run at the same time would tear
 * each other apart. */
#include "cmd/trace_replay.h"

#include "analysis/call_sums.h"
#include "analysis/script_filter.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/opening.h"
#include "cmd/trace_event.h"
#include "cmd/trace_stack.h"
#include "cmd/trace_strings.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { LASTS_NS = 100000, FORGET_AFTER = 1024 };

enum kind { KIND_UNKNOWN, KIND_ENTER, KIND_EXIT, KIND_MAJOR_FAULT, KIND_MINOR_FAULT, KIND_RUNTIME, KIND_OTHER };

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
	uint64_t arguments[CALL_ARGUMENTS];
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
	struct trace_stacks *stacks; /* NULL = not wanted */
	struct strbuf text, detail;
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

static struct replayed_event *look_up(struct replay *replay, const struct event *event)
{
	while (replay->events.len <= event->index)
		vec_push(&replay->events, (struct replayed_event){0});
	struct replayed_event *known = &replay->events.data[event->index];
	if (known->kind)
		return known;
	known->kind = kind_of(event, replay->trace->options->sched);
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

static struct replayed_thread *get_thread(struct replay *replay, const struct sample *sample, const struct thread *thread, uint64_t time)
{
	bool is_new;
	uint64_t *slot = map64_insert(&replay->threads, sample->tid, &is_new);
	const struct untrusted *comm = thread_comm(thread, time);

	if (is_new)
		*slot = (uint64_t)(uintptr_t)mem_zalloc(sizeof(struct replayed_thread));
	struct replayed_thread *ours = (struct replayed_thread *)(uintptr_t)*slot;
	if (ours->comm == comm)
		return ours;
	ours->pid = sample->pid;
	ours->tid = sample->tid;
	ours->comm = comm;
	if (replay->trace->printer)
		trace_printer_name(replay->trace->printer, sample->pid, sample->tid, comm);
	if (replay->trace->sums && replay->trace->options->summary_mode == TRACE_BY_THREAD)
		call_sums_name(replay->trace->sums, sample->tid, comm);
	return ours;
}

/* Whose sums the sample belongs to. */
static uint64_t owner_of(const struct replay *replay, const struct sample *sample)
{
	enum trace_summary_mode mode = replay->trace->options->summary_mode;
	const struct untrusted *name;

	if (mode != TRACE_BY_CGROUP)
		return mode == TRACE_TOTAL ? 0 : sample->tid;
	if (!call_sums_has(replay->trace->sums, sample->cgroup) && (name = machine_cgroup(replay->opening.session->machine, sample->cgroup)))
		call_sums_name(replay->trace->sums, sample->cgroup, name);
	return sample->cgroup;
}

/* ---- calls ---- */

static void fill_call(const struct replay *replay, const struct replayed_thread *thread, unsigned int number, struct call *ret)
{
	*ret = (struct call){.description = replay->trace->table.calls[number],
			     .time = thread->entered,
			     .pid = thread->pid,
			     .tid = thread->tid,
			     .blind = true};
	memcpy(ret->arguments, thread->arguments, sizeof(ret->arguments));
}

static void tell_waiting(struct replay *replay, struct replayed_thread *thread)
{
	struct call call;

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

static void print_call(struct replay *replay, const struct call *call, const struct replayed_thread *thread, uint64_t now)
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

static void take_enter(struct replay *replay, const struct replayed_event *event, const struct sample *sample, struct replayed_thread *thread)
{
	uint64_t number = event->number ? tracepoint_read(event->number, sample->raw, sample->raw_size) : SYSCALL_NUMBERS;
	const struct trace_options *options = replay->trace->options;
	struct tracepoint_field argument;
	size_t length = 0;
	struct call call;

	thread->in_call = false;
	if (!is_selected(replay, number))
		return;
	const void *bytes = event->value ? tracepoint_read_bytes(event->value, sample->raw, sample->raw_size, &length) : NULL;
	for (uint32_t i = 0; i < CALL_ARGUMENTS && bytes; i++) {
		uint32_t size = event->value->element_size;
		argument = *event->value;
		argument.flags &= TRACEPOINT_FIELD_SWAPPED;
		argument.size = argument.element_size = size;
		argument.offset = i * size;
		thread->arguments[i] = tracepoint_read(&argument, bytes, length);
	}
	thread->number = (uint16_t)number;
	thread->entered = sample->time;
	thread->told = false;
	fill_call(replay, thread, thread->number, &call);
	if (!call_never_returns(call.description)) {
		thread->in_call = true;
		if (replay->trace->printer && !options->print.completed_only)
			vec_push(&replay->begun, (struct begun){thread, sample->time});
	} else if (replay->trace->printer && !options->print.completed_only) {
		print_call(replay, &call, thread, sample->time);
	}
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
	struct call call;

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
	if (call.duration < options->shortest || (options->failures && !call_failed(call.result)) ||
	    !take_stack(replay, record, sample, thread, true))
		return;
	if (replay->trace->sums)
		call_sums_add(replay->trace->sums, owner_of(replay, sample), &call, options->histograms);
	if (options->flamegraph && whole)
		trace_stacks_weigh(replay->stacks, ours->comm, call.description->name, call.duration);
	if (!replay->trace->printer)
		return;
	give_stack(replay);
	print_call(replay, &call, ours, sample->time);
}

/* ---- events ---- */

static void resolve(struct replay *replay, const struct record *record, const struct thread *thread, uint8_t mode, uint64_t address, struct frame *ret)
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
	strbuf_printf(out, " (%c%c)", !data.map ? '?' : data.map->prot & 4 /* PROT_EXEC */ ? 'x' : 'd', sample->cpumode == CPUMODE_KERNEL ? 'k' : '.');
}

static const struct untrusted *name_of_thread(void *context, uint32_t tid)
{
	const struct replay *replay = context;
	const struct thread *thread = machine_thread(replay->opening.session->machine, tid, UINT64_MAX);

	return thread && thread->comm_count ? thread_comm(thread, UINT64_MAX) : NULL;
}

static void describe_event(struct replay *replay, const struct record *record, const struct replayed_event *event, const struct sample *sample,
			   const struct thread *thread)
{
	const struct trace_options *options = replay->trace->options;
	const struct trace_event_style style = {.zeros = options->print.style.zeros, .thread_name = name_of_thread, .thread_name_context = replay};
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

	if (!printer || !is_named(replay->trace, record->event->name, fault) || (most && event->shown >= most) || !take_stack(replay, record, sample, thread, false))
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

static void count_event(struct replay *replay, const struct replayed_event *event, const struct sample *sample)
{
	if (!replay->trace->sums || event->kind == KIND_ENTER || event->kind == KIND_EXIT)
		return;
	struct call_owner *owner = call_sums_owner(replay->trace->sums, owner_of(replay, sample));
	owner->events += event->kind != KIND_RUNTIME;
	owner->major_faults += event->kind == KIND_MAJOR_FAULT;
	owner->minor_faults += event->kind == KIND_MINOR_FAULT;
	if (event->kind == KIND_RUNTIME && event->value)
		owner->runtime += tracepoint_read(event->value, sample->raw, sample->raw_size);
}

/* ---- the loop ---- */

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
static void show_header(struct replay *replay, const struct record *record, const struct sample *sample, const struct replayed_thread *thread)
{
	strbuf_clear(&replay->text);
	text_add_safe(&replay->text, record->event->name, strlen(record->event->name));
	strbuf_printf(&replay->text, " %llu.%03llu ", (unsigned long long)(sample->time / 1000000), (unsigned long long)(sample->time / 1000 % 1000));
	text_add_untrusted(&replay->text, thread->comm);
	strbuf_printf(&replay->text, " %u/%u [%d]", sample->pid, sample->tid, (int)sample->cpu);
	trace_printer_text(replay->trace->printer, strbuf_str(&replay->text));
}

static void take_sample(struct replay *replay, const struct record *record)
{
	struct sample sample;

	if (!session_decode(replay->opening.session, record, &sample))
		return;
	struct thread *thread = machine_thread_or_new(replay->opening.session->machine, sample.pid, sample.tid, record->model_time);
	if (is_left_out(replay, sample.pid) || (replay->filtered && !script_filter_passes(&replay->filter, replay->opening.session->machine, replay->opening.resolver, record, &sample, thread)))
		return;
	struct replayed_thread *ours = get_thread(replay, &sample, thread, record->model_time);
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
	else if (event->kind != KIND_RUNTIME)
		take_event(replay, record, event, &sample, ours, thread);
}

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
		if (record.header->type == RECORD_SAMPLE)
			take_sample(replay, &record);
		else if (record.header->type == RECORD_EXIT)
			take_thread_exit(replay, &record);
		else if (record.header->type == RECORD_LOST)
			take_lost(replay, &record);
		if (printer && (record.header->type == RECORD_FINISHED_ROUND || trace_printer_is_full(printer)))
			error = trace_printer_write(printer);
	}
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
		return error_new("the recording doesn't tell cgroups; make one with 'perf trace record --all-cgroups'");
	replay->filter.show_on_off = options->show_on_off;
	if (options->switch_on || options->switch_off)
		error = script_filter_set_switches(&replay->filter, &session->reader->events, options->switch_on, options->switch_off);
	if (!error && !live && options->pids)
		error = script_filter_add_ids(options->pids, &replay->filter.pids);
	if (!error && !live && options->tids)
		error = script_filter_add_ids(options->tids, &replay->filter.tids);
	replay->filtered = !script_filter_is_empty(&replay->filter);
	if (!error && (options->call_graph || options->flamegraph)) {
		struct trace_stack_options stacks = {.max_depth = (unsigned int)options->max_stack, .kernel_of_calls = options->kernel_graph};
		replay->stacks = trace_stacks_create(session, replay->opening.resolver, &stacks);
	}
	return error;
}

static void replay_deinit(struct replay *replay)
{
	trace_stacks_destroy(replay->stacks);
	script_filter_deinit(&replay->filter);
	for (size_t i = 0; replay->threads.count && i <= replay->threads.mask; i++)
		if (replay->threads.slots[i].used)
			free((void *)(uintptr_t)replay->threads.slots[i].value);
	map64_deinit(&replay->threads);
	vec_deinit(&replay->events);
	vec_deinit(&replay->begun);
	strbuf_deinit(&replay->text);
	strbuf_deinit(&replay->detail);
	opening_end(&replay->opening);
}

struct error *trace_replay(struct trace *trace, const char *path, bool live)
{
	struct replay replay = {.trace = trace};
	struct input_options input;

	input_options_init(&input);
	input.input = path;
	input.force = trace->options->force || live;
	input.jobs = 1;
	input.sandbox = trace->options->sandbox;
	const char *picture = trace->options->flamegraph;
	struct opening_options opening = {
		.input = &input,
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
	if (!error && trace->options->flamegraph)
		error = trace_stacks_draw(replay.stacks, trace->options->flamegraph);
	replay_deinit(&replay);
	return error;
}
