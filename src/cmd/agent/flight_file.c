/* A recording of what the flight recorder holds. What its samples need of what was there before (names of threads, maps of processes) comes
 * from the model, as it was when the recording begins; what has ended since was described then. */
#include "cmd/agent/flight_internal.h"

#include "base/mem.h"
#include "capture/gather/gather.h"
#include "capture/synth/synth.h"
#include "cmd/record/record.h"
#include "cmd/record/self_contained.h"
#include "perfdata/writer.h"

#include <string.h>

/* ---- what was there ---- */

static struct synth begin_synth(const struct session *session, struct strbuf *out)
{
	const struct event_list *events = &session->reader->events;
	return (struct synth){.out = out, .trailer = events->events.len ? synth_trailer_size(&events->events.data[0]->attr) : 0};
}

struct describing {
	struct synth *synth;
	uint32_t pid;
};

static bool describe_map(const struct map *map, uint64_t start, uint64_t end, void *context)
{
	const struct describing *describing = context;
	struct map_description description = {
		.pid = describing->pid,
		.tid = describing->pid,
		.start = start,
		.end = end,
		.pgoff = map->pgoff + (start - map->start),
		.name = map->dso->name,
		.prot = map->prot,
		.flags = map->flags,
		.major = map->major,
		.minor = map->minor,
		.inode = map->inode,
		.inode_generation = map->inode_generation,
	};
	if (map->dso->kind == DSO_JITDUMP)
		return true;
	if (!map->dso->header_build_id)
		description.build_id = map->dso->build_id;
	synth_map(describing->synth, &description, false);
	return true;
}

static void describe(struct synth *synth, const struct thread *thread, bool maps, uint64_t time)
{
	const char *name = untrusted_raw(thread_comm_settled(thread, time));
	struct describing describing = {synth, thread->pid};
	synth_comm(synth, thread->pid, thread->tid, name, strlen(name));
	if (maps)
		maps_visit(thread_maps(thread), time, describe_map, &describing);
}

void flight_describe_thread(const struct session *session, const struct thread *thread, uint64_t time, struct strbuf *out)
{
	struct synth synth = begin_synth(session, out);
	describe(&synth, thread, thread->pid == thread->tid, time);
}

struct writing {
	const struct session *session;
	struct flight_span span;
	uint64_t begin; /* of what the ring tells */
	struct synth synth;
	struct map64 threads, processes; /* that are described */
};

/* Who began later has records of it in the ring. */
static void need_thread(struct writing *writing, uint32_t pid, uint32_t tid)
{
	const struct thread *thread = machine_thread(writing->session->machine, tid, writing->begin);
	bool is_new, is_new_process;
	if (!thread || thread->pid != pid)
		return;
	map64_insert(&writing->threads, tid, &is_new);
	map64_insert(&writing->processes, pid, &is_new_process);
	if (is_new)
		describe(&writing->synth, thread, is_new_process, writing->begin);
	if (is_new_process && pid != tid)
		need_thread(writing, pid, pid);
}

static void need_entry(struct writing *writing, const struct flight_entry *entry)
{
	const struct record_header *header = flight_entry_record(entry);
	if (header->type == RECORD_SAMPLE) {
		need_thread(writing, entry->pid, entry->tid);
	} else if (header->type == RECORD_FORK) { /* what it begins with is its parent's */
		const struct record_task *fork = (const void *)header;
		need_thread(writing, fork->ppid, fork->ptid);
	}
}

/* Of what is older than the span, all but samples: it tells who has begun since. */
static bool is_written(const struct flight_entry *entry, struct flight_span span)
{
	return entry->time <= span.to && (entry->time >= span.from || flight_entry_record(entry)->type != RECORD_SAMPLE);
}

static uint64_t begin_of(const struct flight_ring *ring)
{
	struct flight_cursor cursor = {0};
	const struct flight_entry *entry;
	do
		entry = flight_ring_next(ring, &cursor);
	while (entry && !entry->time);
	return entry ? entry->time : UINT64_MAX;
}

static struct error *write_beginning(struct writing *writing, const struct flight_ring *ring, const struct strbuf *gone,
				     struct writer *writer)
{
	struct flight_cursor cursor = {0};
	synth_kernel(&writing->synth);
	synth_bpf(&writing->synth);
	synth_cgroups(&writing->synth);
	strbuf_add(writing->synth.out, strbuf_str(gone), gone->len);
	for (const struct flight_entry *entry; (entry = flight_ring_next(ring, &cursor));)
		if (is_written(entry, writing->span))
			need_entry(writing, entry);
	const struct iovec piece = {writing->synth.out->data, writing->synth.out->len};
	struct error *error = writer_append(writer, &piece, 1);
	return error ? error : writer_finish_init(writer);
}

/* ---- the file ---- */

static struct error *write_records(const struct flight_ring *ring, struct flight_span span, struct writer *writer)
{
	struct flight_cursor cursor = {0};
	struct error *error = NULL;
	for (const struct flight_entry *entry; !error && (entry = flight_ring_next(ring, &cursor));) {
		const struct iovec piece = {(void *)flight_entry_record(entry), entry->record_size};
		if (is_written(entry, span))
			error = writer_append(writer, &piece, 1);
	}
	return error ? error : writer_finish_round(writer);
}

/* What is known when all records are there: files by their build-ids, and the names of functions, since the machine may be far away. */
static struct error *complete(const char *path, struct features *features)
{
	const struct record_options options = {0};
	struct record_summary summary = {0};
	struct error *error = record_examine(path, &options, features, &summary);
	strbuf_deinit(&summary.losses);
	return error ? error : self_contained_gather(path, false, features);
}

static void describe_machine(const struct session *session, struct event_catalog *catalog, struct features *features)
{
	static const char *const words[] = {"agent", NULL};
	gather_features(&(struct gather_options){.arguments = words, .catalog = catalog}, features);
	gather_clock(CLOCK_MONOTONIC, features);
	error_free(gather_tracing_data(catalog, &session->reader->events, features));
}

struct error *flight_write(const struct session *session, const struct flight_ring *ring, const struct strbuf *gone,
			   struct flight_span span, struct event_catalog *catalog, const char *path)
{
	struct strbuf beginning = {0};
	struct features features = {0};
	struct writer *writer = NULL;
	struct writing writing = {.session = session, .span = span, .begin = begin_of(ring), .synth = begin_synth(session, &beginning)};
	describe_machine(session, catalog, &features);
	struct error *error = writer_open(&(struct writer_options){.path = path}, &session->reader->events, &features, &writer);
	if (!error)
		error = write_beginning(&writing, ring, gone, writer);
	if (!error)
		error = write_records(ring, span, writer);
	if (!error)
		error = writer_finish_data(writer);
	if (!error)
		error = complete(path, &features);
	if (!error)
		error = writer_finish(writer, &features);
	writer_close(writer);
	features_deinit(&features);
	strbuf_deinit(&beginning);
	map64_deinit(&writing.threads);
	map64_deinit(&writing.processes);
	return error;
}
