/* OpenTelemetry's profiles, as in v1development of opentelemetry-proto, in both of OTLP's forms. Samples that are alike are one; a
 * profile for each event. What they refer to is in a dictionary, whose tables begin with an element that stands for nothing.
 *
 *	sample ──► stack ──► locations ──► lines ──► function          texts by number
 *	   └─────► attributes: of its thread   └──► mapping ──► attribute: build-id
 *
 * Of a window each set of labels is a resource, and what a profile's values are is said in the words of other profilers. */
#include "view/export/otlp.h"
#include "base/buildid.h"
#include "base/formats/protobuf.h"
#include "view/export/either.h"
#include "view/export/locations.h"
#include "view/export/streaming.h"
#include "view/export/string_table.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

enum { ATTRIBUTES_OF_ACTOR = 3, PROFILE_ID = 7 };

struct writing {
	const struct samples *samples;
	const struct window *window; /* or NULL */
	struct either out;
	const struct sink *sink;
	struct string_table strings;
	struct locations locations;
	samples_path path;
	bool *functions; /* by number: some location needs it */
};

static uint32_t number_string(struct writing *writing, const char *text)
{
	return string_table_number(&writing->strings, text);
}

/* JSON can be cut anywhere; a message of protobuf begins with its size. */
static void hand_on(struct writing *writing)
{
	if (writing->out.as_json)
		stream_on(&writing->out.open[0], writing->sink);
}

/* ---- profiles ---- */

static void add_attribute(struct writing *writing, const char *key, const char *text)
{
	struct either *out = &writing->out;
	either_begin(out, 1, NULL);
	either_text(out, 1, "key", key);
	either_begin(out, 2, "value");
	either_text(out, 1, "stringValue", text);
	either_end(out);
	either_end(out);
}

/* What OpenTelemetry's semantic conventions call a label; others have their own names. */
static const char *attribute_of_label(const char *name)
{
	static const struct {
		const char *label, *attribute;
	} known[] = {
		{"cgroup", "process.linux.cgroup"},
		{"container", "container.id"},
		{"container_runtime", "container.runtime.name"},
		{"pod", "k8s.pod.name"},
		{"pod_uid", "k8s.pod.uid"},
		{"service", "service.name"},
		{"namespace", "k8s.namespace.name"},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].label, name))
			return known[i].attribute;
	return name;
}

static void add_window_resource(struct writing *writing, uint32_t set)
{
	const struct window *window = writing->window;
	struct window_labels labels = {0};
	if (window->host)
		add_attribute(writing, "host.name", window->host);
	if (window->host_id && *window->host_id)
		add_attribute(writing, "host.id", window->host_id);
	window_labels_of_set(window, set, &labels);
	for (size_t i = 0; i < labels.list.len; i++)
		add_attribute(writing, attribute_of_label(labels.list.data[i].name), labels.list.data[i].value);
	vec_deinit(&labels.list);
}

static void add_resource(struct writing *writing, uint32_t set)
{
	const struct samples *samples = writing->samples;
	either_begin(&writing->out, 1, "resource");
	either_begin_list(&writing->out, "attributes");
	if (writing->window)
		add_window_resource(writing, set);
	else if (samples->hostname)
		add_attribute(writing, "host.name", samples->hostname);
	if (samples->arch)
		add_attribute(writing, "host.arch", samples->arch);
	if (samples->os_release)
		add_attribute(writing, "os.version", samples->os_release);
	if (!writing->window)
		add_attribute(writing, "process.command_line", samples->title);
	either_end_list(&writing->out);
	either_end(&writing->out);
}

static void add_sample(struct writing *writing, const struct samples_row *row)
{
	uint32_t first = 1 + row->actor * ATTRIBUTES_OF_ACTOR, attributes[] = {first, first + 1, first + 2};
	struct either *out = &writing->out;
	either_begin(out, 2, NULL);
	either_number(out, 1, "stackIndex", row->stack);
	either_numbers(out, 2, "attributeIndices", attributes, ATTRIBUTES_OF_ACTOR);
	either_numbers64(out, 4, "values", &row->period, 1);
	either_end(out);
	hand_on(writing);
}

