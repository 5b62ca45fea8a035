/* A session's life, pass 1, and the records in order.
 *
 * Pass 1 hops from record header to record header. All it looks at in a sample is its time (and its id, with several events): one cache
 * line.
 *
 *	reader ──► source ──┬─ a time: held, (time, offset) into the order ──► FINISHED_ROUND ──► ready ─┬─► deliver: side-band into the
 *	  (file order)      └─ none: at once ───────────────────────────────────────────────────────────┘    machine, filter, command
 *
 * Not done here: what records change (apply.c), the order (order.c), parallel reading (reduce.c).
 */
#include "session/session.h"

#include "base/files/mapping.h"
#include "base/pool.h"
#include "session/page_ahead.h"
#include "session/session_internal.h"

#include <string.h>
#include <sys/utsname.h>

/* Pieces for workers: many enough for an even share, large enough to be worth the hand-over. */
enum { CUT_MAX = 2 << 20, CUT_MIN = 16 << 10, CUTS_WANTED = 64 };
enum { PROGRESS_DISTANCE = 16 << 20, CUT_VALUES_MAX = 64 << 20 };

/* ---- times ---- */

/* Where times are in their records. */
static bool same_times(const struct sample_layout *a, const struct sample_layout *b)
{
	return a->time == b->time && a->trailer_time == b->trailer_time && a->trailer == b->trailer;
}

/* Events may have come since the last look (in a stream they come with its first records). */
static void look_at_events(struct session *session)
{
	struct session_private *private = session->private;
	const struct reader *reader = session->reader;
	size_t count = reader->events.events.len;
	if (count == private->known_events)
		return;
	session->event_counts = mem_resize(session->event_counts, count * sizeof(*session->event_counts));
	memset(session->event_counts + private->known_events, 0, (count - private->known_events) * sizeof(*session->event_counts));
	private->known_events = count;
	private->uniform = true;
	for (size_t i = 1; i < count; i++)
	private->uniform &= same_times(&reader->layouts[0], &reader->layouts[i]);
	readings_init(&private->readings, reader);
	free(private->values);
	private->values = reading_values_create(&private->readings);
	/* Without times of side-band nothing can be put in order; a pipe doesn't know that in time. */
	bool any_time = false;
	for (size_t i = 0; i < count; i++)
		any_time |= reader->layouts[i].time != 0;
	private->file_order = private->options.unordered || !any_time || (!reader->pipe && !reader->layouts[0].sample_id_all);
	private->offset_times = private->file_order || !reader->has_times;
}

static uint64_t time_at(const struct record_header *header, const struct sample_layout *layout)
{
	uint64_t time = 0;
	if (header->type == RECORD_SAMPLE) {
		if (layout->time && header->size >= layout->time + sizeof(time))
			memcpy(&time, (const uint8_t *)header + layout->time, sizeof(time));
	} else if (layout->trailer_time && header->size >= sizeof(*header) + layout->trailer_time) {
		const uint8_t *end = (const uint8_t *)header + header->size - record_excess(header, layout->trailer);
		memcpy(&time, end - layout->trailer_time, sizeof(time));
	}
	return time == UINT64_MAX ? 0 : time;
}

uint64_t session_record_time(const struct session *session, const struct record_header *header)
{
	const struct session_private *private = session->private;
	if (header->type >= RECORD_USER_START)
		return 0;
	if (private->uniform)
		return private->known_events ? time_at(header, &session->reader->layouts[0]) : 0;
	const struct event *event = reader_event(session->reader, header);
	return event ? time_at(header, &session->reader->layouts[event->index]) : 0;
}

/* ---- counting, on the first reading ---- */

static void count_sample(struct session *session, const struct event *event, uint64_t time)
{
	session->event_counts[event->index].samples++;
	if (!time)
		return;
	if (!session->first_time || time < session->first_time)
		session->first_time = time;
	if (time > session->last_time)
		session->last_time = time;
}

