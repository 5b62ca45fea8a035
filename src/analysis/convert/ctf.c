/* An event gets its class, the description of its fields in the metadata, when its first sample comes; what a pipe tells of it later
 * changes nothing any more. Classes of side-band are there from the beginning.
 *
 * What a recording says of fields isn't believed: those of a tracepoint that can't all be in one record, and strings that together are
 * longer than one, are cut off, and samples left out whose fields would be much larger than what they are made of. Many events can have one
 * tracepoint: when the metadata is larger than that of any machine, fields aren't described any more. */
#include "analysis/convert/ctf_internal.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* ---- integers ---- */

void ctf_declare_integer(struct strbuf *out, enum ctf_type type, const char *name, const char *suffix)
{
	static const char *const types[] = {
		[CTF_U32] = "u32", [CTF_S32] = "s32", [CTF_X32] = "x32", [CTF_U64] = "u64", [CTF_S64] = "s64", [CTF_X64] = "x64"};
	strbuf_printf(out, "\t\t%s %s%s;\n", types[type], name, suffix);
}

void ctf_put_integer(struct strbuf *out, enum ctf_type type, uint64_t value)
{
	uint32_t half = (uint32_t)value;
	if (ctf_type_size(type) == sizeof(value))
		strbuf_add(out, &value, sizeof(value));
	else
		strbuf_add(out, &half, sizeof(half));
}

static const char TYPES[] = "typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
			    "typealias integer { size = 32; align = 8; signed = true; } := s32;\n"
			    "typealias integer { size = 32; align = 8; signed = false; base = hex; } := x32;\n"
			    "typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
			    "typealias integer { size = 64; align = 8; signed = true; } := s64;\n"
			    "typealias integer { size = 64; align = 8; signed = false; base = hex; } := x64;\n\n";

/* ---- what all samples have ---- */

/* In the order of the kernel's tool; the value is a member of struct sample. */
static const struct sampled {
	uint64_t bits; /* PERF_SAMPLE_…: one of them */
	enum ctf_type type;
	const char *name;
	uint16_t offset, size;
} sampled[] = {
#define SAMPLED(bits, type, name, member)                                                               \
	{                                                                                               \
		bits, type, name, offsetof(struct sample, member), sizeof(((struct sample *)0)->member) \
	}
	SAMPLED(PERF_SAMPLE_IP, CTF_X64, "perf_ip", ip),
	SAMPLED(PERF_SAMPLE_TID, CTF_S32, "perf_tid", tid),
	SAMPLED(PERF_SAMPLE_TID, CTF_S32, "perf_pid", pid),
	SAMPLED(PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER, CTF_U64, "perf_id", id),
	SAMPLED(PERF_SAMPLE_STREAM_ID, CTF_U64, "perf_stream_id", stream_id),
	SAMPLED(PERF_SAMPLE_PERIOD, CTF_U64, "perf_period", period),
	SAMPLED(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, CTF_U64, "perf_weight", weight),
	SAMPLED(PERF_SAMPLE_DATA_SRC, CTF_U64, "perf_data_src", data_src),
	SAMPLED(PERF_SAMPLE_TRANSACTION, CTF_U64, "perf_transaction", transaction),
#undef SAMPLED
};
enum { SAMPLED_COUNT = sizeof(sampled) / sizeof(*sampled) };

static uint64_t sampled_value(const struct sampled *field, const struct sample *sample)
{
	const void *member = (const char *)sample + field->offset;
	return field->size == sizeof(uint32_t) ? *(const uint32_t *)member : *(const uint64_t *)member;
}

static void put_words(struct strbuf *out, const uint64_t *words, uint64_t count)
{
	if (count)
		strbuf_add(out, words, count * sizeof(*words));
}

