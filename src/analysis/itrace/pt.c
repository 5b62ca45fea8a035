/* Intel PT through libipt: the instructions that ran, one after the other, by the trace and the code that it went through.
 *
 *	trace ──► libipt ──┬─ an instruction ──► is the one before it a branch that was taken? a branch ──► every so many: a sample
 *	  code ──────┘     └─ an event: tracing begins, ends; an interrupt; power, PTWRITE
 *
 * A branch is known when the instruction behind it is. Here is what there is: events, code, where the trace lies (pt_internal.h tells of
 * the other files). Not done here: packets as text (pt_dump.c). */
#include "analysis/itrace/pt_info.h"
#include "analysis/itrace/pt_internal.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

static const uint32_t TYPE_SYNTH = 1u << 31;

/* ── Code ── */

/* For libipt: the bytes at an address, as the one who runs has them mapped. */
int pt_read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct trace_queue *queue = context;
	struct pt_queue *own = queue->decoder;
	const size_t made = pt_prelude_code(own, ip, buffer);
	(void)asid;
	if (made)
		return (int)made;
	size = trace_read_code(queue->itrace, trace_runner_of(queue).tid, ip, buffer, size, &own->missing);
	return size ? (int)size : -pte_nomap;
}

/* ── What there is ── */

static const struct event *add_raw(struct itrace *itrace, bool wanted, const char *name, enum made_raw kind)
{
	const uint64_t parts = PERF_SAMPLE_RAW | (trace_extra_parts(itrace) & PERF_SAMPLE_CALLCHAIN);
	return wanted ? trace_event_add(itrace, name, TYPE_SYNTH, kind, parts, 1) : NULL;
}

static void add_events(struct itrace *itrace, struct pt_state *state)
{
	const struct itrace_options *options = &itrace->options;
	bool is_count = options->unit == ITRACE_INSTRUCTIONS;
	state->branches = trace_event_add_branches(itrace, &state->branch_filter);
	if (options->instructions) {
		state->period_ticks = options->unit == ITRACE_NANOSECONDS ? trace_ticks(itrace, options->period)
				      : is_count			  ? 0
									  : options->period;
		state->instructions = trace_event_add_hardware(itrace, "instructions", PERF_COUNT_HW_INSTRUCTIONS,
							       trace_extra_parts(itrace), is_count ? options->period : state->period_ticks);
	}
	if (options->transactions)
		state->transactions = trace_event_add(itrace, "transactions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
						      trace_extra_parts(itrace), 1);
	state->raw[RAW_PTWRITE] = add_raw(itrace, options->ptwrites, "ptwrite", RAW_PTWRITE);
	state->raw[RAW_CBR] = add_raw(itrace, options->power, "cbr", RAW_CBR);
	state->raw[RAW_MWAIT] = add_raw(itrace, options->power, "mwait", RAW_MWAIT);
	state->raw[RAW_PWRE] = add_raw(itrace, options->power, "pwre", RAW_PWRE);
	state->raw[RAW_EXSTOP] = add_raw(itrace, options->power, "exstop", RAW_EXSTOP);
	state->raw[RAW_PSB] = add_raw(itrace, options->power, "psb", RAW_PSB);
	state->raw[RAW_PWRX] = add_raw(itrace, options->power, "pwrx", RAW_PWRX);
}

/* "GenuineIntel,6,142,10", whose errors libipt knows. */
static void set_processor(struct pt_config *config, const char *cpuid)
{
	unsigned int family, model, stepping;
	if (!cpuid || sscanf(cpuid, "GenuineIntel,%u,%u,%u", &family, &model, &stepping) != 3)
		return;
	config->cpu =
		(struct pt_cpu){.vendor = pcv_intel, .family = (uint16_t)family, .model = (uint8_t)model, .stepping = (uint8_t)stepping};
	pt.cpu_errata(&config->errata, &config->cpu);
}

