/* Which size a thread needs is found out from where its stack ends (kernel/stack_tops.h). A copy that the kernel ended early reached the
 * end of memory: it is whole. A full one may go on; then the size is chosen that reaches the end, or the next one where the end isn't
 * known. Copies that get into a file only grow: a thread that was deep once will be again, and what is too much is cut off.
 *
 * Copies that are unwound at once begin with what nearly all stacks fit into, since what is cut is lost, and shrink where much less has
 * been enough for a while: the kernel copies whatever is readable, up to the size, on its way out of each interrupt. A cut makes them grow
 * to the first size again at least, and the next while is eight times as long. */
#include "capture/stack_sizes.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "capture/ring_records.h"
#include "capture/sampling.h"
#include "kernel/limits.h"
#include "kernel/stack_tops.h"
#include "perfdata/layout.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MOST_SIZES = 5 };
struct size_series {
	unsigned int count;
	uint32_t bytes[MOST_SIZES];
};
/* An event's attribute says with which one of them its copies begin. */
static const struct size_series sizes_in_files = {4, {SAMPLING_STACK_FIRST, 16384, 32768, SAMPLING_STACK_MAX}};
static const struct size_series sizes_unwound = {5, {4096, SAMPLING_STACK_DEFAULT, 16384, SAMPLING_STACK_UNWOUND, SAMPLING_STACK_MAX}};
/* For so long, and of so many samples, a smaller size must have been enough before it is used. */
enum { SHRINK_NS = 1000000000, SHRINK_SAMPLES = 1000, LONGER = 8 };

/* An event whose copies are sized. */
struct sized_event {
	unsigned int event; /* its index */
	const struct counter *by_size[MOST_SIZES];
	bool off; /* switched off by a command */
};

/* What a thread of the target, with all that it starts, has needed since its copies were last resized, or the last look at it. */
struct need {
	unsigned int in_use; /* number of the size */
	uint32_t samples;
	uint64_t deepest; /* bytes */
	uint64_t since;	  /* time of the first sample */
	uint64_t wait_ns; /* before the next smaller size */
};

struct stack_sizes {
	const struct size_series *series;
	const struct event_list *events;
	const struct counter_set *counters;
	struct sized_event *sized;
	size_t sized_count;
	unsigned int first; /* the number of the size that copies begin with */
	struct event_list other_events[MOST_SIZES];
	struct counter_set others[MOST_SIZES]; /* none for `first` */
	struct need *needs;		       /* by thread of the target */
	struct sample_layout *layouts;	       /* by event */
	struct map64 ids;		       /* of sized counters: number of the sized event << 32 | thread of the target */
	uint64_t stack_pointer_bit;
	struct stack_tops *tops;
	int timer;
	uint64_t every_ns;    /* it wakes up */
	pthread_mutex_t lock; /* over what changes: tops, needs, off */
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

static struct error *open_other(struct stack_sizes *sizes, unsigned int size)
{
	struct event_list *list = &sizes->other_events[size];
	struct counter_set *counters = &sizes->others[size];

	for (size_t i = 0; i < sizes->sized_count; i++)
		copy_event(list, sizes->events->events.data[sizes->sized[i].event], sizes->series->bytes[size]);
	struct error *error = counter_set_open(counters, list, &sizes->counters->target);
	for (size_t i = 0; i < sizes->sized_count && !error; i++) {
		sizes->sized[i].by_size[size] = &counters->each[i];
		remember_ids(sizes, i, &counters->each[i], sizes->events->events.data[sizes->sized[i].event]);
	}
	return error;
}

/* Which sizes there are, and the first one's number. */
static void choose_series(struct stack_sizes *sizes)
{
	for (size_t i = 0; i < sizes->events->events.len; i++) {
		const struct event *event = sizes->events->events.data[i];
		if (!event->stack_grows)
			continue;
		sizes->series = event->stack_unwound ? &sizes_unwound : &sizes_in_files;
		while (sizes->first + 1 < sizes->series->count && sizes->series->bytes[sizes->first] < event->attr.sample_stack_user)
			sizes->first++;
		return;
	}
}

struct error *stack_sizes_open(struct event_list *events, const struct counter_set *counters, struct stack_sizes **ret)
{
	struct stack_sizes *sizes = mem_zalloc(sizeof(*sizes));
	struct error *error = NULL;

