/* Calls and events as lines (print.h). Threads are kept by their id; text is collected and written in large pieces. */
#include "cmd/trace/print.h"

#include "analysis/syscalls/syscall_put.h"
#include "base/files/output.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WRITE_BYTES = 1 << 16 };

struct printed_thread {
	uint32_t pid, tid;
	char name[64]; /* safe text */
	/* The call that waits: */
	struct strbuf waiting; /* "nanosleep(…)"; empty = none */
	uint64_t waiting_since;
	bool shown; /* its entry has been printed */
	struct printed_thread *next_waiting;
};

struct trace_printer {
	struct trace_print_options options;
	struct map64 threads;				      /* tid → struct printed_thread * */
	struct printed_thread *first_waiting, **last_waiting; /* those that aren't shown yet */
	struct strbuf text;
	size_t kept;	     /* bytes of it that are whole lines */
	struct strbuf stack; /* of the next call or event: lines, or a JSON array */
	uint64_t begin;	     /* time of the first line; 0 = none yet */
	uint64_t lines;
	bool closed; /* nobody reads the output */
};

static void follow_terminal(struct trace_printer *printer);

struct trace_printer *trace_printer_create(const struct trace_print_options *options)
{
	struct trace_printer *printer = mem_zalloc(sizeof(*printer));

	printer->options = *options;
	printer->last_waiting = &printer->first_waiting;
	follow_terminal(printer);
	return printer;
}

static void thread_destroy(struct printed_thread *thread)
{
	strbuf_deinit(&thread->waiting);
	free(thread);
}

void trace_printer_destroy(struct trace_printer *printer)
{
	if (!printer)
		return;
	map64_each (slot, &printer->threads)
		thread_destroy(map64_pointer(slot));
	map64_deinit(&printer->threads);
	strbuf_deinit(&printer->text);
	strbuf_deinit(&printer->stack);
	free(printer);
}

/* The thread of that id, made when it is new. Lives until it is forgotten. */
static struct printed_thread *get_thread(struct trace_printer *printer, uint32_t pid, uint32_t tid)
{
	bool is_new;
	uint64_t *slot = map64_insert(&printer->threads, tid, &is_new);

	if (is_new) {
		struct printed_thread *thread = mem_zalloc(sizeof(*thread));
		thread->pid = pid;
		thread->tid = tid;
		*slot = (uint64_t)(uintptr_t)thread;
	}
	return (struct printed_thread *)(uintptr_t)*slot;
}

static struct printed_thread *find_thread(const struct trace_printer *printer, uint32_t tid)
{
	uint64_t *slot = map64_find(&printer->threads, tid);

	return slot ? (struct printed_thread *)(uintptr_t)*slot : NULL;
}

void trace_printer_name(struct trace_printer *printer, uint32_t pid, uint32_t tid, const struct untrusted *name)
{
	struct printed_thread *thread = get_thread(printer, pid, tid);
	struct strbuf safe = {0};

	text_add_untrusted(&safe, name);
	size_t length = safe.len < sizeof(thread->name) ? safe.len : sizeof(thread->name) - 1;
	memcpy(thread->name, strbuf_str(&safe), length);
	thread->name[length] = '\0';
	thread->pid = pid;
	strbuf_deinit(&safe);
}

void trace_printer_fork(struct trace_printer *printer, uint32_t pid, uint32_t tid, uint32_t parent_tid)
{
	struct printed_thread *thread = get_thread(printer, pid, tid), *parent = find_thread(printer, parent_tid);

	thread->pid = pid;
	if (parent)
		memcpy(thread->name, parent->name, sizeof(thread->name));
}

void trace_printer_begin(struct trace_printer *printer, uint64_t time)
{
	if (!printer->begin)
		printer->begin = time;
}

const struct untrusted *trace_printer_thread_name(const struct trace_printer *printer, uint32_t tid)
{
	const struct printed_thread *thread = find_thread(printer, tid);

	return thread && *thread->name ? untrusted(thread->name) : NULL;
}

/* ---- calls that wait ---- */

/* The thread's call has ended: takes it out of the list of those whose entry is still to be shown. */
static void stop_waiting(struct trace_printer *printer, struct printed_thread *thread)
{
	struct printed_thread **at = &printer->first_waiting;

	strbuf_clear(&thread->waiting);
	if (thread->shown)
		return;
	while (*at && *at != thread)
		at = &(*at)->next_waiting;
	if (!*at)
		return;
	*at = thread->next_waiting;
	if (!*at)
		printer->last_waiting = at;
}