static bool is_in_set(const struct writing *writing, const struct samples_row *row, uint32_t set)
{
	return !writing->window || window_row_set(writing->window, row) == set;
}

static bool has_rows(const struct writing *writing, uint32_t set, uint32_t event)
{
	return writing->window ? window_has_rows(writing->window, set, event) : writing->samples->events.data[event].samples;
}

static void add_type(struct writing *writing, uint32_t field, const char *name, const struct samples_event *event)
{
	const char *type = writing->window ? window_event_type(event) : event->name;
	either_begin(&writing->out, field, name);
	either_number(&writing->out, 1, "typeStrindex", number_string(writing, type));
	either_number(&writing->out, 2, "unitStrindex", number_string(writing, event->nanoseconds ? "nanoseconds" : "count"));
	either_end(&writing->out);
}

/* Its time; what a sample stands for on average; and by which id it is known. */
static void add_window_facts(struct writing *writing, uint32_t set, uint32_t number)
{
	const struct window *window = writing->window;
	const struct samples_event *event = &writing->samples->events.data[number];
	struct either *out = &writing->out;
	uint8_t id[16];
	either_fixed64(out, 3, "timeUnixNano", window->begin_ns);
	either_number64(out, 4, "durationNano", window->end_ns - window->begin_ns);
	add_type(writing, 5, "periodType", event);
	either_number64(out, 6, "period", event->samples ? event->period / event->samples : 0);
	window_part_id(window, set, number, id);
	protobuf_add_bytes(&out->open[out->depth], PROFILE_ID, id, sizeof(id));
}

static void add_profile(struct writing *writing, uint32_t set, uint32_t number)
{
	const struct samples *samples = writing->samples;
	struct either *out = &writing->out;
	either_begin(out, 2, NULL);
	add_type(writing, 1, "sampleType", &samples->events.data[number]);
	either_begin_list(out, "samples");
	for (size_t i = 0; i < samples->rows.len; i++)
		if (samples->rows.data[i].event == number && is_in_set(writing, &samples->rows.data[i], set))
			add_sample(writing, &samples->rows.data[i]);
	either_end_list(out);
	if (writing->window) {
		add_window_facts(writing, set, number);
	} else {
		if (samples->wall_offset_ns)
			either_fixed64(out, 3, "timeUnixNano", samples->first_time + samples->wall_offset_ns);
		either_number64(out, 4, "durationNano", samples->last_time - samples->first_time);
	}
	either_end(out);
}

static void add_profiles_of_set(struct writing *writing, uint32_t set)
{
	struct either *out = &writing->out;
	either_begin(out, 1, NULL);
	add_resource(writing, set);
	either_begin_list(out, "scopeProfiles");
	either_begin(out, 2, NULL);
	either_begin(out, 1, "scope");
	either_text(out, 1, "name", "perf-ng");
	either_text(out, 2, "version", PERF_VERSION);
	either_end(out);
	either_begin_list(out, "profiles");
	for (uint32_t i = 0; i < writing->samples->events.len; i++)
		if (has_rows(writing, set, i))
			add_profile(writing, set, i);
	either_end_list(out);
	either_end(out);
	either_end_list(out);
	either_end(out);
}

static bool set_has_rows(const struct writing *writing, uint32_t set)
{
	for (uint32_t i = 0; i < writing->samples->events.len; i++)
		if (has_rows(writing, set, i))
			return true;
	return false;
}

static void add_profiles(struct writing *writing)
{
	either_begin_list(&writing->out, "resourceProfiles");
	if (!writing->window)
		add_profiles_of_set(writing, 0);
	for (uint32_t set = 0; writing->window && set < writing->window->sets.len; set++)
		if (set_has_rows(writing, set))
			add_profiles_of_set(writing, set);
	either_end_list(&writing->out);
}

/* ---- the dictionary ---- */

