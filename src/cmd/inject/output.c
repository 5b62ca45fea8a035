/* The recording that comes out: the same events and features as the one that went in, as a file or a stream.
 *
 * Records come in the order of time, so wherever the input had an end of a round, one may be in the output: no reader has to keep more than
 * it did. Compression and directories end here. Hardware trace goes through with files; unpacking and pipes leave it out. */
#include "cmd/inject/inject.h"

#include "base/log.h"
#include "base/mem.h"
#include "cmd/record/self_contained.h"

#include <string.h>

/* The session's list grows when a stream describes more events; the writer's must not. */
static void copy_events(struct inject *inject)
{
	const struct event_list *from = &inject->session->reader->events;
	for (size_t i = 0; i < from->events.len; i++) {
		const struct event *event = from->events.data[i];
		struct event *copy = event_list_add(&inject->events, event->name);
		copy->attr = event->attr;
		copy->leader = event->leader;
		copy->members = event->members;
		copy->group_name = event->group_name;
		for (size_t id = 0; id < event->ids.len; id++)
			vec_push(&copy->ids, event->ids.data[id]);
	}
}

static void forget_feature(struct features *features, unsigned int feature)
{
	features->present[feature / 64] &= ~(1ull << feature % 64);
}

/* What describes the input: strings and lists stay the reader's, but for the build-ids, of which there will be more. */
static void take_features(struct inject *inject)
{
	struct features *features = &inject->features;
	*features = inject->session->reader->features;
	memset(&features->arena, 0, sizeof(features->arena));
	memset(&features->build_ids, 0, sizeof(features->build_ids));
	forget_feature(features, FEATURE_COMPRESSED);
	forget_feature(features, FEATURE_DIR_FORMAT);
	forget_feature(features, FEATURE_AUXTRACE);
	if (!features->tracing_data_size)
		forget_feature(features, FEATURE_TRACING_DATA);
}

void inject_output_prepare(struct inject *inject)
{
	copy_events(inject);
	inject->host_events = (unsigned int)inject->events.events.len;
	take_features(inject);
}

struct error *inject_output_open(struct inject *inject)
{
	const char *path = inject->options->output;
	struct writer_options options = {.path = path ? path : "-", .keep_old = true};
	return writer_open(&options, &inject->events, &inject->features, &inject->writer);
}

/* Records that say what the head of the output says already. */
static bool is_of_head(const struct record_header *header)
{
	switch (header->type) {
	case RECORD_HEADER_ATTR:
	case RECORD_HEADER_EVENT_TYPE:
	case RECORD_HEADER_FEATURE:
	case RECORD_HEADER_TRACING_DATA:
	case RECORD_SIMPLEPERF_TRACING_DATA:
		return true;
	default:
		return false;
	}
}

struct error *inject_write(struct inject *inject, const struct record_header *header)
{
	if (is_of_head(header))
		return NULL;
	if (header->type == RECORD_FINISHED_ROUND)
		return writer_finish_round(inject->writer);
	struct iovec piece = {(void *)header, header->size};
	inject->written++;
	return writer_append(inject->writer, &piece, 1);
}

struct error *inject_write_trace(struct inject *inject, const struct record *record)
{
	uint64_t size;
	const void *trace = reader_trace(inject->session->reader, record->header, record->offset, &size);
	if (!trace)
		return NULL;
	const struct iovec piece = {(void *)trace, size};
	inject->written++;
	inject->trace_bytes += size;
	features_set(&inject->features, FEATURE_AUXTRACE);
	return writer_add_trace(inject->writer, (const struct record_auxtrace *)record->header, &piece, 1);
}

/* A guest's file is another one than the host's of that name. */
static bool is_same_file(const struct feature_build_id *a, const struct feature_build_id *b)
{
	return !strcmp(a->filename, b->filename) && (a->pid > 0 ? a->pid : 0) == (b->pid > 0 ? b->pid : 0);
}

/* The input's build-ids, and those that were found, which win. A stream has those of the input among its records. */
static void join_build_ids(struct inject *inject)
{
	const struct features *from = &inject->session->reader->features;
	struct features *features = &inject->features;
	const size_t found = features->build_ids.len;
	if (writer_is_pipe(inject->writer) && inject->session->reader->pipe)
		return;
	for (size_t i = 0; i < from->build_ids.len; i++) {
		bool known = false;
		for (size_t j = 0; j < found && !known; j++)
			known = is_same_file(&features->build_ids.data[j], &from->build_ids.data[i]);
		if (!known)
			vec_push(&features->build_ids, from->build_ids.data[i]);
	}
}

/* Names that the recording has already stay: here may be nothing of what they are from. Samples that are made of traces are hit anew. */
static struct error *gather_names(struct inject *inject)
{
	const bool has = inject->session->reader->features.carried != NULL;
	if (has && writer_is_pipe(inject->writer))
		log_warning("a stream has no place for the names that the recording has of its own: write a file with -o");
	if (!inject->options->self_contained)
		return NULL;
	if (has && !inject->options->itrace.asked) {
		log_warning("--self-contained: the recording has names of its own already, which stay as they are");
		return NULL;
	}
	return error_wrap(self_contained_gather(writer_path(inject->writer), true, &inject->features), "--self-contained");
}

struct error *inject_output_finish(struct inject *inject)
{
	const struct session *session = inject->session;
	struct features *features = &inject->features;
	join_build_ids(inject);
	if (features->build_ids.len)
		features_set(features, FEATURE_BUILD_ID);
	if (session->first_time) {
		features->first_sample_ns = session->first_time;
		features->last_sample_ns = session->last_time;
		features_set(features, FEATURE_SAMPLE_TIME);
	}
	struct error *error = writer_finish_data(inject->writer);
	error = error ? error : gather_names(inject);
	return error ? error : writer_finish(inject->writer, features);
}

void inject_output_deinit(struct inject *inject)
{
	writer_close(inject->writer);
	vec_deinit(&inject->features.build_ids);
	arena_deinit(&inject->features.arena);
	event_list_deinit(&inject->events);
}