static void set_clock(struct itrace *itrace, const struct record_auxtrace_info *info)
{
	const uint64_t config = itrace->source->attr.config;
	itrace->clock = (struct trace_clock){.shift = pt_info_word(info, PT_TIME_SHIFT),
					     .multiplier = pt_info_word(info, PT_TIME_MULTIPLIER),
					     .zero = pt_info_word(info, PT_TIME_ZERO)};
	itrace->timeless = itrace->options.timeless || !itrace->clock.multiplier || !pt_info_word(info, PT_HAS_TIME) ||
			   !(config & pt_info_word(info, PT_TSC_BIT)) || !itrace->session->reader->has_times;
}

/* Who adds up wants to know where time goes, and from where that was called: branches tell neither. */
static void choose(struct itrace_options *options)
{
	if (!options->unchosen || options->calls)
		return;
	options->branches = false;
	itrace_options_add_chains(options);
}

/* What is asked for, unless it isn't in the trace anyway, and can't be made: libipt has no packets of it. */
static void tell_missing(const struct itrace *itrace)
{
	static const uint64_t EVENT_TRACE = 1ull << 31; /* of RTIT_CTL, which the event's config is */
	const struct event_list *events = &itrace->session->reader->events;
	bool has_pebs = false;
	for (size_t i = 0; i < events->events.len; i++)
		has_pebs |= events->events.data[i]->attr.aux_output;
	if (itrace->options.pebs && has_pebs)
		log_warning("the trace has records of PEBS (aux-output), which aren't decoded: samples of these events are missing");
	if (itrace->options.event_trace && itrace->source->attr.config & EVENT_TRACE)
		log_warning("the trace has event packets (intel_pt/event/), which aren't decoded: interrupts are shown as branches only");
}

static struct error *begin(struct itrace *itrace, const struct record_auxtrace_info *info)
{
	struct error *error = trace_find_source(itrace, pt_info_word(info, PT_PMU_TYPE));
	if (error)
		return error;
	struct pt_state *state = itrace->state = mem_zalloc(sizeof(*state));
	choose(&itrace->options);
	tell_missing(itrace);
	const uint64_t frequency_bits = pt_info_word(info, PT_MTC_FREQUENCY_BITS);
	set_clock(itrace, info);
	pt_config_init(&state->config);
	set_processor(&state->config, itrace->session->reader->features.cpuid);
	state->nominal_ratio = pt_info_word(info, PT_NOMINAL_RATIO);
	state->config.nom_freq = (uint8_t)state->nominal_ratio;
	state->config.cpuid_0x15_eax = (uint32_t)pt_info_word(info, PT_TSC_CTC_DENOMINATOR);
	state->config.cpuid_0x15_ebx = (uint32_t)pt_info_word(info, PT_TSC_CTC_NUMERATOR);
	if (frequency_bits)
		state->config.mtc_freq = (uint8_t)((itrace->source->attr.config & frequency_bits) >> __builtin_ctzll(frequency_bits));
	state->snapshots = itrace->in_samples || pt_info_word(info, PT_SNAPSHOTS) != 0;
	add_events(itrace, state);
	if (!itrace->timeless)
		trace_add_parts(itrace);
	return NULL;
}

static void end(struct itrace *itrace)
{
	struct pt_state *state = itrace->state;
	if (!state)
		return;
	map64_deinit(&state->told);
	free(state);
}

/* ── A queue's trace ── */

/* Packets may begin in one piece and end in the next. */
static void join_pieces(struct trace_queue *queue, struct pt_queue *own)
{
	uint64_t size = 0;
	for (size_t i = 0; i < queue->pieces.len; i++)
		size += queue->pieces.data[i].size;
	own->joined = mem_alloc(size + 1);
	size = 0;
	for (size_t i = 0; i < queue->pieces.len; size += queue->pieces.data[i++].size)
		memcpy(own->joined + size, queue->pieces.data[i].data, queue->pieces.data[i].size);
	own->piece = queue->pieces.len;
	pt_begin_trace(queue, own->joined, size);
}

