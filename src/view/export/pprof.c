/* pprof's profile.proto, compressed (https://github.com/google/pprof/blob/main/proto/profile.proto). Tables refer to each other by
 * numbers from 1 on, which may come in any order: samples first, so that what they need is known when it is written.
 *
 *	sample ──► location (address) ──► line, one for each function that is inlined there and the one around them ──► function
 *	                          └─────► mapping */
#include "base/formats/pprof.h"
#include "base/buildid.h"
#include "base/formats/protobuf.h"
#include "view/export/gzip.h"
#include "view/export/locations.h"
#include "view/export/streaming.h"
#include "view/export/string_table.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

struct writing {
	const struct samples *samples;
	struct string_table strings;
	struct locations locations;
	samples_path path;
	uint32_t *columns;     /* by event: which value of a sample is its period */
	uint32_t column_count; /* of events with samples */
	struct strbuf out, message, part, list;
	const struct sink *sink;
};

/* What was put together in `message`, as a field of the profile. */
static void end_message(struct writing *writing, enum pprof_profile_field field)
{
	protobuf_add_message(&writing->out, field, &writing->message);
	stream_on(&writing->out, writing->sink);
}

/* ---- samples ---- */

static void add_value_type(struct writing *writing, const char *type, const char *unit)
{
	protobuf_add_u64(&writing->message, PPROF_VALUE_TYPE, string_table_number(&writing->strings, type));
	protobuf_add_u64(&writing->message, PPROF_VALUE_UNIT, string_table_number(&writing->strings, unit));
	end_message(writing, PPROF_SAMPLE_TYPE);
}

/* The number of samples, then the period of each event; viewers show the first event, unless they are told otherwise. */
static void add_value_types(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	add_value_type(writing, "samples", "count");
	for (size_t i = 0; i < samples->events.len; i++) {
		const struct samples_event *event = &samples->events.data[i];
		if (!event->samples)
			continue;
		if (!writing->column_count)
			protobuf_add_u64(&writing->out, PPROF_DEFAULT_SAMPLE_TYPE, string_table_number(&writing->strings, event->name));
		writing->columns[i] = writing->column_count++;
		add_value_type(writing, event->name, event->nanoseconds ? "nanoseconds" : "count");
	}
}

static void add_locations(struct writing *writing, uint32_t stack)
{
	locations_of_stack(&writing->locations, writing->samples, stack, &writing->path);
	for (size_t i = 0; i < writing->path.len; i++)
		protobuf_varint(&writing->list, writing->path.data[i]);
	protobuf_add_message(&writing->message, PPROF_SAMPLE_LOCATION, &writing->list);
}

static void add_label(struct writing *writing, const char *key, const char *text, uint64_t number)
{
	protobuf_add_u64(&writing->part, PPROF_LABEL_KEY, string_table_lasting(&writing->strings, key));
	if (text)
		protobuf_add_u64(&writing->part, PPROF_LABEL_TEXT, string_table_lasting(&writing->strings, text));
	else
		protobuf_add_present(&writing->part, PPROF_LABEL_NUMBER, number);
	protobuf_add_message(&writing->message, PPROF_SAMPLE_LABEL, &writing->part);
}

static void add_sample(struct writing *writing, const struct samples_row *row)
{
	const struct samples *samples = writing->samples;
	const struct samples_thread *thread = samples_row_thread(samples, row);
	add_locations(writing, row->stack);
	protobuf_varint(&writing->list, row->count);
	for (uint32_t column = 0; column < writing->column_count; column++)
		protobuf_varint(&writing->list, column == writing->columns[row->event] ? row->period : 0);
	protobuf_add_message(&writing->message, PPROF_SAMPLE_VALUE, &writing->list);
	add_label(writing, "pid", NULL, thread->pid);
	add_label(writing, "tid", NULL, thread->tid);
	add_label(writing, "comm", samples->actors.data[row->actor].comm, 0);
	end_message(writing, PPROF_SAMPLE);
}

/* ---- what they refer to ---- */

static void add_location(struct writing *writing, size_t number)
{
	const struct samples *samples = writing->samples;
	const struct location *location = &writing->locations.list.data[number];
	const struct samples_frame *outer = &samples->frames.data[samples->stacks.data[location->outer].frame];
	protobuf_add_u64(&writing->message, PPROF_LOCATION_ID, number + 1);
	if (outer->mapping != SAMPLES_NONE)
		protobuf_add_u64(&writing->message, PPROF_LOCATION_MAPPING, outer->mapping + (uint64_t)1);
	protobuf_add_u64(&writing->message, PPROF_LOCATION_ADDRESS, outer->address);
	for (uint32_t stack = location->inner;; stack = samples->stacks.data[stack].parent) {
		const struct samples_frame *frame = &samples->frames.data[samples->stacks.data[stack].frame];
		protobuf_add_u64(&writing->part, PPROF_LINE_FUNCTION, frame->function + (uint64_t)1);
		protobuf_add_u64(&writing->part, PPROF_LINE_NUMBER, frame->line);
		protobuf_add_message(&writing->message, PPROF_LOCATION_LINE, &writing->part);
		if (stack == location->outer)
			break;
	}
	end_message(writing, PPROF_LOCATION);
}

