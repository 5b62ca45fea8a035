/* Call chains and last branches of a trace in samples: in those that are made of it, and in those that were recorded beside it.
 *
 *	recorded sample:  ip tid time … period │ read │            raw │                weight …
 *	with both added:  ip tid time … period │ read │ chain │    raw │ branches │     weight …
 *
 * Not done here: how calls and branches are followed (flow.c, last_branches.c). */
#include "analysis/itrace/decoder.h"

#include <linux/perf_event.h>
#include <string.h>

/* A thread, or a CPU where nothing runs; 0 = unknown. */
static uint64_t key_of(struct itrace *itrace, uint32_t tid, uint32_t cpu)
{
	if (tid == 0)
		return (uint64_t)cpu + 1;
	return tid == (uint32_t)-1 ? 0 : (uintptr_t)machine_thread(itrace->session->machine, tid, itrace->model_time);
}

static uint64_t key_of_queue(const struct trace_queue *queue)
{
	return key_of(queue->itrace, trace_runner_of(queue).tid, queue->cpu);
}

static bool follows_calls(const struct itrace_options *options)
{
	return options->flow || options->chain || options->added_chain;
}

/* As large as those who ask for most of it want it; recorded samples pass over what came after them. */
static uint32_t ring_size(const struct itrace_options *options)
{
	enum { PASSED_OVER = 256 };
	const uint32_t added = options->added_branches ? options->added_branches + PASSED_OVER : 0;
	return options->last_branches > added ? options->last_branches : added;
}

void trace_take_branch(const struct trace_queue *queue, uint32_t flags, uint64_t from, uint64_t to, uint64_t back)
{
	enum { IN_TRANSACTION = 1 << 2, ABORT = 1 << 3 }; /* linux/perf_event.h, struct perf_branch_entry */
	struct itrace *itrace = queue->itrace;
	const struct branch_entry branch = {
		.from = from,
		.to = to,
		.flags = (flags & TRACED_TRANSACTION ? IN_TRANSACTION : 0u) | (flags & TRACED_ABORT ? ABORT : 0u),
	};
	const bool calls = follows_calls(&itrace->options);
	const uint32_t room = ring_size(&itrace->options);
	const uint64_t key = calls || room ? key_of_queue(queue) : 0;
	if (key && calls) {
		flow_begin_trace(&itrace->flow, key, queue->trace);
		flow_take_branch(&itrace->flow, key, flags, from, to, back);
	}
	if (key && room)
		last_branches_take(&itrace->last, key, room, queue->trace, &branch);
}

struct sample_flow trace_flow(const struct trace_queue *queue, uint32_t flags)
{
	const bool wanted = queue->itrace->options.flow;
	return (struct sample_flow){flags, wanted ? flow_depth(&queue->itrace->flow, key_of_queue(queue)) : 0};
}

uint64_t trace_extra_parts(const struct itrace *itrace)
{
	return (itrace->options.chain ? PERF_SAMPLE_CALLCHAIN : 0) | (itrace->options.last_branches ? PERF_SAMPLE_BRANCH_STACK : 0);
}

/* ── Chains ── */

static uint64_t marker_of(const struct itrace *itrace, uint64_t ip)
{
	return trace_is_kernel(itrace, ip) ? (uint64_t)PERF_CONTEXT_KERNEL : (uint64_t)PERF_CONTEXT_USER;
}

/* A word for how many, and `ip` and its callers, with markers; the first marker doesn't count. `depth`: how many innermost callers are left
 * out. */
static void add_chain(const struct itrace *itrace, const struct flow_stack *stack, uint64_t ip, uint32_t depth, uint32_t room,
		      struct strbuf *out)
{
	uint64_t words[2] = {marker_of(itrace, ip), ip}, count = 2, back;
	const size_t begin = out->len;
	strbuf_add(out, &count, sizeof(count));
	strbuf_add(out, words, sizeof(words));
	for (; count <= room && flow_caller(stack, depth, &back); depth++) {
		const uint64_t marker = marker_of(itrace, back), before = words[0];
		if (marker != before && count == room)
			break;
		words[0] = marker;
		words[1] = back;
		strbuf_add(out, marker != before ? words : words + 1, marker != before ? sizeof(words) : sizeof(words[1]));
		count += marker != before ? 2 : 1;
	}
	memcpy(out->data + begin, &count, sizeof(count));
}

void trace_add_chain(const struct trace_queue *queue, uint64_t ip, struct strbuf *out)
{
	struct itrace *itrace = queue->itrace;
	const uint64_t key = key_of_queue(queue);
	if (key)
		flow_begin_trace(&itrace->flow, key, queue->trace);
	add_chain(itrace, key ? flow_stack_of(&itrace->flow, key) : NULL, ip, 0, itrace->options.chain, out);
}

void trace_add_branches(const struct trace_queue *queue, struct strbuf *out)
{
	struct itrace *itrace = queue->itrace;
	const uint64_t key = key_of_queue(queue);
	last_branches_begin_trace(&itrace->last, key, queue->trace);
	last_branches_add(last_branches_of(&itrace->last, key), 0, itrace->options.last_branches, out);
}

/* ── Recorded samples ── */

