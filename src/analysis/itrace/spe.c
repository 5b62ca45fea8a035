/* Arm SPE: each sampled operation is a record of packets, which a time stamp ends, or an end. What it tells becomes a sample for each thing
 * that happened: misses and accesses of caches and of the TLB, mispredicted branches, memory accesses with their data source.
 *
 * Not done here: packets (spe_packet.c), the order of several CPUs' records (itrace.c). */
#include "analysis/itrace/decoder.h"
#include "analysis/itrace/spe_packet.h"
#include "base/mem.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* The words of AUXTRACE_INFO (tools/perf/util/arm-spe.h). */
enum { INFO_PMU_TYPE, INFO_WORDS = 2 };
enum spe_source { SOURCE_OF_EVENTS, SOURCE_NEOVERSE };

struct spe {
	const struct event *l1d_miss, *l1d_access, *llc_miss, *llc_access, *tlb_miss, *tlb_access, *branch_miss, *remote_access, *memory,
		*instructions;
	uint64_t period;
	enum spe_source sources; /* what the processor's numbers of data sources mean */
};

/* One sampled operation. */
struct operation {
	uint64_t pc, target, data, physical, latency, events, source, ticks;
	uint64_t context; /* UINT64_MAX = none told */
	bool loads, stores;
};

struct spe_queue {
	size_t piece, offset; /* what is read next */
	struct operation found;
	bool has_found;
	uint64_t counted; /* operations since the last sample of instructions */
};

/* ── What there is ── */

/* Cores whose numbers of data sources are those of Neoverse N1 (their technical reference manuals), by their MIDR. */
static enum spe_source sources_of(const char *cpuid)
{
	enum { ARM = 0x41, NEOVERSE_N1 = 0xd0c, NEOVERSE_V1 = 0xd40, NEOVERSE_N2 = 0xd49 };
	uint64_t midr = cpuid ? strtoull(cpuid, NULL, 16) : 0;
	unsigned int part = midr >> 4 & 0xfff;
	bool is_known = part == NEOVERSE_N1 || part == NEOVERSE_V1 || part == NEOVERSE_N2;
	return (midr >> 24 & 0xff) == ARM && is_known ? SOURCE_NEOVERSE : SOURCE_OF_EVENTS;
}

static const struct event *add_event(struct itrace *itrace, bool wanted, const char *name)
{
	const uint64_t parts = PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_PHYS_ADDR;
	return wanted ? trace_event_add(itrace, name, PERF_TYPE_HARDWARE, 0, parts, 0) : NULL;
}

