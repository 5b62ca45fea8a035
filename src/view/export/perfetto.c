/* A trace of Perfetto (https://perfetto.dev, protos/perfetto/trace): packets, each a field of the trace.
 *
 *	a sequence for each event:   its name and what its samples refer to (interned), then a packet for each sample
 *	one for all tracepoints:     bundles of ftrace events, so that the scheduler's are shown as what ran on each CPU
 *
 * What a sample weighs is how far its event's counter has come since the sample before it on the same CPU.
 */
#include "base/formats/protobuf.h"
#include "base/hash.h"
#include "view/export/streaming.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

enum trace_field { TRACE_PACKET = 1 };
enum packet_field {
	PACKET_FTRACE = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_TIME = 8,
	PACKET_SEQUENCE = 10,
	PACKET_INTERNED = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_PERF_SAMPLE = 66,
};
enum defaults_field { DEFAULTS_PERF_SAMPLE = 12 };
enum sample_defaults_field { SAMPLE_TIMEBASE = 1 };
enum timebase_field { TIMEBASE_NAME = 10 };
enum sequence_flag { STATE_CLEARED = 1, NEEDS_STATE = 2 };
enum process_tree_field { TREE_PROCESS = 1, TREE_THREAD };
enum process_field { PROCESS_PID = 1, PROCESS_COMMAND_LINE = 3 };
enum thread_field { THREAD_TID = 1, THREAD_NAME, THREAD_PID };
enum interned_field {
	INTERNED_FUNCTIONS = 5,
	INTERNED_FRAMES,
	INTERNED_STACKS,
	INTERNED_BUILD_IDS = 16,
	INTERNED_PATHS,
	INTERNED_SOURCES,
	INTERNED_MAPPINGS,
};
enum string_field { STRING_ID = 1, STRING_BYTES };
enum mapping_field { MAPPING_ID = 1, MAPPING_BUILD_ID, MAPPING_START = 4, MAPPING_END, MAPPING_PATH = 7, MAPPING_OFFSET };
enum frame_field { FRAME_ID = 1, FRAME_FUNCTION, FRAME_MAPPING, FRAME_ADDRESS, FRAME_SOURCE, FRAME_LINE };
enum stack_field { STACK_ID = 1, STACK_FRAMES };
enum perf_sample_field { SAMPLE_CPU = 1, SAMPLE_PID, SAMPLE_TID, SAMPLE_STACK, SAMPLE_MODE, SAMPLE_COUNT };
enum cpu_mode { MODE_KERNEL = 1, MODE_USER };
enum bundle_field { BUNDLE_CPU = 1, BUNDLE_EVENT };
enum ftrace_field { FTRACE_TIME = 1, FTRACE_TID, FTRACE_GENERIC = 327 };
enum generic_field { GENERIC_NAME = 1, GENERIC_FIELD };
enum generic_value { VALUE_NAME = 1, VALUE_TEXT = 3, VALUE_SIGNED, VALUE_UNSIGNED };

/* Tracepoints that Perfetto has messages of (FtraceEvent): their fields, from number 1 on. */
static const struct known_event {
	const char *name;
	uint32_t field;
	const char *members[8];
} known_events[] = {
	{"sched:sched_switch", 4, {"prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"}},
	{"sched:sched_wakeup", 17, {"comm", "pid", "prio", "success", "target_cpu"}},
	{"sched:sched_wakeup_new", 114, {"comm", "pid", "prio", "success", "target_cpu"}},
	{"sched:sched_waking", 20, {"comm", "pid", "prio", "success", "target_cpu"}},
};

struct writing {
	const struct samples *samples;
	struct strbuf out, packet, message, part, list;
	const struct sink *sink;
	samples_fields fields;
	samples_path path;
};

static void end_packet(struct writing *writing, uint64_t sequence, uint64_t flags)
{
	protobuf_add_u64(&writing->packet, PACKET_SEQUENCE, sequence);
	protobuf_add_u64(&writing->packet, PACKET_SEQUENCE_FLAGS, flags);
	protobuf_add_message(&writing->out, TRACE_PACKET, &writing->packet);
	stream_on(&writing->out, writing->sink);
}

