/* Streams (streams.h). Samples are compared by addresses, on several threads; the few sequences that are left are compared once more by
 * names, since processes have their programs at different addresses. */
#include "analysis/diff/streams.h"

#include "analysis/source_lines.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Samples of one newest branch in one state of the maps, by addresses in memory. */
struct course {
	const struct maps *user, *kernel;
	uint64_t time; /* of a sample */
	struct branch_step {
		uint64_t from, to;
	} steps[STREAM_BRANCHES];
	size_t count;
	uint64_t hits, sums[STREAM_BRANCHES];
};

struct courses {
	VEC(struct course *) list;
	struct map64 index; /* hash → course */
	uint64_t hits;
};

struct gathering {
	struct machine *machine;
	const struct streams_options *options;
};

static struct course *get_course(struct courses *courses, const struct branch_step *newest, uint64_t user_epoch, uint64_t kernel_epoch,
				 bool *ret_new)
{
	const uint64_t words[] = {newest->from, newest->to, user_epoch, kernel_epoch};
	uint64_t *slot = map64_insert(&courses->index, hash_words(words, sizeof(words) / sizeof(*words), 0).lo, ret_new);
	if (*ret_new) {
		*slot = courses->list.len;
		vec_push(&courses->list, mem_zalloc(sizeof(struct course)));
	}
	return courses->list.data[*slot];
}

static void shorten(struct course *course, const struct branch_step *steps, size_t count)
{
	size_t common = 0;
	while (common < course->count && common < count && course->steps[common].from == steps[common].from &&
	       course->steps[common].to == steps[common].to)
		common++;
	course->count = common;
}

static void courses_init(void *state, void *context)
{
	*(struct courses *)state = (struct courses){0};
}

static void add_sample(void *state, void *context, const struct event *event, const struct sample *sample, uint64_t model_time)
{
	const struct gathering *gathering = context;
	const struct streams_options *options = gathering->options;
	struct courses *courses = state;
	struct fold_sample in = {.event = event, .sample = sample, .model_time = model_time};
	struct branch_step steps[STREAM_BRANCHES];
	if (event != options->event || !sample->branch_count)
		return;
	fold_sample_complete(&in, gathering->machine);
	if (options->accept && !options->accept(options->context, &in))
		return;
	const struct maps *user = machine_maps(gathering->machine, in.thread, CPUMODE_USER);
	const struct maps *kernel = machine_maps(gathering->machine, in.thread, CPUMODE_KERNEL);
	size_t count = sample->branch_count < STREAM_BRANCHES ? sample->branch_count : STREAM_BRANCHES;
	for (size_t i = 0; i < count; i++)
		steps[i] = (struct branch_step){sample->branches[i].from, sample->branches[i].to};
	bool is_new;
	struct course *course = get_course(courses, steps, maps_epoch(user, model_time), maps_epoch(kernel, model_time), &is_new);
	if (is_new) {
		*course = (struct course){.user = user, .kernel = kernel, .time = model_time, .count = count};
		memcpy(course->steps, steps, count * sizeof(*steps));
	} else {
		shorten(course, steps, count);
	}
	for (size_t i = 0; i < course->count; i++)
		course->sums[i] += branch_cycles(&sample->branches[i]);
	course->hits++;
	courses->hits++;
}

static void merge_courses(void *into, void *from, void *context)
{
	struct courses *courses = into, *more = from;
	for (size_t i = 0; i < more->list.len; i++) {
		const struct course *other = more->list.data[i];
		bool is_new;
		struct course *course = get_course(courses, other->steps, maps_epoch(other->user, other->time),
						   maps_epoch(other->kernel, other->time), &is_new);
		uint64_t hits = is_new ? 0 : course->hits;
		if (is_new)
			*course = *other;
		else
			shorten(course, other->steps, other->count);
		for (size_t k = 0; k < course->count && !is_new; k++)
			course->sums[k] += other->sums[k];
		course->hits = hits + other->hits;
	}
	courses->hits += more->hits;
}

static void courses_deinit(void *state, void *context)
{
	struct courses *courses = state;
	for (size_t i = 0; i < courses->list.len; i++)
		free(courses->list.data[i]);
	vec_deinit(&courses->list);
	map64_deinit(&courses->index);
}

/* ---- by names ---- */

