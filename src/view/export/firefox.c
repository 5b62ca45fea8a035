/* The Firefox Profiler's processed profile, as of version 60 (docs-developer/CHANGELOG-formats.md of
 * github.com/firefox-devtools/profiler): the first one whose tables are shared by all threads, so that each stack is written once; the
 * profiler brings it up to date when it loads it.
 *
 *	shared: stackTable ──► frameTable ──► funcTable ──► resourceTable ──► libs      texts by number: stringArray
 *	threads, by pid and tid, one for each event: samples (stack, time, weight); tracepoints are markers of the first one, with their
 *	fields, time and stack. A recording of tracepoints alone has them as samples, too.
 *
 * Tables are columns: lists of one length. */
#include "view/export/fields.h"
#include "view/export/streaming.h"
#include "view/export/string_table.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { GECKO_VERSION = 24, PROCESSED_VERSION = 60 };

struct writing {
	const struct samples *samples;
	struct json json;
	const struct sink *out;
	struct string_table strings;
	struct string_table sources;
	const char **function_sources;
	bool only_tracepoints; /* they are samples, too */
	samples_fields fields;
};

/* ---- columns ---- */

/* A column of what `value` adds for each element; `context` is the writing. */
static void add_column(struct writing *writing, const char *name, size_t count, void (*value)(struct writing *writing, size_t number))
{
	json_name(&writing->json, name);
	json_begin_array(&writing->json);
	for (size_t i = 0; i < count; i++) {
		value(writing, i);
		stream_on(writing->json.out, writing->out);
	}
	json_end_array(&writing->json);
}

static void put_null(struct writing *writing, size_t number)
{
	(void)number;
	json_value(&writing->json, "null");
}

static void put_zero(struct writing *writing, size_t number)
{
	(void)number;
	json_u64(&writing->json, 0);
}

static void put_one(struct writing *writing, size_t number)
{
	(void)number;
	json_u64(&writing->json, 1);
}

static void put_false(struct writing *writing, size_t number)
{
	(void)number;
	json_bool(&writing->json, false);
}

/* The number, or another word where there is none. */
static void put_number_or(struct writing *writing, bool present, uint64_t number, const char *otherwise)
{
	if (present)
		json_u64(&writing->json, number);
	else
		json_value(&writing->json, "%s", otherwise);
}

static void put_string(struct writing *writing, const char *text)
{
	json_u64(&writing->json, string_table_lasting(&writing->strings, text));
}

static void begin_table(struct writing *writing, const char *name, size_t length)
{
	json_name(&writing->json, name);
	json_begin_object(&writing->json);
	json_add_u64(&writing->json, "length", length);
}

/* Milliseconds since the first sample. */
static void put_time(struct writing *writing, uint64_t time)
{
	uint64_t since = time > writing->samples->first_time ? time - writing->samples->first_time : 0;
	json_value(&writing->json, "%" PRIu64 ".%06u", since / 1000000, (unsigned int)(since % 1000000));
}

/* ---- shared tables ---- */

/* Stack 0, which is no stack, isn't written: numbers are one less. */
static void put_prefix(struct writing *writing, size_t number)
{
	uint32_t parent = writing->samples->stacks.data[number + 1].parent;
	put_number_or(writing, parent, parent - (uint64_t)1, "null");
}

static void put_stack_frame(struct writing *writing, size_t number)
{
	json_u64(&writing->json, writing->samples->stacks.data[number + 1].frame);
}

static void put_address(struct writing *writing, size_t number)
{
	const struct samples_frame *frame = &writing->samples->frames.data[number];
	put_number_or(writing, frame->file_address <= INT32_MAX, frame->file_address, "-1");
}

static void put_frame_category(struct writing *writing, size_t number)
{
	const struct samples *samples = writing->samples;
	json_u64(&writing->json, samples->functions.data[samples->frames.data[number].function].kind);
}

static void put_frame_function(struct writing *writing, size_t number)
{
	json_u64(&writing->json, writing->samples->frames.data[number].function);
}

static void put_line(struct writing *writing, size_t number)
{
	uint32_t line = writing->samples->frames.data[number].line;
	put_number_or(writing, line, line, "null");
}

static void put_function_name(struct writing *writing, size_t number)
{
	put_string(writing, writing->samples->functions.data[number].name);
}

static void put_function_file(struct writing *writing, size_t number)
{
	uint32_t file = writing->samples->functions.data[number].file;
	put_number_or(writing, file != SAMPLES_NONE, file, "-1");
}

static void put_function_source(struct writing *writing, size_t number)
{
	const char *source = writing->function_sources[number];
	put_number_or(writing, source, source ? string_table_number(&writing->sources, source) : 0, "null");
}

