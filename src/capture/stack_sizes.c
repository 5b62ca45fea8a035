/* Which size a thread needs is found out from where its stack ends (kernel/stack_tops.h). A copy that the kernel ended early reached the
 * end of memory: it is whole. A full one may go on; then the size is chosen that reaches the end, or the next one where the end isn't
 * known. Sizes only grow: a thread that was deep once will be again, and what is too much never gets into the file. */
#include "capture/stack_sizes.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "capture/ring_records.h"
#include "capture/sampling.h"
#include "kernel/limits.h"
#include "kernel/stack_tops.h"
#include "perfdata/layout.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { SIZES = 4 };
/* Which one is taken the event's attribute says. Copies that are unwound at once cost nothing but the copying: they begin with what nearly
 * all stacks fit into. */
static const uint32_t size_series[][SIZES] = {
	{SAMPLING_STACK_FIRST, 16384, 32768, SAMPLING_STACK_MAX},
	{SAMPLING_STACK_DEFAULT, 16384, 32768, SAMPLING_STACK_MAX},
	{SAMPLING_STACK_UNWOUND, 32768, 49152, SAMPLING_STACK_MAX},
};

/* An event whose copies are sized. */
struct sized_event {
	unsigned int event; /* its index */
	const struct counter *by_size[SIZES];
	bool off; /* switched off by a command */
};

struct stack_sizes {
	const uint32_t *bytes; /* SIZES of them */
	const struct event_list *events;
	const struct counter_set *counters;
	struct sized_event *sized;
	size_t sized_count;
	struct event_list larger_events[SIZES - 1];
	struct counter_set larger[SIZES - 1];
	unsigned int *in_use;	       /* number of the size, by thread of the target */
	struct sample_layout *layouts; /* by event */
	struct map64 ids;	       /* of sized counters: number of the sized event << 32 | thread of the target */
	uint64_t stack_pointer_bit;
	struct stack_tops *tops;
	pthread_mutex_t lock; /* over what changes: tops, in_use, off */
	struct stack_sizes_totals totals;
};

bool stack_sizes_wanted(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->stack_grows)
			return true;
	return false;
}

/* ---- counters ---- */

static void copy_event(struct event_list *list, const struct event *from, uint32_t size)
{
	struct event *event = event_list_add(list, from->name);
	unsigned int index = event->index;

	*event = *from;
	event->index = event->leader = index;
	event->members = 1;
	event->ids.data = NULL;
	event->ids.len = event->ids.cap = 0;
	event->is_default = false;
	event->attr.sample_stack_user = size;
	event->attr.disabled = 1;
	event->attr.enable_on_exec = 0;
}

static void remember_ids(struct stack_sizes *sizes, size_t number, const struct counter *counter, struct event *also)
{
	for (size_t slot = 0; slot < counter_slots(counter); slot++) {
		if (counter->fds[slot] < 0)
			continue;
		*map64_insert(&sizes->ids, counter->ids[slot], NULL) = (uint64_t)number << 32 | slot % counter->thread_count;
		if (also)
			vec_push(&also->ids, counter->ids[slot]);
	}
}

static struct error *open_larger(struct stack_sizes *sizes, unsigned int size)
{
	struct event_list *list = &sizes->larger_events[size - 1];
	struct counter_set *counters = &sizes->larger[size - 1];

	for (size_t i = 0; i < sizes->sized_count; i++)
		copy_event(list, sizes->events->events.data[sizes->sized[i].event], sizes->bytes[size]);
	struct error *error = counter_set_open(counters, list, &sizes->counters->target);
	for (size_t i = 0; i < sizes->sized_count && !error; i++) {
		sizes->sized[i].by_size[size] = &counters->each[i];
		remember_ids(sizes, i, &counters->each[i], sizes->events->events.data[sizes->sized[i].event]);
	}
	return error;
}

