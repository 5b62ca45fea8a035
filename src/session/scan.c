/* Pass 1: hops from record header to record header. All it looks at in a sample is its time (and its id, with several events): one cache
 * line.
 *
 * Where a record begins is known from the one before only. But of a large recording each slice has a place at which records seem to begin,
 * and several threads hop from these on. What they passed over counts when all before leads to that very place, from which it follows; so a
 * guess that was wrong costs time, and nothing else:
 *
 *	slices     |────────────|────────────|────────────|
 *	hopped     ├───────────►├───────────►    ├───────►          third: no record begins there
 *	taken over ├────────────┼────────────┼··►                   and the rest one by one
 *
 * All but plain samples is looked at by the session's thread, in the order of the file.
 */
#include "session/scan.h"

#include "base/files/mapping.h"
#include "base/pool.h"
#include "session/hop.h"
#include "session/page_ahead.h"
#include "session/session_internal.h"

#include <string.h>

/* Pieces for workers: many enough for an even share, large enough to be worth the hand-over. */
enum { CUT_MAX = 2 << 20, CUT_MIN = 16 << 10, CUTS_WANTED = 64 };
enum { PROGRESS_DISTANCE = 16 << 20, CUT_VALUES_MAX = 64 << 20 };
enum { SLICE_LEAST = 8 << 20, SLICES_A_JOB = 4, OTHERS_MAX = 1 << 20 };

struct scan_slice {
	uint64_t limit;	     /* the first record from here on is the first of the slice */
	uint64_t begin, end; /* what was looked at; begin UINT64_MAX = no record was found */
	struct hopped hopped;
	VEC(uint64_t) others; /* where all but plain samples are */
	VEC(uint64_t) cuts;
};

struct scan {
	struct session *session;
	struct order *sideband;
	uint64_t distance;     /* between cuts: the first records from its multiples on */
	reading_values values; /* where the pass is; NULL = no counters are read with samples */
	struct hopped hopped;  /* outside of slices */
	struct scan_slice *slices;
	size_t slice_count;
};

/* ---- cuts ---- */

static uint64_t cut_distance(const struct reader *reader)
{
	uint64_t distance = (reader->data_end - reader->data_offset) / CUTS_WANTED;
	return distance < CUT_MIN ? CUT_MIN : distance > CUT_MAX ? CUT_MAX : distance;
}

/* From where on the next cut is after one at `offset`. */
static uint64_t cut_behind(const struct scan *scan, uint64_t offset)
{
	uint64_t begin = scan->session->reader->data_offset;
	return begin + ((offset - begin) / scan->distance + 1) * scan->distance;
}

/* Where counters are so many that their values at each cut would not fit, there are fewer cuts. */
static void add_cut(struct scan *scan, uint64_t offset)
{
	struct session_private *private = scan->session->private;
	size_t size = (private->readings.count + 1) * sizeof(*scan->values);
	if (scan->values && private->cut_values.len >= 1 + CUT_VALUES_MAX / size)
		return;
	vec_push(&private->cuts, offset);
	if (scan->values) {
		vec_push(&private->cut_values, reading_values_create(&private->readings));
		memcpy(*vec_last(&private->cut_values), scan->values, size);
	}
}

/* ---- plain samples ---- */

/* Hops over the plain samples from `offset` on, which most records are; returns where something else comes, or `end` is reached. */
static uint64_t hop_samples(const struct session *session, struct hopped *hopped, uint64_t offset, uint64_t end)
{
	const struct reader *reader = session->reader;
	const struct sample_layout *layout = &reader->layouts[0];
	const uint64_t data_end = reader->data_end < end ? reader->data_end : end;
	uint64_t samples = 0, asked = 0, first = hopped->first_time ? hopped->first_time : UINT64_MAX, last = hopped->last_time;
	while (offset < data_end) {
		asked = reader_ask_ahead(reader, offset, asked);
		const struct record_header *header = (const struct record_header *)(reader->records + offset);
		uint16_t size = reader_sample_size(reader, offset);
		const struct event *event = size ? reader_sample_event(reader, header) : NULL;
		if (!event)
			break;
		uint64_t time = session_time_at(header, layout);
		hopped->counts[event->index]++;
		first = time && time < first ? time : first;
		last = time > last ? time : last;
		offset += size;
		samples++;
	}
	hopped->samples += samples;
	hopped->first_time = first == UINT64_MAX ? 0 : first;
	hopped->last_time = last;
	return offset;
}

/* ---- slices ---- */

static void scan_slice(void *context, unsigned int worker, size_t number)
{
	const struct scan *scan = context;
	const struct reader *reader = scan->session->reader;
	struct scan_slice *slice = &scan->slices[number];
	uint64_t limit = number + 1 < scan->slice_count ? slice[1].limit : reader->data_end, next_cut = 0;
	uint64_t offset = slice->begin = hop_find_record(reader, slice->limit), left = offset;
	if (worker == 0)
		session_report_progress(scan->session, slice->limit);
	while (offset < limit && slice->others.len < OTHERS_MAX) {
		if (offset >= next_cut) {
			vec_push(&slice->cuts, offset);
			next_cut = cut_behind(scan, offset);
			session_leave_behind(scan->session, &left, offset, 0);
		}
		uint64_t hopped_to = hop_samples(scan->session, &slice->hopped, offset, next_cut < limit ? next_cut : limit);
		if (hopped_to != offset) {
			offset = hopped_to;
			continue;
		}
		uint16_t size =
			reader_is_plain(reader, offset) ? mapping_u16(reader->records + offset + offsetof(struct record_header, size)) : 0;
		if (size < sizeof(struct record_header))
			break;
		vec_push(&slice->others, offset);
		offset += size;
	}
	slice->end = offset;
}

