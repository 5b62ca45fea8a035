/* A sample follows the program's record at once, unless the ring was full or another interrupt came between them, whose record and sample
 * lie in between then. So the last records of a ring are kept as a stack, and a sample takes the newest one of its thread. */
#include "capture/stacks/stack_walker_internal.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "kernel/perf_open.h"
#include "kernel/tracing/dynamic_events.h"
#include "kernel/tracing/tracefs.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
enum { COPIES_MOST = 12 << 20 }; /* bytes of copies in a ring */

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
	walker->lazy = sampling->unwind_lazily;
	walker->more_memory = sampling->unwind_more;
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

bool stack_walker_is_lazy(const struct stack_walker *walker)
{
	return walker->lazy;
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
	stack_walker_clear_wanted(walker);
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
	/* Of large rings less: before the first rows are given a thread that switches all the time would fill any of them with copies. */
	size_t most = rings->count ? ring_size(&rings->rings[0]) / 4 * 3 : 0;
	most = most < COPIES_MOST ? most : COPIES_MOST;
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
	walker->teller.codes++;
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
	if (python_teller_forgets(&walker->teller, walker->python))
		bpf_user_stacks_forget_codes(walker->program);
	if (is_python(sample.raw, sample.raw_size))
		return true;
	if (records->count == NESTED) { /* the oldest one's sample was lost */
		struct kept_record oldest = records->each[0];
		memmove(&records->each[0], &records->each[1], (NESTED - 1) * sizeof(oldest));
		records->each[--records->count] = oldest;
	}
	struct kept_record *kept = &records->each[records->count++];
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

static bool read_record(const struct kept_record *kept, struct walked_stack *ret)
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
		const struct kept_record *kept = &records->each[i - 1];
		if (sample->time > kept->time + NESTED_NS)
			break;
		if (kept->tid != sample->tid)
			continue;
		records->count = i - 1;
		return read_record(kept, ret);
	}
	return false;
}

bool stack_walker_identify(const struct stack_walker *walker, const void *mapped, struct user_stacks_file *ret)
{
	return mapped && bpf_user_stacks_identify(walker->program, mapped, ret);
}

const struct python_frames *stack_walker_python(const struct stack_walker *walker)
{
	return walker->python;
}

uint64_t stack_walker_unsent(const struct stack_walker *walker)
{
	return bpf_user_stacks_unsent(walker->program);
}

uint64_t stack_walker_memory(const struct stack_walker *walker)
{
	return bpf_user_stacks_memory(walker->program);
}
