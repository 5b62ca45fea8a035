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
#include "base/mem.h"
#include "symbol/code/code_file.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

static const char NO_CODE;
static const uint32_t TYPE_SYNTH = 1u << 31;

/* ── Code ── */

static struct code_file *file_of(struct itrace *itrace, struct dso *dso)
{
	struct pt_state *state = itrace->state;
	uint64_t *slot = map64_insert(&state->files, (uintptr_t)dso, NULL);
	if (!*slot) {
		struct code_file *file = NULL;
		error_free(code_file_open(itrace->resolver, dso, &file));
		*slot = file ? (uintptr_t)file : (uintptr_t)&NO_CODE;
	}
	return *slot == (uintptr_t)&NO_CODE ? NULL : (struct code_file *)(uintptr_t)*slot;
}

/* For libipt: the bytes at an address, as the one who runs has them mapped. */
int pt_read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct trace_queue *queue = context;
	struct itrace *itrace = queue->itrace;
	const size_t made = pt_prelude_code(queue->decoder, ip, buffer);
	if (made)
		return (int)made;
	struct machine *machine = itrace->session->machine;
	(void)asid;
	bool is_kernel = ip >> 63;
	struct trace_runner runner = trace_runner_of(queue);
	const struct thread *thread = runner.tid == (uint32_t)-1 ? NULL : machine_thread(machine, runner.tid, itrace->model_time);
	const struct maps *maps = is_kernel ? machine->kernel_maps : thread ? thread_maps(thread) : NULL;
	struct frame frame = {0};
	struct code_range range;
	if (maps)
		resolver_frame(itrace->resolver, maps, is_kernel ? CPUMODE_KERNEL : CPUMODE_USER, ip, itrace->model_time, &frame);
	struct code_file *file = frame.map ? file_of(itrace, frame.map->dso) : NULL;
	((struct pt_queue *)queue->decoder)->missing = frame.map && !file ? frame.map->dso : NULL;
	if (frame.map && size > frame.map->end - ip)
		size = frame.map->end - ip;
	if (!file || !code_file_read(file, frame.dso_addr, size, &range) || !range.size)
		return -pte_nomap;
	size = range.size < size ? range.size : size;
	memcpy(buffer, range.bytes, size);
	return (int)size;
}

/* ── What there is ── */

static const struct event *add_raw(struct itrace *itrace, bool wanted, const char *name, enum made_raw kind)
{
	return wanted ? trace_event_add(itrace, name, TYPE_SYNTH, kind, PERF_SAMPLE_RAW, 1) : NULL;
}

/* "branches:u": of which modes, as the kernel's tool names events that have no name of their own. */
static struct event *add_hardware(struct itrace *itrace, const char *name, uint64_t config, uint64_t sample_type, uint64_t period)
{
	const struct event_attr *attr = &itrace->source->attr;
	char full[64];
	bool some = attr->exclude_kernel || attr->exclude_user || attr->exclude_hv;
	snprintf(full, sizeof(full), "%s%s%s%s%s", name, some ? ":" : "", some && !attr->exclude_kernel ? "k" : "",
		 some && !attr->exclude_user ? "u" : "", some && !attr->exclude_hv ? "h" : "");
	return trace_event_add(itrace, full, PERF_TYPE_HARDWARE, config, sample_type, period);
}

static void add_events(struct itrace *itrace, struct pt_state *state)
{
	const struct itrace_options *options = &itrace->options;
	bool is_count = options->unit == ITRACE_INSTRUCTIONS;
	if (options->branches || options->calls || options->returns)
		state->branches = add_hardware(itrace, "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_SAMPLE_ADDR, 1);
	if (options->calls)
		state->branch_filter |= TRACED_CALL | TRACED_ASYNC | TRACED_END;
	if (options->returns)
		state->branch_filter |= TRACED_RETURN | TRACED_BEGIN;
	if (options->instructions) {
		state->period_ticks = options->unit == ITRACE_NANOSECONDS ? trace_ticks(itrace, options->period)
				      : is_count			  ? 0
									  : options->period;
		state->instructions = add_hardware(itrace, "instructions", PERF_COUNT_HW_INSTRUCTIONS, 0,
						   is_count ? options->period : state->period_ticks);
	}
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

static struct error *begin(struct itrace *itrace, const struct record_auxtrace_info *info)
{
	itrace->source = trace_source(itrace, (uint32_t)pt_info_word(info, PT_PMU_TYPE));
	if (!itrace->source)
		return error_new_kind(ERROR_FORMAT, "there is no event of that PMU (type %" PRIu64 ")", pt_info_word(info, PT_PMU_TYPE));
	struct pt_state *state = itrace->state = mem_zalloc(sizeof(*state));
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
	state->snapshots = pt_info_word(info, PT_SNAPSHOTS) != 0;
	add_events(itrace, state);
	return NULL;
}

static void end(struct itrace *itrace)
{
	struct pt_state *state = itrace->state;
	if (!state)
		return;
	map64_each (slot, &state->files)
		if (map64_pointer(slot) != &NO_CODE)
			code_file_close(map64_pointer(slot));
	map64_deinit(&state->files);
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

bool pt_next_piece(struct trace_queue *queue)
{
	struct pt_queue *own = queue->decoder;
	if (own->piece >= queue->pieces.len)
		return false;
	const struct trace_piece *piece = &queue->pieces.data[own->piece++];
	pt_begin_trace(queue, piece->data, piece->size);
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
	.load = pt_library_load,
	.begin = begin,
	.end = end,
	.open = open_queue,
	.close = close_queue,
	.step = pt_step,
	.describe = pt_describe,
	.dump = pt_dump,
};
