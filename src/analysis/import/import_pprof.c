/* pprof's profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto). Its tables may come in any order: they are gone
 * over first, samples afterwards. Numbers of tables are of the file's choice, but for those of strings.
 *
 *	sample ──► location ──► line, innermost first ──► function
 *	               └──────► mapping
 *
 * A value of type "samples" beside others is how many samples there were, not what they weigh. */
#include "analysis/import/imported.h"
#include "base/cursor.h"
#include "base/formats/leb128.h"
#include "base/formats/pprof.h"
#include "base/formats/protobuf.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* WORDS_MAX: what the stacks of values that stand for several samples may take in the recording, eight bytes each. */
enum { NOT_A_VALUE = UINT32_MAX, STEP_NS = 1000, SAMPLE_WORDS = 10, WORDS_MAX = 1 << 26, TYPES_MAX = 64 };

struct pprof_function {
	uint64_t name, file; /* numbers of strings */
};
struct pprof_location {
	uint64_t mapping, address;
	struct cursor message; /* its lines are in it */
	size_t first, count;   /* its functions in `frames`, innermost first; count 0: not read yet */
};
struct value_type {
	uint64_t type, unit;
	uint32_t event; /* or NOT_A_VALUE */
	uint64_t scale; /* to nanoseconds; else 1 */
};

struct reading {
	struct imported *imported;
	VEC(const char *) strings; /* interned */
	VEC(struct pprof_function) functions;
	VEC(struct pprof_location) locations;
	VEC(uint32_t) frames; /* of all locations: numbers of imported ones */
	VEC(struct value_type) types;
	struct map64 function_index, location_index, mapping_files; /* by id: number + 1; the mapping's string + 1 */
	uint32_t counts;					    /* which value is a number of samples, or NOT_A_VALUE */
	uint64_t words;						    /* of stacks that are written more than once */
};

typedef VEC(uint64_t) number_list;

/* ---- the encoding ---- */

/* A repeated number: alone, or many in a piece. */
static void add_numbers(struct protobuf_field *field, number_list *list)
{
	if (!field->is_piece)
		vec_push(list, field->value);
	while (field->is_piece && cursor_left(&field->message) && !field->message.failed) {
		uint64_t value = leb128_unsigned(&field->message);
		vec_push(list, value);
	}
}

/* ---- tables ---- */

static const char *string_at(const struct reading *reading, uint64_t number)
{
	return number < reading->strings.len ? reading->strings.data[number] : "";
}

static void read_value_type(struct reading *reading, struct cursor message)
{
	struct value_type type = {.scale = 1};
	for (struct protobuf_field field; protobuf_next(&message, &field);)
		if (field.number == PPROF_VALUE_TYPE)
			type.type = field.value;
		else if (field.number == PPROF_VALUE_UNIT)
			type.unit = field.value;
	if (reading->types.len < TYPES_MAX)
		vec_push(&reading->types, type);
}

static void read_mapping(struct reading *reading, struct cursor message)
{
	uint64_t id = 0, file = 0;
	for (struct protobuf_field field; protobuf_next(&message, &field);)
		if (field.number == PPROF_MAPPING_ID)
			id = field.value;
		else if (field.number == PPROF_MAPPING_FILE)
			file = field.value;
	*map64_insert(&reading->mapping_files, id, NULL) = file + 1;
}

static void read_location(struct reading *reading, struct cursor message)
{
	struct pprof_location location = {.message = message};
	uint64_t id = 0;
	for (struct protobuf_field field; protobuf_next(&message, &field);)
		if (field.number == PPROF_LOCATION_ID)
			id = field.value;
		else if (field.number == PPROF_LOCATION_MAPPING)
			location.mapping = field.value;
		else if (field.number == PPROF_LOCATION_ADDRESS)
			location.address = field.value;
	vec_push(&reading->locations, location);
	*map64_insert(&reading->location_index, id, NULL) = reading->locations.len;
}

static void read_function(struct reading *reading, struct cursor message)
{
	struct pprof_function function = {0};
	uint64_t id = 0, system_name = 0;
	for (struct protobuf_field field; protobuf_next(&message, &field);)
		if (field.number == PPROF_FUNCTION_ID)
			id = field.value;
		else if (field.number == PPROF_FUNCTION_NAME)
			function.name = field.value;
		else if (field.number == PPROF_FUNCTION_SYSTEM_NAME)
			system_name = field.value;
		else if (field.number == PPROF_FUNCTION_FILE)
			function.file = field.value;
	function.name = function.name ? function.name : system_name;
	vec_push(&reading->functions, function);
	*map64_insert(&reading->function_index, id, NULL) = reading->functions.len;
}

