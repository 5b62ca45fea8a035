/* Intel PT: from one instruction, or one event, to the next, through libipt.
 *
 * A branch is known when the instruction behind it is. libipt reads ahead up to the next packet that tells where the program went: a time
 * stamp in between is of what comes behind the packet that is in use. */
#include "analysis/itrace/pt_internal.h"

#include <string.h>

/* More instructions than this without a packet are a loop that the code makes of itself; fewer are enough where there was one. */
enum { LOOP_MAX = 1 << 17, NEXT_LOOP_MAX = 1 << 12 };

static bool is_branch(const struct pt_insn *insn)
{
	return insn->iclass >= ptic_call && insn->iclass <= ptic_far_jump;
}

/* Calls that are open. */
static void follow_calls(struct pt_queue *own, uint64_t ip)
{
	const struct pt_insn *last = &own->last;
	const uint64_t back = last->ip + last->size;
	if (last->iclass == ptic_return && own->call_count)
		own->call_count--;
	if (last->iclass != ptic_call || ip == back)
		return;
	if (own->call_count == PT_CALLS_MAX)
		memmove(own->calls, own->calls + 1, --own->call_count * sizeof(own->calls[0]));
	own->calls[own->call_count++] = back;
}

/* Code went on at `ip`: a branch, if it was one. */
static void flush_last(struct trace_queue *queue, uint64_t ip)
{
	struct pt_queue *own = queue->decoder;
	const struct pt_insn *last = &own->last;
	if (!own->has_last)
		return;
	own->has_last = false;
	follow_calls(own, ip);
	if (is_branch(last) && (last->iclass != ptic_cond_jump || ip != last->ip + last->size))
		pt_put_branch(queue, last->ip, ip, pt_flags_of(last), last->size);
}

static enum pt_error error_of(int status)
{
	switch (-status) {
	case pte_nomap:
		return PT_NO_CODE;
	case pte_bad_opc:
	case pte_bad_packet:
		return PT_BAD_PACKET;
	}
	return PT_MISMATCH;
}

static void take_event(struct trace_queue *queue)
{
	struct pt_queue *own = queue->decoder;
	const struct pt_event event = own->event;
	const __typeof__(event.variant) *of = &event.variant;
	own->has_event = false;
	own->is_quiet = event.status_update;
	if (!own->is_quiet)
		own->used = own->position_before;
	switch (event.type) {
	case ptev_enabled:
		own->has_last = own->aborts = false;
		own->ip = of->enabled.ip;
		if (!event.status_update)
			pt_put_branch(queue, 0, of->enabled.ip, TRACED_BEGIN, 0);
		break;
	case ptev_disabled:
		if (own->has_last)
			pt_put_branch(queue, own->last.ip, event.ip_suppressed ? 0 : of->disabled.ip, pt_flags_of(&own->last) | TRACED_END,
				      own->last.size);
		own->has_last = false;
		break;
	case ptev_async_disabled:
		flush_last(queue, of->async_disabled.at);
		pt_put_branch(queue, of->async_disabled.at, event.ip_suppressed ? 0 : of->async_disabled.ip, TRACED_ASYNC | TRACED_END, 0);
		own->aborts = false;
		break;
	case ptev_async_branch:
		flush_last(queue, of->async_branch.from);
		pt_put_branch(queue, of->async_branch.from, event.ip_suppressed ? 0 : of->async_branch.to,
			      own->aborts ? TRACED_ABORT : TRACED_CALL | TRACED_ASYNC | TRACED_INTERRUPT, 0);
		own->aborts = false;
		break;
	case ptev_tsx:
		if (event.status_update || event.ip_suppressed)
			break;
		flush_last(queue, of->tsx.ip);
		pt_put_transaction(queue, &event, of->tsx.ip);
		own->aborts = of->tsx.aborted;
		break;
	case ptev_overflow:
		pt_tell_error(queue, PT_OVERFLOW, own->last.ip);
		own->has_last = own->aborts = false;
		if (!event.ip_suppressed)
			pt_put_branch(queue, 0, of->overflow.ip, TRACED_BEGIN, 0);
		break;
	case ptev_ptwrite:
		pt_put_raw(queue, RAW_PTWRITE, event.ip_suppressed ? own->last.ip : of->ptwrite.ip, !event.ip_suppressed,
			   of->ptwrite.payload, 8);
		break;
	default:
		pt_put_power(queue, &event, own->ip);
	}
}