static void add_instructions(struct itrace *itrace, struct spe *spe)
{
	const uint64_t parts = PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_PHYS_ADDR;
	const struct itrace_options *options = &itrace->options;
	/* Operations are sampled by a counter, not by time: other periods than a number of them have no meaning. */
	if (!options->instructions || options->unit != ITRACE_INSTRUCTIONS)
		return;
	spe->period = options->period ? options->period : 1;
	spe->instructions = trace_event_add(itrace, "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, parts, spe->period);
}

static struct error *begin(struct itrace *itrace, const struct record_auxtrace_info *info)
{
	const struct itrace_options *options = &itrace->options;
	if (info->header.size < sizeof(*info) + INFO_WORDS * sizeof(uint64_t))
		return error_new_kind(ERROR_FORMAT, "its description is cut short");
	itrace->timeless = !itrace->clock.multiplier || itrace->options.timeless || !itrace->session->reader->has_times;
	struct error *error = trace_find_source(itrace, info->words[INFO_PMU_TYPE]);
	if (error)
		return error;
	struct spe *spe = itrace->state = mem_zalloc(sizeof(*spe));
	spe->sources = sources_of(itrace->session->reader->features.cpuid);
	spe->l1d_miss = add_event(itrace, options->first_level, "l1d-miss");
	spe->l1d_access = add_event(itrace, options->first_level, "l1d-access");
	spe->llc_miss = add_event(itrace, options->last_level, "llc-miss");
	spe->llc_access = add_event(itrace, options->last_level, "llc-access");
	spe->tlb_miss = add_event(itrace, options->tlb, "tlb-miss");
	spe->tlb_access = add_event(itrace, options->tlb, "tlb-access");
	spe->branch_miss = add_event(itrace, options->branches, "branch-miss");
	spe->remote_access = add_event(itrace, options->remote, "remote-access");
	spe->memory = add_event(itrace, options->memory, "memory");
	add_instructions(itrace, spe);
	return NULL;
}

static void end(struct itrace *itrace)
{
	free(itrace->state);
}

/* ── Where data came from ── */

#define SOURCE(what, value) ((uint64_t)PERF_MEM_##what##_##value << PERF_MEM_##what##_SHIFT)
#define LEVEL(value) SOURCE(LVL, value)
#define NUMBER(value) SOURCE(LVLNUM, value)

static uint64_t neoverse_source(const struct operation *operation)
{
	enum { L1D, L2 = 8, PEER_CORE, LOCAL_CLUSTER, SYSTEM_CACHE, PEER_CLUSTER, REMOTE, DRAM };
	const uint64_t peer = SOURCE(SNOOPX, PEER), hit = LEVEL(HIT);
	if (operation->stores)
		return LEVEL(NA) | NUMBER(NA) | SOURCE(SNOOP, NA);
	switch (operation->source) {
	case L1D:
		return LEVEL(L1) | hit | NUMBER(L1) | SOURCE(SNOOP, NONE);
	case L2:
		return LEVEL(L2) | hit | NUMBER(L2) | SOURCE(SNOOP, NONE);
	case PEER_CORE:
		return LEVEL(L2) | hit | NUMBER(L2) | peer;
	case LOCAL_CLUSTER:
	case PEER_CLUSTER:
		return LEVEL(L3) | hit | NUMBER(L3) | peer;
	case SYSTEM_CACHE:
		return LEVEL(L3) | hit | NUMBER(L3) | SOURCE(SNOOP, HIT);
	case REMOTE:
		return LEVEL(NA) | NUMBER(NA) | SOURCE(REMOTE, REMOTE) | peer;
	case DRAM:
		return LEVEL(LOC_RAM) | hit | NUMBER(RAM) | SOURCE(SNOOP, NONE);
	}
	return 0;
}

/* All that processors have in common are the bits of events. */
static uint64_t level_of_events(uint64_t events)
{
	uint64_t source = 0;
	if (events & (SPE_EVENT_LLC_ACCESS | SPE_EVENT_LLC_MISS))
		source = LEVEL(L3) | (events & SPE_EVENT_LLC_MISS ? LEVEL(MISS) : LEVEL(HIT));
	else if (events & (SPE_EVENT_L1D_ACCESS | SPE_EVENT_L1D_REFILL))
		source = LEVEL(L1) | (events & SPE_EVENT_L1D_REFILL ? LEVEL(MISS) : LEVEL(HIT));
	return events & SPE_EVENT_REMOTE ? source | SOURCE(REMOTE, REMOTE) : source;
}

/* 0 for what is no access to memory. */
static uint64_t source_of(const struct spe *spe, const struct operation *operation)
{
	const uint64_t walked = operation->events & (SPE_EVENT_TLB_ACCESS | SPE_EVENT_TLB_WALK);
	if (!operation->loads && !operation->stores)
		return 0;
	uint64_t source = operation->stores ? SOURCE(OP, STORE) : SOURCE(OP, LOAD);
	source |= spe->sources == SOURCE_NEOVERSE ? neoverse_source(operation) : level_of_events(operation->events);
	if (walked)
		source |= SOURCE(TLB, WK) | (walked & SPE_EVENT_TLB_WALK ? SOURCE(TLB, MISS) : SOURCE(TLB, HIT));
	return source;
}

/* ── Samples ── */

static void put_operation(struct trace_queue *queue, struct spe_queue *state)
{
	struct itrace *itrace = queue->itrace;
	const struct spe *spe = itrace->state;
	const struct operation *operation = &state->found;
	const uint64_t events = operation->events;
	struct trace_runner runner = trace_runner_of(queue);
	if (operation->context != UINT64_MAX) {
		runner.tid = (uint32_t)operation->context;
		runner.pid = trace_process_of(itrace, runner.tid);
	}
	struct trace_sample sample = {
		.ip = operation->pc,
		.addr = operation->data,
		.time = trace_time(itrace, operation->ticks),
		.period = 1,
		.weight = operation->latency,
		.data_src = source_of(spe, operation),
		.phys_addr = operation->physical,
		.pid = runner.pid,
		.tid = runner.tid,
		.cpu = queue->cpu,
	};
	const struct {
		uint64_t event;
		const struct event *made;
	} MADE[] = {
		{SPE_EVENT_L1D_REFILL, spe->l1d_miss},	 {SPE_EVENT_L1D_ACCESS, spe->l1d_access}, {SPE_EVENT_LLC_MISS, spe->llc_miss},
		{SPE_EVENT_LLC_ACCESS, spe->llc_access}, {SPE_EVENT_TLB_WALK, spe->tlb_miss},	  {SPE_EVENT_TLB_ACCESS, spe->tlb_access},
	};
	for (size_t i = 0; i < sizeof(MADE) / sizeof(MADE[0]); i++)
		if (events & MADE[i].event)
			trace_put(itrace, MADE[i].made, &sample);
	struct trace_sample branch = sample;
	branch.addr = operation->target;
	branch.phys_addr = branch.data_src = 0;
	if (events & SPE_EVENT_MISPREDICTED)
		trace_put(itrace, spe->branch_miss, &branch);
	if (events & SPE_EVENT_REMOTE)
		trace_put(itrace, spe->remote_access, &sample);
	if (sample.data_src)
		trace_put(itrace, spe->memory, &sample);
	if (!spe->instructions || ++state->counted < spe->period)
		return;
	state->counted = 0;
	sample.period = spe->period;
	trace_put(itrace, spe->instructions, &sample);
}

/* ── Reading ── */

static void take_packet(struct operation *operation, const struct spe_packet *packet)
{
	uint64_t *const ADDRESSES[] = {&operation->pc, &operation->target, &operation->data, &operation->physical};
	switch (packet->type) {
	case SPE_ADDRESS:
		if (packet->index < sizeof(ADDRESSES) / sizeof(ADDRESSES[0]))
			*ADDRESSES[packet->index] = spe_packet_address(packet);
		break;
	case SPE_COUNTER:
		if (packet->index == SPE_COUNTER_TOTAL)
			operation->latency = packet->payload;
		break;
	case SPE_CONTEXT:
		operation->context = packet->payload;
		break;
	case SPE_OPERATION:
		operation->stores = packet->index == SPE_CLASS_MEMORY && packet->payload & SPE_MEMORY_STORE;
		operation->loads = packet->index == SPE_CLASS_MEMORY && !operation->stores;
		break;
	case SPE_EVENTS:
		operation->events = packet->payload;
		break;
	case SPE_SOURCE:
		operation->source = packet->payload;
		break;
	case SPE_TIMESTAMP:
		operation->ticks = packet->payload;
		break;
	default:
		break;
	}
}

/* The next operation; false at the end. What is no packet is passed over, byte for byte, with the operation that it cuts in two. */
static bool read_operation(struct trace_queue *queue, struct spe_queue *state)
{
	const struct operation none = {.context = UINT64_MAX};
	state->found = none;
	for (; state->piece < queue->pieces.len; state->piece++, state->offset = 0) {
		const struct trace_piece *piece = &queue->pieces.data[state->piece];
		while (state->offset < piece->size) {
			struct spe_packet packet;
			state->offset += spe_packet_read(piece->data, piece->size, state->offset, &packet);
			if (packet.type == SPE_BAD) {
				queue->itrace->counts.lost_bytes++;
				state->found = none;
			}
			take_packet(&state->found, &packet);
			if (packet.type == SPE_TIMESTAMP || packet.type == SPE_END)
				return true;
		}
		state->found = none;
	}
	return false;
}

static void *open_queue(struct trace_queue *queue)
{
	(void)queue;
	return mem_zalloc(sizeof(struct spe_queue));
}

static void step(struct trace_queue *queue)
{
	struct spe_queue *state = queue->decoder;
	if (state->has_found)
		put_operation(queue, state);
	state->has_found = read_operation(queue, state);
	queue->ended = !state->has_found;
	uint64_t time = trace_time(queue->itrace, state->found.ticks);
	if (state->has_found && time > queue->time)
		queue->time = time;
}

/* ── Dump ── */

static void describe(const struct record_auxtrace_info *info, struct strbuf *out)
{
	if (info->header.size >= sizeof(*info) + INFO_WORDS * sizeof(uint64_t))
		strbuf_printf(out, "  PMU Type           %" PRId64 "\n", (int64_t)info->words[INFO_PMU_TYPE]);
}

static void dump(const struct trace_dump *trace, struct strbuf *out)
{
	const uint8_t *bytes = trace->data;
	const size_t size = trace->size;
	size_t length;
	strbuf_printf(out, ".\n. ... ARM SPE data: size %#zx bytes\n", size);
	for (size_t offset = 0; offset < size; offset += length) {
		struct spe_packet packet;
		length = spe_packet_read(bytes, size, offset, &packet);
		trace_dump_bytes(bytes, offset, length, out);
		spe_packet_text(&packet, out);
		strbuf_add_char(out, '\n');
	}
}

const struct trace_decoder trace_decoder_spe = {
	.type = TRACE_ARM_SPE,
	.name = "Arm SPE",
	.letters = "ibfmtaMesZ",
	.begin = begin,
	.end = end,
	.open = open_queue,
	.close = free,
	.step = step,
	.describe = describe,
	.dump = dump,
};