static void declare_sampled(const struct ctf_class *class, struct strbuf *out)
{
	for (size_t i = 0; i < SAMPLED_COUNT; i++)
		if (class->sample_type & sampled[i].bits)
			ctf_declare_integer(out, sampled[i].type, sampled[i].name, "");
	if (class->guests) {
		ctf_declare_integer(out, CTF_U32, "perf_machine_pid", "");
		ctf_declare_integer(out, CTF_S32, "perf_vcpu", "");
	}
	if (class->sample_type & PERF_SAMPLE_CALLCHAIN) {
		ctf_declare_integer(out, CTF_U32, "perf_callchain_size", "");
		ctf_declare_integer(out, CTF_X64, "perf_callchain", "[perf_callchain_size]");
	}
	if (class->raw_words) {
		ctf_declare_integer(out, CTF_U32, "raw_len", "");
		ctf_declare_integer(out, CTF_X32, "raw_data", "[raw_len]");
	}
}

static void put_sampled(const struct ctf_class *class, const struct sample *sample, struct strbuf *out)
{
	for (size_t i = 0; i < SAMPLED_COUNT; i++)
		if (class->sample_type & sampled[i].bits)
			ctf_put_integer(out, sampled[i].type, sampled_value(&sampled[i], sample));
	if (class->guests) {
		ctf_put_integer(out, CTF_U32, sample->guest.machine_pid);
		ctf_put_integer(out, CTF_S32, sample->guest.vcpu);
	}
	if (class->sample_type & PERF_SAMPLE_CALLCHAIN) {
		ctf_put_integer(out, CTF_U32, sample->chain_count + sample->deferred_count);
		put_words(out, sample->chain, sample->chain_count);
		put_words(out, sample->deferred, sample->deferred_count);
	}
	if (class->raw_words) {
		uint32_t words = sample->raw ? sample->raw_size / sizeof(uint32_t) : 0;
		ctf_put_integer(out, CTF_U32, words);
		if (words)
			strbuf_add(out, sample->raw, words * sizeof(uint32_t));
	}
}

/* ---- classes ---- */

static void begin_class(uint32_t id, const char *name, struct strbuf *out)
{
	strbuf_printf(out, "event {\n\tid = %" PRIu32 ";\n\tname = ", id);
	ctf_add_string(out, name, strlen(name));
	strbuf_add_str(out, ";\n\tstream_id = 0;\n\tfields := struct {\n");
}

static void end_class(struct strbuf *out)
{
	strbuf_add_str(out, "\t};\n};\n\n");
}

static bool is_full(struct ctf_export *export, const struct event *event)
{
	enum { MOST_METADATA = 64 << 20 };
	if (!export->full && export->events.len >= MOST_METADATA) {
		export->full = true;
		log_warning("the fields of %s, and of events after it, are left out: the trace's metadata is larger than %d MB",
			    event->name, MOST_METADATA >> 20);
	}
	return export->full;
}

static struct ctf_class *class_of(struct ctf_export *export, const struct event *event)
{
	while (export->classes.len <= event->index)
		vec_push(&export->classes, (struct ctf_class){0});
	struct ctf_class *class = &export->classes.data[event->index];
	if (class->known)
		return class;
	*class = (struct ctf_class){
		.known = true,
		.sample_type = event->attr.sample_type,
		.guests = export->session->reader->layouts[event->index].guests,
		.raw_words = event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_BPF_OUTPUT,
		.tracepoint = event->attr.sample_type & PERF_SAMPLE_RAW ? event->tracepoint : NULL,
	};
	begin_class(CTF_FIRST_EVENT + event->index, event->name, &export->events);
	declare_sampled(class, &export->events);
	if (class->tracepoint && is_full(export, event))
		class->tracepoint = NULL;
	if (class->tracepoint)
		ctf_declare_tracepoint(class, &export->events);
	end_class(&export->events);
	return class;
}

/* ---- samples ---- */

/* To readers, a time and the clock's offset together must have less than 63 bits: neither has more than 62 (the year 2116). */
#define LATEST ((INT64_C(1) << 62) - 1)

static uint64_t clock_time(uint64_t time)
{
	return time > LATEST ? LATEST : time;
}