/* Looks at the event that comes next: its time tells when it is due. */
static void look_at_event(struct trace_queue *queue)
{
	struct pt_queue *own = queue->decoder;
	own->status = pt.insn_event(own->decoder, &own->event, sizeof(own->event));
	if (own->status < 0)
		return pt_lose_track(queue, error_of(own->status), own->last.ip);
	/* Those of the prelude are ours. */
	own->has_event = !own->prelude && !own->prelude_stops;
	own->prelude_stops &= own->event.type != ptev_disabled;
	if (own->has_event && !own->event.status_update && own->event.has_tsc && own->event.tsc > own->ticks)
		pt_take_ticks(own, own->event.tsc);
}

static void take_instruction(struct trace_queue *queue)
{
	struct pt_queue *own = queue->decoder;
	struct pt_insn insn = {0};
	own->is_quiet = false;
	own->status = pt.insn_next(own->decoder, &insn, sizeof(insn));
	if (own->prelude && own->status >= 0) {
		own->prelude--;
		return;
	}
	if (insn.ip)
		flush_last(queue, insn.ip);
	if (own->status == -pte_eos)
		return;
	if (own->status < 0)
		return pt_lose_track(queue, error_of(own->status), insn.ip);
	if (++own->since_position > (own->looped ? NEXT_LOOP_MAX : LOOP_MAX)) {
		own->looped = true;
		return pt_lose_track(queue, PT_LOOP, insn.ip);
	}
	own->last = insn;
	own->ip = insn.ip;
	own->has_last = own->owes = true;
}

/* Where libipt is, and when. */
static void look_around(struct trace_queue *queue)
{
	struct pt_queue *own = queue->decoder;
	uint32_t lost_mtc, lost_cyc;
	uint64_t ticks = 0, offset = 0;
	if (pt.insn_get_offset(own->decoder, &offset) < 0)
		return;
	offset -= own->shift;
	if (offset != own->position) {
		own->position_before = own->position;
		if (!own->is_quiet)
			own->used = own->position;
		own->position = offset;
		own->since_position = 0;
		pt_tell_points(queue);
	}
	if (own->status & pts_event_pending || pt.insn_time(own->decoder, &ticks, &lost_mtc, &lost_cyc) < 0)
		return;
	const bool ahead = own->next_point < own->position && ticks >= own->next.ticks;
	if (!ahead && ticks > own->ticks)
		pt_take_ticks(own, ticks);
}

void pt_step(struct trace_queue *queue)
{
	struct pt_queue *own = queue->decoder;
	if (own->owes)
		pt_put_instruction(queue, &own->last);
	own->owes = false;
	if (own->decoder && !own->synced)
		pt_synchronize(queue);
	else if (own->decoder && own->has_event)
		take_event(queue);
	else if (own->decoder && own->status >= 0 && own->status & pts_event_pending)
		look_at_event(queue);
	else if (own->decoder)
		take_instruction(queue);
	if (own->synced && !own->has_event)
		look_around(queue);
	const bool at_end =
		!own->decoder || own->status == -pte_eos ||
		(own->synced && own->status >= 0 && own->status & pts_eos && !(own->status & pts_event_pending) && !own->has_event);
	if (at_end && !pt_next_piece(queue)) {
		queue->ended = true;
		return;
	}
	const uint64_t time = queue->itrace->timeless ? 0 : trace_time(queue->itrace, own->ticks);
	if (own->ticks && time > queue->time)
		queue->time = time;
}
