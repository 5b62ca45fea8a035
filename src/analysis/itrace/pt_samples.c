/* Intel PT: what is told of instructions and events, as samples. */
#include "analysis/itrace/pt_internal.h"

#include <string.h>

static struct trace_sample sample_at(const struct trace_queue *queue, uint64_t ip)
{
	struct trace_runner runner = trace_runner_of(queue);
	return (struct trace_sample){.ip = ip,
				     .period = 1,
				     .time = queue->time,
				     .pid = runner.pid,
				     .tid = runner.tid,
				     .cpu = queue->cpu,
				     .queue = queue,
				     .flow = trace_flow(queue, 0)};
}

void pt_put_branch(struct trace_queue *queue, uint64_t from, uint64_t to, uint32_t flags, unsigned int size)
{
	const struct pt_state *state = queue->itrace->state;
	flags |= TRACED_BRANCH;
	trace_take_branch(queue, flags, from, to, from + size);
	if (!state->branches || (state->branch_filter && !(state->branch_filter & flags)))
		return;
	struct trace_sample sample = sample_at(queue, from);
	sample.addr = to;
	sample.flow.flags = flags;
	trace_put(queue->itrace, state->branches, &sample);
}

void pt_put_raw(struct trace_queue *queue, enum made_raw kind, uint64_t ip, uint32_t flags, uint64_t payload, size_t payload_size)
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

/* Of an instruction that calls, or returns, and may go to another privilege. */
static uint32_t far_flags(const struct pt_insn *insn)
{
	const uint8_t *opcode = insn->raw;
	size_t left = insn->size;
	for (; left > 2 && (*opcode & 0xf0) == 0x40; left--) /* REX */
		opcode++;
	switch (*opcode) {
	case 0xcc: /* int3, int, into, int1 */
	case 0xcd:
	case 0xce:
	case 0xf1:
	case 0xcf: /* iret */
		return TRACED_INTERRUPT;
	case 0x0f:
		break;
	default:
		return 0;
	}
	switch (opcode[1]) {
	case 0x05: /* syscall, sysret, sysenter, sysexit */
	case 0x07:
	case 0x34:
	case 0x35:
		return TRACED_SYSCALL;
	case 0x01: /* vmlaunch, vmresume */
		return left > 2 && (opcode[2] == 0xc2 || opcode[2] == 0xc3) ? TRACED_VM_ENTRY : 0;
	}
	return 0;
}

uint32_t pt_flags_of(const struct pt_insn *insn)
{
	const uint32_t inside = insn->speculative ? TRACED_TRANSACTION : 0, always = TRACED_BRANCH | inside, far = far_flags(insn);
	switch (insn->iclass) {
	case ptic_call:
		return always | TRACED_CALL;
	case ptic_far_call:
		return always | TRACED_CALL | far;
	case ptic_return:
		return always | TRACED_RETURN;
	case ptic_far_return:
		return always | (far == TRACED_VM_ENTRY ? TRACED_CALL : TRACED_RETURN) | far;
	case ptic_cond_jump:
		return always | TRACED_CONDITIONAL;
	case ptic_jump:
	case ptic_far_jump:
		return always;
	default:
		return inside;
	}
}

void pt_put_instruction(struct trace_queue *queue, const struct pt_insn *insn)
{
	struct pt_queue *own = queue->decoder;
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
	sample.flow.flags = pt_flags_of(insn);
	sample.period = own->count - own->sampled_count;
	if (trace_put(queue->itrace, state->instructions, &sample))
		own->sampled_count = own->count;
}

void pt_put_transaction(struct trace_queue *queue, const struct pt_event *event, uint64_t ip)
{
	const struct pt_state *state = queue->itrace->state;
	struct trace_sample sample = sample_at(queue, ip);
	sample.flow.flags = event->variant.tsx.aborted	     ? TRACED_BRANCH | TRACED_ABORT
			    : event->variant.tsx.speculative ? TRACED_TRANSACTION
							     : 0;
	trace_put(queue->itrace, state->transactions, &sample);
}

void pt_put_power(struct trace_queue *queue, const struct pt_event *event, uint64_t ip)
{
	const __typeof__(event->variant) *of = &event->variant;
	switch (event->type) {
	case ptev_exstop:
		pt_put_raw(queue, RAW_EXSTOP, event->ip_suppressed ? ip : of->exstop.ip, !event->ip_suppressed, 0, 0);
		break;
	case ptev_mwait:
		pt_put_raw(queue, RAW_MWAIT, event->ip_suppressed ? ip : of->mwait.ip, 0, of->mwait.hints | (uint64_t)of->mwait.ext << 32,
			   8);
		break;
	case ptev_pwre:
		pt_put_raw(queue, RAW_PWRE, ip, 0,
			   (uint64_t)of->pwre.hw << 7 | (uint64_t)of->pwre.state << 12 | (uint64_t)of->pwre.sub_state << 8, 8);
		break;
	case ptev_pwrx:
		pt_put_raw(queue, RAW_PWRX, ip, 0,
			   of->pwrx.deepest | (uint64_t)of->pwrx.last << 4 | (uint64_t)of->pwrx.interrupt << 8 |
				   (uint64_t)of->pwrx.store << 10 | (uint64_t)of->pwrx.autonomous << 11,
			   8);
		break;
	case ptev_cbr:
		pt_put_ratio(queue, ip, of->cbr.ratio);
		break;
	default:
		break;
	}
}

void pt_put_ratio(struct trace_queue *queue, uint64_t ip, uint32_t ratio)
{
	struct pt_queue *own = queue->decoder;
	const struct pt_state *state = queue->itrace->state;
	const uint64_t nominal = state->nominal_ratio;
	own->ratio = ratio;
	if (ratio == own->ratio_told)
		return;
	own->ratio_told = ratio;
	pt_put_raw(queue, RAW_CBR, ip, ratio | (uint32_t)nominal << 16,
		   nominal ? ratio * (trace_ticks(queue->itrace, 1000000) / nominal) : 0, sizeof(uint64_t));
}

void pt_put_point(struct trace_queue *queue, uint64_t offset, const struct pt_point *point)
{
	struct pt_queue *own = queue->decoder;
	const uint64_t before = queue->time, time = point->has_ticks ? trace_time(queue->itrace, point->ticks) : before;
	if (time > before && !queue->itrace->timeless)
		queue->time = time;
	pt_put_raw(queue, RAW_PSB, point->ip, 0, offset, sizeof(offset));
	pt_put_ratio(queue, point->ip, point->ratio ? point->ratio : own->ratio);
	queue->time = before;
}
