/* Chrome's trace event format, the object form (chrome://tracing, https://github.com/catapult-project/catapult): stacks are a tree of
 * stackFrames, samples point into it; tracepoints are instant events with their fields. Times are microseconds.
 */
#include "base/hash.h"
#include "view/export/fields.h"
#include "view/export/streaming.h"
#include "view/view.h"

#include <inttypes.h>

struct writing {
	const struct samples *samples;
	struct json json;
	const struct sink *out;
	samples_fields fields;
};

static void add_time(struct writing *writing, uint64_t time)
{
	json_name(&writing->json, "ts");
	json_value(&writing->json, "%" PRIu64 ".%03u", time / 1000, (unsigned int)(time % 1000));
}

static void add_ids(struct writing *writing, const struct samples_thread *thread)
{
	json_add_u64(&writing->json, "pid", thread->pid);
	json_add_u64(&writing->json, "tid", thread->tid);
}

static void add_name(struct writing *writing, const char *what, const struct samples_thread *thread, const char *name)
{
	struct json *json = &writing->json;
	json_begin_object(json);
	json_add_string(json, "ph", "M");
	json_add_string(json, "name", what);
	add_ids(writing, thread);
	json_name(json, "args");
	json_begin_object(json);
	json_add_string(json, "name", name);
	json_end_object(json);
	json_end_object(json);
	stream_on(json->out, writing->out);
}

static void add_instant(struct writing *writing, const struct samples_row *row)
{
	struct json *json = &writing->json;
	json_begin_object(json);
	json_add_string(json, "ph", "i");
	json_add_string(json, "s", "t");
	json_add_string(json, "cat", "tracepoint");
	json_add_string(json, "name", writing->samples->events.data[row->event].name);
	add_ids(writing, samples_row_thread(writing->samples, row));
	add_time(writing, row->time);
	if (row->stack)
		json_add_u64(json, "sf", row->stack);
	fields_add(json, "args", writing->samples, row, &writing->fields);
	json_end_object(json);
	stream_on(json->out, writing->out);
}

static void add_events(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	struct map64 processes = {0}; /* that have their name: the main thread needn't be among the threads */
	json_name(&writing->json, "traceEvents");
	json_begin_array(&writing->json);
	for (size_t i = 0; i < samples->threads.len; i++) {
		const struct samples_thread *thread = &samples->threads.data[i];
		bool first;
		map64_insert(&processes, thread->pid, &first);
		if (first)
			add_name(writing, "process_name", thread, thread->process);
		add_name(writing, "thread_name", thread, thread->name);
	}
	map64_deinit(&processes);
	for (size_t i = 0; i < samples->rows.len; i++)
		if (samples->events.data[samples->rows.data[i].event].tracepoint)
			add_instant(writing, &samples->rows.data[i]);
	json_end_array(&writing->json);
}

static void add_stacks(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	struct json *json = &writing->json;
	char id[16];
	json_name(json, "stackFrames");
	json_begin_object(json);
	for (uint32_t i = 1; i < samples->stacks.len; i++) {
		const struct samples_function *function = samples_stack_function(samples, i);
		snprintf(id, sizeof(id), "%u", i);
		json_name(json, id);
		json_begin_object(json);
		json_add_string(json, "name", function->name);
		json_add_string(json, "category", function->file == SAMPLES_NONE ? "" : samples->files.data[function->file].short_name);
		if (samples->stacks.data[i].parent)
			json_add_u64(json, "parent", samples->stacks.data[i].parent);
		json_end_object(json);
		stream_on(json->out, writing->out);
	}
	json_end_object(json);
}

static void add_samples(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	struct json *json = &writing->json;
	json_name(json, "samples");
	json_begin_array(json);
	for (size_t i = 0; i < samples->rows.len; i++) {
		const struct samples_row *row = &samples->rows.data[i];
		json_begin_object(json);
		if (row->cpu != SAMPLES_NONE)
			json_add_u64(json, "cpu", row->cpu);
		add_ids(writing, samples_row_thread(samples, row));
		add_time(writing, row->time);
		json_add_string(json, "name", samples->events.data[row->event].name);
		if (row->stack)
			json_add_u64(json, "sf", row->stack);
		json_add_u64(json, "weight", row->period);
		json_end_object(json);
		stream_on(json->out, writing->out);
	}
	json_end_array(json);
}

static struct error *show_samples(const struct samples *samples, const struct view_options *options, const struct sink *out)
{
	struct strbuf text = {0};
	struct writing writing = {.samples = samples, .json.out = &text, .out = out};
	json_begin_object(&writing.json);
	add_events(&writing);
	add_stacks(&writing);
	add_samples(&writing);
	json_end_object(&writing.json);
	strbuf_add_char(&text, '\n');
	vec_deinit(&writing.fields);
	return stream_end(&text, out, "trace");
}

const struct view_ops view_chrome = {
	.name = "chrome",
	.summary = "Chrome's trace event JSON",
	.samples = show_samples,
	.detail = SAMPLES_APART | SAMPLES_STACKS,
};