static void add_nothing(struct writing *writing, uint32_t field)
{
	either_begin(&writing->out, field, NULL);
	either_end(&writing->out);
}

static void add_mappings(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	struct either *out = &writing->out;
	either_begin_list(out, "mappingTable");
	add_nothing(writing, 1);
	for (size_t i = 0; i < samples->mappings.len; i++) {
		const struct samples_mapping *mapping = &samples->mappings.data[i];
		uint32_t attribute = (uint32_t)(1 + samples->actors.len * ATTRIBUTES_OF_ACTOR + mapping->file);
		either_begin(out, 1, NULL);
		either_number64(out, 1, "memoryStart", mapping->start);
		either_number64(out, 2, "memoryLimit", mapping->end);
		either_number64(out, 3, "fileOffset", mapping->offset);
		either_number(out, 4, "filenameStrindex", number_string(writing, samples->files.data[mapping->file].name));
		either_numbers(out, 5, "attributeIndices", &attribute, samples->files.data[mapping->file].build_id.size > 0);
		either_end(out);
	}
	either_end_list(out);
}

static void add_lines(struct writing *writing, const struct location *location)
{
	const struct samples *samples = writing->samples;
	struct either *out = &writing->out;
	either_begin_list(out, "lines");
	for (uint32_t stack = location->inner;; stack = samples->stacks.data[stack].parent) {
		const struct samples_frame *frame = &samples->frames.data[samples->stacks.data[stack].frame];
		either_begin(out, 3, NULL);
		writing->functions[frame->function] = true;
		either_number(out, 1, "functionIndex", frame->function + 1);
		either_number64(out, 2, "line", frame->line);
		either_end(out);
		if (stack == location->outer)
			break;
	}
	either_end_list(out);
}

static void add_locations(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	struct either *out = &writing->out;
	either_begin_list(out, "locationTable");
	add_nothing(writing, 2);
	for (size_t i = 0; i < writing->locations.list.len; i++) {
		const struct location *location = &writing->locations.list.data[i];
		const struct samples_frame *outer = &samples->frames.data[samples->stacks.data[location->outer].frame];
		either_begin(out, 2, NULL);
		either_number(out, 1, "mappingIndex", outer->mapping == SAMPLES_NONE ? 0 : outer->mapping + 1);
		either_number64(out, 2, "address", outer->address);
		add_lines(writing, location);
		either_end(out);
		hand_on(writing);
	}
	either_end_list(out);
}

static void add_functions(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	const char **sources = samples_function_sources(samples);
	struct either *out = &writing->out;
	either_begin_list(out, "functionTable");
	add_nothing(writing, 3);
	for (size_t i = 0; i < samples->functions.len; i++) {
		if (!writing->functions[i]) {
			add_nothing(writing, 3);
			continue;
		}
		uint32_t name = number_string(writing, samples->functions.data[i].name);
		either_begin(out, 3, NULL);
		either_number(out, 1, "nameStrindex", name);
		either_number(out, 2, "systemNameStrindex", name);
		either_number(out, 3, "filenameStrindex", sources[i] ? number_string(writing, sources[i]) : 0);
		either_end(out);
	}
	either_end_list(out);
	free(sources);
}

static void begin_attribute(struct writing *writing, const char *key)
{
	either_begin(&writing->out, 6, NULL);
	either_number(&writing->out, 1, "keyStrindex", number_string(writing, key));
	either_begin(&writing->out, 2, "value");
}

static void end_attribute(struct writing *writing)
{
	either_end(&writing->out);
	either_end(&writing->out);
}

static void add_text_attribute(struct writing *writing, const char *key, const char *text)
{
	begin_attribute(writing, key);
	either_text(&writing->out, 1, "stringValue", text);
	end_attribute(writing);
}

static void add_number_attribute(struct writing *writing, const char *key, uint64_t number)
{
	begin_attribute(writing, key);
	either_present64(&writing->out, 3, "intValue", number);
	end_attribute(writing);
}

