/* Intel PT through libipt: the instructions that ran, one after the other, by the trace and the code that it went through.
 *
 *	trace ──► libipt ──┬─ an instruction ──► is the one before it a branch that was taken? a branch ──► every so many: a sample
 *	  code ──────┘     └─ an event: tracing begins, ends; an interrupt; power, PTWRITE
 *
 * A branch is known when the instruction behind it is. Where the trace can't be followed (no code, bytes that are no packets), it goes on
 * at its next point of synchronization (PSB). Not done here: packets as text (pt_dump.c). */
#include "analysis/itrace/decoder.h"
#include "analysis/itrace/pt_info.h"
#include "analysis/itrace/pt_library.h"
#include "base/hash.h"
#include "base/mem.h"
#include "symbol/code/code_file.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

/* More instructions than this without a packet are a loop that the code makes of itself. */
enum { LOOP_MAX = 1 << 17 };
static const char NO_CODE;

/* What a branch is (tools/perf/util/event.h). */
enum branch_flag {
	BRANCH_CALL = 1 << 1,
	BRANCH_RETURN = 1 << 2,
	BRANCH_ASYNC = 1 << 5,
	BRANCH_BEGIN = 1 << 8,
	BRANCH_END = 1 << 9,
};

/* Numbers of errors (tools/perf/util/intel-pt-decoder). */
enum error_code { ERROR_BAD_PACKET = 3, ERROR_NO_CODE = 5, ERROR_MISMATCH = 6, ERROR_OVERFLOW = 7, ERROR_LOOP = 10 };

/* Samples whose raw data analysis/script/synth.c shows. */
enum made_raw { RAW_PTWRITE, RAW_MWAIT, RAW_PWRE, RAW_EXSTOP, RAW_PWRX, RAW_CBR, RAW_KINDS };
static const uint32_t TYPE_SYNTH = 1u << 31;

struct pt_state {
	const struct event *branches, *instructions;
	const struct event *raw[RAW_KINDS]; /* NULL = not wanted */
	uint32_t branch_filter;		    /* of enum branch_flag; 0 = all */
	uint64_t period_ticks;		    /* of instructions, where it is a time */
	struct pt_config config;
	struct map64 files; /* by dso: struct code_file *, or &NO_CODE */
	uint64_t nominal_ratio;
	bool snapshots; /* pieces don't follow one another */
};

struct pt_queue {
	struct pt_insn_decoder *decoder;
	const uint8_t *trace; /* what it decodes */
	uint64_t size;
	uint8_t *joined;	     /* all pieces in a row, or NULL */
	size_t piece;		     /* snapshots: which one is decoded */
	int status;		     /* of the last call, enum pt_status_flag */
	bool synced, lost, has_last; /* lost: it was told that it isn't synchronized */
	uint64_t search;	     /* where the next point of synchronization is looked for */
	struct pt_insn last;
	uint64_t ip;			/* where it runs */
	uint64_t ticks;			/* newest time stamp */
	uint64_t count, sampled_count;	/* instructions, and as many were there at the last sample */
	uint64_t next_ticks;		/* when the next sample of instructions is due, or … */
	uint64_t next_count;		/* … at which instruction */
	uint64_t offset, offset_before; /* of the trace, as far as it is read, and where that was before it moved last */
	uint64_t since_offset;		/* instructions since then */
};

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
static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct trace_queue *queue = context;
	struct itrace *itrace = queue->itrace;
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
		state->branch_filter |= BRANCH_CALL | BRANCH_ASYNC | BRANCH_END;
	if (options->returns)
		state->branch_filter |= BRANCH_RETURN | BRANCH_BEGIN;
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
	free(state);
}

/* ── A queue's trace ── */

static void start_decoder(struct trace_queue *queue, struct pt_queue *own, const uint8_t *trace, uint64_t size)
{
	const struct pt_state *state = queue->itrace->state;
	struct pt_config config = state->config;
	own->trace = trace;
	own->size = size;
	config.begin = (uint8_t *)trace;
	config.end = config.begin + size;
	pt.insn_free_decoder(own->decoder);
	own->decoder = size ? pt.insn_alloc_decoder(&config) : NULL;
	own->synced = own->lost = own->has_last = false;
	own->offset = own->offset_before = own->search = 0;
	if (own->decoder)
		pt.image_set_callback(pt.insn_get_image(own->decoder), read_code, queue);
}

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
	start_decoder(queue, own, own->joined, size);
}