static const uint32_t *series_of(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		for (size_t j = 0; j < sizeof(size_series) / sizeof(size_series[0]); j++)
			if (events->events.data[i]->stack_grows && events->events.data[i]->attr.sample_stack_user == size_series[j][0])
				return size_series[j];
	return size_series[0];
}

struct error *stack_sizes_open(struct event_list *events, const struct counter_set *counters, struct stack_sizes **ret)
{
	struct stack_sizes *sizes = mem_zalloc(sizeof(*sizes));
	struct error *error = NULL;

	*sizes = (struct stack_sizes){.bytes = series_of(events), .events = events, .counters = counters};
	pthread_mutex_init(&sizes->lock, NULL);
	sizes->totals.largest = sizes->bytes[0];
	sizes->tops = stack_tops_create("");
	sizes->in_use = mem_zalloc_array(counters->target.thread_count, sizeof(*sizes->in_use));
	sizes->layouts = mem_zalloc_array(events->events.len, sizeof(*sizes->layouts));
	sizes->sized = mem_zalloc_array(events->events.len, sizeof(*sizes->sized));
	error_free(sampling_parse_regs("sp", &sizes->stack_pointer_bit));
	for (unsigned int i = 0; i < events->events.len; i++) {
		sample_layout_init(&sizes->layouts[i], &events->events.data[i]->attr);
		if (!events->events.data[i]->stack_grows)
			continue;
		sizes->sized[sizes->sized_count] = (struct sized_event){.event = i, .by_size = {&counters->each[i]}};
		remember_ids(sizes, sizes->sized_count++, &counters->each[i], NULL);
	}
	limits_raise_files(SIZES * events->events.len * counters->target.cpu_count * counters->target.thread_count);
	for (unsigned int size = 1; size < SIZES && !error; size++)
		error = open_larger(sizes, size);
	if (error) {
		stack_sizes_close(sizes);
		return error_wrap(error, "counters of larger stack copies");
	}
	/* The file says how large they may be. */
	for (size_t i = 0; i < sizes->sized_count; i++)
		events->events.data[sizes->sized[i].event]->attr.sample_stack_user = SAMPLING_STACK_MAX;
	*ret = sizes;
	return NULL;
}

void stack_sizes_close(struct stack_sizes *sizes)
{
	if (!sizes)
		return;
	for (unsigned int i = 0; i < SIZES - 1; i++) {
		counter_set_close(&sizes->larger[i]);
		event_list_deinit(&sizes->larger_events[i]);
	}
	stack_tops_destroy(sizes->tops);
	pthread_mutex_destroy(&sizes->lock);
	map64_deinit(&sizes->ids);
	free(sizes->in_use);
	free(sizes->layouts);
	free(sizes->sized);
	free(sizes);
}

bool stack_sizes_counter(const struct stack_sizes *sizes, size_t index, const struct counter **ret_counter, unsigned int *ret_event)
{
	if (!sizes || index >= sizes->sized_count * (SIZES - 1))
		return false;
	const struct sized_event *sized = &sizes->sized[index / (SIZES - 1)];
	*ret_counter = sized->by_size[1 + index % (SIZES - 1)];
	*ret_event = sized->event;
	return true;
}

const struct stack_sizes_totals *stack_sizes_totals(const struct stack_sizes *sizes)
{
	return &sizes->totals;
}