static void put_number(struct writing *writing, size_t number)
{
	json_u64(&writing->json, number);
}

static void put_file_name(struct writing *writing, size_t number)
{
	put_string(writing, writing->samples->files.data[number].short_name);
}

static void put_source_name(struct writing *writing, size_t number)
{
	json_u64(&writing->json, string_table_number(&writing->strings, writing->sources.list.data[number]));
}

static void add_frames(struct writing *writing)
{
	size_t count = writing->samples->frames.len;
	begin_table(writing, "frameTable", count);
	add_column(writing, "address", count, put_address);
	add_column(writing, "inlineDepth", count, put_zero);
	add_column(writing, "category", count, put_frame_category);
	add_column(writing, "subcategory", count, put_zero);
	add_column(writing, "func", count, put_frame_function);
	add_column(writing, "nativeSymbol", count, put_null);
	add_column(writing, "innerWindowID", count, put_null);
	add_column(writing, "line", count, put_line);
	add_column(writing, "column", count, put_null);
	json_end_object(&writing->json);
}

static void add_functions(struct writing *writing)
{
	size_t count = writing->samples->functions.len;
	begin_table(writing, "funcTable", count);
	add_column(writing, "name", count, put_function_name);
	add_column(writing, "isJS", count, put_false);
	add_column(writing, "relevantForJS", count, put_false);
	add_column(writing, "resource", count, put_function_file);
	add_column(writing, "source", count, put_function_source);
	add_column(writing, "lineNumber", count, put_null);
	add_column(writing, "columnNumber", count, put_null);
	json_end_object(&writing->json);
}

static void add_small_tables(struct writing *writing)
{
	size_t files = writing->samples->files.len, sources = writing->sources.list.len;
	begin_table(writing, "resourceTable", files);
	add_column(writing, "lib", files, put_number);
	add_column(writing, "name", files, put_file_name);
	add_column(writing, "host", files, put_null);
	add_column(writing, "type", files, put_one);
	json_end_object(&writing->json);
	begin_table(writing, "sources", sources);
	add_column(writing, "uuid", sources, put_null);
	add_column(writing, "filename", sources, put_source_name);
	json_end_object(&writing->json);
	begin_table(writing, "nativeSymbols", 0);
	static const char *const columns[] = {"libIndex", "address", "name", "functionSize"};
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		add_column(writing, columns[i], 0, put_null);
	json_end_object(&writing->json);
}

/* The texts come last: by then all are known. */
static void add_shared(struct writing *writing)
{
	size_t stacks = writing->samples->stacks.len - 1;
	json_name(&writing->json, "shared");
	json_begin_object(&writing->json);
	begin_table(writing, "stackTable", stacks);
	add_column(writing, "prefix", stacks, put_prefix);
	add_column(writing, "frame", stacks, put_stack_frame);
	json_end_object(&writing->json);
	add_frames(writing);
	add_functions(writing);
	add_small_tables(writing);
	json_name(&writing->json, "stringArray");
	json_begin_array(&writing->json);
	for (size_t i = 0; i < writing->strings.list.len; i++) {
		json_string(&writing->json, writing->strings.list.data[i]);
		stream_on(writing->json.out, writing->out);
	}
	json_end_array(&writing->json);
	json_end_object(&writing->json);
}

/* ---- files ---- */

/* Breakpad's form of a build-id: its first 16 bytes as a GUID, the three numbers of which are little-endian, and an age. */
static void add_breakpad_id(struct writing *writing, const struct buildid *id)
{
	static const uint8_t order[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	struct strbuf text = {0};
	for (size_t i = 0; i < sizeof(order) && id->size; i++)
		strbuf_printf(&text, "%02X", order[i] < id->size ? id->data[order[i]] : 0);
	strbuf_add_str(&text, id->size ? "0" : "");
	json_add_text(&writing->json, "breakpadId", strbuf_str(&text), text.len);
	strbuf_deinit(&text);
}

static void add_file(struct writing *writing, const struct samples_file *file)
{
	struct json *json = &writing->json;
	char build_id[41];
	json_begin_object(json);
	json_add_string(json, "arch", writing->samples->arch ? writing->samples->arch : "");
	json_add_string(json, "name", file->short_name);
	json_add_string(json, "path", file->name);
	json_add_string(json, "debugName", file->short_name);
	json_add_string(json, "debugPath", file->name);
	add_breakpad_id(writing, &file->build_id);
	json_name(json, "codeId");
	if (file->build_id.size)
		json_string(json, buildid_format(&file->build_id, build_id));
	else
		json_value(json, "null");
	json_end_object(json);
	stream_on(json->out, writing->out);
}

/* ---- what it is about ---- */

/* In the order of enum frame_kind. Each profile needs a grey one. */
static void add_categories(struct writing *writing)
{
	static const char *const categories[][2] = {
		[FRAME_USER] = {"User", "yellow"},     [FRAME_KERNEL] = {"Kernel", "orange"}, [FRAME_JIT] = {"JIT", "green"},
		[FRAME_INLINED] = {"Inlined", "blue"}, [FRAME_OTHER] = {"Other", "grey"},     [FRAME_WAITING] = {"Waiting", "transparent"}};
	struct json *json = &writing->json;
	json_name(json, "categories");
	json_begin_array(json);
	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++) {
		json_begin_object(json);
		json_add_string(json, "name", categories[i][0]);
		json_add_string(json, "color", categories[i][1]);
		json_name(json, "subcategories");
		json_begin_array(json);
		json_string(json, "Other");
		json_end_array(json);
		json_end_object(json);
	}
	json_end_array(json);
}

