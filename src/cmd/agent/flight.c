/* The flight recorder (flight.h): when there is to be a recording, and of what. It is written when all records up to its end have come. */
#include "cmd/agent/flight_internal.h"

#include "analysis/where/place.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/kept_files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "perfdata/records.h"
#include "view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)
/* A trigger is known some rounds after it. So much more is held; of who lived no longer than what is left of it, all records are there that
 * any sample in a recording needs. */
static const uint64_t more_ns = 5 * NS_PER_S, short_ns = 2 * NS_PER_S;
enum { PLACES_MOST = 1 << 15 };
enum { NAME_LENGTH = sizeof("20261127T230102.345Z") - 1 }; /* of a recording and its text */
/* Most waits are shorter, mean nothing together, and would have to be resolved each. */
static const uint64_t short_wait_ns = 1000000;
static const uint64_t places_ns = 60 * NS_PER_S;

/* A thread that has ended, as it was. */
struct gone {
	uint64_t time;
	struct strbuf records;
};

struct flight {
	const struct flight_settings *settings;
	struct flight_watch *watch;
	struct session *session;
	struct resolver *resolver;
	struct event_catalog *catalog;
	uint64_t memory;
	struct flight_ring ring;
	struct flight_history history;
	struct where_places places; /* of the last minute at most: what runs for days doesn't keep them */
	uint64_t places_until;
	VEC(struct gone) gone;
	uint64_t gone_bytes;
	struct flight_gaps gaps;
	bool wanted;
	struct flight_causes causes; /* of the recording that is wanted */
	struct flight_writer writer;
	uint64_t settled[3]; /* ends of the last rounds: all before the last of them has come (capture/live.h) */
	uint64_t quiet_until;
	struct flight_counts counts;
};

/* A recording and its text. */
static bool is_ours(const void *context, const char *name)
{
	(void)context;
	return kept_files_begins_with_time(name, '.') && (str_ends_with(name, "Z.perf.data") || str_ends_with(name, "Z.txt"));
}

static bool is_unfinished(const void *context, const char *name)
{
	return *name == '.' && is_ours(context, name + 1);
}

struct flight *flight_open(const struct flight_options *options)
{
	struct flight *flight = mem_zalloc(sizeof(*flight));
	*flight = (struct flight){.settings = options->settings,
				  .watch = options->watch,
				  .session = options->session,
				  .resolver = options->resolver,
				  .catalog = options->catalog,
				  .memory = options->memory};
	where_places_init(&flight->places, flight->session, flight->resolver);
	kept_files_remove_all(flight->settings->folder, is_unfinished, NULL); /* who wrote them was killed, else they had their names */
	return flight;
}

static void forget_gone(struct flight *flight, uint64_t before)
{
	size_t count = 0;
	while (count < flight->gone.len && (flight->gone.data[count].time < before || flight->gone_bytes > flight->memory)) {
		flight->gone_bytes -= flight->gone.data[count].records.len;
		strbuf_deinit(&flight->gone.data[count++].records);
	}
	if (count)
		memmove(flight->gone.data, flight->gone.data + count, (flight->gone.len -= count) * sizeof(*flight->gone.data));
}

void flight_close(struct flight *flight)
{
	if (!flight)
		return;
	forget_gone(flight, UINT64_MAX);
	vec_deinit(&flight->gone);
	flight_gaps_deinit(&flight->gaps);
	where_places_deinit(&flight->places);
	flight_history_deinit(&flight->history);
	flight_ring_deinit(&flight->ring);
	free(flight);
}

/* ---- what comes ---- */

static void add_text(struct strbuf *texts, const char *text)
{
	strbuf_add(texts, text, strlen(text) + 1);
}