	*sizes = (struct stack_sizes){.series = &sizes_in_files, .events = events, .counters = counters, .timer = -1};
	choose_series(sizes);
	pthread_mutex_init(&sizes->lock, NULL);
	sizes->totals.largest = sizes->series->bytes[sizes->first];
	sizes->tops = stack_tops_create("");
	sizes->needs = mem_zalloc_array(counters->target.thread_count, sizeof(*sizes->needs));
	for (size_t i = 0; i < counters->target.thread_count; i++)
		sizes->needs[i] = (struct need){.in_use = sizes->first, .wait_ns = SHRINK_NS};
	sizes->layouts = mem_zalloc_array(events->events.len, sizeof(*sizes->layouts));
	sizes->sized = mem_zalloc_array(events->events.len, sizeof(*sizes->sized));
	error_free(sampling_parse_regs("sp", &sizes->stack_pointer_bit));
	for (unsigned int i = 0; i < events->events.len; i++) {
		sample_layout_init(&sizes->layouts[i], &events->events.data[i]->attr);
		if (!events->events.data[i]->stack_grows)
			continue;
		sizes->sized[sizes->sized_count] = (struct sized_event){.event = i};
		sizes->sized[sizes->sized_count].by_size[sizes->first] = &counters->each[i];
		remember_ids(sizes, sizes->sized_count++, &counters->each[i], NULL);
	}
	limits_raise_files(sizes->series->count * events->events.len * counters->target.cpu_count * counters->target.thread_count);
	for (unsigned int size = 0; size < sizes->series->count && !error; size++)
		if (size != sizes->first)
			error = open_other(sizes, size);
	if (error) {
		stack_sizes_close(sizes);
		return error_wrap(error, "counters of stack copies of other sizes");
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
	for (unsigned int i = 0; i < MOST_SIZES; i++) {
		counter_set_close(&sizes->others[i]);
		event_list_deinit(&sizes->other_events[i]);
	}
	stack_tops_destroy(sizes->tops);
	if (sizes->timer >= 0)
		close(sizes->timer);
	pthread_mutex_destroy(&sizes->lock);
	map64_deinit(&sizes->ids);
	free(sizes->needs);
	free(sizes->layouts);
	free(sizes->sized);
	free(sizes);
}

bool stack_sizes_counter(const struct stack_sizes *sizes, size_t index, const struct counter **ret_counter, unsigned int *ret_event)
{
	size_t others = sizes ? sizes->series->count - 1 : 0;

	if (!sizes || index >= sizes->sized_count * others)
		return false;
	const struct sized_event *sized = &sizes->sized[index / others];
	size_t number = index % others;
	*ret_counter = sized->by_size[number + (number >= sizes->first)];
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
			switch_thread(sized->by_size[sizes->needs[thread].in_use], thread, on);
	}
	pthread_mutex_unlock(&sizes->lock);
}

static void resize(struct stack_sizes *sizes, size_t thread, unsigned int size)
{
	struct need *need = &sizes->needs[thread];
	unsigned int before = need->in_use;

	if (size == before)
		return;
	for (size_t i = 0; i < sizes->sized_count; i++) {
		const struct sized_event *sized = &sizes->sized[i];
		if (sized->off)
			continue;
		switch_thread(sized->by_size[before], thread, false);
		switch_thread(sized->by_size[size], thread, true);
	}
	*need = (struct need){.in_use = size, .wait_ns = need->wait_ns};
	log_debug("stacks: copies of %u bytes, which were of %u (target thread %zu)", sizes->series->bytes[size],
		  sizes->series->bytes[before], thread);
	if (sizes->series->bytes[size] > sizes->totals.largest)
		sizes->totals.largest = sizes->series->bytes[size];
}

static void grow(struct stack_sizes *sizes, size_t thread, uint64_t needed)
{
	unsigned int size = sizes->needs[thread].in_use;

	if (size < sizes->first) {
		sizes->needs[thread].wait_ns *= LONGER;
		size = sizes->first;
	}
	while (size + 1 < sizes->series->count && sizes->series->bytes[size] < needed)
		size++;
	resize(sizes, thread, size);
}

/* Stacks vary: a size is enough for what takes up to three quarters of it; of programs with large frames up to a half. */
static bool is_enough(const struct stack_sizes *sizes, unsigned int size, uint64_t depth)
{
	uint32_t bytes = sizes->series->bytes[size];

	return depth <= (bytes < SAMPLING_STACK_UNWOUND ? bytes / 4 * 3 : bytes / 2);
}

/* A stack of so many bytes was whole. */
static void note_depth(struct stack_sizes *sizes, size_t thread, const struct sample *sample, uint64_t depth)
{
	struct need *need = &sizes->needs[thread];
	unsigned int size = 0;
	bool shared = sizes->counters->target.threads[0] < 0;

	if (!need->samples++)
		need->since = sample->time;
	if (depth > need->deepest)
		need->deepest = depth;
	/* It may be about to go deeper. */
	if (!shared && need->in_use + 1 < sizes->series->count && !is_enough(sizes, need->in_use, depth))
		resize(sizes, thread, need->in_use + 1);
	if (need->samples < SHRINK_SAMPLES || sample->time < need->since || sample->time - need->since < need->wait_ns)
		return;
	while (size < need->in_use && !is_enough(sizes, size, need->deepest))
		size++;
	need->samples = 0;
	need->deepest = 0;
	resize(sizes, thread, size);
}

void stack_sizes_await(struct stack_sizes *sizes, struct poller *poller, uint64_t tag)
{
	enum { FIRST_NS = 4000000, LAST_NS = 16000000 };
	uint64_t ticks;

	if (sizes->every_ns == LAST_NS) {
		while (read(sizes->timer, &ticks, sizeof(ticks)) < 0 && errno == EINTR)
			;
		return;
	}
	if (sizes->timer >= 0)
		close(sizes->timer);
	sizes->every_ns = sizes->every_ns ? 2 * sizes->every_ns : FIRST_NS;
	sizes->timer = poller_timer(poller, sizes->every_ns, sizes->every_ns, tag);
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

void stack_sizes_note(struct stack_sizes *sizes, const struct sample *sample, bool cut, uint64_t depth)
{
	enum { FEW = 4, RARELY = 64 };
	const uint64_t *found = map64_find(&sizes->ids, sample->id);

	sizes->totals.copies++;
	if (!found)
		return;
	bool shared = sizes->counters->target.threads[0] < 0;
	bool full = sample->stack_valid >= sample->stack_size;
	pthread_mutex_lock(&sizes->lock);
	if (!cut) {
		note_depth(sizes, (uint32_t)*found, sample, depth);
	} else if (full) {
		uint64_t cuts = ++sizes->totals.cut, needed = needed_bytes(sizes, sample);
		bool shrunk = sizes->needs[(uint32_t)*found].in_use < sizes->first;
		if (!shared || shrunk || (cuts >= FEW && cuts * RARELY > sizes->totals.copies))
			grow(sizes, (uint32_t)*found,
			     needed == UINT64_MAX || needed <= sample->stack_size ? sample->stack_size + 1 : needed);
	}
	pthread_mutex_unlock(&sizes->lock);
}