/* A field under its name; those that mean something to the profiler get an underscore. */
static void name_field(struct writing *writing, const char *name, bool as_value)
{
	static const char *const taken[][2] = {
		{"type", "type_"}, {"cause", "cause_"}, {"startTime", "startTime_"}, {"endTime", "endTime_"}, {"category", "category_"}};
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		if (!strcmp(name, taken[i][0]))
			name = taken[i][1];
	if (as_value)
		json_add_string(&writing->json, "key", name);
	else
		json_name(&writing->json, name);
}

static void add_schema(struct writing *writing, const struct samples_event *event)
{
	struct json *json = &writing->json;
	json_begin_object(json);
	json_add_string(json, "name", event->name);
	json_name(json, "display");
	json_begin_array(json);
	json_string(json, "marker-chart");
	json_string(json, "marker-table");
	json_end_array(json);
	json_name(json, "fields");
	json_begin_array(json);
	for (size_t i = 0; i < event->field_count; i++) {
		json_begin_object(json);
		name_field(writing, event->fields[i].name, true);
		json_add_string(json, "label", event->fields[i].name);
		json_add_string(json, "format", event->fields[i].text ? "string" : "integer");
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

static void add_schemas(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	json_name(&writing->json, "markerSchema");
	json_begin_array(&writing->json);
	for (uint32_t i = 0; i < samples->events.len; i++) {
		const struct samples_event *event = &samples->events.data[i];
		if (event->tracepoint && event->samples)
			add_schema(writing, event);
	}
	json_end_array(&writing->json);
}

static void add_meta(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	struct json *json = &writing->json;
	uint64_t wall_us = samples->wall_offset_ns ? (samples->first_time + samples->wall_offset_ns) / 1000 : 0;
	json_name(json, "meta");
	json_begin_object(json);
	json_add_u64(json, "version", GECKO_VERSION);
	json_add_u64(json, "preprocessedProfileVersion", PROCESSED_VERSION);
	json_name(json, "startTime");
	json_value(json, "%" PRIu64 ".%03u", wall_us / 1000, (unsigned int)(wall_us % 1000));
	json_add_u64(json, "interval", 1);
	json_add_u64(json, "processType", 0);
	json_add_u64(json, "stackwalk", 1);
	json_add_string(json, "product", samples->title);
	json_add_string(json, "importedFrom", "perf-ng " PERF_VERSION);
	json_add_string(json, "oscpu", samples->os_release ? samples->os_release : "");
	if (samples->cpu)
		json_add_string(json, "CPUName", samples->cpu);
	json_name(json, "symbolicated");
	json_bool(json, true);
	json_name(json, "usesOnlyOneStackType");
	json_bool(json, true);
	json_name(json, "sourceCodeIsNotOnSearchfox");
	json_bool(json, true);
	add_categories(writing);
	add_schemas(writing);
	json_end_object(json);
}

/* ---- threads ---- */

/* Rows of one thread. */
struct track_rows {
	const uint32_t *numbers;
	size_t count;
};

static bool is_sample(const struct writing *writing, const struct samples_row *row, uint32_t event)
{
	return row->event == event && (writing->only_tracepoints || !writing->samples->events.data[event].tracepoint);
}

static void put_stack(struct writing *writing, uint32_t stack)
{
	put_number_or(writing, stack, stack - (uint64_t)1, "null");
}

/* Periods of nanoseconds are milliseconds there. */
static void put_weight(struct writing *writing, const struct samples_row *row)
{
	if (writing->samples->events.data[row->event].nanoseconds)
		json_value(&writing->json, "%" PRIu64 ".%06u", row->period / 1000000, (unsigned int)(row->period % 1000000));
	else
		json_u64(&writing->json, row->period);
}

enum sample_column { COLUMN_STACK, COLUMN_TIME, COLUMN_WEIGHT };

static void add_sample_column(struct writing *writing, const struct track_rows *rows, uint32_t event, enum sample_column column)
{
	json_begin_array(&writing->json);
	for (size_t i = 0; i < rows->count; i++) {
		const struct samples_row *row = &writing->samples->rows.data[rows->numbers[i]];
		if (!is_sample(writing, row, event))
			continue;
		if (column == COLUMN_STACK)
			put_stack(writing, row->stack);
		else if (column == COLUMN_TIME)
			put_time(writing, row->time);
		else
			put_weight(writing, row);
		stream_on(writing->json.out, writing->out);
	}
	json_end_array(&writing->json);
}

static size_t count_samples(const struct writing *writing, const struct track_rows *rows, uint32_t event)
{
	size_t count = 0;
	for (size_t i = 0; i < rows->count; i++)
		count += is_sample(writing, &writing->samples->rows.data[rows->numbers[i]], event);
	return count;
}

static void add_samples(struct writing *writing, const struct track_rows *rows, uint32_t event)
{
	static const char *const columns[] = {[COLUMN_STACK] = "stack", [COLUMN_TIME] = "time", [COLUMN_WEIGHT] = "weight"};
	begin_table(writing, "samples", count_samples(writing, rows, event));
	json_add_string(&writing->json, "weightType", writing->samples->events.data[event].nanoseconds ? "tracing-ms" : "samples");
	for (enum sample_column column = COLUMN_STACK; column <= COLUMN_WEIGHT; column++) {
		json_name(&writing->json, columns[column]);
		add_sample_column(writing, rows, event, column);
	}
	json_end_object(&writing->json);
}

static void put_marker_data(struct writing *writing, const struct samples_row *row)
{
	struct json *json = &writing->json;
	json_begin_object(json);
	json_add_string(json, "type", writing->samples->events.data[row->event].name);
	writing->samples->fields(writing->samples->fields_context, row, &writing->fields);
	for (size_t i = 0; i < writing->fields.len; i++) {
		const struct samples_field *field = &writing->fields.data[i];
		name_field(writing, field->name, false);
		field_add_value(json, field);
	}
	if (row->stack) {
		json_name(json, "cause");
		json_begin_object(json);
		json_name(json, "time");
		put_time(writing, row->time);
		json_name(json, "stack");
		put_stack(writing, row->stack);
		json_end_object(json);
	}
	json_end_object(json);
}

static void put_marker_name(struct writing *writing, const struct samples_row *row)
{
	put_string(writing, writing->samples->events.data[row->event].name);
}

static void put_marker_time(struct writing *writing, const struct samples_row *row)
{
	put_time(writing, row->time);
}

static void put_marker_end(struct writing *writing, const struct samples_row *row)
{
	(void)row;
	json_value(&writing->json, "null");
}

static void put_marker_phase(struct writing *writing, const struct samples_row *row)
{
	(void)row;
	json_u64(&writing->json, 0); /* an instant */
}

static void put_marker_category(struct writing *writing, const struct samples_row *row)
{
	(void)row;
	json_u64(&writing->json, FRAME_OTHER);
}

static bool is_marker(const struct writing *writing, uint32_t number)
{
	return writing->samples->events.data[writing->samples->rows.data[number].event].tracepoint;
}

static void add_markers(struct writing *writing, const struct track_rows *rows)
{
	static const struct {
		const char *name;
		void (*put)(struct writing *writing, const struct samples_row *row);
	} columns[] = {{"data", put_marker_data},   {"name", put_marker_name},	 {"startTime", put_marker_time},
		       {"endTime", put_marker_end}, {"phase", put_marker_phase}, {"category", put_marker_category}};
	size_t count = 0;
	for (size_t i = 0; i < rows->count; i++)
		count += is_marker(writing, rows->numbers[i]);
	begin_table(writing, "markers", count);
	for (size_t column = 0; column < sizeof(columns) / sizeof(*columns); column++) {
		json_name(&writing->json, columns[column].name);
		json_begin_array(&writing->json);
		for (size_t i = 0; i < rows->count && count; i++)
			if (is_marker(writing, rows->numbers[i])) {
				columns[column].put(writing, &writing->samples->rows.data[rows->numbers[i]]);
				stream_on(writing->json.out, writing->out);
			}
		json_end_array(&writing->json);
	}
	json_end_object(&writing->json);
}

/* The event's name is told where the recording has several. */
static void add_thread_name(struct writing *writing, const struct samples_thread *thread, uint32_t event)
{
	struct strbuf name = {0};
	strbuf_add_str(&name, thread->name);
	if (writing->samples->events.len > 1)
		strbuf_printf(&name, " (%s)", writing->samples->events.data[event].name);
	json_add_text(&writing->json, "name", strbuf_str(&name), name.len);
	strbuf_deinit(&name);
}

static void add_lifetime(struct writing *writing, const char *from, const char *to, const struct samples_thread *thread)
{
	json_name(&writing->json, from);
	put_time(writing, thread->start);
	json_name(&writing->json, to);
	if (thread->end == UINT64_MAX)
		json_value(&writing->json, "null");
	else
		put_time(writing, thread->end);
}

static void add_track(struct writing *writing, const struct track_rows *rows, uint32_t event, bool with_markers)
{
	static const struct track_rows none;
	const struct samples_thread *thread = samples_row_thread(writing->samples, &writing->samples->rows.data[rows->numbers[0]]);
	struct json *json = &writing->json;
	char id[24];
	json_begin_object(json);
	add_thread_name(writing, thread, event);
	json_add_string(json, "processName", thread->process);
	json_add_string(json, "processType", "default");
	json_name(json, "isMainThread");
	json_bool(json, thread->pid == thread->tid);
	snprintf(id, sizeof(id), "%u", thread->pid);
	json_add_string(json, "pid", id);
	json_add_u64(json, "tid", thread->tid);
	add_lifetime(writing, "processStartupTime", "processShutdownTime", thread);
	add_lifetime(writing, "registerTime", "unregisterTime", thread);
	json_name(json, "pausedRanges");
	json_begin_array(json);
	json_end_array(json);
	json_name(json, "showMarkersInTimeline");
	json_bool(json, with_markers);
	add_samples(writing, rows, event);
	add_markers(writing, with_markers ? rows : &none);
	json_end_object(json);
}

/* A track for each event that the thread has samples of; one without samples where it has only markers. */
static void add_thread(struct writing *writing, const struct track_rows *rows)
{
	bool first = true;
	for (uint32_t event = 0; event < writing->samples->events.len; event++) {
		if (!writing->samples->events.data[event].samples || !count_samples(writing, rows, event))
			continue;
		add_track(writing, rows, event, first);
		first = false;
	}
	if (first)
		add_track(writing, rows, writing->samples->rows.data[rows->numbers[0]].event, true);
}

static void add_threads(struct writing *writing)
{
	struct samples_groups groups;
	json_name(&writing->json, "threads");
	json_begin_array(&writing->json);
	samples_group_by_thread(writing->samples, false, &groups);
	for (size_t i = 0, start = 0; i < groups.ends.len; start = groups.ends.data[i++]) {
		const struct track_rows rows = {groups.rows + start, groups.ends.data[i] - start};
		add_thread(writing, &rows);
	}
	samples_groups_deinit(&groups);
	json_end_array(&writing->json);
}

static bool has_only_tracepoints(const struct samples *samples)
{
	for (size_t i = 0; i < samples->events.len; i++)
		if (samples->events.data[i].samples && !samples->events.data[i].tracepoint)
			return false;
	return true;
}

static struct error *show_samples(const struct samples *samples, const struct view_options *options, const struct sink *out)
{
	struct strbuf text = {0};
	struct writing writing = {.samples = samples, .json.out = &text, .out = out};
	writing.only_tracepoints = has_only_tracepoints(samples);
	writing.function_sources = samples_function_sources(samples);
	json_begin_object(&writing.json);
	add_meta(&writing);
	json_name(&writing.json, "libs");
	json_begin_array(&writing.json);
	for (size_t i = 0; i < samples->files.len; i++)
		add_file(&writing, &samples->files.data[i]);
	json_end_array(&writing.json);
	add_threads(&writing);
	add_shared(&writing);
	json_end_object(&writing.json);
	strbuf_add_char(&text, '\n');
	free(writing.function_sources);
	string_table_deinit(&writing.strings);
	string_table_deinit(&writing.sources);
	vec_deinit(&writing.fields);
	return stream_end(&text, out, "Firefox profile");
}

const struct view_ops view_firefox = {
	.name = "firefox",
	.summary = "JSON for the Firefox Profiler (profiler.firefox.com)",
	.samples = show_samples,
	.detail = SAMPLES_APART | SAMPLES_STACKS | SAMPLES_ADDRESSES,
};