/* A stream for each CPU that the machine can have; what is beyond that comes to stream 0. */
static uint32_t stream_of(const struct ctf_export *export, const struct ctf_class *class, const struct sample *sample)
{
	enum { MOST_CPUS = 8192 };
	uint32_t available = export->session->reader->features.cpus_available;
	if (!(class->sample_type & PERF_SAMPLE_CPU) || sample->cpu >= MOST_CPUS || (available && sample->cpu >= available))
		return 0;
	return sample->cpu;
}

struct error *ctf_export_sample(struct ctf_export *export, const struct event *event, const struct sample *sample, bool *ret_written)
{
	struct strbuf *out;
	const struct ctf_class *class = class_of(export, event);
	*ret_written = !class->tracepoint || ctf_tracepoint_fits(class, sample);
	if (!*ret_written)
		return NULL;
	struct error *error = ctf_writer_begin_event(export->writer, stream_of(export, class, sample), CTF_FIRST_EVENT + event->index,
						     clock_time(sample->time), &out);
	if (error)
		return error;
	put_sampled(class, sample, out);
	if (class->tracepoint)
		ctf_put_tracepoint(class, sample, out);
	return NULL;
}

/* ---- side-band ---- */

static const struct side_band {
	const char *name, *fields;
} side_band[CTF_FIRST_EVENT] = {
	[CTF_COMM] = {"perf_comm", "\t\tu32 pid;\n\t\tu32 tid;\n\t\tstring comm;\n"},
	[CTF_EXIT] = {"perf_exit", "\t\tu32 pid;\n\t\tu32 ppid;\n\t\tu32 tid;\n\t\tu32 ptid;\n\t\tu64 time;\n"},
	[CTF_FORK] = {"perf_fork", "\t\tu32 pid;\n\t\tu32 ppid;\n\t\tu32 tid;\n\t\tu32 ptid;\n\t\tu64 time;\n"},
	[CTF_MMAP] = {"perf_mmap", "\t\tu32 pid;\n\t\tu32 tid;\n\t\tx64 start;\n\t\tstring filename;\n"},
	[CTF_MMAP2] = {"perf_mmap2", "\t\tu32 pid;\n\t\tu32 tid;\n\t\tx64 start;\n\t\tstring filename;\n"},
};

/* Texts of records have an end (perfdata/records.def). */
static void put_text(struct strbuf *out, const char *text)
{
	text_add_safe(out, text, strlen(text));
	strbuf_add_char(out, '\0');
}

static void put_ids(struct strbuf *out, uint32_t pid, uint32_t tid)
{
	ctf_put_integer(out, CTF_U32, pid);
	ctf_put_integer(out, CTF_U32, tid);
}

static void put_record(const struct record_header *header, struct strbuf *out)
{
	const struct record_comm *comm = (const struct record_comm *)header;
	const struct record_task *task = (const struct record_task *)header;
	const struct record_mmap *map = (const struct record_mmap *)header;
	const struct record_mmap2 *map2 = (const struct record_mmap2 *)header;
	bool second = header->type == RECORD_MMAP2;
	switch (header->type) {
	case RECORD_COMM:
		put_ids(out, comm->pid, comm->tid);
		put_text(out, comm->name);
		break;
	case RECORD_EXIT:
	case RECORD_FORK:
		put_ids(out, task->pid, task->ppid);
		put_ids(out, task->tid, task->ptid);
		ctf_put_integer(out, CTF_U64, task->time);
		break;
	default:
		put_ids(out, map->pid, map->tid);
		ctf_put_integer(out, CTF_X64, map->start);
		put_text(out, second ? map2->name : map->name);
	}
}

/* What guests' records have in addition: these are classes of their own, behind those of all events, when the first one comes. */
enum { GUEST_SIDE_BAND = CTF_FIRST_EVENT + READER_EVENTS_MAX };

static void describe_side_band(struct ctf_export *export, bool guests)
{
	for (uint32_t id = 0; id < CTF_FIRST_EVENT; id++) {
		begin_class(guests ? GUEST_SIDE_BAND + id : id, side_band[id].name, &export->events);
		strbuf_add_str(&export->events, side_band[id].fields);
		if (guests)
			ctf_declare_integer(&export->events, CTF_U32, "machine_pid", "");
		end_class(&export->events);
	}
	export->guests = guests;
}