static void add_process_tree(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	struct map64 processes = {0}; /* that have their name: the main thread needn't be among the threads */
	for (size_t i = 0; i < samples->threads.len; i++) {
		const struct samples_thread *thread = &samples->threads.data[i];
		bool first;
		map64_insert(&processes, thread->pid, &first);
		if (first) {
			protobuf_add_present(&writing->part, PROCESS_PID, thread->pid);
			protobuf_add_string(&writing->part, PROCESS_COMMAND_LINE, thread->process);
			protobuf_add_message(&writing->message, TREE_PROCESS, &writing->part);
		}
		protobuf_add_present(&writing->part, THREAD_TID, thread->tid);
		protobuf_add_string(&writing->part, THREAD_NAME, thread->name);
		protobuf_add_present(&writing->part, THREAD_PID, thread->pid);
		protobuf_add_message(&writing->message, TREE_THREAD, &writing->part);
	}
	map64_deinit(&processes);
	protobuf_add_message(&writing->packet, PACKET_PROCESS_TREE, &writing->message);
	end_packet(writing, 1, 0);
}

/* ---- what samples refer to: numbers are one more than ours ---- */

static void end_interned(struct writing *writing, uint32_t field)
{
	protobuf_add_message(&writing->message, field, &writing->part);
}

static void intern_bytes_of(struct writing *writing, uint32_t field, size_t number, const void *data, size_t size)
{
	protobuf_add_u64(&writing->part, STRING_ID, number + 1);
	protobuf_add_bytes(&writing->part, STRING_BYTES, data, size);
	end_interned(writing, field);
}

static void intern_string_of(struct writing *writing, uint32_t field, size_t number, const char *text)
{
	protobuf_add_u64(&writing->part, STRING_ID, number + 1);
	protobuf_add_string(&writing->part, STRING_BYTES, text);
	end_interned(writing, field);
}

static void intern_names(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	const char **sources = samples_function_sources(samples);
	for (size_t i = 0; i < samples->functions.len; i++) {
		intern_string_of(writing, INTERNED_FUNCTIONS, i, samples->functions.data[i].name);
		if (sources[i])
			intern_string_of(writing, INTERNED_SOURCES, i, sources[i]);
	}
	free(sources);
	for (size_t i = 0; i < samples->files.len; i++) {
		const struct samples_file *file = &samples->files.data[i];
		intern_string_of(writing, INTERNED_PATHS, i, file->name);
		intern_bytes_of(writing, INTERNED_BUILD_IDS, i, file->build_id.data, file->build_id.size);
	}
}

/* What is said once for all samples of a sequence. */
static void add_defaults(struct writing *writing, const char *event)
{
	protobuf_add_string(&writing->list, TIMEBASE_NAME, event);
	protobuf_add_message(&writing->part, SAMPLE_TIMEBASE, &writing->list);
	protobuf_add_message(&writing->message, DEFAULTS_PERF_SAMPLE, &writing->part);
	protobuf_add_message(&writing->packet, PACKET_DEFAULTS, &writing->message);
}

static void intern_mappings(struct writing *writing)
{
	for (size_t i = 0; i < writing->samples->mappings.len; i++) {
		const struct samples_mapping *mapping = &writing->samples->mappings.data[i];
		protobuf_add_u64(&writing->part, MAPPING_ID, i + 1);
		protobuf_add_u64(&writing->part, MAPPING_BUILD_ID, mapping->file + (uint64_t)1);
		protobuf_add_u64(&writing->part, MAPPING_START, mapping->start);
		protobuf_add_u64(&writing->part, MAPPING_END, mapping->end);
		protobuf_add_u64(&writing->part, MAPPING_PATH, mapping->file + (uint64_t)1);
		protobuf_add_u64(&writing->part, MAPPING_OFFSET, mapping->offset);
		end_interned(writing, INTERNED_MAPPINGS);
	}
}

