/* The text is put together from pieces that are the same for all samples: it is most of the work, and base/json.h knows nothing of indents.
 * Stacks are the recorded chains, as the format has them: nothing is unwound, no inlined function added. */
#include "analysis/convert/json.h"

#include "analysis/stack.h"
#include "base/text.h"
#include "event/tracepoint/tracepoint.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>
#include <time.h>

static void add(struct strbuf *out, const char *literal)
{
	strbuf_add(out, literal, strlen(literal));
}

/* ---- head ---- */

static void add_text(struct strbuf *out, const char *name, const char *text)
{
	if (!text)
		return;
	strbuf_printf(out, ",\n\t\t\"%s\": ", name);
	text_add_json(out, text, strlen(text));
}

static void add_number(struct strbuf *out, const char *name, uint64_t value)
{
	strbuf_printf(out, ",\n\t\t\"%s\": %" PRIu64, name, value);
}

static void add_place(const struct reader *reader, struct strbuf *out)
{
	struct reader_place place;
	struct tm date;
	char text[64];
	reader_place(reader, &place);
	strbuf_printf(out, "\t\t\"header-version\": %" PRIu32, place.version);
	if (reader->pipe)
		return;
	if (gmtime_r(&place.changed, &date) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &date))
		add_text(out, "captured-on", text);
	add_number(out, "data-offset", place.data_offset);
	add_number(out, "data-size", place.data_size);
	add_number(out, "feat-offset", place.features_offset);
}

static void add_command_line(const struct features *features, struct strbuf *out)
{
	if (!features->command_line)
		return;
	add(out, ",\n\t\t\"cmdline\": [");
	for (uint32_t i = 0; i < features->command_line_count; i++) {
		add(out, i ? ",\n\t\t\t" : "\n\t\t\t");
		text_add_json(out, features->command_line[i], strlen(features->command_line[i]));
	}
	add(out, "\n\t\t]");
}

void json_export_begin(const struct json_export *export, struct strbuf *out)
{
	const struct reader *reader = export->session->reader;
	const struct features *features = &reader->features;
	add(out, "{\n\t\"linux-perf-json-version\": 1,\n\t\"headers\": {\n");
	add_place(reader, out);
	add_text(out, "hostname", features->hostname);
	add_text(out, "os-release", features->os_release);
	add_text(out, "arch", features->arch);
	add_text(out, "cpu-desc", features->cpu_desc);
	add_text(out, "cpuid", features->cpuid);
	if (features->cpus_available) {
		add_number(out, "nrcpus-online", features->cpus_online);
		add_number(out, "nrcpus-avail", features->cpus_available);
	}
	if (features_has(features, FEATURE_CLOCK_DATA)) {
		add_number(out, "clockid", features->clock_id);
		add_number(out, "clock-time", features->clock_clockid_ns);
		add_number(out, "real-time", features->clock_wall_ns);
	}
	add_text(out, "perf-version", features->version);
	add_command_line(features, out);
	add(out, "\n\t},\n\t\"samples\": [");
}

void json_export_end(struct strbuf *out)
{
	add(out, "\n\t]\n}\n");
}

/* ---- stacks ---- */

static void add_frame(const struct frame *frame, bool is_first, struct strbuf *out)
{
	add(out, is_first ? "\n\t\t\t\t{\n\t\t\t\t\t\"ip\": \"0x" : ",\n\t\t\t\t{\n\t\t\t\t\t\"ip\": \"0x");
	strbuf_add_hex(out, frame->ip, 0);
	strbuf_add_char(out, '"');
	if (frame->symbol && *frame->symbol->name) {
		add(out, ",\n\t\t\t\t\t\"symbol\": ");
		text_add_json(out, frame->symbol->name, strlen(frame->symbol->name));
		if (frame->map && *frame->map->dso->short_name) {
			add(out, ",\n\t\t\t\t\t\"dso\": ");
			text_add_json(out, frame->map->dso->short_name, strlen(frame->map->dso->short_name));
		}
	}
	add(out, "\n\t\t\t\t}");
}

struct place {
	const struct json_export *export;
	const struct thread *thread;
	const struct record *record;
	bool has_frames;
	uint8_t cpumode;
};