/* "sum loops.c:12", "sum+0x17", "0x401020" */
static const char *place_name(struct resolver *resolver, const struct gathering *gathering, const struct course *course, uint64_t address)
{
	struct strbuf text = {0};
	struct frame frame = {0};
	bool in_kernel = machine_is_kernel_address(gathering->machine, address);
	resolver_frame(resolver, in_kernel ? course->kernel : course->user, in_kernel ? CPUMODE_KERNEL : CPUMODE_USER, address,
		       course->time, &frame);
	const struct code_function *function = frame.map ? source_find(resolver, &frame, false) : NULL;
	if (function && function->file)
		strbuf_printf(&text, "%s %s:%u", frame.symbol ? frame.symbol->name : "??",
			      source_file(function->file, gathering->options->full_path), function->line);
	else if (frame.symbol)
		strbuf_printf(&text, "%s+%#lx", frame.symbol->name, frame.dso_addr - frame.symbol->start);
	else
		strbuf_printf(&text, "%#lx", address);
	const char *name = intern_bytes(gathering->options->names, strbuf_str(&text), text.len);
	strbuf_deinit(&text);
	return name;
}

static struct hot_stream name_course(struct resolver *resolver, const struct gathering *gathering, const struct course *course)
{
	struct hot_stream stream = {.count = 2 * course->count, .hits = course->hits};
	for (size_t i = 0; i < course->count; i++) {
		stream.places[2 * i] = place_name(resolver, gathering, course, course->steps[i].to);
		stream.places[2 * i + 1] = place_name(resolver, gathering, course, course->steps[i].from);
		stream.sums[i] = course->sums[i];
	}
	return stream;
}

static void join(struct hot_stream *stream, const struct hot_stream *more)
{
	size_t common = 0;
	while (common < stream->count && common < more->count && stream->places[common] == more->places[common])
		common++;
	stream->count = common & ~(size_t)1; /* whole branches */
	for (size_t i = 0; i < stream->count / 2; i++)
		stream->sums[i] += more->sums[i];
	stream->hits += more->hits;
}

bool hot_stream_is_same(const struct hot_stream *a, const struct hot_stream *b)
{
	return a->count == b->count && !memcmp(a->places, b->places, a->count * sizeof(*a->places));
}

static int compare_streams(const void *a, const void *b)
{
	const struct hot_stream *one = a, *other = b;
	if (one->hits != other->hits)
		return one->hits < other->hits ? 1 : -1;
	for (size_t i = 0; i < one->count && i < other->count; i++)
		if (one->places[i] != other->places[i])
			return strcmp(one->places[i], other->places[i]);
	return (one->count > other->count) - (one->count < other->count);
}

static struct streams *make_streams(struct resolver *resolver, const struct gathering *gathering, const struct courses *courses)
{
	struct streams *streams = mem_zalloc(sizeof(*streams));
	struct map64 index = {0};
	streams->list = mem_alloc_array(courses->list.len + 1, sizeof(*streams->list));
	streams->hits = courses->hits;
	for (size_t i = 0; i < courses->list.len; i++) {
		struct hot_stream stream = name_course(resolver, gathering, courses->list.data[i]);
		bool is_new;
		uint64_t *slot = map64_insert(&index, hash_combine((uintptr_t)stream.places[0], (uintptr_t)stream.places[1]), &is_new);
		if (is_new) {
			*slot = streams->count;
			streams->list[streams->count++] = stream;
		} else {
			join(&streams->list[*slot], &stream);
		}
	}
	map64_deinit(&index);
	qsort(streams->list, streams->count, sizeof(*streams->list), compare_streams);
	if (streams->count > gathering->options->most)
		streams->count = gathering->options->most;
	for (size_t i = 0; i < streams->count; i++)
		for (size_t k = 0; k < streams->list[i].count / 2; k++)
			streams->list[i].cycles += streams->list[i].sums[k];
	return streams;
}

struct error *streams_create(struct session *session, struct resolver *resolver, const struct streams_options *options,
			     struct streams **ret)
{
	static const struct reducer reducer = {.state_size = sizeof(struct courses),
					       .init = courses_init,
					       .sample = add_sample,
					       .merge = merge_courses,
					       .deinit = courses_deinit};
	struct gathering gathering = {.machine = session->machine, .options = options};
	struct courses *courses;
	struct error *error = session_reduce(session, &reducer, &gathering, (void **)&courses);
	if (error)
		return error;
	*ret = make_streams(resolver, &gathering, courses);
	courses_deinit(courses, NULL);
	free(courses);
	return NULL;
}

void streams_destroy(struct streams *streams)
{
	if (!streams)
		return;
	free(streams->list);
	free(streams);
}