/* Which row it is of, and what the row is called. */
static void find_row(struct flight *flight, const struct record *record, const struct sample *sample, bool waits,
		     struct flight_entry *entry, struct strbuf *texts)
{
	const struct thread *thread = machine_thread_or_new(flight->session->machine, sample->pid, sample->tid, record->model_time);
	const struct where_place *place = where_place_of(&flight->places, record, sample, thread, !waits);
	const char *in = waits && place->teller ? place->teller : place->innermost ? place->innermost : "[unknown]";
	/* Of a program that has no function of its own there, that of the library; of the kernel's threads, nothing else. */
	const char *library = place->frame_count > place->kernel_count ? place->frames[place->kernel_count] : in;
	const char *function = place->function ? place->function : library;
	add_text(texts, untrusted_raw(thread_comm(thread, record->model_time)));
	add_text(texts, function);
	add_text(texts, in == function ? "" : in);
	entry->kind = place->kind;
	entry->row = hash_combine(hash_bytes(texts->data, texts->len), (uint64_t)place->kind);
}

/* Maps and names of whom the ring may have samples, but no beginning. */
static void note_end(struct flight *flight, const struct record *record)
{
	const struct record_task *end = (const void *)record->header;
	const struct thread *thread = machine_thread(flight->session->machine, end->tid, record->model_time);
	if (!thread || thread->start + short_ns > record->time)
		return;
	vec_push(&flight->gone, (struct gone){.time = record->time});
	struct strbuf *records = &vec_last(&flight->gone)->records;
	flight_describe_thread(flight->session, thread, record->model_time, records);
	flight->gone_bytes += records->len;
}

void flight_add(struct flight *flight, const struct record *record, const struct sample *sample, uint64_t value_ns, bool waits)
{
	struct flight_entry entry = {.time = record->time, .record_size = record->header->size, .value_ns = value_ns};
	struct strbuf texts = {0};
	if (!record->is_sample && record->header->type >= RECORD_USER_START)
		return;
	if (sample) {
		entry.pid = sample->pid;
		entry.tid = sample->tid;
	}
	if (waits && value_ns < short_wait_ns)
		entry.value_ns = 0;
	if (sample && entry.value_ns) {
		find_row(flight, record, sample, waits, &entry, &texts);
		flight_history_add(&flight->history, entry.row, value_ns);
	}
	entry.texts_size = (uint32_t)texts.len;
	flight_ring_add(&flight->ring, &entry, record->header, strbuf_str(&texts));
	if (!record->is_sample && record->header->type == RECORD_EXIT)
		note_end(flight, record);
	strbuf_deinit(&texts);
}

/* ---- what goes out ---- */

/* Of the first trigger; others make it longer, but not for ever. They are known in another order than that of their times. */
static struct flight_span span_of(const struct flight *flight)
{
	const struct flight_settings *settings = flight->settings;
	const struct flight_causes *causes = &flight->causes;
	const struct flight_cause *first = &causes->list[0];
	uint64_t from = first->time > settings->before_ns ? first->time - settings->before_ns : 0, last = first->time;
	for (size_t i = 1; i < causes->count; i++)
		last = causes->list[i].time > last ? causes->list[i].time : last;
	if (last > first->time + settings->before_ns)
		last = first->time + settings->before_ns;
	return (struct flight_span){first->begin && first->begin < from ? first->begin : from, last + settings->after_ns};
}

/* 20261127T230102.345Z; "2026-11-27 23:01:02.345 UTC" for people. */
static void format_time(const char *format, const char *end, uint64_t mono_ns, char *ret, size_t size)
{
	uint64_t wall = clock_now_ns(CLOCK_REALTIME) - (clock_now_ns(CLOCK_MONOTONIC) - mono_ns);
	const time_t seconds = (time_t)(wall / NS_PER_S);
	struct tm parts;
	gmtime_r(&seconds, &parts);
	size_t length = strftime(ret, size, format, &parts);
	snprintf(ret + length, size - length, ".%03u%s", (unsigned int)(wall % NS_PER_S / 1000000), end);
}

static void add_cause(const struct flight_cause *cause, struct table *table)
{
	struct strbuf what = {0};
	char when[64];
	format_time("%Y-%m-%d %H:%M:%S", " UTC", cause->time, when, sizeof(when));
	text_add_safe(&what, cause->what, strlen(cause->what));
	vec_push(&table->header, arena_printf(&table->arena, "%s: %s", when, strbuf_str(&what)));
	strbuf_deinit(&what);
}

