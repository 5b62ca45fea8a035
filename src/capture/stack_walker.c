/* A sample follows the program's record at once, unless the ring was full or another interrupt came between them, whose record and sample
 * lie in between then. So the last records of a ring are kept as a stack, and a sample takes the newest one of its thread. */
#include "capture/stack_walker.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "kernel/perf_open.h"
#include "kernel/tracing/dynamic_events.h"
#include "kernel/tracing/tracefs.h"
#include "unwind/file_rows.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* How deep interrupts that take samples lie in each other, and how long the outer ones may have waited for their samples. */
enum { NESTED = 4, NESTED_NS = 10000000 };

struct kept {
	uint32_t tid;
	uint64_t time;
	struct strbuf record; /* begins 4 bytes before the record, which so has its addresses aligned */
};

struct kept_records {
	struct kept each[NESTED];
	unsigned int count;
	uint64_t bytes; /* of all records so far, as the program counts them */
};

/* Of a large file only those parts are read that stacks meet, of a smaller one all. */
enum { PART = 1 << 18, ALL_OF = 8 << 20 };
_Static_assert(PART % (1 << USER_STACKS_BLOCK_BITS) == 0, "a part has whole blocks");

struct wanted {
	struct user_stacks_file file;
	struct dso *dso;
	size_t first;		  /* who has its rows: this one, or the first one of the same file, which this is another identity of */
	uint64_t copies, waiting; /* so far; of them since rows were given the last time */
	bool entered;		  /* the program knows the file */
	struct user_stacks_code code;
	uint64_t begin, end; /* of its code, in the file; equal: nothing is known of it */
	uint64_t asked;	     /* the first place of which rows are lacking */
	uint8_t *noted;	     /* by part: it was given, or is … */
	VEC(uint32_t) parts; /* … to be given, the last one first */
	size_t rows;	     /* that were given */
};

struct stack_walker {
	struct bpf_user_stacks *program;
	struct python_frames *python; /* or NULL */
	struct dynamic_events probes; /* if there are tracepoints */
	struct event_attr attr;	      /* of the program's records */
	struct sample_layout layout;
	VEC(int) counters;
	struct map64 ids;
	struct map64 noted;	   /* files, by a hash */
	VEC(struct wanted) wanted; /* the same, in their order */
	struct map64 by_dso;	   /* the first one of each */
	struct map64 met;	   /* dsos that were expected: once is enough, since each process that begins maps the same ones */
	VEC(struct dso *) expected;
	struct kept_records *kept; /* by ring */
	const struct ring_set *ring_set;
	size_t rings;
	uint64_t memory; /* of rows, at most */
	bool full;
};

/* Those that aren't passed at a place in the kernel or in a program can have no program of ours. */
static bool is_passed(const struct event *event)
{
	static const char *const without[] = {"ftrace", "synthetic", "eprobes"};

	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		if (event->tp_system && !strcmp(event->tp_system, without[i]))
			return false;
	return event->tp_system;
}

static bool is_sampled(const struct event *event)
{
	switch (event->attr.type) {
	case PERF_TYPE_SOFTWARE: /* what programs write runs none */
		return event->attr.config != PERF_COUNT_SW_BPF_OUTPUT;
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return true;
	default:
		return false;
	}
}

bool stack_walker_suits(const struct event *event)
{
	bool is_each = !event->attr.freq && event->attr.sample_period == 1;

	/* One program is all that an event can have. */
	return (is_sampled(event) || (event->attr.type == PERF_TYPE_TRACEPOINT && is_passed(event) && is_each)) && !event->sample_filter &&
	       !event->stack_size;
}

/* What the program is attached to. Probes want one of another kind than the kernel's own tracepoints. */
static enum user_stacks_kinds kind_of(const struct dynamic_events *probes, const struct event *event)
{
	if (is_sampled(event))
		return USER_STACKS_OF_SAMPLES;
	return dynamic_events_has(probes, event->tp_system, event->tp_name) ? USER_STACKS_OF_PROBES : USER_STACKS_OF_TRACEPOINTS;
}

static void find_probes(const struct event_list *events, struct dynamic_events *ret)
{
	char *tracefs = NULL;
	bool wanted = false;

	for (size_t i = 0; i < events->events.len; i++)
		wanted |= events->events.data[i]->tp_system != NULL;
	if (wanted && tracefs_look("", &tracefs) == TRACEFS_READABLE)
		error_free(dynamic_events_read(tracefs, ret));
	free(tracefs);
}

