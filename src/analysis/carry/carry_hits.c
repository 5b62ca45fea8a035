/* Which addresses of which files samples tell of: a set for each file and worker. Call chains that came before are passed over. */
#include "analysis/carry/carry_internal.h"

#include "analysis/stack.h"
#include "base/mem.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 1 << 16 };

struct worker {
	struct carry_hits hits;
	struct map64 chains; /* keys of those that were noted */
	struct stack stack;
};

struct gathering {
	struct session *session;
	struct resolver *resolver;
};

void carry_hits_deinit(struct carry_hits *hits)
{
	for (size_t i = 0; i < hits->count; i++)
		map64_deinit(&hits->by_dso[i]);
	free(hits->by_dso);
	*hits = (struct carry_hits){0};
}

static void note(struct carry_hits *hits, struct resolver *resolver, const struct maps *maps, uint8_t cpumode, uint64_t address,
		 uint64_t time, unsigned int kinds)
{
	struct frame frame = {.map = maps ? maps_find(maps, address, time) : NULL};
	if (frame.map)
		frame.dso_addr = map_to_dso(frame.map, address);
	else if (maps == resolver_machine(resolver)->kernel_maps)
		resolver_frame(resolver, maps, cpumode, address, time, &frame);
	if (!frame.map || frame.map->dso->index >= hits->count)
		return;
	uint64_t *slot = map64_insert(&hits->by_dso[frame.map->dso->index], frame.dso_addr, NULL);
	*slot |= kinds;
	if (kinds & CARRY_SAMPLED)
		*slot += 1u << CARRY_COUNT_SHIFT;
}

/* An address of either space. */
static void note_any(struct worker *worker, const struct gathering *gathering, const struct thread *thread, uint64_t address, uint64_t time,
		     unsigned int kinds)
{
	const struct machine *machine = gathering->session->machine;
	uint8_t mode = machine_is_kernel_address(machine, address) ? CPUMODE_KERNEL : CPUMODE_USER;
	note(&worker->hits, gathering->resolver, machine_maps(machine, thread, mode), mode, address, time, kinds);
}

static void note_chain(struct worker *worker, const struct gathering *gathering, const struct thread *thread, const struct event *event,
		       const struct sample *sample, uint64_t time)
{
	static const struct stack_options options = {.max_depth = DEEPEST};
	const struct machine *machine = gathering->session->machine;
	uint64_t key = stack_chain_key(thread, event, sample, time);
	bool fresh = true;
	if (key)
		map64_insert(&worker->chains, key, &fresh);
	if (!fresh)
		return;
	stack_addresses(gathering->resolver, machine, thread, event, sample, time, &options, &worker->stack);
	for (size_t i = 0; i < worker->stack.frames.len; i++) {
		const struct frame *frame = &worker->stack.frames.data[i];
		note(&worker->hits, gathering->resolver, machine_maps(machine, thread, frame->cpumode), frame->cpumode, frame->ip, time,
		     CARRY_FRAME | (i ? CARRY_CALLER : 0u));
	}
}

/* What a tracepoint tells may be addresses of the kernel's functions. */
static void note_fields(struct worker *worker, const struct gathering *gathering, const struct thread *thread, const struct sample *sample)
{
	const struct machine *machine = gathering->session->machine;
	const uint8_t *raw = sample->raw;
	for (uint32_t at = 0; raw && at + sizeof(uint64_t) <= sample->raw_size; at += sizeof(uint64_t)) {
		uint64_t word;
		memcpy(&word, raw + at, sizeof(word));
		if (machine_is_kernel_address(machine, word))
			note_any(worker, gathering, thread, word, UINT64_MAX, CARRY_NAME);
	}
}

static void worker_init(void *state, void *context)
{
	const struct gathering *gathering = context;
	struct worker *worker = state;
	worker->hits.count = gathering->session->machine->dsos.len;
	worker->hits.by_dso = mem_zalloc_array(worker->hits.count + 1, sizeof(*worker->hits.by_dso));
}

static void worker_sample(void *state, void *context, const struct event *event, const struct sample *sample, uint64_t time)
{
	const struct gathering *gathering = context;
	struct worker *worker = state;
	const struct machine *machine = gathering->session->machine;
	const struct thread *thread = session_sample_thread(gathering->session->machine, sample, time);
	note(&worker->hits, gathering->resolver, machine_maps(machine, thread, sample->cpumode), sample->cpumode, sample->ip, time,
	     CARRY_FRAME | CARRY_SAMPLED);
	if (event->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
		note_chain(worker, gathering, thread, event, sample, time);
	for (uint64_t i = 0; i < sample->branch_count; i++) {
		note_any(worker, gathering, thread, sample->branches[i].from, time, CARRY_FRAME | CARRY_SAMPLED);
		note_any(worker, gathering, thread, sample->branches[i].to, time, CARRY_FRAME | CARRY_SAMPLED);
	}
	if (event->attr.sample_type & PERF_SAMPLE_ADDR)
		note_any(worker, gathering, thread, sample->addr, time, CARRY_FRAME);
	if (event->attr.type == PERF_TYPE_TRACEPOINT)
		note_fields(worker, gathering, thread, sample);
}

static void worker_merge(void *into, void *from, void *context)
{
	struct worker *a = into, *b = from;
	for (size_t i = 0; i < a->hits.count && i < b->hits.count; i++)
		map64_each (slot, &b->hits.by_dso[i]) {
			uint64_t *sum = map64_insert(&a->hits.by_dso[i], slot->key, NULL);
			*sum = (*sum & ~(uint64_t)CARRY_KINDS) + (slot->value & ~(uint64_t)CARRY_KINDS) +
			       ((*sum | slot->value) & CARRY_KINDS);
		}
}

static void worker_deinit(void *state, void *context)
{
	struct worker *worker = state;
	carry_hits_deinit(&worker->hits);
	map64_deinit(&worker->chains);
	stack_deinit(&worker->stack);
}

struct error *carry_hits_find(struct session *session, struct resolver *resolver, struct carry_hits *ret)
{
	static const struct reducer reducer = {
		.state_size = sizeof(struct worker),
		.init = worker_init,
		.sample = worker_sample,
		.merge = worker_merge,
		.deinit = worker_deinit,
	};
	struct gathering gathering = {session, resolver};
	struct worker *worker;
	struct error *error = session_reduce(session, &reducer, &gathering, (void **)&worker);
	if (error)
		return error;
	*ret = worker->hits;
	worker->hits = (struct carry_hits){0};
	worker_deinit(worker, NULL);
	free(worker);
	return NULL;
}
