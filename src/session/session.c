/* A session's life, and what pass 1 makes of the records that it finds.
 *
 * Not done here: pass 1 itself (scan.c), what records change (apply.c), records in order (next.c), parallel reading (reduce.c).
 */
#include "session/session.h"

#include "base/files/mapping.h"
#include "base/pool.h"
#include "session/ahead.h"
#include "session/scan.h"
#include "session/session_internal.h"

#include <string.h>
#include <sys/utsname.h>

/* What the side-band's reading leaves in memory behind it (options.sparing). */
enum { LEFT_DISTANCE = 16 << 20 };

/* ---- times ---- */

/* Where times are in their records. */
static bool same_times(const struct sample_layout *a, const struct sample_layout *b)
{
	return a->time == b->time && a->trailer_time == b->trailer_time && a->trailer == b->trailer;
}

/* A recording that names more is no honest one: each is a machine of its own. */
enum { GUESTS_MAX = 1024 };

static struct machine *find_guest(struct session *session, uint32_t pid)
{
	if (session->machine->guests.count >= GUESTS_MAX)
		return machine_of_guest(session->machine, pid);
	return machine_add_guest(session->machine, pid);
}

static void look_at_guests(struct session *session)
{
	size_t *known = &session->private->known_guests;
	for (; *known < session->reader->guest_pids.len; ++*known)
		find_guest(session, session->reader->guest_pids.data[*known]);
}

void session_look_at_events(struct session *session)
{
	struct session_private *private = session->private;
	const struct reader *reader = session->reader;
	size_t count = reader->events.events.len;
	look_at_guests(session);
	if (count == private->known_events)
		return;
	session->event_counts = mem_resize(session->event_counts, count * sizeof(*session->event_counts));
	memset(session->event_counts + private->known_events, 0, (count - private->known_events) * sizeof(*session->event_counts));
	private->known_events = count;
	private->uniform = true;
	for (size_t i = 1; i < count; i++)
		session->private->uniform &= same_times(&reader->layouts[0], &reader->layouts[i]);
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

uint64_t session_record_time(const struct session *session, const struct record_header *header)
{
	const struct session_private *private = session->private;
	if (header->type >= RECORD_USER_START)
		return 0;
	if (private->uniform)
		return private->known_events ? session_time_at(header, &session->reader->layouts[0]) : 0;
	const struct event *event = reader_event(session->reader, header);
	return event ? session_time_at(header, &session->reader->layouts[event->index]) : 0;
}

/* ---- counting, on the first reading ---- */

void session_count_record(struct session *session, const struct record_header *header, uint64_t time, uint64_t offset)
{
	session->record_counts[header->type < 256 ? header->type : 0]++;
	switch (header->type) {
	case RECORD_SAMPLE: {
		const struct event *event = reader_event(session->reader, header);
		if (!event) {
			reader_diagnostics_note(&session->reader->diagnostics, offset, reader_unknown_event_reason(session->reader));
			return;
		}
		session_count_sample(session, event, time);
		return;
	}
	case RECORD_LOST:
	case RECORD_LOST_SAMPLES:
	case RECORD_THROTTLE:
	case RECORD_AUX:
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

void session_follow_readings(const struct session *session, const struct record_header *header, reading_values values)
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

void session_leave_behind(const struct session *session, uint64_t *left, uint64_t offset, uint64_t distance)
{
	if (!session->private->options.sparing || offset < *left + distance)
		return;
	reader_forget(session->reader, *left, offset);
	*left = offset;
}

bool session_passes_over(const struct session *session, uint32_t type, uint16_t misc)
{
	const struct session_options *options = &session->private->options;
	switch (type) {
	case RECORD_MMAP:
	case RECORD_MMAP2:
		return options->kernel_only && (misc & RECORD_MISC_CPUMODE) == CPUMODE_USER;
	case RECORD_COMM:
	case RECORD_FORK:
	case RECORD_EXIT:
	case RECORD_NAMESPACES:
		return options->threadless;
	default:
		return false;
	}
}

/* The guest that a record tells of; NULL = it tells of the host. */
static struct machine *guest_of(const struct session *session, const struct record_header *header)
{
	struct sample_id id;
	if (!session->reader->guests.count || !record_is_of_guest(header))
		return NULL;
	const struct event *event = header->type < RECORD_USER_START ? reader_event(session->reader, header) : NULL;
	const struct sample_layout *layout = event ? &session->reader->layouts[event->index] : NULL;
	if (!layout || !layout->guests)
		return NULL;
	sample_id_decode(layout, header, &id);
	struct machine *machine = machine_of_guest(session->machine, sample_find_guest(layout, id.id).machine_pid);
	return machine->host ? machine : NULL;
}

uint32_t session_record_guest(const struct session *session, const struct record_header *header)
{
	const struct machine *guest = guest_of(session, header);
	return guest ? guest->guest_pid : 0;
}

void session_apply_in_order(struct session *session, const struct record_header *header, uint64_t record_time, uint64_t time)
{
	if (session_passes_over(session, header->type, header->misc))
		return;
	struct machine *guest = guest_of(session, header);
	if (guest)
		return apply_sideband(guest, header, time);
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

const struct record_header *session_stable_record(struct session *session, uint64_t offset)
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
	struct error *error = scan_records(session, &sideband);
	order_finish(&sideband);
	session_look_at_events(session); /* guests that records name, not the head */
	struct order_item item;
	uint64_t left = session->reader->data_offset;
	while (!error && order_pop(&sideband, &item)) {
		session_leave_behind(session, &left, item.offset, LEFT_DISTANCE);
		const struct record_header *header = session_stable_record(session, item.offset);
		if (header && apply_is_sideband(header->type))
			session_apply_in_order(session, header, session_record_time(session, header), item.time);
	}
	if (!private->offset_times)
		ties_take(&session->private->ties, &sideband.ready[1].items);
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
		const uint16_t mode = entry->misc & RECORD_MISC_CPUMODE;
		const bool of_guest = entry->pid > 0 && (mode == CPUMODE_GUEST_KERNEL || mode == CPUMODE_GUEST_USER);
		apply_build_id_entry(of_guest ? find_guest(session, (uint32_t)entry->pid) : machine, entry->misc, entry->filename,
				     &entry->id);
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
	session_look_at_events(session);
	describe_machine(session);
	error = private->options.described ? private->options.described(private->options.described_context, session) : NULL;
	if (error)
		return error;
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
	pthread_mutex_init(&session->private->digest_lock, NULL);
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
	ahead_destroy(private->ahead);
	slices_destroy(private->slices);
	pthread_mutex_destroy(&private->digest_lock);
	digests_deinit(&private->digests);
	if (session->reader)
		source_deinit(&private->source);
	order_deinit(&private->order);
	filter_deinit(&private->filter);
	vec_deinit(&private->unwanted);
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