static bool read_tables(struct reading *reading, struct cursor profile)
{
	for (struct protobuf_field field; protobuf_next(&profile, &field);)
		switch (field.number) {
		case PPROF_SAMPLE_TYPE:
			read_value_type(reading, field.message);
			break;
		case PPROF_MAPPING:
			read_mapping(reading, field.message);
			break;
		case PPROF_LOCATION:
			read_location(reading, field.message);
			break;
		case PPROF_FUNCTION:
			read_function(reading, field.message);
			break;
		case PPROF_STRING:
			vec_push(&reading->strings,
				 intern_bytes(&reading->imported->texts, (const char *)field.message.at, cursor_left(&field.message)));
			break;
		default:
			break;
		}
	return !profile.failed;
}

static uint64_t unit_ns(const char *unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"nanoseconds", 1}, {"microseconds", 1000}, {"milliseconds", 1000000}, {"seconds", 1000000000}};
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].name))
			return units[i].ns;
	return 0;
}

/* Each type is an event, but for the number of samples where there is another one. */
static void settle_types(struct reading *reading)
{
	reading->counts = NOT_A_VALUE;
	for (uint32_t i = 0; i < reading->types.len; i++) {
		struct value_type *type = &reading->types.data[i];
		const char *name = string_at(reading, type->type);
		uint64_t ns = unit_ns(string_at(reading, type->unit));
		type->event = NOT_A_VALUE;
		if (reading->types.len > 1 && reading->counts == NOT_A_VALUE && !strcmp(name, "samples") && !ns) {
			reading->counts = i;
			continue;
		}
		type->event = imported_event(reading->imported, name, ns != 0);
		type->scale = ns ? ns : 1;
	}
}

/* ---- samples ---- */

enum { LINES_MAX = 256 };

/* One of a location's functions; without a name it is none. */
static struct imported_frame read_line(const struct reading *reading, struct cursor message)
{
	uint64_t id = 0, line = 0;
	for (struct protobuf_field field; protobuf_next(&message, &field);)
		if (field.number == PPROF_LINE_FUNCTION)
			id = field.value;
		else if (field.number == PPROF_LINE_NUMBER)
			line = field.value;
	const uint64_t *number = map64_find(&reading->function_index, id);
	const struct pprof_function *function = number ? &reading->functions.data[*number - 1] : NULL;
	const char *source = function ? string_at(reading, function->file) : "";
	return (struct imported_frame){
		.function = function ? string_at(reading, function->name) : "", .file = *source ? source : NULL, .line = (uint32_t)line};
}

/* Innermost first, at least one: an address that has no name is called by itself. Read once, however many stacks it is in. */
static void read_lines(struct reading *reading, struct pprof_location *location)
{
	struct imported *imported = reading->imported;
	const uint64_t *file = location->mapping ? map64_find(&reading->mapping_files, location->mapping) : NULL;
	const char *mapping = file ? string_at(reading, *file - 1) : "";
	struct imported_frame frames[LINES_MAX];
	char text[32];
	size_t count = 0;
	struct cursor message = location->message;
	for (struct protobuf_field field; count < LINES_MAX && protobuf_next(&message, &field);) {
		if (field.number != PPROF_LOCATION_LINE)
			continue;
		frames[count] = read_line(reading, field.message);
		count += *frames[count].function != '\0';
	}
	if (!count) {
		snprintf(text, sizeof(text), "0x%" PRIx64, location->address);
		frames[count++] = (struct imported_frame){.function = intern_string(&imported->texts, text)};
	}
	location->first = reading->frames.len;
	location->count = count;
	for (size_t i = 0; i < count; i++) {
		frames[i].mapping = *mapping ? mapping : NULL;
		frames[i].kernel = !strncmp(mapping, "[kernel", strlen("[kernel"));
		frames[i].inlined = i + 1 < count;
		vec_push(&reading->frames, imported_frame(imported, &frames[i]));
	}
}

/* Puts the functions at a location on top of its callers; number 0 is that of all that aren't in the table. */
static uint32_t add_location(struct reading *reading, uint64_t id, uint32_t stack)
{
	const uint64_t *number = map64_find(&reading->location_index, id);
	struct pprof_location *location = &reading->locations.data[number ? *number - 1 : 0];
	if (!location->count)
		read_lines(reading, location);
	for (size_t i = location->count; i-- > 0;)
		stack = imported_stack(reading->imported, stack, reading->frames.data[location->first + i]);
	return stack;
}

