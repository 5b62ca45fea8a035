/* Intel BTS: a record of 24 bytes for each branch, from where to where. The code at hand tells what kind of branch it was. Samples have no
 * times: the processor notes none.
 *
 * Facts: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3, "BTS Buffer"; opcodes: volume 2, appendix A. */
#include "analysis/itrace/decoder.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* The words of AUXTRACE_INFO (tools/perf/util/intel-bts.h). */
enum { INFO_PMU_TYPE, INFO_SNAPSHOT = 5, INFO_WORDS };
enum { BTS_NO_CODE = 5 }; /* the kernel tool's number of that error */
enum { RECORD_SIZE = 24, PREDICTED = 0x10, INSTRUCTION_MAX = 15 };

struct bts_record {
	uint64_t from, to, flags;
};

struct bts_state {
	const struct event *branches;
	uint32_t branch_filter; /* of enum traced_flag; 0 = all */
	bool snapshots;
};

struct bts_queue {
	size_t piece;
	bool started;
};

/* What can't be made of branches alone is said, also where something else can. */
static struct error *refuse(const struct itrace_options *options)
{
	const bool has_branches = options->branches || options->calls || options->returns;

	if (!options->given || (has_branches && !options->instructions))
		return NULL;
	if (!has_branches)
		return error_new("it has branches and nothing else, and none are asked for: --itrace=b shows them");
	log_warning("Intel BTS has branches and nothing else: 'i' of --itrace makes no events of it");
	return NULL;
}

static struct error *begin(struct itrace *itrace, const struct record_auxtrace_info *info)
{
	if (info->header.size < sizeof(*info) + INFO_WORDS * sizeof(uint64_t))
		return error_new_kind(ERROR_FORMAT, "its description is cut short");
	struct error *error = refuse(&itrace->options);
	if (!error)
		error = trace_find_source(itrace, info->words[INFO_PMU_TYPE]);
	if (error)
		return error;
	struct bts_state *state = itrace->state = mem_zalloc(sizeof(*state));
	itrace->timeless = true;
	state->snapshots = info->words[INFO_SNAPSHOT];
	state->branches = trace_event_add_branches(itrace, &state->branch_filter);
	return NULL;
}

static void end(struct itrace *itrace)
{
	free(itrace->state);
}

/* ── What a branch is ── */

static size_t prefixes(const uint8_t *code, size_t size)
{
	size_t at = 0;

	while (at < size && (memchr("\x66\x67\xf2\xf3\xf0\x2e\x3e\x26\x36\x64\x65", code[at], 11) || (code[at] & 0xf0) == 0x40))
		at++;
	return at;
}

/* Bytes of an operand in memory: ModRM, SIB, displacement. */
static size_t operand_size(const uint8_t *code, size_t size)
{
	if (size < 2)
		return size;
	const unsigned int mode = code[0] >> 6, base = code[0] & 7;
	const bool has_sib = mode != 3 && base == 4;
	const bool is_far = mode == 2 || (mode == 0 && (base == 5 || (has_sib && (code[1] & 7) == 5)));

	return 1 + has_sib + (is_far ? 4 : mode == 1 ? 1 : 0);
}

static uint32_t flags_of_two_bytes(const uint8_t *code, size_t size)
{
	if (size < 2)
		return 0;
	switch (code[1]) {
	case 0x05: /* SYSCALL */
	case 0x34: /* SYSENTER */
		return TRACED_BRANCH | TRACED_CALL | TRACED_SYSCALL;
	case 0x07: /* SYSRET */
	case 0x35: /* SYSEXIT */
		return TRACED_BRANCH | TRACED_RETURN | TRACED_SYSCALL;
	case 0x01: /* VMLAUNCH, VMRESUME */
		return size > 2 && (code[2] == 0xc2 || code[2] == 0xc3) ? TRACED_BRANCH | TRACED_CALL | TRACED_VM_ENTRY : 0;
	default:
		return (code[1] & 0xf0) == 0x80 ? TRACED_BRANCH | TRACED_CONDITIONAL : 0;
	}
}

static uint32_t flags_of_indirect(uint8_t operand)
{
	switch (operand >> 3 & 7) {
	case 2:
	case 3:
		return TRACED_BRANCH | TRACED_CALL;
	case 4:
	case 5:
		return TRACED_BRANCH;
	default:
		return 0;
	}
}