/* The source is that of the function. */
static void intern_frames(struct writing *writing)
{
	for (size_t i = 0; i < writing->samples->frames.len; i++) {
		const struct samples_frame *frame = &writing->samples->frames.data[i];
		protobuf_add_u64(&writing->part, FRAME_ID, i + 1);
		protobuf_add_u64(&writing->part, FRAME_FUNCTION, frame->function + (uint64_t)1);
		if (frame->mapping != SAMPLES_NONE) {
			const struct samples_mapping *mapping = &writing->samples->mappings.data[frame->mapping];
			protobuf_add_u64(&writing->part, FRAME_MAPPING, frame->mapping + (uint64_t)1);
			protobuf_add_present(&writing->part, FRAME_ADDRESS, frame->address - mapping->start + mapping->offset);
		}
		if (frame->source_file) {
			protobuf_add_u64(&writing->part, FRAME_SOURCE, frame->function + (uint64_t)1);
			protobuf_add_u64(&writing->part, FRAME_LINE, frame->line);
		}
		end_interned(writing, INTERNED_FRAMES);
	}
}

/* In packets of some size: a reader takes each of them as a whole. */
static void end_some(struct writing *writing, uint64_t sequence, uint64_t flags)
{
	protobuf_add_message(&writing->packet, PACKET_INTERNED, &writing->message);
	end_packet(writing, sequence, flags);
}

/* The stacks of an event's samples; those of others are as good as not there. */
static void intern_stacks(struct writing *writing, uint32_t event, uint64_t sequence)
{
	const struct samples *samples = writing->samples;
	bool *used = mem_zalloc_array(samples->stacks.len + 1, sizeof(*used));
	for (size_t i = 0; i < samples->rows.len; i++)
		used[samples->rows.data[i].stack] |= samples->rows.data[i].event == event;
	for (uint32_t stack = 1; stack < samples->stacks.len; stack++) {
		if (!used[stack])
			continue;
		samples_stack_path(samples, stack, &writing->path);
		protobuf_add_u64(&writing->part, STACK_ID, stack);
		for (size_t i = 0; i < writing->path.len; i++)
			protobuf_add_present(&writing->part, STACK_FRAMES, writing->path.data[i] + (uint64_t)1);
		end_interned(writing, INTERNED_STACKS);
		if (writing->message.len > STREAMING_BLOCK)
			end_some(writing, sequence, NEEDS_STATE);
	}
	end_some(writing, sequence, NEEDS_STATE);
	free(used);
}

/* ---- samples ---- */

static void add_sample(struct writing *writing, const struct samples_row *row, uint64_t count, uint64_t sequence)
{
	const struct samples *samples = writing->samples;
	const struct samples_thread *thread = samples_row_thread(samples, row);
	bool kernel = samples->functions.data[samples->frames.data[row->frame].function].kind == FRAME_KERNEL;
	if (row->cpu != SAMPLES_NONE)
		protobuf_add_present(&writing->message, SAMPLE_CPU, row->cpu);
	protobuf_add_present(&writing->message, SAMPLE_PID, thread->pid);
	protobuf_add_present(&writing->message, SAMPLE_TID, thread->tid);
	protobuf_add_u64(&writing->message, SAMPLE_STACK, row->stack);
	protobuf_add_u64(&writing->message, SAMPLE_MODE, kernel ? MODE_KERNEL : MODE_USER);
	protobuf_add_u64(&writing->message, SAMPLE_COUNT, count);
	protobuf_add_message(&writing->packet, PACKET_PERF_SAMPLE, &writing->message);
	protobuf_add_u64(&writing->packet, PACKET_TIME, row->time);
	end_packet(writing, sequence, NEEDS_STATE);
}

static void add_event(struct writing *writing, uint32_t event)
{
	const struct samples *samples = writing->samples;
	uint64_t sequence = event + (uint64_t)2;
	struct map64 counts = {0}; /* by CPU */
	add_defaults(writing, samples->events.data[event].name);
	intern_names(writing);
	intern_mappings(writing);
	intern_frames(writing);
	end_some(writing, sequence, STATE_CLEARED);
	intern_stacks(writing, event, sequence);
	for (size_t i = 0; i < samples->rows.len; i++) {
		const struct samples_row *row = &samples->rows.data[i];
		if (row->event != event)
			continue;
		uint64_t *count = map64_insert(&counts, row->cpu, NULL);
		*count += row->period;
		add_sample(writing, row, *count, sequence);
	}
	map64_deinit(&counts);
}

