/* CoreSight through libopencsd: ranges of instructions that processors of Arm ran, by the trace of their ETMs (version 4, ETE) and the
 * code.
 *
 *	trace ──► frames with the streams of all CPUs ──► libopencsd ──► elements: range, trace on, exception, context
 *	                                                     ▲
 *	                                                    code
 *
 * libopencsd runs in a process of its own (coresight_process.h).
 *
 * A branch leads from the end of a range to the beginning of the next one. Samples have no times: those of these traces are of a clock of
 * their own. Packets as text: coresight_dump.c. Not done: older ETMs. */
#include "analysis/itrace/coresight_etm.h"
#include "analysis/itrace/coresight_process.h"
#include "analysis/itrace/decoder.h"
#include "base/mem.h"

#include <linux/perf_event.h>
#include <string.h>

enum { CHANNELS = 128 };
enum { A64_SIZE = 4, T32_LONG = 0xe800 };

enum { AUX_FORMAT_RAW = 0x100 };
enum coresight_error { BAD_PACKET = 3, NO_CODE = 5 }; /* the numbers that Intel PT's have */

struct coresight_state {
	const struct event *branches, *instructions;
	uint32_t branch_filter; /* of enum traced_flag; 0 = all */
	uint64_t period;
	etm_list etms;
};

/* What came before: in the stream of an ETM, or of a thread, which has one after the other. */
struct channel {
	bool has_last; /* last: a range, else there was none before */
	bool paused;   /* nothing is known of what came before */
	uint32_t cpu, tid;
	ocsd_generic_trace_elem last;
	bool taken; /* it ended with a branch that was taken, or was interrupted */
	uint64_t counted;
};

struct coresight_queue {
	struct coresight_process process;
	struct channel channels[CHANNELS]; /* by the stream's number; the first one is a thread's */
	bool is_known[CHANNELS];
	uint32_t cpus[CHANNELS];
	bool started;
};

/* ── What there is ── */

static struct error *begin(struct itrace *itrace, const struct record_auxtrace_info *info)
{
	const struct itrace_options *options = &itrace->options;
	struct coresight_state *state = itrace->state = mem_zalloc(sizeof(*state));
	struct error *error = etms_read(info, &state->etms);
	if (!error)
		error = trace_find_source(itrace, etms_pmu(info));
	if (error)
		return error;
	itrace->timeless = true;
	state->branches = trace_event_add_branches(itrace, &state->branch_filter);
	state->period = options->period ? options->period : 1;
	if (options->instructions)
		state->instructions = trace_event_add_hardware(itrace, "instructions", PERF_COUNT_HW_INSTRUCTIONS,
							       trace_extra_parts(itrace), state->period);
	return NULL;
}

static void end(struct itrace *itrace)
{
	struct coresight_state *state = itrace->state;
	if (!state)
		return;
	vec_deinit(&state->etms);
	free(state);
}

/* ── Samples ── */

static struct trace_sample sample_of(const struct trace_queue *queue, const struct channel *channel, uint64_t ip)
{
	return (struct trace_sample){
		.queue = queue,
		.ip = ip,
		.period = 1,
		.pid = trace_process_of(queue->itrace, channel->tid),
		.tid = channel->tid,
		.cpu = channel->cpu,
	};
}

static uint64_t last_instruction(const ocsd_generic_trace_elem *range)
{
	return range->en_addr - range->last_instr_sz;
}

static uint32_t flags_of(const ocsd_generic_trace_elem *range)
{
	uint32_t flags = TRACED_BRANCH;
	if (range->last_i_subtype == OCSD_S_INSTR_BR_LINK)
		flags |= TRACED_CALL;
	else if (range->last_i_subtype == OCSD_S_INSTR_V8_RET || range->last_i_subtype == OCSD_S_INSTR_V7_IMPLIED_RET)
		flags |= TRACED_RETURN;
	else if (range->last_i_subtype == OCSD_S_INSTR_V8_ERET)
		flags |= TRACED_RETURN | TRACED_INTERRUPT;
	else if (range->last_i_type == OCSD_INSTR_BR && range->last_instr_cond)
		flags |= TRACED_CONDITIONAL;
	return flags;
}