static bool next_piece(struct trace_queue *queue, struct pt_queue *own)
{
	if (own->piece >= queue->pieces.len)
		return false;
	const struct trace_piece *piece = &queue->pieces.data[own->piece++];
	start_decoder(queue, own, piece->data, piece->size);
	return true;
}

static void *open_queue(struct trace_queue *queue)
{
	const struct pt_state *state = queue->itrace->state;
	struct pt_queue *own = mem_zalloc(sizeof(*own));
	own->next_count = queue->itrace->options.period;
	if (queue->pieces.len > 1 && !state->snapshots)
		join_pieces(queue, own);
	else
		next_piece(queue, own);
	return own;
}

static void close_queue(void *decoder)
{
	struct pt_queue *own = decoder;
	pt.insn_free_decoder(own->decoder);
	free(own->joined);
	free(own);
}

/* ── Samples ── */

static struct trace_sample sample_at(const struct trace_queue *queue, uint64_t ip)
{
	struct trace_runner runner = trace_runner_of(queue);
	return (struct trace_sample){.ip = ip, .period = 1, .time = queue->time, .pid = runner.pid, .tid = runner.tid, .cpu = queue->cpu};
}

static void put_branch(struct trace_queue *queue, uint64_t from, uint64_t to, uint32_t flags)
{
	const struct pt_state *state = queue->itrace->state;
	if (!state->branches || (state->branch_filter && !(state->branch_filter & flags)))
		return;
	struct trace_sample sample = sample_at(queue, from);
	sample.addr = to;
	trace_put(queue->itrace, state->branches, &sample);
}

static void put_raw(struct trace_queue *queue, enum made_raw kind, uint64_t ip, uint32_t flags, uint64_t payload, size_t payload_size)
{
	const struct pt_state *state = queue->itrace->state;
	struct trace_sample sample = sample_at(queue, ip);
	uint8_t raw[sizeof(flags) + sizeof(payload)];
	memcpy(raw, &flags, sizeof(flags));
	memcpy(raw + sizeof(flags), &payload, sizeof(payload));
	sample.raw = raw;
	sample.raw_size = (uint32_t)(sizeof(flags) + payload_size);
	trace_put(queue->itrace, state->raw[kind], &sample);
}

static uint32_t flags_of(const struct pt_insn *insn)
{
	switch (insn->iclass) {
	case ptic_call:
	case ptic_far_call:
		return BRANCH_CALL;
	case ptic_return:
	case ptic_far_return:
		return BRANCH_RETURN;
	default:
		return 0;
	}
}

static bool is_branch(const struct pt_insn *insn)
{
	return insn->iclass >= ptic_call && insn->iclass <= ptic_far_jump;
}

/* Code went on at `ip`: a branch, if it was one. */
static void flush_last(struct trace_queue *queue, struct pt_queue *own, uint64_t ip)
{
	const struct pt_insn *last = &own->last;
	if (!own->has_last)
		return;
	own->has_last = false;
	if (is_branch(last) && (last->iclass != ptic_cond_jump || ip != last->ip + last->size))
		put_branch(queue, last->ip, ip, flags_of(last));
}

static void count_instruction(struct trace_queue *queue, struct pt_queue *own, const struct pt_insn *insn)
{
	const struct pt_state *state = queue->itrace->state;
	const uint64_t period = queue->itrace->options.period;
	own->count++;
	if (!state->instructions)
		return;
	if (state->period_ticks ? own->ticks < own->next_ticks : own->count < own->next_count)
		return;
	own->next_ticks = own->ticks + state->period_ticks;
	own->next_count = own->count + period;
	struct trace_sample sample = sample_at(queue, insn->ip);
	sample.period = own->count - own->sampled_count;
	if (trace_put(queue->itrace, state->instructions, &sample))
		own->sampled_count = own->count;
}