static void count_record(struct session *session, const struct record_header *header, uint64_t time, uint64_t offset)
{
	session->record_counts[header->type < 256 ? header->type : 0]++;
	switch (header->type) {
	case RECORD_SAMPLE: {
		const struct event *event = reader_event(session->reader, header);
		if (!event) {
			reader_diagnostics_note(&session->reader->diagnostics, offset, "sample of an unknown event");
			return;
		}
		count_sample(session, event, time);
		return;
	}
	case RECORD_LOST:
	case RECORD_LOST_SAMPLES:
	case RECORD_THROTTLE:
		apply_loss(session, header);
	}
}

void session_set_progress(struct session *session, void (*progress)(void *context, uint64_t done, uint64_t total), void *context)
{
	session->private->options.progress = progress;
	session->private->options.progress_context = context;
}

void session_report_progress(const struct session *session, uint64_t offset)
{
	const struct session_options *options = &session->private->options;
	const struct reader *reader = session->reader;
	if (options->progress && reader->data_end > reader->data_offset)
		options->progress(options->progress_context, offset < reader->data_offset ? 0 : offset - reader->data_offset,
				  reader->data_end - reader->data_offset);
}

/* ---- pass 1 ---- */

/* `values` are the counters' at that place. Where counters are so many that their values at each cut would not fit, there are fewer cuts.
 */
static void add_cut(struct session *session, uint64_t offset, const uint64_t *values)
{
	struct session_private *private = session->private;
	size_t size = (private->readings.count + 1) * sizeof(*values);
	if (values && private->cut_values.len >= 1 + CUT_VALUES_MAX / size)
		return;
	vec_push(&private->cuts, offset);
	if (values) {
		vec_push(&private->cut_values, reading_values_create(&private->readings));
		memcpy(*vec_last(&private->cut_values), values, size);
	}
}

/* Takes note of the counters read with a sample. */
static void follow_readings(const struct session *session, const struct record_header *header, reading_values values)
{
	const struct session_private *private = session->private;
	const struct event *event = reader_event(session->reader, header);
	const struct sample_layout *layout = event ? &session->reader->layouts[event->index] : NULL;
	struct sample sample;
	uint64_t index = 0;
	if (!layout || !readings_splits(&private->readings, layout) || sample_decode(layout, &event->attr, header, &sample))
		return;
	while (readings_next(&private->readings, session->reader, layout, values, &index, &sample))
		;
}

static uint64_t cut_distance(const struct reader *reader)
{
	uint64_t distance = (reader->data_end - reader->data_offset) / CUTS_WANTED;
	return distance < CUT_MIN ? CUT_MIN : distance > CUT_MAX ? CUT_MAX : distance;
}

/* Hops over the plain samples from `offset` on, which most records are; returns where something else comes, or `end` is reached. */
static uint64_t hop_samples(struct session *session, uint64_t offset, uint64_t end)
{
	const struct reader *reader = session->reader;
	const uint64_t data_end = reader->data_end < end ? reader->data_end : end;
	uint64_t samples = 0, asked = 0;
	while (offset < data_end) {
		asked = reader_ask_ahead(reader, offset, asked);
		const struct record_header *header = (const struct record_header *)(reader->records + offset);
		uint16_t size = reader_sample_size(reader, offset);
		const struct event *event = size ? reader_event(reader, header) : NULL;
		if (!event)
			break;
		count_sample(session, event, time_at(header, &session->reader->layouts[0]));
		offset += size;
		samples++;
	}
	session->record_counts[RECORD_SAMPLE] += samples;
	return offset;
}

static void note_deferred(struct session *session, const struct record_header *header, uint64_t offset)
{
	const char *broken = deferred_note(&session->private->deferred, session->reader, header);
	if (broken)
		reader_diagnostics_note(&session->reader->diagnostics, offset, broken);
}