static void add_header(const struct flight *flight, struct flight_span span, const char *name, struct table *table)
{
	const struct flight_causes *causes = &flight->causes;
	struct arena *arena = &table->arena;
	uint64_t time = causes->list[0].time;
	size_t slices;
	uint64_t hour = flight_history_ns(&flight->history, span.from, &slices);
	for (size_t i = 0; i < causes->count; i++)
		add_cause(&causes->list[i], table);
	if (causes->more)
		vec_push(&table->header, arena_printf(arena, "%u more triggers until the recording was written", causes->more));
	vec_push(&table->header, arena_printf(arena, "%s.perf.data: %.1f s before and %.1f s after the first", name,
					      (double)(time - span.from) / 1e9, (double)(span.to - time) / 1e9));
	if (flight->ring.dropped > span.from)
		vec_push(&table->header,
			 arena_strdup(arena, "its beginning is missing: there is not enough memory for so long (--memory)"));
	flight_gaps_tell(&flight->gaps, span.from, table);
	vec_push(&table->header, slices ? arena_printf(arena, "compared with the %.0f s before: ms in each second", (double)hour / 1e9)
					: arena_strdup(arena, "nothing is known of the time before: ms in each second"));
}

static struct error *write_text(const struct flight *flight, struct flight_span span, const char *name, const char *path)
{
	struct table *table = flight_table(&flight->ring, &flight->history, span, &flight->causes);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600); /* as a recording: not for everybody */
	cleanup_fclose FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
	struct error *error = file ? NULL : error_system(errno, "%s", path);
	if (!error) {
		const struct sink out = sink_to_file(file);
		add_header(flight, span, name, table);
		error = view_write_one(view_find("stdio"), (struct result){RESULT_TABLE, .table = table},
				       &(struct view_options){.header = true}, &out);
	}
	if (!error && (fflush(file) || ferror(file)))
		error = error_system(errno, "%s", path);
	table_destroy(table);
	return error;
}

/* Under a name with a dot in front until it is whole. */
static struct error *publish(const char *folder, const char *name, const char *suffix)
{
	cleanup_free char *beside = mem_printf("%s/.%s%s", folder, name, suffix), *path = mem_printf("%s/%s%s", folder, name, suffix);
	struct error *error = kept_files_settle(beside);
	if (!error && rename(beside, path))
		error = error_system(errno, "%s", path);
	return error;
}

static struct error *write_both(const struct flight *flight, struct flight_span span, const char *name)
{
	const char *folder = flight->settings->folder;
	cleanup_free char *data = mem_printf("%s/.%s.perf.data", folder, name), *text = mem_printf("%s/.%s.txt", folder, name);
	struct strbuf gone = {0};
	for (size_t i = 0; i < flight->gone.len; i++)
		if (flight->gone.data[i].time >= span.from)
			strbuf_add(&gone, strbuf_str(&flight->gone.data[i].records), flight->gone.data[i].records.len);
	struct error *error = flight_write(flight->session, &flight->ring, &gone, span, flight->catalog, data);
	if (!error)
		error = write_text(flight, span, name, text);
	if (!error) /* whoever sees the recording finds its text */
		error = publish(folder, name, ".txt");
	if (!error)
		error = publish(folder, name, ".perf.data");
	if (error) {
		unlink(data);
		unlink(text);
	}
	strbuf_deinit(&gone);
	return error;
}

static struct error *write_named(struct flight *flight, struct flight_span span)
{
	const struct flight_settings *settings = flight->settings;
	const struct flight_cause *first = &flight->causes.list[0];
	char name[64];
	format_time("%Y%m%dT%H%M%S", "Z", first->time, name, sizeof(name));
	struct error *error = write_both(flight, span, name);
	if (error)
		log_warning("flight recorder: %s", error_message(error));
	else
		log_info("flight recorder: %s/%s.perf.data: %s", settings->folder, name, first->what);
	kept_files_remove_oldest(settings->folder, is_ours, NULL, NAME_LENGTH, settings->keep, settings->limit);
	return error;
}

static void count(struct flight *flight, bool written)
{
	flight->counts.recordings += written;
	flight->counts.failed += !written;
}