/* ---- tracepoints ---- */

static const struct known_event *find_known(const char *name)
{
	for (size_t i = 0; i < sizeof(known_events) / sizeof(*known_events); i++)
		if (!strcmp(known_events[i].name, name))
			return &known_events[i];
	return NULL;
}

static void add_text(struct strbuf *out, uint32_t number, const struct samples_field *field)
{
	struct strbuf text = {0};
	strbuf_add(&text, field->text, field->length);
	protobuf_add_string(out, number, strbuf_str(&text));
	strbuf_deinit(&text);
}

static void add_known(struct writing *writing, const struct known_event *known)
{
	for (uint32_t member = 0; known->members[member]; member++)
		for (size_t i = 0; i < writing->fields.len; i++) {
			const struct samples_field *field = &writing->fields.data[i];
			if (strcmp(field->name, known->members[member]) != 0)
				continue;
			if (field->text)
				add_text(&writing->part, member + 1, field);
			else
				protobuf_add_present(&writing->part, member + 1, field->number);
		}
}

static void add_generic(struct writing *writing, const char *name)
{
	protobuf_add_string(&writing->part, GENERIC_NAME, name);
	for (size_t i = 0; i < writing->fields.len; i++) {
		const struct samples_field *field = &writing->fields.data[i];
		protobuf_add_string(&writing->list, VALUE_NAME, field->name);
		if (field->text)
			add_text(&writing->list, VALUE_TEXT, field);
		else
			protobuf_add_present(&writing->list, field->is_signed ? VALUE_SIGNED : VALUE_UNSIGNED, field->number);
		protobuf_add_message(&writing->part, GENERIC_FIELD, &writing->list);
	}
}

static void add_tracepoint(struct writing *writing, const struct samples_row *row)
{
	const struct samples *samples = writing->samples;
	const char *name = samples->events.data[row->event].name;
	const struct known_event *known = find_known(name);
	struct strbuf event = {0};
	samples->fields(samples->fields_context, row, &writing->fields);
	protobuf_add_u64(&event, FTRACE_TIME, row->time);
	protobuf_add_present(&event, FTRACE_TID, samples_row_thread(samples, row)->tid);
	if (known)
		add_known(writing, known);
	else
		add_generic(writing, name);
	protobuf_add_message(&event, known ? known->field : FTRACE_GENERIC, &writing->part);
	if (row->cpu != SAMPLES_NONE)
		protobuf_add_present(&writing->message, BUNDLE_CPU, row->cpu);
	protobuf_add_message(&writing->message, BUNDLE_EVENT, &event);
	protobuf_add_message(&writing->packet, PACKET_FTRACE, &writing->message);
	end_packet(writing, 1, 0);
	strbuf_deinit(&event);
}

static struct error *show_samples(const struct samples *samples, const struct view_options *options, const struct sink *out)
{
	struct writing writing = {.samples = samples, .sink = out};
	add_process_tree(&writing);
	for (uint32_t i = 0; i < samples->events.len; i++)
		if (samples->events.data[i].samples)
			add_event(&writing, i);
	for (size_t i = 0; i < samples->rows.len; i++)
		if (samples->events.data[samples->rows.data[i].event].tracepoint)
			add_tracepoint(&writing, &samples->rows.data[i]);
	strbuf_deinit(&writing.packet);
	strbuf_deinit(&writing.message);
	strbuf_deinit(&writing.part);
	strbuf_deinit(&writing.list);
	vec_deinit(&writing.fields);
	vec_deinit(&writing.path);
	return stream_end(&writing.out, out, "Perfetto trace");
}

const struct view_ops view_perfetto = {
	.name = "perfetto",
	.summary = "a trace for ui.perfetto.dev",
	.samples = show_samples,
	.detail = SAMPLES_APART | SAMPLES_STACKS | SAMPLES_ADDRESSES,
	.binary = true,
};
