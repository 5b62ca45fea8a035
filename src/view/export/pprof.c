/* pprof's profile.proto, compressed (https://github.com/google/pprof/blob/main/proto/profile.proto). Tables refer to each other by
 * numbers from 1 on, which may come in any order: samples first, so that what they need is known when it is written.
 *
 *	sample ──► location (address) ──► line, one for each function that is inlined there and the one around them ──► function
 *	                          └─────► mapping */
#include "view/export/pprof.h"
#include "base/buildid.h"
#include "base/formats/pprof.h"
#include "base/formats/protobuf.h"
#include "view/export/gzip.h"
#include "view/export/locations.h"
#include "view/export/streaming.h"
#include "view/export/string_table.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

struct writing {
	const struct pprof_choice *choice;
	const struct samples *samples;
	struct string_table strings;
	struct locations locations;
	samples_path path;
	struct window_labels labels; /* of a row */
	uint32_t *columns;	     /* by event: which value of a sample is its period */
	uint32_t column_count;	     /* of events with samples */
	bool *functions, *mappings;  /* by number: some location needs it */
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

static void add_value_type(struct writing *writing, enum pprof_profile_field field, const char *type, const char *unit)
{
	protobuf_add_u64(&writing->message, PPROF_VALUE_TYPE, string_table_number(&writing->strings, type));
	protobuf_add_u64(&writing->message, PPROF_VALUE_UNIT, string_table_number(&writing->strings, unit));
	end_message(writing, field);
}

static bool is_chosen(const struct pprof_choice *choice, const struct samples_row *row)
{
	if (choice->type && row->event != choice->event)
		return false;
	return !choice->window || choice->set == PPROF_ALL_SETS || window_row_set(choice->window, row) == choice->set;
}

static const char *unit_of(const struct samples_event *event)
{
	return event->nanoseconds ? "nanoseconds" : "count";
}

/* What one sample stands for, on average; engines call a profile by its type. */
static void add_period(struct writing *writing, const struct samples_event *event, const char *type)
{
	add_value_type(writing, PPROF_PERIOD_TYPE, type, unit_of(event));
	protobuf_add_u64(&writing->out, PPROF_PERIOD, event->samples ? event->period / event->samples : 0);
}

/* The number of samples, then the period of each event; viewers show the first event, unless they are told otherwise. */
static void add_value_types(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	const char *type = writing->choice->type;
	add_value_type(writing, PPROF_SAMPLE_TYPE, "samples", "count");
	for (size_t i = 0; i < samples->events.len; i++) {
		const struct samples_event *event = &samples->events.data[i];
		const char *name = type ? type : event->name;
		if (!event->samples || (type && i != writing->choice->event))
			continue;
		if (!writing->column_count)
			protobuf_add_u64(&writing->out, PPROF_DEFAULT_SAMPLE_TYPE, string_table_number(&writing->strings, name));
		writing->columns[i] = writing->column_count++;
		add_value_type(writing, PPROF_SAMPLE_TYPE, name, unit_of(event));
	}
	if (type)
		add_period(writing, &samples->events.data[writing->choice->event], type);
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

/* Threads aren't told apart where engines would make a series of each. */
static void add_labels(struct writing *writing, const struct samples_row *row)
{
	const struct pprof_choice *choice = writing->choice;
	const struct samples_actor *actor = &choice->samples->actors.data[row->actor];
	const struct samples_thread *thread = samples_row_thread(choice->samples, row);
	bool apart = !choice->window || choice->set == PPROF_ALL_SETS;
	if (apart) {
		add_label(writing, "pid", NULL, thread->pid);
		add_label(writing, "tid", NULL, thread->tid);
	}
	add_label(writing, "comm", actor->comm, 0);
	if (!choice->window || !apart)
		return;
	window_labels_of_set(choice->window, window_row_set(choice->window, row), &writing->labels);
	for (size_t i = 0; i < writing->labels.list.len; i++)
		add_label(writing, writing->labels.list.data[i].name, writing->labels.list.data[i].value, 0);
}

static void add_sample(struct writing *writing, const struct samples_row *row)
{
	add_locations(writing, row->stack);
	protobuf_varint(&writing->list, row->count);
	for (uint32_t column = 0; column < writing->column_count; column++)
		protobuf_varint(&writing->list, column == writing->columns[row->event] ? row->period : 0);
	protobuf_add_message(&writing->message, PPROF_SAMPLE_VALUE, &writing->list);
	add_labels(writing, row);
	end_message(writing, PPROF_SAMPLE);
}

/* Where threads aren't told apart, rows that differ in nothing else are one sample. */
static void add_sums(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	struct map64 places = {0};
	VEC(struct samples_row) sums = {0};
	for (size_t i = 0; i < samples->rows.len; i++) {
		const struct samples_row *row = &samples->rows.data[i];
		if (!is_chosen(writing->choice, row))
			continue;
		uint32_t comm = string_table_lasting(&writing->strings, samples->actors.data[row->actor].comm);
		bool is_new;
		uint64_t *place = map64_insert(&places, (uint64_t)row->stack << 32 | comm, &is_new);
		if (is_new) {
			*place = sums.len;
			vec_push(&sums, *row);
			continue;
		}
		sums.data[*place].count += row->count;
		sums.data[*place].period += row->period;
	}
	for (size_t i = 0; i < sums.len; i++)
		add_sample(writing, &sums.data[i]);
	map64_deinit(&places);
	vec_deinit(&sums);
}

static void add_samples(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	if (writing->choice->window && writing->choice->set != PPROF_ALL_SETS) {
		add_sums(writing);
		return;
	}
	for (size_t i = 0; i < samples->rows.len; i++)
		if (is_chosen(writing->choice, &samples->rows.data[i]))
			add_sample(writing, &samples->rows.data[i]);
}

/* ---- what they refer to ---- */

static void add_location(struct writing *writing, size_t number)
{
	const struct samples *samples = writing->samples;
	const struct location *location = &writing->locations.list.data[number];
	const struct samples_frame *outer = &samples->frames.data[samples->stacks.data[location->outer].frame];
	protobuf_add_u64(&writing->message, PPROF_LOCATION_ID, number + 1);
	if (outer->mapping != SAMPLES_NONE) {
		protobuf_add_u64(&writing->message, PPROF_LOCATION_MAPPING, outer->mapping + (uint64_t)1);
		writing->mappings[outer->mapping] = true;
	}
	protobuf_add_u64(&writing->message, PPROF_LOCATION_ADDRESS, outer->address);
	for (uint32_t stack = location->inner;; stack = samples->stacks.data[stack].parent) {
		const struct samples_frame *frame = &samples->frames.data[samples->stacks.data[stack].frame];
		writing->functions[frame->function] = true;
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
		if (!writing->functions[i])
			continue;
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
	const struct window *window = writing->choice->window;
	if (window)
		protobuf_add_u64(&writing->out, PPROF_TIME_NANOS, window->begin_ns);
	else if (samples->wall_offset_ns)
		protobuf_add_u64(&writing->out, PPROF_TIME_NANOS, samples->first_time + samples->wall_offset_ns);
	protobuf_add_u64(&writing->out, PPROF_DURATION_NANOS,
			 window ? window->end_ns - window->begin_ns : samples->last_time - samples->first_time);
	if (samples->title)
		protobuf_add_present(&writing->out, PPROF_COMMENT, string_table_number(&writing->strings, samples->title));
}

static void add_profile(struct writing *writing)
{
	const struct samples *samples = writing->samples;
	string_table_number(&writing->strings, ""); /* number 0 */
	add_value_types(writing);
	add_samples(writing);
	for (size_t i = 0; i < writing->locations.list.len; i++)
		add_location(writing, i);
	for (size_t i = 0; i < samples->mappings.len; i++)
		if (writing->mappings[i])
			add_mapping(writing, i);
	add_functions(writing);
	add_times(writing);
	for (size_t i = 0; i < writing->strings.list.len; i++) {
		const char *text = writing->strings.list.data[i];
		protobuf_add_bytes(&writing->out, PPROF_STRING, text, strlen(text));
		stream_on(&writing->out, writing->sink);
	}
}

void pprof_write(const struct pprof_choice *choice, const struct sink *out)
{
	const struct samples *samples = choice->samples;
	struct writing writing = {.choice = choice, .samples = samples, .sink = out};
	writing.columns = mem_zalloc_array(samples->events.len + 1, sizeof(*writing.columns));
	writing.functions = mem_zalloc_array(samples->functions.len + 1, sizeof(*writing.functions));
	writing.mappings = mem_zalloc_array(samples->mappings.len + 1, sizeof(*writing.mappings));
	add_profile(&writing);
	sink_move(out, &writing.out);
	free(writing.columns);
	free(writing.functions);
	free(writing.mappings);
	string_table_deinit(&writing.strings);
	locations_deinit(&writing.locations);
	vec_deinit(&writing.path);
	vec_deinit(&writing.labels.list);
	strbuf_deinit(&writing.out);
	strbuf_deinit(&writing.message);
	strbuf_deinit(&writing.part);
	strbuf_deinit(&writing.list);
}

void pprof_write_compressed(const struct pprof_choice *choice, const struct sink *out)
{
	struct sink compressed;
	struct gzip *gzip = gzip_begin(out, &compressed);
	pprof_write(choice, &compressed);
	gzip_end(gzip);
}

static struct error *show_samples(const struct samples *samples, const struct view_options *options, const struct sink *out)
{
	pprof_write_compressed(&(struct pprof_choice){.samples = samples}, out);
	int failed = sink_flush(out);
	return failed ? error_system(failed, "pprof profile") : NULL;
}

const struct view_ops view_pprof = {
	.name = "pprof",
	.summary = "profile.proto, compressed, for pprof (.pb.gz)",
	.samples = show_samples,
	.detail = SAMPLES_STACKS | SAMPLES_ADDRESSES,
	.binary = true,
};
