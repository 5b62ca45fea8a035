/* Speedscope's file format (https://www.speedscope.app/file-format-schema.json): frames in one table, and profiles that are lists of stacks
 * with weights ("sampled"), or of calls that open and close ("evented"). The text is gone over twice, since the table may come last; so
 * are a profile's members. */
#include "analysis/import/imported.h"
#include "base/formats/json_reader.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	struct imported *imported;
	struct json_reader json;
	struct strbuf name, text;
	VEC(uint32_t) frames; /* of the table: numbers of imported ones */
	uint32_t profiles;
};

/* A profile's members, wherever they stand in it. */
struct profile {
	struct json_reader samples, weights, events;
	bool is_evented, has_samples, has_weights, has_events;
	double scale;
	uint32_t event, thread;
	uint64_t time; /* how far it has come */
};

/* ---- the table ---- */

static void read_frame(struct reading *reading)
{
	struct imported_frame frame = {.function = ""};
	struct intern *texts = &reading->imported->texts;
	for (bool in = json_enter(&reading->json, '{'); in && json_next_member(&reading->json, &reading->name);) {
		const char *name = strbuf_str(&reading->name);
		bool is_name = !strcmp(name, "name"), is_file = !strcmp(name, "file");
		if (is_name || is_file) {
			json_read_string(&reading->json, &reading->text);
			*(is_name ? &frame.function : &frame.file) = intern_string(texts, strbuf_str(&reading->text));
		} else if (!strcmp(name, "line")) {
			double line = json_read_number(&reading->json);
			frame.line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
		} else {
			json_skip(&reading->json);
		}
	}
	frame.function = intern_string(texts, *frame.function ? frame.function : "(anonymous)");
	vec_push(&reading->frames, imported_frame(reading->imported, &frame));
}

static void read_shared(struct reading *reading)
{
	for (bool in = json_enter(&reading->json, '{'); in && json_next_member(&reading->json, &reading->name);) {
		if (strcmp(strbuf_str(&reading->name), "frames") != 0) {
			json_skip(&reading->json);
			continue;
		}
		for (bool list = json_enter(&reading->json, '['); list && json_next_item(&reading->json);)
			read_frame(reading);
	}
}

/* ---- profiles ---- */

/* The number of a frame of the table, or none. */
static uint32_t frame_at(const struct reading *reading, double number)
{
	return number >= 0 && number < (double)reading->frames.len ? reading->frames.data[(size_t)number] : IMPORTED_NO_STACK;
}

static void add_sample(struct reading *reading, struct profile *profile, uint32_t stack, double weight)
{
	struct imported *imported = reading->imported;
	double period = weight * profile->scale;
	if (!(period >= 0 && period < 0x1p62) || profile->time > INT64_MAX / 2) {
		imported->left_out++;
		return;
	}
	profile->time += (uint64_t)llround(period);
	if (llround(period))
		vec_push(&imported->samples, (struct imported_sample){.event = profile->event,
								      .stack = stack,
								      .thread = profile->thread,
								      .count = 1,
								      .period = (uint64_t)llround(period),
								      .time = profile->time + 1});
}

/* A stack's list of frames, the outermost first. */
static uint32_t read_stack(struct reading *reading, struct json_reader *json)
{
	uint32_t stack = IMPORTED_NO_STACK;
	for (bool in = json_enter(json, '['); in && json_next_item(json);) {
		uint32_t frame = frame_at(reading, json_read_number(json));
		if (frame == IMPORTED_NO_STACK)
			reading->imported->left_out++;
		else
			stack = imported_stack(reading->imported, stack, frame);
	}
	return stack;
}

/* Without weights each sample counts once. */
static void read_sampled(struct reading *reading, struct profile *profile)
{
	bool weighted = profile->has_weights && json_enter(&profile->weights, '[');
	for (bool in = json_enter(&profile->samples, '['); in && json_next_item(&profile->samples);) {
		uint32_t stack = read_stack(reading, &profile->samples);
		double weight = weighted && json_next_item(&profile->weights) ? json_read_number(&profile->weights) : weighted ? 0 : 1;
		add_sample(reading, profile, stack, weight);
	}
}

struct call {
	bool opens;
	uint32_t frame;
	double at;
};

static struct call read_call(struct reading *reading, struct json_reader *json)
{
	struct call call = {.frame = IMPORTED_NO_STACK};
	for (bool in = json_enter(json, '{'); in && json_next_member(json, &reading->name);) {
		const char *name = strbuf_str(&reading->name);
		if (!strcmp(name, "type")) {
			json_read_string(json, &reading->text);
			call.opens = !strcmp(strbuf_str(&reading->text), "O");
		} else if (!strcmp(name, "frame")) {
			call.frame = frame_at(reading, json_read_number(json));
		} else if (!strcmp(name, "at")) {
			call.at = json_read_number(json);
		} else {
			json_skip(json);
		}
	}
	return call;
}