/* 0 of what is no branch. *ret_length: of a call or an interrupt that code asks for, which return behind it. */
static uint32_t flags_of(const uint8_t *code, size_t size, size_t *ret_length)
{
	const size_t before = prefixes(code, size);

	code += before;
	size -= before;
	*ret_length = before + 5;
	if (!size)
		return 0;
	switch (code[0]) {
	case 0xe8: /* CALL */
		return TRACED_BRANCH | TRACED_CALL;
	case 0xe9: /* JMP */
	case 0xea:
	case 0xeb:
		return TRACED_BRANCH;
	case 0xe0: /* LOOP, JCXZ */
	case 0xe1:
	case 0xe2:
	case 0xe3:
		return TRACED_BRANCH | TRACED_CONDITIONAL;
	case 0xc2: /* RET */
	case 0xc3:
	case 0xca:
	case 0xcb:
		return TRACED_BRANCH | TRACED_RETURN;
	case 0xcc: /* INT */
	case 0xcd:
	case 0xce:
	case 0xf1:
		*ret_length = before + 1 + (code[0] == 0xcd);
		return TRACED_BRANCH | TRACED_CALL | TRACED_INTERRUPT;
	case 0xcf: /* IRET */
		return TRACED_BRANCH | TRACED_RETURN | TRACED_INTERRUPT;
	case 0x0f:
		*ret_length = before + 2;
		return flags_of_two_bytes(code, size);
	case 0xff:
		*ret_length = before + 1 + operand_size(code + 1, size - 1);
		return size > 1 ? flags_of_indirect(code[1]) : 0;
	default:
		return (code[0] & 0xf0) == 0x70 ? TRACED_BRANCH | TRACED_CONDITIONAL : 0;
	}
}

/* Into the kernel, by no system call: an interrupt or a fault. */
static bool is_interrupt(const struct itrace *itrace, const struct bts_record *record, uint32_t flags)
{
	const struct machine *machine = itrace->session->machine;

	return !machine_is_kernel_address(machine, record->from) && machine_is_kernel_address(machine, record->to) &&
	       flags != (TRACED_BRANCH | TRACED_CALL | TRACED_SYSCALL);
}

static uint32_t flags_of_record(struct trace_queue *queue, const struct bts_record *record, uint64_t *ret_back)
{
	uint8_t code[INSTRUCTION_MAX];
	struct dso *missing;
	size_t length;

	*ret_back = 0;
	if (!record->from)
		return TRACED_BRANCH | TRACED_BEGIN;
	if (!record->to)
		return TRACED_BRANCH | TRACED_END;
	const size_t size = trace_read_code(queue->itrace, trace_runner_of(queue).tid, record->from, code, sizeof(code), &missing);
	if (!size) {
		queue->itrace->counts.errors++;
		queue->itrace->counts.no_code++;
		trace_put_error(queue, BTS_NO_CODE, record->from, "Failed to get instruction");
		return 0;
	}
	uint32_t flags = flags_of(code, size, &length);
	*ret_back = record->from + length;
	if (!is_interrupt(queue->itrace, record, flags))
		return flags;
	if (flags != (TRACED_BRANCH | TRACED_CALL | TRACED_INTERRUPT)) /* the code didn't ask for it */
		*ret_back = record->from;
	return TRACED_BRANCH | TRACED_CALL | TRACED_ASYNC | TRACED_INTERRUPT;
}

/* ── A queue's trace ── */

static void put_record(struct trace_queue *queue, const struct bts_record *record)
{
	const struct bts_state *state = queue->itrace->state;
	const struct trace_runner runner = trace_runner_of(queue);
	struct trace_sample sample = {
		.ip = record->from, .addr = record->to, .period = 1, .pid = runner.pid, .tid = runner.tid, .cpu = queue->cpu};
	uint64_t back;
	const uint32_t flags = flags_of_record(queue, record, &back);

	trace_take_branch(queue, flags, record->from, record->to, back);
	sample.flow = trace_flow(queue, flags);
	if (!state->branch_filter || state->branch_filter & flags)
		trace_put(queue->itrace, state->branches, &sample);
}