static void add_address(struct place *at, uint64_t ip, struct strbuf *out)
{
	struct frame frame;
	const struct maps *maps = machine_maps(at->export->session->machine, at->thread, at->cpumode);
	resolver_frame(at->export->resolver, maps, at->cpumode, ip, at->record->model_time, &frame);
	add_frame(&frame, !at->has_frames, out);
	at->has_frames = true;
}

static void add_addresses(struct place *at, const uint64_t *chain, uint64_t count, struct strbuf *out)
{
	for (uint64_t i = 0; i < count; i++) {
		if (chain[i] < CALLCHAIN_CONTEXT_MAX)
			add_address(at, chain[i], out);
		else if (!stack_marker_mode(chain[i], &at->cpumode))
			at->cpumode = CPUMODE_UNKNOWN;
	}
}

static void add_stack(struct place *at, const struct sample *sample, struct strbuf *out)
{
	add(out, ",\n\t\t\t\"callchain\": [");
	if (sample->chain) {
		at->cpumode = CPUMODE_USER;
		add_addresses(at, sample->chain, sample->chain_count, out);
		add_addresses(at, sample->deferred, sample->deferred_count, out);
	} else {
		at->cpumode = sample->cpumode;
		add_address(at, sample->ip, out);
	}
	add(out, "\n\t\t\t]");
}

/* ---- samples ---- */

/* Names that samples have members of already get "field_" in front: two members of one name say different things to different readers. */
static bool is_taken(const char *name)
{
	static const char *const members[] = {"timestamp", "pid", "tid", "cpu", "comm", "callchain"};
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (!strcmp(name, members[i]))
			return true;
	return false;
}

/* Strings may overlap in a record that somebody made for that: no more of them than a record can hold many times. */
static void add_fields(const struct tracepoint *tracepoint, const struct sample *sample, struct strbuf *out)
{
	enum { MOST_TEXT = 1 << 20 };
	size_t begin = out->len;
	struct strbuf value = {0};
	for (size_t i = 0; i < tracepoint->field_count && out->len - begin < MOST_TEXT; i++) {
		const struct tracepoint_field *field = &tracepoint->fields[i];
		strbuf_clear(&value);
		tracepoint_print_field(field, sample->raw, sample->raw_size, &value);
		add(out, is_taken(field->name) ? ",\n\t\t\t\"field_" : ",\n\t\t\t\"");
		add(out, field->name);
		add(out, "\": ");
		text_add_json(out, strbuf_str(&value), value.len);
	}
	strbuf_deinit(&value);
}

static void add_signed(struct strbuf *out, const char *name, int64_t value)
{
	add(out, name);
	if (value < 0)
		strbuf_add_char(out, '-');
	strbuf_add_u64(out, value < 0 ? -(uint64_t)value : (uint64_t)value, 0);
}

void json_export_sample(struct json_export *export, const struct record *record, const struct sample *sample, struct strbuf *out)
{
	struct place at = {.export = export, .record = record};
	uint64_t type = record->event->attr.sample_type;
	at.thread = session_sample_thread(export->session->machine, sample, record->model_time);
	add(out, export->has_samples ? ",\n\t\t{" : "\n\t\t{");
	export->has_samples = true;
	add_signed(out, "\n\t\t\t\"timestamp\": ", type & PERF_SAMPLE_TIME ? (int64_t)sample->time : -1);
	add_signed(out, ",\n\t\t\t\"pid\": ", (int32_t)sample->pid);
	add_signed(out, ",\n\t\t\t\"tid\": ", (int32_t)sample->tid);
	if (type & PERF_SAMPLE_CPU)
		add_signed(out, ",\n\t\t\t\"cpu\": ", (int32_t)sample->cpu);
	if (sample->guest.machine_pid) {
		add_signed(out, ",\n\t\t\t\"machine_pid\": ", sample->guest.machine_pid);
		add_signed(out, ",\n\t\t\t\"vcpu\": ", (int32_t)sample->guest.vcpu);
	}
	add(out, ",\n\t\t\t\"comm\": ");
	text_add_untrusted_json(out, thread_comm(at.thread, record->model_time));
	add_stack(&at, sample, out);
	if (record->event->tracepoint && sample->raw)
		add_fields(record->event->tracepoint, sample, out);
	add(out, "\n\t\t}");
}