/* ── Errors ── */

static void lose_track(struct trace_queue *queue, struct pt_queue *own, enum error_code code, uint64_t ip)
{
	static const char *const MESSAGES[] = {
		[ERROR_BAD_PACKET] = "Bad packet",
		[ERROR_NO_CODE] = "Failed to get instruction",
		[ERROR_MISMATCH] = "Trace doesn't match instruction",
		[ERROR_OVERFLOW] = "Overflow packet",
		[ERROR_LOOP] = "Never-ending loop",
	};
	queue->itrace->counts.errors++;
	queue->itrace->counts.no_code += code == ERROR_NO_CODE;
	trace_put_error(queue, code, ip, MESSAGES[code]);
	own->has_last = false;
	if (code == ERROR_OVERFLOW)
		return;
	own->synced = false;
	own->lost = true;
}

static enum error_code error_of(int status)
{
	switch (-status) {
	case pte_nomap:
		return ERROR_NO_CODE;
	case pte_bad_opc:
	case pte_bad_packet:
		return ERROR_BAD_PACKET;
	}
	return ERROR_MISMATCH;
}

/* ── Steps ── */

static void take_power(struct trace_queue *queue, const struct pt_event *event, uint64_t ip)
{
	const struct pt_state *state = queue->itrace->state;
	const __typeof__(event->variant) *of = &event->variant;
	switch (event->type) {
	case ptev_exstop:
		put_raw(queue, RAW_EXSTOP, event->ip_suppressed ? ip : of->exstop.ip, !event->ip_suppressed, 0, 0);
		break;
	case ptev_mwait:
		put_raw(queue, RAW_MWAIT, event->ip_suppressed ? ip : of->mwait.ip, 0, of->mwait.hints | (uint64_t)of->mwait.ext << 32, 8);
		break;
	case ptev_pwre:
		put_raw(queue, RAW_PWRE, ip, 0,
			(uint64_t)of->pwre.hw << 7 | (uint64_t)of->pwre.state << 12 | (uint64_t)of->pwre.sub_state << 8, 8);
		break;
	case ptev_pwrx:
		put_raw(queue, RAW_PWRX, ip, 0,
			of->pwrx.deepest | (uint64_t)of->pwrx.last << 4 | (uint64_t)of->pwrx.interrupt << 8 |
				(uint64_t)of->pwrx.store << 10 | (uint64_t)of->pwrx.autonomous << 11,
			8);
		break;
	case ptev_cbr: {
		uint64_t khz = state->nominal_ratio ? of->cbr.ratio * (trace_ticks(queue->itrace, 1000000) / state->nominal_ratio) : 0;
		put_raw(queue, RAW_CBR, ip, of->cbr.ratio | (uint32_t)state->nominal_ratio << 16, khz, 8);
		break;
	}
	default:
		break;
	}
}

static void take_event(struct trace_queue *queue, struct pt_queue *own)
{
	struct pt_event event;
	const __typeof__(event.variant) *of = &event.variant;
	own->status = pt.insn_event(own->decoder, &event, sizeof(event));
	if (own->status < 0)
		return lose_track(queue, own, error_of(own->status), own->last.ip);
	switch (event.type) {
	case ptev_enabled:
		own->has_last = false;
		own->ip = of->enabled.ip;
		if (!event.status_update)
			put_branch(queue, 0, of->enabled.ip, BRANCH_BEGIN);
		break;
	case ptev_disabled:
		if (own->has_last)
			put_branch(queue, own->last.ip, event.ip_suppressed ? 0 : of->disabled.ip, flags_of(&own->last) | BRANCH_END);
		own->has_last = false;
		break;
	case ptev_async_disabled:
		flush_last(queue, own, of->async_disabled.at);
		put_branch(queue, of->async_disabled.at, event.ip_suppressed ? 0 : of->async_disabled.ip, BRANCH_ASYNC | BRANCH_END);
		break;
	case ptev_async_branch:
		flush_last(queue, own, of->async_branch.from);
		put_branch(queue, of->async_branch.from, event.ip_suppressed ? 0 : of->async_branch.to, BRANCH_CALL | BRANCH_ASYNC);
		break;
	case ptev_overflow:
		lose_track(queue, own, ERROR_OVERFLOW, own->last.ip);
		if (!event.ip_suppressed)
			put_branch(queue, 0, of->overflow.ip, BRANCH_BEGIN);
		break;
	case ptev_ptwrite:
		put_raw(queue, RAW_PTWRITE, event.ip_suppressed ? own->last.ip : of->ptwrite.ip, !event.ip_suppressed, of->ptwrite.payload,
			8);
		break;
	default:
		take_power(queue, &event, own->ip);
	}
}