/* What is open between two events is a sample of that time. */
static void read_evented(struct reading *reading, struct profile *profile)
{
	uint32_t stack = IMPORTED_NO_STACK;
	double last = 0;
	bool begun = false;
	for (bool in = json_enter(&profile->events, '['); in && json_next_item(&profile->events);) {
		struct call call = read_call(reading, &profile->events);
		if (begun && stack != IMPORTED_NO_STACK && call.at > last)
			add_sample(reading, profile, stack, call.at - last);
		else if (begun && call.at < last)
			reading->imported->left_out++;
		begun = true;
		last = call.at;
		if (call.frame == IMPORTED_NO_STACK)
			reading->imported->left_out++;
		else if (call.opens)
			stack = imported_stack(reading->imported, stack, call.frame);
		else if (stack != IMPORTED_NO_STACK && reading->imported->stacks.data[stack].frame == call.frame)
			stack = reading->imported->stacks.data[stack].parent;
		else
			reading->imported->left_out++;
	}
}

/* What the unit is in the recording. `event`: its name, "" if that isn't told. */
static void set_unit(struct reading *reading, struct profile *profile, const char *unit, const char *event)
{
	static const struct {
		const char *name, *event;
		double scale;
		bool nanoseconds;
	} units[] = {{"nanoseconds", "time", 1, true},
		     {"microseconds", "time", 1e3, true},
		     {"milliseconds", "time", 1e6, true},
		     {"seconds", "time", 1e9, true},
		     {"bytes", "bytes", 1, false}};
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].name)) {
			profile->scale = units[i].scale;
			profile->event = imported_event(reading->imported, *event ? event : units[i].event, units[i].nanoseconds);
			return;
		}
	profile->scale = 1;
	profile->event = imported_event(reading->imported, *event ? event : "samples", false);
}

/* "worker 17/18", maybe with "cycles: " before it, is a thread of ours; any other name is that of a thread of its own. */
static void set_thread(struct reading *reading, struct profile *profile, char *name, const char *unit)
{
	const char *event = "";
	char *space = strrchr(name, ' '), *slash = space ? strchr(space, '/') : NULL;
	uint32_t pid, tid;
	if (slash)
		*slash = '\0';
	bool ours = slash && number_parse_u32(space + 1, &pid) && number_parse_u32(slash + 1, &tid);
	if (slash && !ours)
		*slash = '/';
	if (ours) {
		*space = '\0';
		char *colon = strstr(name, ": ");
		event = colon ? name : "";
		if (colon) {
			*colon = '\0';
			name = colon + 2;
		}
	} else {
		pid = tid = reading->profiles;
	}
	set_unit(reading, profile, unit, event);
	profile->thread = imported_thread(reading->imported, pid, tid, *name ? name : "speedscope");
}

static void read_profile(struct reading *reading)
{
	struct profile profile = {0};
	struct json_reader *json = &reading->json;
	struct strbuf title = {0}, unit = {0};
	reading->profiles++;
	for (bool in = json_enter(json, '{'); in && json_next_member(json, &reading->name);) {
		const char *name = strbuf_str(&reading->name);
		struct json_reader *member = !strcmp(name, "samples")	? &profile.samples
					     : !strcmp(name, "weights") ? &profile.weights
					     : !strcmp(name, "events")	? &profile.events
									: NULL;
		profile.has_samples |= member == &profile.samples;
		profile.has_weights |= member == &profile.weights;
		profile.has_events |= member == &profile.events;
		if (member)
			*member = *json;
		if (!strcmp(name, "name"))
			json_read_string(json, &title);
		else if (!strcmp(name, "unit"))
			json_read_string(json, &unit);
		else
			json_skip(json);
	}
	set_thread(reading, &profile, title.data ? title.data : (char[]){""}, strbuf_str(&unit));
	if (profile.has_samples)
		read_sampled(reading, &profile);
	if (profile.has_events)
		read_evented(reading, &profile);
	strbuf_deinit(&title);
	strbuf_deinit(&unit);
}

/* Whether the text is an object to its end; of its members the one that is wanted is read. */
static bool read_member(struct reading *reading, const char *data, size_t size, const char *wanted, void (*read)(struct reading *reading))
{
	bool found = false;
	reading->json = json_reader_init(data, size);
	for (bool in = json_enter(&reading->json, '{'); in && json_next_member(&reading->json, &reading->name);) {
		if (strcmp(strbuf_str(&reading->name), wanted) != 0) {
			json_skip(&reading->json);
			continue;
		}
		found = true;
		read(reading);
	}
	return found && !reading->json.failed;
}

static void read_profiles(struct reading *reading)
{
	for (bool in = json_enter(&reading->json, '['); in && json_next_item(&reading->json);)
		read_profile(reading);
}

struct error *import_speedscope(const char *data, size_t size, const struct import_options *options, struct imported *ret)
{
	struct reading reading = {.imported = ret};
	struct error *error = NULL;
	if (!read_member(&reading, data, size, "shared", read_shared) || !read_member(&reading, data, size, "profiles", read_profiles))
		error = error_new("%s is not a speedscope file (JSON with \"shared\" and \"profiles\"), or it is damaged", options->name);
	vec_deinit(&reading.frames);
	strbuf_deinit(&reading.name);
	strbuf_deinit(&reading.text);
	return error;
}