static void add_mapping(struct writing *writing, size_t number)
{
	const struct samples_mapping *mapping = &writing->samples->mappings.data[number];
	const struct samples_file *file = &writing->samples->files.data[mapping->file];
	char build_id[41];
	buildid_format(&file->build_id, build_id);
	protobuf_add_u64(&writing->message, PPROF_MAPPING_ID, number + 1);
	protobuf_add_u64(&writing->message, PPROF_MAPPING_START, mapping->start);
	protobuf_add_u64(&writing->message, PPROF_MAPPING_LIMIT, mapping->end);
	protobuf_add_u64(&writing->message, PPROF_MAPPING_OFFSET, mapping->offset);
	protobuf_add_u64(&writing->message, PPROF_MAPPING_FILE, string_table_number(&writing->strings, file->name));
	protobuf_add_u64(&writing->message, PPROF_MAPPING_BUILD_ID, string_table_number(&writing->strings, build_id));
	/* All that is known is here already: nobody has to look for it. */
	for (uint32_t flag = 0; flag < 4; flag++)
		protobuf_add_u64(&writing->message, PPROF_MAPPING_HAS_FUNCTIONS + flag, 1);
	end_message(writing, PPROF_MAPPING);
}

static void add_functions(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	const char **sources = samples_function_sources(samples);
	for (size_t i = 0; i < samples->functions.len; i++) {
		uint64_t name = string_table_number(&writing->strings, samples->functions.data[i].name);
		protobuf_add_u64(&writing->message, PPROF_FUNCTION_ID, i + 1);
		protobuf_add_u64(&writing->message, PPROF_FUNCTION_NAME, name);
		protobuf_add_u64(&writing->message, PPROF_FUNCTION_SYSTEM_NAME, name);
		if (sources[i])
			protobuf_add_u64(&writing->message, PPROF_FUNCTION_FILE, string_table_number(&writing->strings, sources[i]));
		end_message(writing, PPROF_FUNCTION);
	}
	free(sources);
}

static void add_times(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	if (samples->wall_offset_ns)
		protobuf_add_u64(&writing->out, PPROF_TIME_NANOS, samples->first_time + samples->wall_offset_ns);
	protobuf_add_u64(&writing->out, PPROF_DURATION_NANOS, samples->last_time - samples->first_time);
	protobuf_add_present(&writing->out, PPROF_COMMENT, string_table_number(&writing->strings, samples->title));
}

static void add_profile(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	string_table_number(&writing->strings, ""); /* number 0 */
	add_value_types(writing);
	for (size_t i = 0; i < samples->rows.len; i++)
		add_sample(writing, &samples->rows.data[i]);
	for (size_t i = 0; i < samples->mappings.len; i++)
		add_mapping(writing, i);
	for (size_t i = 0; i < writing->locations.list.len; i++)
		add_location(writing, i);
	add_functions(writing);
	add_times(writing);
	for (size_t i = 0; i < writing->strings.list.len; i++) {
		const char *text = writing->strings.list.data[i];
		protobuf_add_bytes(&writing->out, PPROF_STRING, text, strlen(text));
		stream_on(&writing->out, writing->sink);
	}
}

static struct error *show_samples(const struct samples *samples, const struct view_options *options, const struct sink *out)
{
	struct sink compressed;
	struct gzip *gzip = gzip_begin(out, &compressed);
	struct writing writing = {.samples = samples, .sink = &compressed};
	writing.columns = mem_zalloc_array(samples->events.len + 1, sizeof(*writing.columns));
	add_profile(&writing);
	sink_move(&compressed, &writing.out);
	gzip_end(gzip);
	free(writing.columns);
	string_table_deinit(&writing.strings);
	locations_deinit(&writing.locations);
	vec_deinit(&writing.path);
	strbuf_deinit(&writing.message);
	strbuf_deinit(&writing.part);
	strbuf_deinit(&writing.list);
	return stream_end(&writing.out, out, "pprof profile");
}

const struct view_ops view_pprof = {
	.name = "pprof",
	.summary = "profile.proto, compressed, for pprof (.pb.gz)",
	.samples = show_samples,
	.detail = SAMPLES_STACKS | SAMPLES_ADDRESSES,
	.binary = true,
};