/* ---- lines ---- */

/* Durations from 10 µs and 1 ms on, as the kernel's tool has them. */
static const char *duration_color(uint64_t duration)
{
	return duration >= 1000000 ? "\033[31m" : duration >= 10000 ? "\033[33m" : "";
}

enum { NAME_WIDTH = 14, TID_WIDTH = 7, TIME_WIDTH = 11, DURATION_WIDTH = 13, RESULT_WIDTH = 14, LEAST_ALIGNMENT = 24, MOST_ALIGNMENT = 70 };

/* The arguments get what the other columns leave. */
static void follow_terminal(struct trace_printer *printer)
{
	struct trace_print_options *options = &printer->options;
	struct winsize size;

	if (!options->terminal || options->aligned || ioctl(options->fd, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return;
	int others = (options->timestamps ? TIME_WIDTH : 0) + (options->durations ? DURATION_WIDTH : 0) +
		     (options->threads ? (options->names ? NAME_WIDTH + 1 : 0) + TID_WIDTH + 1 : 0) + RESULT_WIDTH;
	int left = (int)size.ws_col - others;
	options->alignment = left < LEAST_ALIGNMENT ? LEAST_ALIGNMENT : left > MOST_ALIGNMENT ? MOST_ALIGNMENT : (unsigned int)left;
}

/* "name/tid"; on a terminal in columns, measured in cells and not in bytes. */
static void add_thread(struct trace_printer *printer, const struct printed_thread *thread)
{
	const struct trace_print_options *options = &printer->options;
	struct strbuf *out = &printer->text;
	size_t begin = out->len;

	if (options->names) {
		strbuf_add(out, thread->name, strnlen(thread->name, NAME_WIDTH));
		strbuf_add_char(out, '/');
	}
	strbuf_add_u64(out, thread->tid, 0);
	size_t width = options->names ? NAME_WIDTH + 1 + TID_WIDTH : TID_WIDTH, length = text_width(out->data + begin, out->len - begin);
	strbuf_add_chars(out, ' ', 1 + (options->terminal && length < width ? width - length : 0));
}

/* Time, duration and thread, as far as the options want them. Time 0 is one that nobody knows: the call began before the trace. */
static void add_head(struct trace_printer *printer, const struct printed_thread *thread, uint64_t time, uint64_t duration,
		     bool has_duration)
{
	const struct trace_print_options *options = &printer->options;
	struct strbuf *out = &printer->text;

	if (options->timestamps && time) {
		if (!printer->begin)
			printer->begin = time;
		put_milliseconds(out, options->full_time ? time : time >= printer->begin ? time - printer->begin : 0, 10);
		strbuf_add_char(out, ' ');
	} else if (options->timestamps) {
		strbuf_add(out, "         ? ", 11);
	}
	if (options->durations && has_duration) {
		const char *color = options->style.color ? duration_color(duration) : "";
		strbuf_add_char(out, '(');
		strbuf_add_str(out, color);
		put_milliseconds(out, duration, 6);
		strbuf_add_str(out, *color ? " ms\033[m): " : " ms): ");
	} else if (options->durations) {
		strbuf_add(out, "(         ): ", 13);
	}
	if (options->threads)
		add_thread(printer, thread);
}

/* Colours take no room. Foreign text has no escape sequences any more. */
static size_t length_of_colors(const char *text, size_t size)
{
	size_t length = 0;

	for (const char *at = text, *end = text + size; (at = memchr(at, '\033', (size_t)(end - at)));) {
		const char *last = memchr(at, 'm', (size_t)(end - at));
		if (!last)
			break;
		length += (size_t)(last + 1 - at);
		at = last + 1;
	}
	return length;
}

/* Fills up to a column that counts from `begin`; one blank at least. */
static void align(struct strbuf *out, size_t begin, unsigned int column)
{
	size_t length = out->len - begin;

	length -= length_of_colors(out->data + begin, length);

	strbuf_add_chars(out, ' ', length < column ? column - length : 1);
}

static bool is_enough(const struct trace_printer *printer)
{
	return printer->options.most && printer->lines >= printer->options.most;
}

/* A line beyond --max-events is taken back: one record can bring several (who waits, and who goes on). */
static bool end_line(struct trace_printer *printer)
{
	bool kept = !is_enough(printer);

	strbuf_add_char(&printer->text, '\n');
	if (!kept) {
		printer->text.len = printer->kept;
		return false;
	}
	printer->lines++;
	printer->kept = printer->text.len;
	return true;
}

void trace_printer_stack(struct trace_printer *printer, const struct trace_stacks *stacks)
{
	strbuf_clear(&printer->stack);
	if (printer->options.json)
		trace_stacks_add_json(stacks, &printer->stack);
	else
		trace_stacks_add_lines(stacks, &printer->stack);
}

/* Ends the line that the stack belongs to. */
static void end_with_stack(struct trace_printer *printer)
{
	struct strbuf *out = &printer->text;

	if (printer->options.json && printer->stack.len) {
		out->len--; /* the object goes on */
		struct json json = {.out = out, .needs_comma = true};
		json_name(&json, "stack");
		json_value(&json, "%s", printer->stack.data);
		json_end_object(&json);
	}
	if (end_line(printer) && !printer->options.json && printer->stack.len) {
		strbuf_add(out, printer->stack.data, printer->stack.len);
		printer->kept = out->len;
	}
	strbuf_clear(&printer->stack);
}

void trace_printer_text(struct trace_printer *printer, const char *text)
{
	if (is_enough(printer))
		return;
	strbuf_add_str(&printer->text, text);
	strbuf_add_char(&printer->text, '\n');
	printer->kept = printer->text.len;
}

/* The entry of a call that waits. */
static void show_waiting(struct trace_printer *printer, struct printed_thread *thread)
{
	add_head(printer, thread, thread->waiting_since, 0, false);
	size_t begin = printer->text.len;
	strbuf_add(&printer->text, thread->waiting.data, thread->waiting.len);
	align(&printer->text, begin, printer->options.alignment > 3 ? printer->options.alignment - 3 : 0);
	strbuf_add_str(&printer->text, "...");
	end_line(printer);
	thread->shown = true;
}

/* Before a line of `thread` come the calls in which others wait. */
static void show_others(struct trace_printer *printer, const struct printed_thread *thread)
{
	struct printed_thread **at = &printer->first_waiting;

	while (*at) {
		struct printed_thread *other = *at;
		if (other == thread) {
			at = &other->next_waiting;
			continue;
		}
		show_waiting(printer, other);
		*at = other->next_waiting;
	}
	printer->last_waiting = at;
}

void trace_printer_flush_waiting(struct trace_printer *printer)
{
	show_others(printer, NULL);
}

void trace_printer_wait(struct trace_printer *printer, const struct syscall *call)
{
	struct printed_thread *thread = get_thread(printer, call->pid, call->tid);

	if (printer->options.completed_only || printer->options.json)
		return;
	stop_waiting(printer, thread);
	syscall_add_text(call, &printer->options.style, &thread->waiting);
	thread->waiting_since = call->time;
	thread->shown = false;
	thread->next_waiting = NULL;
	*printer->last_waiting = thread;
	printer->last_waiting = &thread->next_waiting;
}

void trace_printer_exit(struct trace_printer *printer, uint32_t tid)
{
	struct printed_thread *thread = find_thread(printer, tid);

	if (!thread || !thread->waiting.len)
		return;
	struct strbuf call = thread->waiting;
	bool shown = thread->shown;
	thread->waiting = (struct strbuf){0};
	stop_waiting(printer, thread);
	show_others(printer, thread);
	add_head(printer, thread, thread->waiting_since, 0, false);
	size_t begin = printer->text.len;
	if (shown) {
		call.len = strcspn(call.data, "(");
		strbuf_add_str(&printer->text, " ... [continued]: ");
	}
	strbuf_add(&printer->text, call.data, call.len);
	if (shown)
		strbuf_add_str(&printer->text, "()");
	align(&printer->text, begin, printer->options.alignment);
	strbuf_add(&printer->text, "= ?", 3);
	end_line(printer);
	strbuf_deinit(&call);
}

void trace_printer_forget(struct trace_printer *printer, uint32_t tid)
{
	struct printed_thread *thread = find_thread(printer, tid);

	if (!thread || thread->waiting.len)
		return;
	map64_remove(&printer->threads, tid);
	thread_destroy(thread);
}

/* The members that all lines begin with. */
static void begin_json(struct json *json, const struct printed_thread *thread, uint64_t time, uint32_t pid, uint32_t tid)
{
	json_begin_object(json);
	json_name(json, "time");
	json_value(json, "%llu.%09llu", (unsigned long long)(time / 1000000000), (unsigned long long)(time % 1000000000));
	json_add_u64(json, "pid", pid);
	json_add_u64(json, "tid", tid);
	json_add_string(json, "comm", thread->name);
}

/* Duration and result as numbers, the result in words, and the name of the error if it is one. */
static void add_json_result(const struct trace_printer *printer, const struct syscall *call, struct json *json)
{
	const char *error = syscall_failed(call->result) ? syscall_error_name(-call->result) : NULL;
	struct strbuf value = {0};

	json_add_u64(json, "duration_ns", call->duration);
	json_name(json, "result");
	json_value(json, "%lld", (long long)call->result);
	if (error)
		json_add_string(json, "error", error);
	syscall_add_result(call, &printer->options.style, &value);
	json_add_text(json, "result_text", strbuf_str(&value), value.len);
	strbuf_deinit(&value);
}

/* A call as one object; arguments by name as the lines show them, those without a meaning left out. */
static void add_json_call(struct trace_printer *printer, const struct printed_thread *thread, const struct syscall *call)
{
	const struct syscall_description *description = call->description;
	struct json json = {.out = &printer->text};
	struct strbuf value = {0};

	begin_json(&json, thread, call->time, call->pid, call->tid);
	json_add_string(&json, "call", description->name);
	json_name(&json, "args");
	json_begin_object(&json);
	for (unsigned int i = 0; i < description->count; i++) {
		strbuf_clear(&value);
		if (syscall_add_argument(call, &printer->options.style, i, &value))
			json_add_text(&json, description->arguments[i].name, strbuf_str(&value), value.len);
	}
	json_end_object(&json);
	if (!syscall_never_returns(description))
		add_json_result(printer, call, &json);
	json_end_object(&json);
	strbuf_deinit(&value);
}

void trace_printer_call(struct trace_printer *printer, const struct syscall *call)
{
	struct printed_thread *thread = get_thread(printer, call->pid, call->tid);
	struct strbuf *out = &printer->text;

	if (printer->options.json) {
		add_json_call(printer, thread, call);
		end_with_stack(printer);
		return;
	}
	bool continued = thread->waiting.len && thread->shown;
	stop_waiting(printer, thread);
	if (printer->first_waiting)
		show_others(printer, thread);
	add_head(printer, thread, call->time, call->duration, call->time && !syscall_never_returns(call->description));
	size_t begin = out->len;
	if (continued || !call->time) {
		strbuf_add_str(out, " ... [continued]: ");
		strbuf_add_str(out, call->description->name);
		strbuf_add_char(out, '(');
		syscall_add_filled(call, &printer->options.style, out);
		strbuf_add_char(out, ')');
	} else {
		syscall_add_text(call, &printer->options.style, out);
	}
	align(out, begin, printer->options.alignment);
	strbuf_add(out, "= ", 2);
	syscall_add_result(call, &printer->options.style, out);
	end_with_stack(printer);
}

void trace_printer_event(struct trace_printer *printer, const struct trace_line *line)
{
	struct printed_thread *thread = get_thread(printer, line->pid, line->tid);
	struct strbuf *out = &printer->text;

	if (printer->options.json) {
		struct json json = {.out = out};
		begin_json(&json, thread, line->time, line->pid, line->tid);
		json_add_string(&json, "event", line->name);
		json_add_string(&json, "detail", line->detail);
		json_end_object(&json);
	} else {
		show_others(printer, NULL);
		bool durations = printer->options.durations;
		printer->options.durations |= line->momentary;
		add_head(printer, thread, line->time, 0, line->momentary);
		printer->options.durations = durations;
		strbuf_add_str(out, line->text);
	}
	end_with_stack(printer);
}

void trace_printer_lost(struct trace_printer *printer, uint64_t count)
{
	struct json json = {.out = &printer->text};

	if (printer->options.json) {
		json_begin_object(&json);
		json_add_u64(&json, "lost", count);
		json_end_object(&json);
	} else {
		strbuf_printf(&printer->text, "LOST %llu events!", (unsigned long long)count);
	}
	end_line(printer);
}

struct error *trace_printer_write(struct trace_printer *printer)
{
	struct error *error =
		printer->closed ? NULL
				: output_write(printer->options.fd, printer->text.data, printer->text.len, "the trace", &printer->closed);

	if (error)
		return error;
	strbuf_clear(&printer->text);
	printer->kept = 0;
	follow_terminal(printer);
	return NULL;
}

bool trace_printer_is_full(const struct trace_printer *printer)
{
	return printer->text.len >= WRITE_BYTES;
}

bool trace_printer_done(const struct trace_printer *printer)
{
	return printer->closed || is_enough(printer);
}

uint64_t trace_printer_lines(const struct trace_printer *printer)
{
	return printer->lines;
}