struct error *ctf_export_record(struct ctf_export *export, const struct record *record, bool *ret_written)
{
	struct strbuf *out;
	uint32_t type = record->header->type;
	int id = type == RECORD_COMM	? CTF_COMM
		 : type == RECORD_EXIT	? CTF_EXIT
		 : type == RECORD_FORK	? CTF_FORK
		 : type == RECORD_MMAP	? CTF_MMAP
		 : type == RECORD_MMAP2 ? CTF_MMAP2
					: -1;
	*ret_written = id >= 0;
	if (id < 0)
		return NULL;
	uint32_t guest = session_record_guest(export->session, record->header);
	if (guest && !export->guests)
		describe_side_band(export, true);
	struct error *error =
		ctf_writer_begin_event(export->writer, 0, (guest ? GUEST_SIDE_BAND : 0) + (uint32_t)id, clock_time(record->time), &out);
	if (error)
		return error;
	put_record(record->header, out);
	if (guest)
		ctf_put_integer(out, CTF_U32, guest);
	return NULL;
}

/* ---- beginning and end ---- */

struct ctf_export *ctf_export_create(struct session *session, struct ctf_writer *writer)
{
	struct ctf_export *export = mem_zalloc(sizeof(*export));
	export->session = session;
	export->writer = writer;
	strbuf_add_str(&export->events, TYPES);
	describe_side_band(export, false);
	return export;
}

void ctf_export_destroy(struct ctf_export *export)
{
	if (!export)
		return;
	for (size_t i = 0; i < export->classes.len; i++)
		free(export->classes.data[i].fields);
	vec_deinit(&export->classes);
	strbuf_deinit(&export->events);
	free(export);
}

static void add_environment(const struct features *features, struct strbuf *out)
{
	const struct {
		const char *name, *value;
	} facts[] = {{"host", features->hostname},   {"sysname", "Linux"},	  {"release", features->os_release},
		     {"version", features->version}, {"machine", features->arch}, {"domain", "kernel"},
		     {"tracer_name", "perf"}};
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		if (!facts[i].value)
			continue;
		strbuf_printf(out, "\t%s = ", facts[i].name);
		ctf_add_string(out, facts[i].value, strlen(facts[i].value));
		strbuf_add_str(out, ";\n");
	}
}

struct error *ctf_check_wall_clock(const struct session *session)
{
	if (features_has(&session->reader->features, FEATURE_CLOCK_DATA))
		return NULL;
	return error_new("--tod: the recording doesn't know the wall clock: record with -k, as in 'perf record -k mono'");
}

struct error *ctf_export_finish(struct ctf_export *export, bool wall_clock)
{
	static const char *const clocks[] = {"realtime",      "monotonic",	 "process_cputime_id", "thread_cputime_id",
					     "monotonic_raw", "realtime_coarse", "monotonic_coarse",   "boottime"};
	const struct event_list *events = &export->session->reader->events;
	const struct features *features = &export->session->reader->features;
	struct strbuf environment = {0};
	for (size_t i = 0; i < events->events.len; i++)
		class_of(export, events->events.data[i]);
	add_environment(features, &environment);
	struct ctf_description description = {
		.environment = strbuf_str(&environment), .clock = "perf clock", .events = strbuf_str(&export->events)};
	if (wall_clock) {
		bool known = features->clock_id < sizeof(clocks) / sizeof(*clocks);
		description.clock = known ? clocks[features->clock_id] : "wall clock";
		int64_t offset = (int64_t)(features->clock_wall_ns - features->clock_clockid_ns);
		description.clock_offset_ns = offset > LATEST ? LATEST : offset < -LATEST ? -LATEST : offset;
	}
	struct error *error = ctf_writer_finish(export->writer, &description);
	strbuf_deinit(&environment);
	return error;
}