static struct error *open_program(struct stack_walker *walker, const struct sampling *sampling, unsigned int kinds, bool of_threads)
{
	const struct user_stacks_options options = {.kinds = kinds,
						    .depth = sampling->max_stack ? sampling->max_stack : USER_STACKS_DEPTH,
						    .of_threads = of_threads,
						    .memory = sampling->unwind_memory ? sampling->unwind_memory : USER_STACKS_MEMORY};

	walker->memory = options.memory;
	walker->python = sampling->python;
	return bpf_user_stacks_open(&options, &walker->program);
}

struct error *stack_walker_open(const struct event_list *events, const struct sampling *sampling, bool of_threads,
				struct stack_walker **ret)
{
	struct stack_walker *walker = mem_zalloc(sizeof(*walker));
	unsigned int kinds = 0;

	find_probes(events, &walker->probes);
	for (size_t i = 0; i < events->events.len; i++)
		if (stack_walker_suits(events->events.data[i]))
			kinds |= kind_of(&walker->probes, events->events.data[i]);
	struct error *error = open_program(walker, sampling, kinds, of_threads);
	if (error)
		stack_walker_close(walker);
	else
		*ret = walker;
	return error;
}

struct error *stack_walker_open_rows(const struct sampling *sampling, struct stack_walker **ret)
{
	struct stack_walker *walker = mem_zalloc(sizeof(*walker));
	struct error *error = open_program(walker, sampling, 0, false);

	if (error)
		stack_walker_close(walker);
	else
		*ret = walker;
	return error;
}

void stack_walker_close(struct stack_walker *walker)
{
	if (!walker)
		return;
	for (size_t i = 0; i < walker->counters.len; i++)
		close(walker->counters.data[i]);
	vec_deinit(&walker->counters);
	dynamic_events_deinit(&walker->probes);
	bpf_user_stacks_close(walker->program);
	for (size_t i = 0; i < walker->rings; i++)
		for (size_t j = 0; j < NESTED; j++)
			strbuf_deinit(&walker->kept[i].each[j].record);
	free(walker->kept);
	map64_deinit(&walker->ids);
	map64_deinit(&walker->noted);
	map64_deinit(&walker->met);
	map64_deinit(&walker->by_dso);
	for (size_t i = 0; i < walker->wanted.len; i++) {
		free(walker->wanted.data[i].noted);
		vec_deinit(&walker->wanted.data[i].parts);
	}
	vec_deinit(&walker->wanted);
	vec_deinit(&walker->expected);
	free(walker);
}

const struct bpf_user_stacks *stack_walker_rows(const struct stack_walker *walker)
{
	return walker->program;
}

/* ---- counters ---- */

/* Its records end as those of the others in the ring do (sample_id), so that what the kernel tells in its name can be read as theirs. */
static void describe_output(struct stack_walker *walker, const struct event_attr *like)
{
	const uint64_t ids =
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID;

	walker->attr = (struct event_attr){.type = PERF_TYPE_SOFTWARE,
					   .size = PERF_ATTR_SIZE_VER5,
					   .config = PERF_COUNT_SW_BPF_OUTPUT,
					   .sample_period = 1,
					   .sample_type = (like->sample_type & ids) | PERF_SAMPLE_RAW,
					   .sample_id_all = 1,
					   .use_clockid = like->use_clockid,
					   .clockid = like->clockid};
	sample_layout_init(&walker->layout, &walker->attr);
}

/* Those of chains let the ring fill as the others do; news wake up who waits for it. */
static struct error *open_output(struct stack_walker *walker, enum user_stacks_output output, const struct ring *ring)
{
	struct event_attr attr = walker->attr;