/* Of an event that is none of the trace: what its samples don't have yet. */
static uint64_t added_parts(const struct itrace *itrace, const struct event *recorded)
{
	const struct itrace_options *options = &itrace->options;
	const uint64_t wanted =
		(options->added_chain ? PERF_SAMPLE_CALLCHAIN : 0) | (options->added_branches ? PERF_SAMPLE_BRANCH_STACK : 0);
	return recorded == itrace->source || !itrace->adds_parts ? 0 : wanted & ~recorded->attr.sample_type;
}

void trace_add_parts(struct itrace *itrace)
{
	const struct event_list *recorded = &itrace->session->reader->events;
	itrace->adds_parts = true;
	for (size_t i = 0; i < recorded->events.len; i++) {
		const uint64_t parts = added_parts(itrace, recorded->events.data[i]);
		struct event_attr *attr = &itrace->events.events.data[i]->attr;
		attr->sample_type |= parts;
		if (parts & PERF_SAMPLE_BRANCH_STACK)
			attr->branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	}
}

/* The interrupt with which the sample was taken is the innermost call where the kernel is traced, too, and what the kernel did until it was
 * written comes before it: neither belongs to the chain. */
static uint32_t find_depth(const struct itrace *itrace, const struct flow_stack *stack, uint64_t ip)
{
	enum { SEARCH_MAX = 1 << 12 }; /* no kernel calls as deep, but a trace may say so, and each sample would look at all of it */
	uint64_t back;
	uint32_t depth = 0;
	for (; depth < SEARCH_MAX && flow_caller(stack, depth, &back); depth++)
		if (back == ip)
			return depth + 1;
		else if (!trace_is_kernel(itrace, back))
			return depth;
	return trace_is_kernel(itrace, ip) ? 0 : depth;
}

/* The same of branches: the interrupt, or the end of tracing, at the sample's address, and what the kernel did after it. */
static uint32_t find_place(const struct itrace *itrace, const struct branch_ring *ring, uint64_t ip)
{
	const struct branch_entry *branch;
	uint32_t place = 0;
	while (!trace_is_kernel(itrace, ip) && (branch = last_branches_at(ring, place)) && trace_is_kernel(itrace, branch->from))
		place++;
	branch = last_branches_at(ring, place);
	return branch && branch->from == ip && (!branch->to || trace_is_kernel(itrace, branch->to)) ? place + 1 : place;
}

/* Raw data ends with a word. */
static const uint8_t *behind_raw(const struct event *recorded, const uint64_t *at)
{
	uint32_t size = 0;
	if (!(recorded->attr.sample_type & PERF_SAMPLE_RAW))
		return (const uint8_t *)at;
	memcpy(&size, at, sizeof(size));
	return (const uint8_t *)(at + ((uint64_t)size + sizeof(size) + 7) / 8);
}

/* The parts that the event gets; `empty`: they are there and have nothing in them. */
static void add_parts(struct itrace *itrace, uint64_t parts, bool empty, const struct record *record, const struct sample *sample,
		      const struct sample_parts *places)
{
	const struct itrace_options *options = &itrace->options;
	const uint64_t key = empty ? 0 : key_of(itrace, sample->tid, sample->cpu), none = 0;
	const struct branch_ring *ring = last_branches_of(&itrace->last, key);
	const struct flow_stack *stack = key ? flow_stack_of(&itrace->flow, key) : NULL;
	const uint8_t *first = (const uint8_t *)record->header, *end = first + record->header->size;
	const uint8_t *chain = (const uint8_t *)places->chain_end, *branches = behind_raw(record->event, places->chain_end);
	strbuf_add(&itrace->out, first, (size_t)(chain - first));
	if (parts & PERF_SAMPLE_CALLCHAIN && empty)
		strbuf_add(&itrace->out, &none, sizeof(none));
	else if (parts & PERF_SAMPLE_CALLCHAIN)
		add_chain(itrace, stack, sample->ip, find_depth(itrace, stack, sample->ip), options->added_chain, &itrace->out);
	strbuf_add(&itrace->out, chain, (size_t)(branches - chain));
	if (parts & PERF_SAMPLE_BRANCH_STACK)
		last_branches_add(ring, find_place(itrace, ring, sample->ip), options->added_branches, &itrace->out);
	strbuf_add(&itrace->out, branches, (size_t)(end - branches));
}

void trace_put_recorded(struct itrace *itrace, const struct record *record)
{
	const struct record_header *header = record->header;
	const uint64_t parts = record->event ? added_parts(itrace, record->event) : 0;
	const struct sample_layout *layout = parts ? &itrace->session->reader->layouts[record->event->index] : NULL;
	const size_t begin = itrace->out.len;
	struct sample sample;
	struct sample_parts places;
	if (!layout || sample_decode(layout, &record->event->attr, header, &sample) || sample_find_parts(layout, header, &places)) {
		strbuf_add(&itrace->out, header, header->size);
		return;
	}
	add_parts(itrace, parts, false, record, &sample, &places);
	if (itrace->out.len - begin > UINT16_MAX) {
		itrace->out.len = begin;
		add_parts(itrace, parts, true, record, &sample, &places);
	}
	const uint16_t size = (uint16_t)(itrace->out.len - begin);
	if (itrace->out.len - begin > UINT16_MAX) {
		itrace->out.len = begin;
		reader_diagnostics_note(&itrace->session->reader->diagnostics, record->offset, "there is no room for what is added");
		return;
	}
	memcpy(itrace->out.data + begin + offsetof(struct record_header, size), &size, sizeof(size));
}