static void add_attributes(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	char build_id[41];
	either_begin_list(&writing->out, "attributeTable");
	add_nothing(writing, 6);
	for (size_t i = 0; i < samples->actors.len; i++) {
		const struct samples_thread *thread = &samples->threads.data[samples->actors.data[i].thread];
		add_number_attribute(writing, "process.pid", thread->pid);
		add_number_attribute(writing, "thread.id", thread->tid);
		add_text_attribute(writing, "thread.name", samples->actors.data[i].comm);
	}
	for (size_t i = 0; i < samples->files.len; i++)
		add_text_attribute(writing, "process.executable.build_id.gnu", buildid_format(&samples->files.data[i].build_id, build_id));
	either_end_list(&writing->out);
}

/* Before the locations, which it finds. Stacks that no row has, as those around others, keep their numbers only. */
static void add_stacks(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	struct either *out = &writing->out;
	bool *used = mem_zalloc_array(samples->stacks.len, sizeof(*used));
	for (size_t i = 0; i < samples->rows.len; i++)
		used[samples->rows.data[i].stack] = true;
	either_begin_list(out, "stackTable");
	add_nothing(writing, 7);
	for (uint32_t i = 1; i < samples->stacks.len; i++) {
		if (!used[i]) {
			add_nothing(writing, 7);
			continue;
		}
		locations_of_stack(&writing->locations, writing->samples, i, &writing->path);
		either_begin(out, 7, NULL);
		either_numbers(out, 1, "locationIndices", writing->path.data, writing->path.len);
		either_end(out);
		hand_on(writing);
	}
	either_end_list(out);
	free(used);
}

static void add_strings(struct writing *writing)
{
	struct either *out = &writing->out;
	either_begin_list(out, "stringTable");
	for (size_t i = 0; i < writing->strings.list.len; i++) {
		either_element(out, 5, writing->strings.list.data[i]);
		hand_on(writing);
	}
	either_end_list(out);
}

static void add_dictionary(struct writing *writing)
{
	struct either *out = &writing->out;
	either_begin(out, 2, "dictionary");
	add_stacks(writing);
	add_locations(writing);
	add_mappings(writing);
	add_functions(writing);
	either_begin_list(out, "linkTable");
	add_nothing(writing, 4);
	either_end_list(out);
	add_attributes(writing);
	add_strings(writing);
	either_end(out);
}

static struct error *write_profiles(const struct samples *samples, const struct window *window, bool as_json, const struct sink *sink)
{
	struct writing writing = {.samples = samples, .window = window, .sink = sink};
	writing.functions = mem_zalloc_array(samples->functions.len + 1, sizeof(*writing.functions));
	either_init(&writing.out, as_json);
	number_string(&writing, ""); /* number 0 */
	add_profiles(&writing);
	add_dictionary(&writing);
	either_finish(&writing.out);
	struct error *error = stream_end(&writing.out.open[0], sink, "OTLP profile");
	either_deinit(&writing.out);
	string_table_deinit(&writing.strings);
	locations_deinit(&writing.locations);
	vec_deinit(&writing.path);
	free(writing.functions);
	return error;
}

static struct error *show_protobuf(const struct samples *samples, const struct view_options *options, const struct sink *out)
{
	return write_profiles(samples, NULL, false, out);
}

static struct error *show_json(const struct samples *samples, const struct view_options *options, const struct sink *out)
{
	return write_profiles(samples, NULL, true, out);
}

struct error *otlp_write_window(const struct window *window, const struct sink *out)
{
	return write_profiles(window->samples, window, false, out);
}

const struct view_ops view_otlp = {
	.name = "otlp",
	.summary = "OpenTelemetry's profiles, as protobuf",
	.samples = show_protobuf,
	.detail = SAMPLES_STACKS | SAMPLES_ADDRESSES,
	.binary = true,
};

const struct view_ops view_otlp_json = {
	.name = "otlp-json",
	.summary = "OpenTelemetry's profiles, as JSON",
	.samples = show_json,
	.detail = SAMPLES_STACKS | SAMPLES_ADDRESSES,
};