struct writing_one {
	struct flight *flight;
	struct flight_span span;
};

static bool write_one(void *context)
{
	const struct writing_one *one = context;
	kept_files_remove_all(one->flight->settings->folder, is_unfinished, NULL); /* of who was killed: nobody else writes */
	struct error *error = write_named(one->flight, one->span);
	bool written = !error;
	error_free(error);
	return written;
}

/* By a process of its own: symbols of all its files take memory that is gone with it, and measuring goes on, also where the disk is stuck.
 * The folder is left alone here for the same reason. */
static void write_it(struct flight *flight, uint64_t until)
{
	struct writing_one one = {flight, span_of(flight)};
	uint64_t now = clock_now_ns(CLOCK_MONOTONIC);
	one.span.to = one.span.to < until ? one.span.to : until;
	if (!flight_writer_start(&flight->writer, now, write_one, &one)) {
		log_warning("flight recorder: a recording is not written: %s",
			    flight->writer.stuck_count == FLIGHT_STUCK ? "earlier ones are stuck" : "no process can be made for it");
		count(flight, false);
	}
	flight->wanted = false;
	flight->quiet_until = now + flight->settings->quiet_ns;
}

static bool look_at_writer(struct flight *flight)
{
	enum flight_written written = flight_writer_look(&flight->writer, clock_now_ns(CLOCK_MONOTONIC));
	if (written == FLIGHT_WRITTEN || written == FLIGHT_FAILED)
		count(flight, written == FLIGHT_WRITTEN);
	return written == FLIGHT_WRITES;
}

/* Whoever stops the agent waits for it. */
static void wait_for_writer(struct flight *flight)
{
	while (look_at_writer(flight))
		usleep(10000);
}

/* ---- when ---- */

void flight_want(struct flight *flight, const struct flight_cause *cause)
{
	uint64_t now = clock_now_ns(CLOCK_MONOTONIC);
	struct flight_causes *causes = &flight->causes;
	flight->counts.triggers++;
	if (!flight->wanted && !cause->asked && now < flight->quiet_until)
		return;
	if (!flight->wanted)
		*causes = (struct flight_causes){0};
	flight->wanted = true;
	if (causes->count == FLIGHT_CAUSES) {
		causes->more++;
		return;
	}
	causes->list[causes->count] = *cause;
	if (!cause->time)
		causes->list[causes->count].time = now;
	causes->count++;
}

void flight_take_round(struct flight *flight, uint64_t ended_ns, struct flight_waits missing)
{
	struct flight_cause cause;
	while (flight_watch_next(flight->watch, &cause))
		flight_want(flight, &cause);
	flight_gaps_add(&flight->gaps, ended_ns, missing);
	memmove(flight->settled + 1, flight->settled, sizeof(flight->settled) - sizeof(*flight->settled));
	flight->settled[0] = ended_ns;
	look_at_writer(flight);
	if (flight->wanted && !flight->writer.pid && flight->settled[2] >= span_of(flight).to)
		write_it(flight, UINT64_MAX);
	uint64_t since = flight->wanted				  ? span_of(flight).from
			 : ended_ns > flight->settings->before_ns ? ended_ns - flight->settings->before_ns
								  : 0;
	since = since > more_ns ? since - more_ns : 0;
	flight_ring_drop(&flight->ring, since, flight->memory);
	forget_gone(flight, since);
	flight_gaps_drop(&flight->gaps, since);
	flight_history_turn(&flight->history, ended_ns);
	if (ended_ns < flight->places_until && flight->places.by_chain.count < PLACES_MOST)
		return;
	where_places_deinit(&flight->places);
	where_places_init(&flight->places, flight->session, flight->resolver);
	flight->places_until = ended_ns + places_ns;
}

void flight_end(struct flight *flight)
{
	wait_for_writer(flight);
	if (flight->wanted)
		write_it(flight, clock_now_ns(CLOCK_MONOTONIC));
	wait_for_writer(flight);
}

struct flight_counts flight_counts(const struct flight *flight)
{
	return flight->counts;
}