/* Where the trace goes on that ends at before[*size]: the bytes of `piece` that are there already, or 0. What is in both has a point of
 * synchronization, with its time, as near to the end as the piece is long: it doesn't end earlier. Recorders fill up with zeros to a
 * multiple of 8 bytes: these are cut off. */
static uint64_t find_overlap(const uint8_t *before, uint64_t *size, const struct trace_piece *piece)
{
	enum { KEY_SIZE = 32, PAD_MAX = 7 };
	static const uint8_t point[] = "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82";
	const uint8_t *key = memmem(piece->data, piece->size, point, sizeof(point) - 1);
	const uint64_t key_at = key ? (uint64_t)(key - piece->data) : 0;
	if (!key || piece->size - key_at < KEY_SIZE)
		return 0;
	const uint64_t last = piece->size - key_at + PAD_MAX, looked_at = last < *size ? last : *size;
	const uint8_t *found = memmem(before + (*size - looked_at), looked_at, key, KEY_SIZE);
	uint64_t rest = found ? *size - (uint64_t)(found - before) : 0, pad = 0;
	const uint64_t common = rest < piece->size - key_at ? rest : piece->size - key_at;
	while (common && memcmp(found, key, common - pad) != 0)
		if (pad == PAD_MAX || before[*size - ++pad])
			return 0;
	*size -= pad;
	return found ? key_at + common - pad : 0;
}

/* The next piece; those that go on where the one before ends become one with it. */
static const uint8_t *join_overlapping(struct trace_queue *queue, struct pt_queue *own, uint64_t *ret_size)
{
	const struct trace_piece *piece = &queue->pieces.data[own->piece++];
	const uint8_t *trace = piece->data;
	uint64_t size = piece->size, overlap;
	free(own->joined);
	own->joined = NULL;
	for (; own->piece < queue->pieces.len; own->piece++) {
		piece = &queue->pieces.data[own->piece];
		overlap = find_overlap(trace, &size, piece);
		if (!overlap)
			break;
		const bool first = !own->joined;
		own->joined = mem_resize(own->joined, size + piece->size - overlap + 1);
		if (first)
			memcpy(own->joined, trace, size);
		memcpy(own->joined + size, piece->data + overlap, piece->size - overlap);
		trace = own->joined;
		size += piece->size - overlap;
	}
	*ret_size = size;
	return trace;
}

bool pt_next_piece(struct trace_queue *queue)
{
	struct pt_queue *own = queue->decoder;
	if (own->piece >= queue->pieces.len)
		return false;
	struct pt_state *state = queue->itrace->state;
	pt_end_trace(own);
	/* Else calls that a thread made on one CPU go on where it moves to. */
	if (state->snapshots)
		queue->trace = ++state->traces;
	uint64_t size;
	const uint8_t *trace = join_overlapping(queue, own, &size);
	pt_begin_trace(queue, trace, size);
	return true;
}

static void *open_queue(struct trace_queue *queue)
{
	const struct pt_state *state = queue->itrace->state;
	struct pt_queue *own = mem_zalloc(sizeof(*own));
	queue->decoder = own;
	own->next_count = queue->itrace->options.period;
	own->ratio_told = UINT32_MAX;
	if (queue->pieces.len > 1 && !state->snapshots)
		join_pieces(queue, own);
	else
		pt_next_piece(queue);
	return own;
}

static void close_queue(void *decoder)
{
	struct pt_queue *own = decoder;
	pt_end_trace(own);
	free(own->joined);
	free(own);
}

const struct trace_decoder trace_decoder_pt = {
	.type = TRACE_INTEL_PT,
	.name = "Intel PT",
	.letters = "ibcrexwpoIsZ",
	.has_instructions = true,
	.load = pt_library_load,
	.begin = begin,
	.end = end,
	.open = open_queue,
	.close = close_queue,
	.step = pt_step,
	.describe = pt_describe,
	.dump = pt_dump,
};