/* Slices begin where cuts do. */
static void scan_slices(struct scan *scan)
{
	struct session *session = scan->session;
	const struct reader *reader = session->reader;
	uint64_t size = reader->data_end - reader->data_offset, jobs = session->jobs;
	uint64_t count = size / SLICE_LEAST < jobs * SLICES_A_JOB ? size / SLICE_LEAST : jobs * SLICES_A_JOB;
	if (jobs < 2 || count < 2)
		return;
	scan->slice_count = count;
	scan->slices = mem_zalloc_array(count, sizeof(*scan->slices));
	for (size_t i = 0; i < count; i++) {
		scan->slices[i].limit = reader->data_offset + size / scan->distance * i / count * scan->distance;
		hopped_init(&scan->slices[i].hopped, session);
	}
	pool_run(session->jobs, count, scan_slice, scan);
}

/* ---- all records ---- */

static void note_deferred(struct session *session, const struct record_header *header, uint64_t offset)
{
	const char *broken = deferred_note(&session->private->deferred, session->reader, header);
	if (broken)
		reader_diagnostics_note(&session->reader->diagnostics, offset, broken);
}

static void take_record(struct scan *scan, const struct record_header *header, uint64_t offset)
{
	struct session *session = scan->session;
	uint64_t time = session_record_time(session, header);
	session_count_record(session, header, time, offset);
	if (header->type == RECORD_CALLCHAIN_DEFERRED)
		note_deferred(session, header, offset);
	if (apply_is_sideband(header->type))
		order_push(scan->sideband, session->private->offset_times ? offset : time, offset);
	if (scan->values && header->type == RECORD_SAMPLE)
		session_follow_readings(session, header, scan->values);
}

/* The source is at the slice's beginning, and is at its end then. */
static struct error *take_slice(struct scan *scan, struct scan_slice *slice, struct source *source)
{
	struct error *error = NULL;
	for (size_t i = 0; i < slice->cuts.len; i++)
		vec_push(&scan->session->private->cuts, slice->cuts.data[i]);
	for (size_t i = 0; i < slice->others.len; i++) {
		uint64_t offset;
		source->offset = slice->others.data[i];
		const struct record_header *header = source_next(source, &offset, &error);
		if (header)
			take_record(scan, header, offset);
	}
	scan->session->private->slices_taken++;
	hopped_count(&slice->hopped, scan->session);
	source->offset = slice->end;
	uint64_t left = slice->begin;
	session_leave_behind(scan->session, &left, slice->end, 0);
	return error;
}

/* One by one, but for what slices have. */
static struct error *take_records(struct scan *scan, bool hops)
{
	struct session *session = scan->session;
	struct source source;
	struct error *error = NULL;
	const struct record_header *header;
	uint64_t offset, next_cut = 0, left = session->reader->data_offset, next_progress = left + PROGRESS_DISTANCE;
	size_t next = 0;
	source_init(&source, session->reader, true);
	for (;;) {
		while (next < scan->slice_count && (scan->slices[next].begin < source.offset || scan->slices[next].begin == UINT64_MAX))
			next++;
		struct scan_slice *slice = next < scan->slice_count ? &scan->slices[next] : NULL;
		uint64_t slice_begin = slice ? slice->begin : UINT64_MAX;
		if (slice && slice->begin == source.offset && slice->end > slice->begin) {
			next++;
			if ((error = take_slice(scan, slice, &source)))
				break;
			next_cut = cut_behind(scan, *vec_last(&session->private->cuts));
			continue;
		}
		if (!(header = source_next(&source, &offset, &error)))
			break;
		if (offset >= next_cut) {
			add_cut(scan, offset);
			next_cut = cut_behind(scan, offset);
		}
		take_record(scan, header, offset);
		if (offset >= next_progress) {
			session_report_progress(session, offset);
			session_leave_behind(session, &left, offset, PROGRESS_DISTANCE);
			next_progress = offset + PROGRESS_DISTANCE;
		}
		if (hops && header->type == RECORD_SAMPLE) {
			uint64_t end = next_cut < next_progress ? next_cut : next_progress;
			source.offset = hop_samples(session, &scan->hopped, source.offset, end < slice_begin ? end : slice_begin);
		}
	}
	session_leave_behind(session, &left, source.offset, 0);
	vec_push(&session->private->cuts, source.offset);
	source_deinit(&source);
	return error;
}

struct error *scan_records(struct session *session, struct order *sideband)
{
	struct session_private *private = session->private;
	struct scan scan = {.session = session, .sideband = sideband, .distance = cut_distance(session->reader)};
	if (private->readings.present)
		scan.values = reading_values_create(&private->readings);
	bool hops = session->reader->stable && private->uniform && !scan.values;
	hopped_init(&scan.hopped, session);
	session_report_progress(session, 0);
	if (hops)
		scan_slices(&scan);
	struct page_ahead *ahead = scan.slices || private->options.sparing ? NULL : page_ahead_start(session->reader, session->jobs);
	struct error *error = take_records(&scan, hops);
	page_ahead_end(ahead);
	hopped_count(&scan.hopped, session);
	hopped_deinit(&scan.hopped);
	for (size_t i = 0; i < scan.slice_count; i++) {
		hopped_deinit(&scan.slices[i].hopped);
		vec_deinit(&scan.slices[i].others);
		vec_deinit(&scan.slices[i].cuts);
	}
	free(scan.slices);
	free(scan.values);
	session_report_progress(session, session->reader->data_end);
	return error;
}