/* `to`: 0 = nothing is known of what comes next. */
static void put_branch(struct trace_queue *queue, struct channel *channel, uint64_t to)
{
	const struct coresight_state *state = queue->itrace->state;
	const uint64_t from = channel->has_last ? last_instruction(&channel->last) : 0;
	uint32_t flags = channel->has_last ? flags_of(&channel->last) : TRACED_BRANCH | TRACED_BEGIN;
	if (!to)
		flags |= TRACED_END;
	struct trace_sample sample = sample_of(queue, channel, from);
	sample.addr = to;
	trace_take_branch(queue, flags, from, to, channel->last.en_addr);
	sample.flow = trace_flow(queue, flags);
	if (state->branches && (!state->branch_filter || state->branch_filter & flags))
		trace_put(queue->itrace, state->branches, &sample);
}

/* Where the instruction after one is: of T32 they have 2 or 4 bytes. */
static uint64_t next_instruction(struct trace_queue *queue, const struct channel *channel, const ocsd_generic_trace_elem *range,
				 uint64_t ip)
{
	uint16_t half;
	struct dso *missing;
	if (range->isa != ocsd_isa_thumb2)
		return ip + A64_SIZE;
	const bool is_read = trace_read_code(queue->itrace, channel->tid, ip, &half, sizeof(half), &missing) == sizeof(half);
	return ip + (is_read && half >= T32_LONG ? 4 : 2);
}

static void put_instructions(struct trace_queue *queue, struct channel *channel, const ocsd_generic_trace_elem *range)
{
	const struct coresight_state *state = queue->itrace->state;
	uint64_t ip = range->st_addr;
	for (uint32_t i = 0; i < range->num_instr_range && ip < range->en_addr; i++) {
		if (++channel->counted >= state->period) {
			struct trace_sample sample = sample_of(queue, channel, ip);
			sample.period = channel->counted;
			channel->counted = 0;
			trace_put(queue->itrace, state->instructions, &sample);
		}
		ip = next_instruction(queue, channel, range, ip);
	}
}

/* ── Elements ── */

static void take_range(struct trace_queue *queue, struct channel *channel, const ocsd_generic_trace_elem *range)
{
	const struct coresight_state *state = queue->itrace->state;
	if (state->instructions)
		put_instructions(queue, channel, range);
	if (channel->paused || (channel->has_last && channel->taken))
		put_branch(queue, channel, range->st_addr);
	channel->last = *range;
	channel->has_last = true;
	channel->paused = false;
	channel->taken = (range->last_i_type == OCSD_INSTR_BR || range->last_i_type == OCSD_INSTR_BR_INDIRECT) && range->last_instr_exec;
}

static void take_pause(struct trace_queue *queue, struct channel *channel)
{
	if (channel->has_last)
		put_branch(queue, channel, 0);
	channel->has_last = false;
	channel->paused = true;
}

/* Shown where they are asked for: the kernel's tool has no lines of them. */
static void take_error(struct trace_queue *queue, const struct channel *channel, enum coresight_error error, uint64_t ip,
		       const char *message)
{
	const struct sample_id where = {.pid = trace_process_of(queue->itrace, channel->tid), .tid = channel->tid, .cpu = channel->cpu};
	queue->itrace->counts.errors++;
	if (queue->itrace->options.given)
		trace_put_error_of(queue->itrace, &where, error, ip, message);
}

/* Whose instructions these are: the kernel writes the thread's number where the ETM sees it. */
static void take_context(struct channel *channel, const ocsd_pe_context *context)
{
	if (context->ctxt_id_valid)
		channel->tid = context->context_id;
}

static struct channel *channel_of(struct trace_queue *queue, uint8_t id)
{
	struct coresight_queue *own = queue->decoder;
	return &own->channels[queue->cpu == (uint32_t)-1 ? 0 : id % CHANNELS];
}

static void take_element(struct trace_queue *queue, uint8_t id, const ocsd_generic_trace_elem *element)
{
	struct coresight_queue *own = queue->decoder;
	struct channel *channel = channel_of(queue, id);
	if (!own->is_known[id % CHANNELS])
		return;
	channel->cpu = own->cpus[id % CHANNELS];
	switch (element->elem_type) {
	case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
		take_range(queue, channel, element);
		break;
	case OCSD_GEN_TRC_ELEM_NO_SYNC:
	case OCSD_GEN_TRC_ELEM_TRACE_ON:
	case OCSD_GEN_TRC_ELEM_EO_TRACE:
		take_pause(queue, channel);
		break;
	case OCSD_GEN_TRC_ELEM_EXCEPTION:
		channel->taken = true;
		break;
	case OCSD_GEN_TRC_ELEM_PE_CONTEXT:
		take_context(channel, &element->context);
		break;
	case OCSD_GEN_TRC_ELEM_ADDR_NACC:
		queue->itrace->counts.no_code++;
		take_error(queue, channel, NO_CODE, element->st_addr, "Failed to get instruction");
		break;
	default:
		break;
	}
}