/* Whether the code runs in a circle without that the trace says so. */
static bool loops(struct pt_queue *own)
{
	uint64_t offset = 0;
	if (pt.insn_get_offset(own->decoder, &offset) < 0 || offset != own->offset) {
		own->offset_before = own->offset;
		own->offset = offset;
		own->since_offset = 0;
	}
	return ++own->since_offset > LOOP_MAX;
}

static void take_instruction(struct trace_queue *queue, struct pt_queue *own)
{
	struct pt_insn insn = {0};
	own->status = pt.insn_next(own->decoder, &insn, sizeof(insn));
	if (insn.ip)
		flush_last(queue, own, insn.ip);
	if (own->status == -pte_eos)
		return;
	if (own->status < 0)
		return lose_track(queue, own, error_of(own->status), insn.ip);
	if (loops(own))
		return lose_track(queue, own, ERROR_LOOP, insn.ip);
	own->last = insn;
	own->ip = insn.ip;
	own->has_last = true;
	count_instruction(queue, own, &insn);
}

/* Finds the next point of synchronization (PSB). libipt reads one packet ahead and passes those on its way: what it read since the packet
 * before is behind what ran. What describes the state at such a point may be damaged: it goes on at the next one then. */
static void synchronize(struct trace_queue *queue, struct pt_queue *own)
{
	static const uint8_t PSB[] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
	uint64_t now = own->offset;
	pt.insn_get_offset(own->decoder, &now);
	uint64_t done = now != own->offset ? own->offset : own->offset_before;
	const uint8_t *found;
	own->search = done > own->search ? done : own->search;
	while (!own->synced && (found = memmem(own->trace + own->search, own->size - own->search, PSB, sizeof(PSB)))) {
		own->offset = own->offset_before = (uint64_t)(found - own->trace);
		own->search = own->offset + sizeof(PSB);
		own->status = pt.insn_sync_set(own->decoder, own->offset);
		own->synced = own->status >= 0;
		if (!own->synced && own->status != -pte_eos && !own->lost)
			lose_track(queue, own, error_of(own->status), 0);
	}
	own->lost = !own->synced;
	if (!own->synced)
		own->status = -pte_eos;
}

static void step(struct trace_queue *queue)
{
	struct pt_queue *own = queue->decoder;
	uint32_t lost_mtc, lost_cyc;
	uint64_t ticks;
	if (own->decoder && !own->synced) {
		synchronize(queue, own);
	} else if (own->decoder && own->status >= 0 && own->status & pts_event_pending) {
		take_event(queue, own);
	} else if (own->decoder) {
		take_instruction(queue, own);
	}
	bool at_end = !own->decoder || own->status == -pte_eos ||
		      (own->status >= 0 && own->status & pts_eos && !(own->status & pts_event_pending));
	if (at_end && !next_piece(queue, own)) {
		queue->ended = true;
		return;
	}
	if (!own->decoder || !own->synced || pt.insn_time(own->decoder, &ticks, &lost_mtc, &lost_cyc) < 0)
		return;
	own->ticks = ticks;
	uint64_t time = queue->itrace->timeless ? 0 : trace_time(queue->itrace, ticks);
	if (time > queue->time)
		queue->time = time;
}

const struct trace_decoder trace_decoder_pt = {
	.type = TRACE_INTEL_PT,
	.name = "Intel PT",
	.load = pt_library_load,
	.begin = begin,
	.end = end,
	.open = open_queue,
	.close = close_queue,
	.step = step,
	.describe = pt_describe,
	.dump = pt_dump,
};