	attr.watermark = output == USER_STACKS_CHAINS;
	attr.wakeup_events = output == USER_STACKS_NEWS;
	int counter = perf_open_raw((const struct perf_event_attr *)&attr, -1, ring->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (counter < 0)
		return error_system(-counter, "cannot open a counter for the stacks of CPU %d", ring->cpu);
	vec_push(&walker->counters, counter);
	if (ioctl(counter, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0)
		return error_system(errno, "stacks cannot be written into the buffer of CPU %d", ring->cpu);
	*map64_insert(&walker->ids, perf_open_id(counter), NULL) = output;
	return bpf_user_stacks_direct(walker->program, output, ring->cpu, counter);
}

/* The program is the place's, not a counter's: it runs whoever counts there. It gets a counter that counts nothing and nobody inherits:
 * since Linux 6.10 the first thread that ends takes its parent's program away from the place (perf_event_alloc() hands it down,
 * perf_event_detach_bpf_prog() doesn't ask who has put it there). */
static struct error *attach_at_place(struct stack_walker *walker, const struct event *event, enum user_stacks_kinds kind)
{
	const struct event_attr attr = {
		.type = event->attr.type, .size = PERF_ATTR_SIZE_VER5, .config = event->attr.config, .disabled = 1, .sample_period = 1};
	int counter = perf_open_raw((const struct perf_event_attr *)&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (counter < 0)
		return error_system(-counter, "cannot open a counter for the stacks of %s", event->name);
	vec_push(&walker->counters, counter);
	return bpf_user_stacks_attach(walker->program, kind, counter);
}

static struct error *attach(struct stack_walker *walker, const struct event *event, const struct counter *counter)
{
	enum user_stacks_kinds kind = kind_of(&walker->probes, event);
	struct error *error = NULL;

	if (kind != USER_STACKS_OF_SAMPLES)
		return attach_at_place(walker, event, kind);
	for (size_t slot = 0; slot < counter_slots(counter) && !error; slot++)
		if (counter->fds[slot] >= 0)
			error = bpf_user_stacks_attach(walker->program, kind, counter->fds[slot]);
	return error;
}

struct error *stack_walker_start(struct stack_walker *walker, const struct event_list *events, const struct counter_set *counters,
				 const struct ring_set *rings)
{
	struct error *error = NULL;
	bool any = false;

	for (size_t i = 0; i < events->events.len; i++)
		any |= events->events.data[i]->stack_walked;
	if (!any)
		return NULL;
	describe_output(walker, &events->events.data[0]->attr);
	walker->rings = rings->count;
	walker->kept = mem_zalloc_array(rings->count, sizeof(*walker->kept));
	walker->ring_set = rings;
	size_t most = rings->count ? ring_size(&rings->rings[0]) / 4 * 3 : 0;
	bpf_user_stacks_limit(walker->program, most > 2 * USER_STACKS_COPY ? most : 2 * USER_STACKS_COPY);
	for (size_t i = 0; i < rings->count && !error; i++)
		if (!(error = open_output(walker, USER_STACKS_CHAINS, &rings->rings[i])))
			error = open_output(walker, USER_STACKS_NEWS, &rings->rings[i]);
	for (size_t i = 0; i < events->events.len && !error; i++)
		if (events->events.data[i]->stack_walked)
			error = attach(walker, events->events.data[i], &counters->each[i]);
	return error;
}

/* ---- records ---- */

bool stack_walker_owns(const struct stack_walker *walker, uint64_t id)
{
	return map64_find(&walker->ids, id) != NULL;
}

/* That a record is about to leave its ring. */
static void note_read(struct stack_walker *walker, size_t ring, const void *record, size_t size)
{
	struct kept_records *records = &walker->kept[ring];
	uint32_t head;

	if (size < sizeof(head))
		return;
	memcpy(&head, record, sizeof(head));
	records->bytes += user_stacks_bytes(head);
	bpf_user_stacks_note_read(walker->program, walker->ring_set->rings[ring].cpu, records->bytes);
}

/* Whether a record is a code of Python. */
static bool is_python(const void *record, size_t size)
{
	uint32_t head;

	if (size < sizeof(head) + offsetof(struct user_stacks_python_code, lines))
		return false;
	memcpy(&head, record, sizeof(head));
	return user_stacks_kind(head) == USER_STACKS_PYTHON &&
	       user_stacks_count(head) <= size - sizeof(head) - offsetof(struct user_stacks_python_code, lines);
}

void stack_walker_look(struct stack_walker *walker, const struct record_header *header)
{
	struct sample sample;
	uint32_t head;

	if (!walker->python || header->type != RECORD_SAMPLE || header->size < sizeof(struct user_stacks_python_code) - USER_STACKS_LINES ||
	    sample_decode_fixed(&walker->layout, &walker->attr, header, &sample) || !stack_walker_owns(walker, sample.id) ||
	    sample_decode(&walker->layout, &walker->attr, header, &sample) || !is_python(sample.raw, sample.raw_size))
		return;
	memcpy(&head, sample.raw, sizeof(head));
	python_frames_add(walker->python, (const void *)((const char *)sample.raw + sizeof(head)), user_stacks_count(head));
}

bool stack_walker_takes(struct stack_walker *walker, size_t ring, const struct record_header *header)
{
	struct kept_records *records = &walker->kept[ring];
	static const uint32_t padding = 0;
	struct sample sample;

	if (!walker->counters.len || sample_decode_fixed(&walker->layout, &walker->attr, header, &sample) ||
	    !stack_walker_owns(walker, sample.id))
		return false;
	if (sample_decode(&walker->layout, &walker->attr, header, &sample))
		return true;
	note_read(walker, ring, sample.raw, sample.raw_size);
	if (is_python(sample.raw, sample.raw_size))
		return true;
	if (records->count == NESTED) { /* the oldest one's sample was lost */
		struct kept oldest = records->each[0];
		memmove(&records->each[0], &records->each[1], (NESTED - 1) * sizeof(oldest));
		records->each[--records->count] = oldest;
	}
	struct kept *kept = &records->each[records->count++];
	kept->tid = sample.tid;
	kept->time = sample.time;
	strbuf_clear(&kept->record);
	strbuf_add(&kept->record, &padding, sizeof(padding));
	strbuf_add(&kept->record, sample.raw, sample.raw_size);
	return true;
}

bool walked_stack_read(uint32_t head, const void *data, size_t size, struct walked_stack *ret)
{
	*ret = (struct walked_stack){.kind = user_stacks_kind(head), .count = user_stacks_count(head)};
	if (ret->kind != USER_STACKS_STACK) {
		ret->ips = data;
		return ret->count <= size / sizeof(*ret->ips);
	}
	ret->copy = data;
	ret->stack = ret->copy + 1;
	return size >= sizeof(*ret->copy) && ret->count <= size - sizeof(*ret->copy);
}

static bool read_record(const struct kept *kept, struct walked_stack *ret)
{
	const char *data = kept->record.data + sizeof(uint32_t);
	size_t size = kept->record.len - sizeof(uint32_t);
	uint32_t head;

	if (size < sizeof(head))
		return false;
	memcpy(&head, data, sizeof(head));
	return walked_stack_read(head, data + sizeof(head), size - sizeof(head), ret);
}

bool stack_walker_find(struct stack_walker *walker, size_t ring, const struct sample *sample, struct walked_stack *ret)
{
	struct kept_records *records = &walker->kept[ring];

	for (unsigned int i = records->count; i > 0; i--) {
		const struct kept *kept = &records->each[i - 1];
		if (sample->time > kept->time + NESTED_NS)
			break;
		if (kept->tid != sample->tid)
			continue;
		records->count = i - 1;
		return read_record(kept, ret);
	}
	return false;
}

/* ---- rows ---- */

_Static_assert((int)USER_STACKS_SP == WALK_SP && (int)USER_STACKS_FP == WALK_FP && (int)USER_STACKS_OTHER == WALK_OTHER &&
		       (int)USER_STACKS_END == WALK_END && (int)USER_STACKS_NONE == WALK_NONE && (int)USER_STACKS_THIRD == WALK_THIRD &&
		       (int)USER_STACKS_ALIGNED == WALK_ALIGNED && (int)USER_STACKS_STUB == WALK_STUB &&
		       (int)USER_STACKS_SIGNAL == WALK_SIGNAL && (int)USER_STACKS_SAME == WALK_SAME && (int)USER_STACKS_LOST == WALK_LOST &&
		       (int)USER_STACKS_MORE_LOST == WALK_MORE_LOST && (int)USER_STACKS_UNIT == WALK_UNIT,
	       "the program's rows mean what those that it is given do");
_Static_assert(sizeof(struct user_stacks_row) == sizeof(struct walk_row) &&
		       offsetof(struct user_stacks_row, ip) == offsetof(struct walk_row, ip) &&
		       offsetof(struct user_stacks_row, more) == offsetof(struct walk_row, more),
	       "and lie as they do");

void stack_walker_explain(enum user_stacks_added added, const char *file, uint64_t memory, struct strbuf *out)
{
	if (added == USER_STACKS_NO_ROOM)
		strbuf_printf(out, "no room for more than %.1f MB of unwind rules, such as of ", (double)memory / 1048576);
	else
		strbuf_printf(out, "no room for the unwind rules of more than %d files, such as ", USER_STACKS_FILES);
	text_add_safe(out, file, strlen(file));
	strbuf_add_str(out, ": its stacks are copied, and unwound by the recorder, which takes more time and larger buffers");
	if (added == USER_STACKS_NO_ROOM && memory < USER_STACKS_MEMORY)
		strbuf_printf(out, ". More room for rules: --unwind-memory, up to %d MB", USER_STACKS_MEMORY >> 20);
}

static void complain(struct stack_walker *walker, const struct wanted *wanted, enum user_stacks_added added)
{
	struct strbuf text = {0};

	if (added == USER_STACKS_ADDED || walker->full)
		return;
	walker->full = true;
	stack_walker_explain(added, wanted->dso ? wanted->dso->name : "[unknown]", walker->memory, &text);
	log_warning("%s", strbuf_str(&text));
	strbuf_deinit(&text);
}

static void want_part(struct wanted *wanted, uint64_t place)
{
	uint64_t part = (place - wanted->begin) / PART;

	if (place < wanted->begin || place >= wanted->end || wanted->noted[part])
		return;
	wanted->noted[part] = 1;
	vec_push(&wanted->parts, (uint32_t)part);
}

/* Tells the program of the file, which asks for rows from now on. */
static void enter(struct stack_walker *walker, struct resolver *resolver, struct wanted *wanted)
{
	enum { ALIGN = 1 << USER_STACKS_BLOCK_BITS };
	struct user_stacks_interpreter interpreter;
	bool has_python = walker->python && wanted->dso && python_frames_describe(resolver, wanted->dso, &interpreter);

	if (!wanted->dso || !file_rows_extent(resolver, wanted->dso, ALIGN, &wanted->begin, &wanted->end))
		wanted->begin = wanted->end = 0;
	wanted->noted = mem_zalloc((wanted->end - wanted->begin) / PART + 1);
	wanted->entered = true;
	complain(walker, wanted,
		 bpf_user_stacks_add(walker->program, &wanted->file, wanted->begin, wanted->end, has_python ? &interpreter : NULL,
				     &wanted->code));
	if (!wanted->code.blocks)
		wanted->end = wanted->begin;
	for (uint64_t place = wanted->begin; wanted->end - wanted->begin <= ALL_OF && place < wanted->end; place += PART)
		if (wanted->asked - place >= PART)
			want_part(wanted, place);
	want_part(wanted, wanted->asked);
}

static void give_part(struct stack_walker *walker, struct resolver *resolver, struct wanted *wanted, uint32_t part)
{
	struct file_rows rows = {0};
	uint64_t begin = wanted->begin + (uint64_t)part * PART, end = begin + PART < wanted->end ? begin + PART : wanted->end;

	file_rows_collect(resolver, wanted->dso, begin, end, &rows);
	complain(walker, wanted,
		 bpf_user_stacks_fill(walker->program, &wanted->code, (const void *)rows.rows.data, rows.rows.len, begin, end));
	wanted->rows += rows.rows.len;
	file_rows_deinit(&rows);
}

/* On overlayfs the kernel tells one identity of a file in its records, as programs see it, and maps another. */
static struct wanted *add_wanted(struct stack_walker *walker, const struct user_stacks_file *file, struct dso *dso, bool *ret_new)
{
	uint64_t *at = map64_insert(&walker->noted, hash_bytes(file, sizeof(*file)), ret_new);
	bool is_first;

	if (*ret_new) {
		*at = walker->wanted.len;
		uint64_t *first = map64_insert(&walker->by_dso, (uintptr_t)dso, &is_first);
		if (is_first)
			*first = *at;
		vec_push(&walker->wanted, ((struct wanted){.file = *file, .dso = dso, .first = *first}));
	}
	return &walker->wanted.data[*at];
}

void stack_walker_note(struct stack_walker *walker, const struct user_stacks_copy *copy, struct dso *dso, uint64_t place)
{
	bool is_new;
	struct wanted *wanted = add_wanted(walker, &copy->file, dso, &is_new), *first = &walker->wanted.data[wanted->first];

	if (first->entered)
		want_part(first, place);
	else if (is_new)
		first->asked = place;
	first->copies++;
	first->waiting++;
	wanted->waiting += wanted != first;
}

void stack_walker_note_code(struct stack_walker *walker, struct dso *dso, uint64_t place)
{
	const uint64_t *at = map64_find(&walker->by_dso, (uintptr_t)dso);

	if (at && walker->wanted.data[*at].entered)
		want_part(&walker->wanted.data[*at], place);
}

static bool has_work(const struct wanted *wanted)
{
	return !wanted->entered || wanted->parts.len;
}

/* Most copies are spared by the rows of this one. NULL: there is none left. */
static struct wanted *most_wanted(struct stack_walker *walker)
{
	struct wanted *most = NULL;

	for (size_t i = 0; i < walker->wanted.len; i++) {
		struct wanted *wanted = &walker->wanted.data[i];
		if (has_work(wanted) && (!most || wanted->waiting > most->waiting))
			most = wanted;
	}
	return most;
}

static void debug_rows(const struct stack_walker *walker, const struct wanted *wanted)
{
	struct strbuf file = {0};

	if (log_level() < LOG_DEBUG)
		return;
	if (wanted->dso)
		text_add_safe(&file, wanted->dso->name, strlen(wanted->dso->name));
	log_debug("stacks: %zu unwind rules of %s after %llu copies, %llu KB for all", wanted->rows, strbuf_str(&file),
		  (unsigned long long)wanted->copies, (unsigned long long)bpf_user_stacks_memory(walker->program) >> 10);
	strbuf_deinit(&file);
}

void stack_walker_expect(struct stack_walker *walker, struct dso *dso)
{
	bool is_new;

	if (dso->kind != DSO_FILE || !dso->inode)
		return;
	map64_insert(&walker->met, (uintptr_t)dso, &is_new);
	if (is_new)
		vec_push(&walker->expected, dso);
}

/* What the program is going to know the file by: as find_mapping() there does. */
static bool find_identity(const struct dso *dso, const struct symbol_options *symbols, struct user_stacks_file *ret)
{
	enum { LARGEST = 16 << 20, MINOR_BITS = 20 };
	char *path = symbols->mapped_path(symbols->mapped_context, dso);
	struct stat status;
	bool found = !stat(path ? path : dso->name, &status) && status.st_ino == dso->inode && status.st_size <= LARGEST;

	free(path);
	*ret = (struct user_stacks_file){.inode = dso->inode,
					 .size = found ? (uint64_t)status.st_size : 0,
					 .device = dso->major << MINOR_BITS | dso->minor,
					 .generation = (uint32_t)dso->inode_generation};
	return found;
}

/* The next one that is expected and not known yet; NULL: there is none. */
static struct wanted *next_expected(struct stack_walker *walker, const struct symbol_options *symbols)
{
	while (walker->expected.len) {
		struct dso *dso = walker->expected.data[--walker->expected.len];
		struct user_stacks_file file;
		bool is_new;
		if (!find_identity(dso, symbols, &file))
			continue;
		struct wanted *wanted = add_wanted(walker, &file, dso, &is_new);
		if (is_new)
			return wanted;
	}
	return NULL;
}

static void add_identity(struct stack_walker *walker, struct resolver *resolver, struct wanted *wanted)
{
	struct wanted *first = &walker->wanted.data[wanted->first];

	if (!first->entered)
		enter(walker, resolver, first);
	if (!bpf_user_stacks_add_name(walker->program, &wanted->file, &first->file))
		complain(walker, wanted, USER_STACKS_TOO_MANY);
	wanted->entered = true;
	wanted->waiting = 0;
}

static void learn(struct stack_walker *walker, struct resolver *resolver, struct wanted *wanted)
{
	if (wanted->first != (size_t)(wanted - walker->wanted.data)) {
		add_identity(walker, resolver, wanted);
		return;
	}
	if (!wanted->entered)
		enter(walker, resolver, wanted);
	if (wanted->parts.len)
		give_part(walker, resolver, wanted, wanted->parts.data[--wanted->parts.len]);
	if (wanted->parts.len)
		return;
	debug_rows(walker, wanted);
	wanted->waiting = 0;
}

/* All that stacks were copied for comes before the next look into the rings, where there are more of them meanwhile, each to be unwound. */
bool stack_walker_learn(struct stack_walker *walker, struct resolver *resolver, const struct symbol_options *symbols)
{
	enum { AT_ONCE = 32 };
	struct wanted *wanted = most_wanted(walker);

	if (!wanted)
		wanted = next_expected(walker, symbols);
	if (!wanted)
		return false;
	learn(walker, resolver, wanted);
	for (int i = 1; i < AT_ONCE && (wanted = most_wanted(walker)) && wanted->waiting; i++)
		learn(walker, resolver, wanted);
	return true;
}

uint64_t stack_walker_unsent(const struct stack_walker *walker)
{
	return bpf_user_stacks_unsent(walker->program);
}

uint64_t stack_walker_memory(const struct stack_walker *walker)
{
	return bpf_user_stacks_memory(walker->program);
}
