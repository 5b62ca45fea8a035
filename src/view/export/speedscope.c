/* Speedscope's file format (https://www.speedscope.app/file-format-schema.json): a profile of stacks in the order of time for each
 * event and thread. Frames are functions: speedscope adds up by them, and knows no addresses. */
#include "base/json.h"
#include "view/export/streaming.h"
#include "view/view.h"

#include <string.h>

static void add_frames(const struct samples *samples, struct json *json, const struct sink *out)
{
	json_name(json, "frames");
	json_begin_array(json);
	for (size_t i = 0; i < samples->frames.len; i++) {
		const struct samples_function *function = &samples->functions.data[samples->frames.data[i].function];
		json_begin_object(json);
		json_add_string(json, "name", function->name);
		if (function->file != SAMPLES_NONE)
			json_add_string(json, "file", samples->files.data[function->file].name);
		json_end_object(json);
		stream_on(json->out, out);
	}
	json_end_array(json);
}

static void add_stacks(const struct samples *samples, const uint32_t *rows, size_t count, struct json *json, const struct sink *out)
{
	samples_path path = {0};
	json_name(json, "samples");
	json_begin_array(json);
	for (size_t i = 0; i < count; i++) {
		samples_stack_path(samples, samples->rows.data[rows[i]].stack, &path);
		json_begin_array(json);
		for (size_t frame = 0; frame < path.len; frame++)
			json_u64(json, path.data[frame]);
		json_end_array(json);
		stream_on(json->out, out);
	}
	json_end_array(json);
	vec_deinit(&path);
}

static uint64_t add_weights(const struct samples *samples, const uint32_t *rows, size_t count, struct json *json, const struct sink *out)
{
	uint64_t sum = 0;
	json_name(json, "weights");
	json_begin_array(json);
	for (size_t i = 0; i < count; i++) {
		json_u64(json, samples->rows.data[rows[i]].period);
		sum += samples->rows.data[rows[i]].period;
		stream_on(json->out, out);
	}
	json_end_array(json);
	return sum;
}

/* "worker 17/18", behind the event's name where there are several. */
static void add_name(const struct samples *samples, const struct samples_row *row, struct json *json)
{
	const struct samples_thread *thread = samples_row_thread(samples, row);
	struct strbuf name = {0};
	if (samples->events.len > 1)
		strbuf_printf(&name, "%s: ", samples->events.data[row->event].name);
	strbuf_printf(&name, "%s %u/%u", thread->name, thread->pid, thread->tid);
	json_add_text(json, "name", strbuf_str(&name), name.len);
	strbuf_deinit(&name);
}

/* The rows of one event and thread. */
static void add_profile(const struct samples *samples, const uint32_t *rows, size_t count, struct json *json, const struct sink *out)
{
	const struct samples_row *first = &samples->rows.data[rows[0]];
	json_begin_object(json);
	json_add_string(json, "type", "sampled");
	add_name(samples, first, json);
	json_add_string(json, "unit", samples->events.data[first->event].nanoseconds ? "nanoseconds" : "none");
	add_stacks(samples, rows, count, json, out);
	uint64_t sum = add_weights(samples, rows, count, json, out);
	json_add_u64(json, "startValue", 0);
	json_add_u64(json, "endValue", sum);
	json_end_object(json);
}

static struct error *show_samples(const struct samples *samples, const struct view_options *options, const struct sink *out)
{
	struct strbuf text = {0};
	struct json json = {.out = &text};
	struct samples_groups groups;
	json_begin_object(&json);
	json_add_string(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_add_string(&json, "name", samples->title);
	json_add_string(&json, "exporter", "perf-ng " PERF_VERSION);
	json_name(&json, "shared");
	json_begin_object(&json);
	add_frames(samples, &json, out);
	json_end_object(&json);
	json_name(&json, "profiles");
	json_begin_array(&json);
	samples_group_by_thread(samples, true, &groups);
	for (size_t i = 0, start = 0; i < groups.ends.len; start = groups.ends.data[i++])
		add_profile(samples, groups.rows + start, groups.ends.data[i] - start, &json, out);
	samples_groups_deinit(&groups);
	json_end_array(&json);
	json_end_object(&json);
	strbuf_add_char(&text, '\n');
	return stream_end(&text, out, "speedscope profile");
}

const struct view_ops view_speedscope = {
	.name = "speedscope",
	.summary = "JSON for speedscope.app",
	.samples = show_samples,
	.detail = SAMPLES_APART | SAMPLES_STACKS,
};