/* Hops over all records: counts, cuts, and the side-band into `sideband`. */
static struct error *scan_records(struct session *session, struct order *sideband)
{
	struct reader *reader = session->reader;
	struct session_private *private = session->private;
	struct source source;
	struct error *error = NULL;
	const struct record_header *header;
	uint64_t offset, distance = cut_distance(reader), next_cut = 0, next_progress = reader->data_offset + PROGRESS_DISTANCE;
	reading_values values = private->readings.present ? reading_values_create(&private->readings) : NULL;
	bool hops = reader->stable && private->uniform && !values;
	source_init(&source, reader, true);
	session_report_progress(session, 0);
	while ((header = source_next(&source, &offset, &error))) {
		uint64_t time = session_record_time(session, header);
		count_record(session, header, time, offset);
		if (header->type == RECORD_CALLCHAIN_DEFERRED)
			note_deferred(session, header, offset);
		if (apply_is_sideband(header->type))
			order_push(sideband, private->offset_times ? offset : time, offset);
		if (offset >= next_cut) {
			add_cut(session, offset, values);
			next_cut = offset + distance;
			if (session->jobs == 1)
				page_ahead_here(reader, offset, next_cut);
		}
		if (values && header->type == RECORD_SAMPLE)
			follow_readings(session, header, values);
		if (offset >= next_progress) {
			session_report_progress(session, offset);
			next_progress = offset + PROGRESS_DISTANCE;
		}
		if (hops && header->type == RECORD_SAMPLE)
			source.offset = hop_samples(session, source.offset, next_cut < next_progress ? next_cut : next_progress);
	}
	vec_push(&private->cuts, source.offset);
	session_report_progress(session, reader->data_end);
	free(values);
	source_deinit(&source);
	return error;
}

/* Side-band into the machine, after the code that was generated until then. */
static void apply_in_order(struct session *session, const struct record_header *header, uint64_t record_time, uint64_t time)
{
	bool is_map = header->type == RECORD_MMAP || header->type == RECORD_MMAP2;
	if (session->private->options.kernel_only && is_map && (header->misc & RECORD_MISC_CPUMODE) == CPUMODE_USER)
		return;
	jit_feed_until(session, time);
	switch (jit_feed_record(session, header, record_time, time)) {
	case JIT_APPLY:
		return apply_sideband(session->machine, header, time);
	case JIT_APPLY_AROUND:
		return apply_around_code(session->machine, header, time);
	case JIT_SKIP:
		return;
	}
}

/* The record as it is now, whatever others write to the file from here on; valid until the next call. NULL, which is noted: none is there
 * any more. */
static const struct record_header *stable_record(struct session *session, uint64_t offset)
{
	struct session_private *private = session->private;
	if (!private->copy)
		session->private->copy = mem_alloc(READER_RECORD_MAX);
	const struct record_header *header = reader_record_copy(session->reader, offset, private->copy);
	session->reader->diagnostics.changed |= !header;
	return header;
}

struct error *session_prepare(struct session *session)
{
	struct session_private *private = session->private;
	if (private->prepared)
		return NULL;
	if (!session->reader->stable)
		return error_new("this requires the whole recording and is not possible on a pipe: write it to a file first");
	struct order sideband = {0};
	struct page_ahead *ahead = page_ahead_start(session->reader, session->jobs);
	struct error *error = scan_records(session, &sideband);
	page_ahead_end(ahead);
	order_finish(&sideband);
	struct order_item item;
	while (!error && order_pop(&sideband, &item)) {
		const struct record_header *header = stable_record(session, item.offset);
		if (header && apply_is_sideband(header->type))
			apply_in_order(session, header, session_record_time(session, header), item.time);
	}
	if (!private->offset_times)
		ties_take(&session->private->ties, &sideband.ready.items);
	jit_feed_until(session, UINT64_MAX);
	order_deinit(&sideband);
	machine_finish(session->machine);
	private->prepared = true;
	return error;
}

/* ---- life ---- */

static void describe_machine(struct session *session)
{
	const struct features *features = &session->reader->features;
	struct machine *machine = session->machine;
	machine->os_release = features->os_release;
	machine->arch = features->arch;
	for (size_t i = 0; i < features->build_ids.len; i++) {
		const struct feature_build_id *entry = &features->build_ids.data[i];
		apply_build_id_entry(machine, entry->misc, entry->filename, &entry->id);
	}
}

static struct error *check_cpu_filter(const struct session *session)
{
	const struct reader *reader = session->reader;
	if (!session->private->options.filter.cpus)
		return NULL;
	for (size_t i = 0; i < reader->events.events.len; i++)
		if (!reader->layouts[i].cpu)
			return error_new("the samples of %s have no CPU: omit -C, or record with -a or --sample-cpu",
					 reader->events.events.data[i]->name);
	return NULL;
}