/* ── A queue's trace ── */

static void add_etm(struct trace_queue *queue, struct coresight_queue *own, const struct etm *etm)
{
	unsigned char id = 0;
	if (!etm_create_decoder(etm, own->process.tree, OCSD_CREATE_FLG_FULL_DECODER, &id))
		return;
	own->is_known[id % CHANNELS] = true;
	own->cpus[id % CHANNELS] = etm->cpu;
	channel_of(queue, id)->tid = queue->tid;
}

/* Frames have the streams of several CPUs; a buffer of its own has one, without frames. */
static void *open_queue(struct trace_queue *queue)
{
	const struct coresight_state *state = queue->itrace->state;
	struct coresight_queue *own = mem_zalloc(sizeof(*own));
	const bool is_raw = queue->itrace->aux_flags & AUX_FORMAT_RAW;
	queue->decoder = own;
	own->process.tree = etm_create_tree(is_raw);
	if (own->process.tree == C_API_INVALID_TREE_HANDLE)
		return own;
	for (size_t i = 0; i < state->etms.len; i++)
		if (!is_raw || queue->cpu == (uint32_t)-1 || state->etms.data[i].cpu == queue->cpu)
			add_etm(queue, own, &state->etms.data[i]);
	coresight_process_init(&own->process, queue->pieces.data, queue->pieces.len);
	return own;
}

static void close_queue(void *decoder)
{
	struct coresight_queue *own = decoder;
	coresight_process_deinit(&own->process);
	free(own);
}

/* Nothing is known of what comes next. */
static void take_loss(struct trace_queue *queue)
{
	struct coresight_queue *own = queue->decoder;
	take_error(queue, channel_of(queue, 0), BAD_PACKET, 0, "Bad packet");
	for (size_t i = 0; i < CHANNELS; i++)
		take_pause(queue, &own->channels[i]);
}

static void answer(struct trace_queue *queue, uint8_t id, uint64_t address, uint32_t size)
{
	struct coresight_queue *own = queue->decoder;
	struct coresight_code code = {0};
	struct dso *missing;
	if (size > sizeof(code.bytes))
		size = sizeof(code.bytes);
	code.size = (uint32_t)trace_read_code(queue->itrace, channel_of(queue, id)->tid, address, code.bytes, size, &missing);
	coresight_process_answer(&own->process, &code);
}

static void take(struct trace_queue *queue, const struct coresight_message *message)
{
	switch (message->kind) {
	case CORESIGHT_ELEMENT:
		take_element(queue, message->id, &message->element);
		break;
	case CORESIGHT_CODE:
		answer(queue, message->id, message->address, message->size);
		break;
	case CORESIGHT_ERROR:
		take_error(queue, channel_of(queue, 0), BAD_PACKET, 0, "Bad packet");
		break;
	case CORESIGHT_LOSS:
		take_loss(queue);
		break;
	case CORESIGHT_PLACE:
		break;
	}
}

/* The first time nothing is known of who runs. */
static void step(struct trace_queue *queue)
{
	struct coresight_queue *own = queue->decoder;
	const struct coresight_message *messages;
	if (!own->started) {
		own->started = true;
		queue->ended = own->process.tree == C_API_INVALID_TREE_HANDLE;
		return;
	}
	const size_t count = coresight_process_next(&own->process, &messages);
	for (size_t i = 0; i < count; i++)
		take(queue, &messages[i]);
	queue->ended = !count;
}

const struct trace_decoder trace_decoder_coresight = {
	.type = TRACE_CORESIGHT,
	.name = "CoreSight",
	.letters = "ibcresZ",
	.has_instructions = true,
	.load = coresight_library_load,
	.begin = begin,
	.end = end,
	.open = open_queue,
	.close = close_queue,
	.step = step,
	.describe = etms_describe,
	.dump = coresight_dump,
};