/* One target thread's counters, on all CPUs. */
static void switch_thread(const struct counter *counter, size_t thread, bool on)
{
	for (size_t slot = thread; slot < counter_slots(counter); slot += counter->thread_count)
		if (counter->fds[slot] >= 0)
			ioctl(counter->fds[slot], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static struct sized_event *find_sized(struct stack_sizes *sizes, unsigned int event)
{
	for (size_t i = 0; i < sizes->sized_count; i++)
		if (sizes->sized[i].event == event)
			return &sizes->sized[i];
	return NULL;
}

void stack_sizes_switch(struct stack_sizes *sizes, const char *name, bool on)
{
	pthread_mutex_lock(&sizes->lock);
	for (unsigned int i = 0; i < sizes->events->events.len; i++) {
		const struct event *event = sizes->events->events.data[i];
		struct sized_event *sized = find_sized(sizes, i);
		if (*name ? strcmp(name, event->name) != 0 : event->leader != i)
			continue;
		if (!sized) {
			(on ? counter_enable : counter_disable)(&sizes->counters->each[i]);
			continue;
		}
		sized->off = !on;
		for (size_t thread = 0; thread < sizes->counters->target.thread_count; thread++)
			switch_thread(sized->by_size[sizes->in_use[thread]], thread, on);
	}
	pthread_mutex_unlock(&sizes->lock);
}

static void grow(struct stack_sizes *sizes, size_t thread, uint64_t needed)
{
	unsigned int before = sizes->in_use[thread], size = before;

	while (size + 1 < SIZES && sizes->bytes[size] < needed)
		size++;
	if (size == before)
		return;
	for (size_t i = 0; i < sizes->sized_count; i++) {
		const struct sized_event *sized = &sizes->sized[i];
		if (sized->off)
			continue;
		switch_thread(sized->by_size[before], thread, false);
		switch_thread(sized->by_size[size], thread, true);
	}
	sizes->in_use[thread] = size;
	if (sizes->bytes[size] > sizes->totals.largest)
		sizes->totals.largest = sizes->bytes[size];
}

/* ---- records ---- */

static bool stack_pointer_of(const struct stack_sizes *sizes, const struct sample *sample, uint64_t *ret)
{
	uint64_t mask = sample->regs_user.mask, bit = sizes->stack_pointer_bit;

	if (!sample->regs_user.values || !(mask & bit))
		return false;
	*ret = sample->regs_user.values[__builtin_popcountll(mask & (bit - 1))];
	return true;
}

/* Whether a program began there: argc, and what argv[0] points to lies above. Processes come and go, so /proc may tell of another one. */
static bool is_entry(const struct sample *sample, uint64_t offset, const struct stack_top *top)
{
	uint64_t words[2];

	if (sample->regs_user.abi != PERF_SAMPLE_REGS_ABI_64 || offset + sizeof(words) > sample->stack_valid)
		return false;
	memcpy(words, (const char *)sample->stack + offset, sizeof(words));
	return words[0] && words[0] <= 1 << 20 && words[1] > top->entry && words[1] < top->end;
}

/* How many bytes belong to the sample's stack; UINT64_MAX = unknown, more than were copied. */
static uint64_t needed_bytes(struct stack_sizes *sizes, const struct sample *sample)
{
	enum { BEYOND_ENTRY = 64 }; /* the rules of a program's first instructions may look at argc and argv */
	bool full = sample->stack_valid >= sample->stack_size;
	uint64_t unknown = full ? UINT64_MAX : sample->stack_valid, pointer;

	if (!stack_pointer_of(sizes, sample, &pointer))
		return unknown;
	struct stack_top top = stack_tops_find(sizes->tops, (pid_t)sample->pid, pointer, clock_now_ns(CLOCK_MONOTONIC_COARSE));
	if (!top.end)
		return unknown;
	uint64_t needed = top.end - pointer;
	if (top.entry && top.entry - pointer >= sample->stack_valid && full)
		needed = top.entry - pointer + BEYOND_ENTRY;
	else if (top.entry && is_entry(sample, top.entry - pointer, &top))
		needed = top.entry - pointer + BEYOND_ENTRY;
	return full || needed < sample->stack_valid ? needed : sample->stack_valid;
}

/* The record with fewer bytes of stack: what comes before, the new size, the bytes, how many of them are valid, what comes after. */
static void put_shorter(const struct sample *sample, uint64_t size, struct strbuf *out)
{
	const char *record = (const char *)sample->header, *copy = sample->stack;
	size_t before = (size_t)(copy - record) - sizeof(uint64_t), end = sample->header->size;
	const char *after = copy + sample->stack_size + sizeof(uint64_t);
	struct record_header header = *sample->header;
	uint64_t valid = sample->stack_valid < size ? sample->stack_valid : size;

	header.size = (uint16_t)(end - (sample->stack_size - size));
	strbuf_add(out, &header, sizeof(header));
	strbuf_add(out, record + sizeof(header), before - sizeof(header));
	strbuf_add(out, &size, sizeof(size));
	strbuf_add(out, copy, size);
	strbuf_add(out, &valid, sizeof(valid));
	strbuf_add(out, after, (size_t)(record + end - after));
}

/* False: the record is to be taken as it is. */
static bool take_sample(struct stack_sizes *sizes, const struct sample *sample, size_t thread, struct strbuf *out)
{
	pthread_mutex_lock(&sizes->lock);
	uint64_t needed = needed_bytes(sizes, sample);
	bool cut = needed > sample->stack_valid && sample->stack_valid >= sample->stack_size;
	if (cut)
		grow(sizes, thread, needed == UINT64_MAX ? sample->stack_size + 1 : needed);
	pthread_mutex_unlock(&sizes->lock);

	uint64_t size = needed < sample->stack_valid ? needed : sample->stack_valid;
	size = size < sizeof(uint64_t) ? sizeof(uint64_t) : (size + 7) & ~(uint64_t)7;
	bool shorter = size < sample->stack_size;
	sizes->totals.copies++;
	sizes->totals.cut += cut;
	sizes->totals.bytes += shorter ? size : sample->stack_size;
	if (shorter)
		put_shorter(sample, size, out);
	return shorter;
}

static void take_record(struct stack_sizes *sizes, const struct record_header *header, struct strbuf *out)
{
	const uint32_t *words = (const uint32_t *)(header + 1);
	struct sample sample;

	if (header->type == RECORD_COMM && header->misc & RECORD_MISC_COMM_EXEC && header->size >= sizeof(*header) + sizeof(*words)) {
		pthread_mutex_lock(&sizes->lock);
		stack_tops_forget(sizes->tops, (pid_t)words[0]);
		pthread_mutex_unlock(&sizes->lock);
	}
	if (header->type == RECORD_SAMPLE) {
		/* The id is at the same place for all events of a recording. */
		const struct sample_layout *layout = &sizes->layouts[sizes->sized[0].event];
		const struct event_attr *attr = &sizes->events->events.data[sizes->sized[0].event]->attr;
		const uint64_t *found = sample_decode_fixed(layout, attr, header, &sample) ? NULL : map64_find(&sizes->ids, sample.id);
		unsigned int event = found ? sizes->sized[*found >> 32].event : 0;
		if (found && !sample_decode(&sizes->layouts[event], &sizes->events->events.data[event]->attr, header, &sample) &&
		    sample.stack && sample.stack_size && take_sample(sizes, &sample, (uint32_t)*found, out))
			return;
	}
	strbuf_add(out, header, header->size);
}

void stack_sizes_take(struct stack_sizes *sizes, const struct iovec *pieces, int count, struct strbuf *out)
{
	struct ring_records records;
	const struct record_header *header;

	ring_records_init(&records, pieces, count);
	while ((header = ring_records_next(&records)))
		take_record(sizes, header, out);
}

void stack_sizes_note(struct stack_sizes *sizes, const struct sample *sample, bool cut)
{
	enum { FEW = 4, RARELY = 64 };
	const uint64_t *found = map64_find(&sizes->ids, sample->id);

	sizes->totals.copies++;
	if (!found || !cut || sample->stack_valid < sample->stack_size)
		return;
	pthread_mutex_lock(&sizes->lock);
	uint64_t cuts = ++sizes->totals.cut, needed = needed_bytes(sizes, sample);
	bool shared = sizes->counters->target.threads[0] < 0;
	if (!shared || (cuts >= FEW && cuts * RARELY > sizes->totals.copies))
		grow(sizes, (uint32_t)*found, needed == UINT64_MAX || needed <= sample->stack_size ? sample->stack_size + 1 : needed);
	pthread_mutex_unlock(&sizes->lock);
}