static struct error *check_time_filter(const struct session *session)
{
	const struct session_filter *filter = &session->private->options.filter;
	const struct reader *reader = session->reader;
	if (!filter->time_text || !reader->events.events.len)
		return NULL;
	for (size_t i = 0; i < reader->events.events.len; i++)
		if (reader->layouts[i].time)
			return NULL;
	return error_new("--time %s: the samples of this recording have no times; omit --time, or record with -T", filter->time_text);
}

static struct error *prepare_filter(struct session *session)
{
	struct session_private *private = session->private;
	const struct features *features = &session->reader->features;
	struct error *error = check_cpu_filter(session) ?: check_time_filter(session);
	if (error)
		return error;
	if (filter_text_is_relative(private->options.filter.time_text)) {
		if (!features->last_sample_ns && (error = session_prepare(session)))
			return error;
	}
	uint64_t first = features->last_sample_ns ? features->first_sample_ns : session->first_time;
	uint64_t last = features->last_sample_ns ? features->last_sample_ns : session->last_time;
	return filter_init(&private->filter, &private->options.filter, first, last);
}

static struct error *begin(struct session *session)
{
	struct session_private *private = session->private;
	struct error *error = NULL;
	if (private->options.reader)
		session->reader = private->options.reader;
	else
		error = reader_open(&private->options.input, &session->reader);
	if (error)
		return error;
	look_at_events(session);
	describe_machine(session);
	if (private->options.described)
	private->options.described(private->options.described_context, session);
	source_init(&private->source, session->reader, true);
	if (reader_defers_chains(session->reader))
		session->private->options.streaming = false;
	if (!private->options.streaming && (error = session_prepare(session)))
		return error;
	return prepare_filter(session);
}

struct error *session_open(const struct session_options *options, struct session **ret)
{
	struct session *session = mem_zalloc(sizeof(*session));
	session->private = mem_zalloc(sizeof(*session->private));
	session->private->options = *options;
	session->private->options.input.streaming |= options->streaming;
	session->jobs = options->jobs ? options->jobs : pool_default_jobs();
	session->machine = machine_create();
	struct error *error = begin(session);
	if (error) {
		session_close(session);
		return error;
	}
	*ret = session;
	return NULL;
}

void session_close(struct session *session)
{
	if (!session)
		return;
	struct session_private *private = session->private;
	if (session->reader)
		source_deinit(&private->source);
	order_deinit(&private->order);
	filter_deinit(&private->filter);
	vec_deinit(&private->cuts);
	for (size_t i = 0; i < private->cut_values.len; i++)
		free(private->cut_values.data[i]);
	vec_deinit(&private->cut_values);
	readings_deinit(&private->readings);
	deferred_deinit(&private->deferred);
	ties_deinit(&private->ties);
	free(private->values);
	free(private->copy);
	jit_feed_deinit(private);
	machine_destroy(session->machine);
	reader_close(session->reader);
	free(session->event_counts);
	free(private);
	free(session);
}

bool session_is_of_this_machine(const struct session *session)
{
	struct utsname name;
	const char *release = session->reader->features.os_release;
	return !release || uname(&name) || strcmp(release, name.release) == 0;
}

/* ---- in order ---- */

static bool wants(const struct session *session, const struct record *record)
{
	const struct filter *filter = &session->private->filter;
	if (!filter->active)
		return true;
	const struct sample_layout *layout = &session->reader->layouts[record->event->index];
	uint32_t cpu = UINT32_MAX;
	if (layout->cpu)
		memcpy(&cpu, (const uint8_t *)record->header + layout->cpu, sizeof(cpu));
	return filter_accepts_cpu(filter, cpu) && filter_accepts_time(filter, layout->time ? record->time : FILTER_NO_TIME);
}