static bool is_same(const uint8_t *records, size_t i, const uint8_t *others, size_t j)
{
	return !memcmp(records + i * RECORD_SIZE, others + j * RECORD_SIZE, RECORD_SIZE);
}

/* How many bytes at the beginning of a snapshot stand in the one before as well: it ends with them. Knuth, Morris and Pratt: where a record
 * doesn't go on with what fitted so far, `shorter` tells which beginning of the snapshot may still do. */
static uint64_t overlap(const struct trace_piece *before, const struct trace_piece *piece)
{
	const size_t count = (before->size < piece->size ? before->size : piece->size) / RECORD_SIZE;
	const uint8_t *last = before->data + before->size - count * RECORD_SIZE;
	cleanup_free size_t *shorter = mem_alloc_array(count + 1, sizeof(*shorter));
	size_t fits = 0;

	shorter[0] = 0;
	for (size_t i = 1; i < count; i++) {
		while (fits && !is_same(piece->data, i, piece->data, fits))
			fits = shorter[fits - 1];
		fits += is_same(piece->data, i, piece->data, fits);
		shorter[i] = fits;
	}
	fits = 0;
	for (size_t i = 0; i < count; i++) {
		while (fits && !is_same(last, i, piece->data, fits))
			fits = shorter[fits - 1];
		fits += is_same(last, i, piece->data, fits);
	}
	return fits * RECORD_SIZE;
}

static void *open_queue(struct trace_queue *queue)
{
	(void)queue;
	return mem_zalloc(sizeof(struct bts_queue));
}

/* The first time nothing is known of who runs. */
static void step(struct trace_queue *queue)
{
	const struct bts_state *state = queue->itrace->state;
	struct bts_queue *own = queue->decoder;

	if (!own->started || own->piece >= queue->pieces.len || !state->branches) {
		queue->ended = own->started || !state->branches;
		own->started = true;
		return;
	}
	const struct trace_piece *piece = &queue->pieces.data[own->piece];
	uint64_t at = own->piece && state->snapshots ? overlap(piece - 1, piece) : 0;
	for (; piece->size - at >= RECORD_SIZE; at += RECORD_SIZE) {
		struct bts_record record;
		memcpy(&record, piece->data + at, sizeof(record));
		if (record.from || record.to)
			put_record(queue, &record);
	}
	queue->itrace->counts.lost_bytes += piece->size - at;
	own->piece++;
}

/* ── Dump ── */

static void describe(const struct record_auxtrace_info *info, struct strbuf *out)
{
	static const char *const NAMES[INFO_WORDS] = {"PMU Type",  "Time Shift",    "Time Muliplier",
						      "Time Zero", "Cap Time Zero", "Snapshot mode"};

	for (unsigned int i = 0; i < INFO_WORDS && info->header.size >= sizeof(*info) + (i + 1) * sizeof(uint64_t); i++)
		strbuf_printf(out, "  %-19s%" PRId64 "\n", NAMES[i], (int64_t)info->words[i]);
}

static void dump(const struct trace_dump *trace, struct strbuf *out)
{
	const uint8_t *bytes = trace->data;
	const size_t size = trace->size;

	strbuf_printf(out, ".\n. ... Intel BTS data: size %zu bytes\n", size);
	for (size_t at = 0; at < size; at += RECORD_SIZE) {
		struct bts_record record;
		strbuf_printf(out, ".  %08zx: ", at);
		for (size_t i = at; i < at + RECORD_SIZE; i++)
			if (i < size)
				strbuf_printf(out, " %02x", bytes[i]);
			else
				strbuf_add_str(out, "   ");
		if (size - at < RECORD_SIZE) {
			strbuf_add_str(out, " Bad record!\n");
			return;
		}
		memcpy(&record, bytes + at, sizeof(record));
		strbuf_printf(out, " %" PRIx64 " -> %" PRIx64 " %s\n", record.from, record.to, record.flags & PREDICTED ? "pred" : "miss");
	}
}

const struct trace_decoder trace_decoder_bts = {
	.type = TRACE_INTEL_BTS,
	.name = "Intel BTS",
	.letters = "bcresZi", /* refuse() tells of 'i' */
	.begin = begin,
	.end = end,
	.open = open_queue,
	.close = free,
	.step = step,
	.describe = describe,
	.dump = dump,
};