struct labels {
	uint64_t pid, tid;
	bool has_pid, has_tid;
	const char *comm;
};

static void read_label(const struct reading *reading, struct cursor message, struct labels *labels)
{
	const char *key = "", *text = "";
	uint64_t number = 0;
	for (struct protobuf_field field; protobuf_next(&message, &field);)
		if (field.number == PPROF_LABEL_KEY)
			key = string_at(reading, field.value);
		else if (field.number == PPROF_LABEL_TEXT)
			text = string_at(reading, field.value);
		else if (field.number == PPROF_LABEL_NUMBER)
			number = field.value;
	bool is_pid = !strcmp(key, "pid"), is_tid = !strcmp(key, "tid") || !strcmp(key, "thread_id");
	labels->has_pid |= is_pid;
	labels->has_tid |= is_tid;
	labels->pid = is_pid ? number : labels->pid;
	labels->tid = is_tid ? number : labels->tid;
	if (!strcmp(key, "comm") || !strcmp(key, "thread"))
		labels->comm = text;
}

/* Whether a value is written as so many samples. `depth`: locations of its stack. */
static bool expands(struct reading *reading, uint64_t count, uint64_t value, size_t depth)
{
	uint64_t room = (WORDS_MAX - reading->words) / (depth + SAMPLE_WORDS);
	if (count < 2 || count > value || count > room)
		return false;
	reading->words += count * (depth + SAMPLE_WORDS);
	return true;
}

static void add_values(struct reading *reading, const number_list *values, size_t depth, uint32_t stack, uint32_t thread)
{
	struct imported *imported = reading->imported;
	uint64_t count = reading->counts < values->len ? values->data[reading->counts] : 1;
	for (size_t i = 0; i < values->len && i < reading->types.len; i++) {
		const struct value_type *type = &reading->types.data[i];
		uint64_t value = values->data[i];
		if (type->event == NOT_A_VALUE || !value)
			continue;
		if ((int64_t)value < 0 || value > UINT64_MAX / type->scale) {
			imported->left_out++;
			continue;
		}
		uint32_t times = expands(reading, count, value, depth) ? (uint32_t)count : 1;
		vec_push(&imported->samples, (struct imported_sample){.event = type->event,
								      .stack = stack,
								      .thread = thread,
								      .count = times,
								      .period = value * type->scale,
								      .time = (imported->samples.len + 1) * STEP_NS});
	}
}

static void read_sample(struct reading *reading, struct cursor message)
{
	struct labels labels = {0};
	uint32_t stack = IMPORTED_NO_STACK;
	number_list path = {0}, values = {0};
	for (struct protobuf_field field; protobuf_next(&message, &field);)
		if (field.number == PPROF_SAMPLE_LOCATION)
			add_numbers(&field, &path);
		else if (field.number == PPROF_SAMPLE_VALUE)
			add_numbers(&field, &values);
		else if (field.number == PPROF_SAMPLE_LABEL)
			read_label(reading, field.message, &labels);
	for (size_t i = path.len; i-- > 0;)
		stack = add_location(reading, path.data[i], stack);
	uint32_t tid = labels.has_tid ? (uint32_t)labels.tid : labels.has_pid ? (uint32_t)labels.pid : 1;
	uint32_t pid = labels.has_pid ? (uint32_t)labels.pid : tid;
	add_values(reading, &values, path.len, stack,
		   imported_thread(reading->imported, pid, tid, labels.comm && *labels.comm ? labels.comm : "pprof"));
	vec_deinit(&path);
	vec_deinit(&values);
}

struct error *import_pprof(const char *data, size_t size, const struct import_options *options, struct imported *ret)
{
	struct reading reading = {.imported = ret};
	struct cursor profile = cursor_init(data, size, false);
	struct error *error = NULL;
	vec_push(&reading.locations, (struct pprof_location){0});
	if (!read_tables(&reading, profile) || !reading.types.len || !reading.strings.len)
		error = error_new("%s is not a pprof profile (profile.proto, mostly compressed: .pb.gz), or it is damaged", options->name);
	if (!error)
		settle_types(&reading);
	for (struct protobuf_field field; !error && protobuf_next(&profile, &field);)
		if (field.number == PPROF_SAMPLE)
			read_sample(&reading, field.message);
	vec_deinit(&reading.strings);
	vec_deinit(&reading.functions);
	vec_deinit(&reading.locations);
	vec_deinit(&reading.frames);
	vec_deinit(&reading.types);
	map64_deinit(&reading.function_index);
	map64_deinit(&reading.location_index);
	map64_deinit(&reading.mapping_files);
	return error;
}