/* Fills `ret`; false when the record isn't to be seen by the command. */
static bool deliver(struct session *session, const struct record_header *header, uint64_t offset, uint64_t time, struct record *ret)
{
	struct session_private *private = session->private;
	bool by_offset = private->prepared ? private->offset_times : private->file_order;
	const uint32_t type = mapping_u32(&header->type);
	uint64_t model_time = by_offset ? offset : time;
	if (model_time > private->clock)
		session->private->clock = model_time;
	if (!private->prepared || !model_time)
		model_time = private->clock;
	if (type == RECORD_SAMPLE && model_time == time)
		model_time = ties_time(&private->ties, time, offset, &session->private->near);
	*ret = (struct record){
		.header = header, .time = time, .model_time = model_time, .offset = offset, .is_sample = type == RECORD_SAMPLE};
	if (type < RECORD_USER_START)
		ret->event = reader_event(session->reader, header);
	if (!ret->is_sample)
		return true;
	if (!ret->event)
		return false; /* counted when it was read first */
	if (header->size < session->reader->layouts[ret->event->index].variable) {
		reader_diagnostics_note(&session->reader->diagnostics, offset, "sample shorter than its event's fields");
		return false;
	}
	if (wants(session, ret))
		return true;
	if (private->readings.present)
		follow_readings(session, header, private->values);
	return false;
}

/* The next member of the sample whose group is being delivered. */
static bool next_member(struct session *session, struct record *ret)
{
	struct session_private *private = session->private;
	const struct sample_layout *layout = &session->reader->layouts[private->group.event->index];
	const struct event *event =
		readings_next(&private->readings, session->reader, layout, private->values, &private->group_index, &private->group_sample);
	private->in_group = event;
	if (!event)
		return false;
	*ret = private->group;
	ret->event = event;
	ret->is_member = true;
	ret->is_last_member =
		!readings_have_more(&private->readings, layout, private->values, private->group_index, &private->group_sample);
	ret->member_id = private->group_sample.id;
	ret->member_period = private->group_sample.period;
	return true;
}

/* A record that deliver() wants to be seen: as it is, or as the first of its members. */
static bool show(struct session *session, struct record *ret)
{
	struct session_private *private = session->private;
	if (private->options.whole_groups || !ret->is_sample ||
	    !readings_splits(&private->readings, &session->reader->layouts[ret->event->index]))
		return true;
	if (!session_decode(session, ret, &private->group_sample))
		return false;
	private->group = *ret;
	private->group_index = 0;
	return next_member(session, ret);
}

static void take_into_order(struct session *session, const struct record_header *header, uint64_t offset, uint64_t time)
{
	struct session_private *private = session->private;
	if (!private->prepared)
		count_record(session, header, time, offset);
	order_push(&private->order, time, offset);
	source_hold(&private->source, offset);
}

/* The next record of the source: delivered (true, and *ret_shown tells whether it is to be seen), or put into the order (false). */
static bool scan_one(struct session *session, const struct record_header *header, uint64_t offset, struct record *ret, bool *ret_shown)
{
	struct session_private *private = session->private;
	look_at_events(session);
	uint64_t time = session_record_time(session, header);
	if (time && !private->file_order) {
		take_into_order(session, header, offset, time);
		return false;
	}
	if (!private->prepared)
		count_record(session, header, time, offset);
	private->round_mark = header->type == RECORD_FINISHED_ROUND && !private->file_order;
	if (private->copies && reader_in_file(session->reader, header))
		header = stable_record(session, offset);
	*ret_shown = header && deliver(session, header, offset, time, ret);
	return true;
}

enum scan_result {
	SCAN_FAILED,
	SCAN_DELIVERED,
	SCAN_READY, /* the order has something ready now, or the end is reached */
	SCAN_WAITS, /* resting */
};

static enum scan_result scan(struct session *session, bool resting, struct record *ret, bool *ret_shown, struct error **ret_error)
{
	struct session_private *private = session->private;
	const struct record_header *header;
	uint64_t offset;
	if (private->round_mark) {
		private->round_mark = false;
		order_finish_round(&private->order);
		return SCAN_READY;
	}
	while (!resting || (session->reader->stable && reader_is_plain(session->reader, private->source.offset))) {
		header = source_next(&private->source, &offset, ret_error);
		if (header && scan_one(session, header, offset, ret, ret_shown))
			return SCAN_DELIVERED;
		if (*ret_error)
			return SCAN_FAILED;
		if (header)
			continue;
		private->scanned = true;
		order_finish(&private->order);
		return SCAN_READY;
	}
	return SCAN_WAITS;
}

/* Readying the first call: the source begins anew after pass 1. */
static void start(struct session *session)
{
	struct session_private *private = session->private;
	private->started = true;
	if (private->values)
		memset(private->values, 0, (private->readings.count + 1) * sizeof(*private->values));
	if (session->reader->stable)
		source_init(&private->source, session->reader, !private->prepared);
}

int session_gather(struct session *session, bool resting, struct record *ret, struct error **ret_error)
{
	struct session_private *private = session->private;
	struct order_item item;
	bool shown = false;
	*ret_error = NULL;
	if (!private->started)
		start(session);
	if (private->in_group && next_member(session, ret))
		return 1;
	for (;;) {
		if (private->holding) {
			private->holding = false;
			source_let_go(&private->source, private->held_offset);
		}
		if (order_pop(&private->order, &item)) {
			const struct record_header *header =
				private->copies ? stable_record(session, item.offset) : source_at(&private->source, item.offset);
			private->holding = true;
			private->held_offset = item.offset;
			session->reader->diagnostics.changed |= !header;
			shown = header && deliver(session, header, item.offset, item.time, ret);
		} else if (private->scanned) {
			return 0;
		} else {
			enum scan_result result = scan(session, resting, ret, &shown, ret_error);
			if (result == SCAN_READY)
				continue;
			if (result != SCAN_DELIVERED)
				return result == SCAN_FAILED ? -1 : 0;
		}
		if (shown && show(session, ret))
			return 1;
	}
}

/* A record that somebody has written over since does nothing. */
static void make_stable(struct session *session, struct record *record)
{
	static const struct record_header nothing = {.type = RECORD_FINISHED_ROUND, .size = sizeof(nothing)};
	const struct record_header *header = stable_record(session, record->offset);
	record->header = header && header->type != RECORD_SAMPLE ? header : &nothing;
}

void session_apply(struct session *session, struct record *record)
{
	struct session_private *private = session->private;
	if (session->reader->stable && !private->copies && !record->is_sample)
		make_stable(session, record);
	if (private->prepared)
		return;
	if (!record->is_sample && apply_is_sideband(record->header->type))
		apply_in_order(session, record->header, record->time, record->model_time);
	else if (record->is_sample && private->jit_sources.len)
		jit_feed_until(session, record->model_time);
	else if (record->header->type == RECORD_FINISHED_ROUND && private->options.forgets && !private->file_order)
		session_forget(session, NULL);
}

void session_part_times(struct session *session, struct record *record)
{
	struct session_private *private = session->private;
	if (private->prepared)
		return;
	uint64_t latest = UINT64_MAX >> 1, time = record->model_time < latest ? record->model_time : latest;
	if (time <= private->parted)
		time = private->parted + (private->parted_sample && !record->is_sample);
	private->parted_sample = record->is_sample;
	private->parted = record->model_time = time;
}

int session_next(struct session *session, struct record *ret, struct error **ret_error)
{
	session->private->copies = session->reader->stable;
	int found = session_gather(session, false, ret, ret_error);
	if (found > 0)
		session_apply(session, ret);
	return found;
}

const char *session_decode_uncounted(const struct session *session, const struct record *record, struct sample *ret)
{
	const struct event *event = record->is_member ? session->private->group.event : record->event;
	const char *broken = sample_decode(&session->reader->layouts[event->index], &event->attr, record->header, ret);
	if (!broken)
		deferred_attach(&session->private->deferred, &event->attr, ret);
	if (record->is_member) {
		ret->id = record->member_id;
		ret->period = record->member_period;
	}
	return broken;
}

bool session_decode(struct session *session, const struct record *record, struct sample *ret)
{
	const char *broken = session_decode_uncounted(session, record, ret);
	if (broken)
		reader_diagnostics_note(&session->reader->diagnostics, record->offset, broken);
	return !broken;
}
