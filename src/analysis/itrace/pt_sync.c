/* Intel PT: where decoding begins, and where it goes on when the trace can't be followed (no code, code that doesn't fit): at the next
 * packet that tells a whole address.
 *
 * libipt begins at points of synchronization (PSB) only. So one is made: in a copy of the trace, where bytes have been read already,
 *
 *	… read, or passed over ──────────────┤ TIP ip ├ TNT …      the packet that tells where it goes on
 *	          │ PSB TSC MODE FUP PSBEND … TIP ip ├ TNT …       the same with a point of synchronization in front
 *
 * which tells the time and what kind of code it is. Returns in the trace may leave out where they lead: libipt is told of calls that are
 * open by having it run some, one in front of each return address, whose code we make up (the prelude).
 *
 * Not done here: what is between packets (pt_steps.c). */
#include "analysis/itrace/pt_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { MODE_64 = 1, PACKETS_AT_ONCE = 4096 };
enum { SIZE_PSB = 16, SIZE_TSC = 8, SIZE_TMA = 7, SIZE_CBR = 4, SIZE_MODE = 2, SIZE_IP = 9, SIZE_PSBEND = 2 };
enum { POINT_MAX = SIZE_PSB + SIZE_TSC + SIZE_TMA + SIZE_CBR + SIZE_MODE + SIZE_PSBEND + (PT_CALLS_MAX + 2) * SIZE_IP };
enum { CALL_SIZE = 2 }; /* call *%rax */
enum { IP_FULL = 6 << 5 };

/* ── A trace ── */

static void start_decoder(struct trace_queue *queue, const uint8_t *bytes, uint64_t size)
{
	struct pt_queue *own = queue->decoder;
	const struct pt_state *state = queue->itrace->state;
	struct pt_config config = state->config;
	config.begin = (uint8_t *)bytes;
	config.end = config.begin + size;
	pt.insn_free_decoder(own->decoder);
	own->decoder = size ? pt.insn_alloc_decoder(&config) : NULL;
	if (own->decoder)
		pt.image_set_callback(pt.insn_get_image(own->decoder), pt_read_code, queue);
}

void pt_begin_trace(struct trace_queue *queue, const uint8_t *trace, uint64_t size)
{
	struct pt_queue *own = queue->decoder;
	const struct pt_state *state = queue->itrace->state;
	pt_end_trace(own);
	own->trace = trace;
	own->size = size;
	own->synced = own->has_last = own->has_event = own->aborts = own->told_damage = false;
	own->position = own->position_before = own->used = 0;
	own->call_count = own->prelude = 0;
	own->prelude_stops = false;
	own->error = PT_NO_ERROR;
	own->status = 0; /* not the end of the piece before */
	own->kept_ip = own->next_end = 0;
	own->mode = MODE_64;
	start_decoder(queue, trace, size);
	pt_walk_begin(&own->walk, &state->config, trace, size);
	own->walk.offset = pt_walk_find_point(&own->walk, 0);
}

void pt_end_trace(struct pt_queue *own)
{
	pt.insn_free_decoder(own->decoder);
	pt_walk_end(&own->walk);
	free(own->copy);
	own->decoder = NULL;
	own->copy = NULL;
	own->shift = 0;
}

/* ── Time ── */

void pt_take_ticks(struct pt_queue *own, uint64_t ticks)
{
	own->ticks = ticks;
	own->count_at_ticks = own->count;
}

/* The kernel tool's guess of when an error was found: two ticks for each instruction, at the highest frequency without turbo. */
static void guess_ticks(const struct trace_queue *queue, enum pt_error error)
{
	struct pt_queue *own = queue->decoder;
	const struct pt_state *state = queue->itrace->state;
	uint64_t passed = 2 * (own->count - own->count_at_ticks + (error == PT_MISMATCH));
	if (own->ratio && state->nominal_ratio)
		passed = passed * state->nominal_ratio / own->ratio;
	if (own->ticks)
		pt_take_ticks(own, own->ticks + passed);
}

/* ── Errors ── */

/* That a file's code isn't at hand is told once. */
static bool is_told(const struct trace_queue *queue)
{
	const struct pt_queue *own = queue->decoder;
	struct pt_state *state = queue->itrace->state;
	bool fresh = true;
	if (own->missing)
		map64_insert(&state->told, (uintptr_t)own->missing, &fresh);
	return !fresh;
}

void pt_tell_error(struct trace_queue *queue, enum pt_error error, uint64_t ip)
{
	static const char *const MESSAGES[] = {
		[PT_BAD_PACKET] = "Bad packet",
		[PT_NO_CODE] = "Failed to get instruction",
		[PT_MISMATCH] = "Trace doesn't match instruction",
		[PT_OVERFLOW] = "Overflow packet",
		[PT_LOOP] = "Never-ending loop",
	};
	queue->itrace->counts.errors++;
	queue->itrace->counts.no_code += error == PT_NO_CODE;
	if ((error == PT_NO_CODE && is_told(queue)) || (error == PT_OVERFLOW && queue->itrace->options.without_overflows))
		return;
	trace_put_error(queue, error, ip, MESSAGES[error]);
}

static uint64_t position_of(const struct pt_queue *own)
{
	uint64_t offset = 0;
	if (pt.insn_get_offset(own->decoder, &offset) < 0 || offset < own->shift)
		return own->position;
	return offset - own->shift;
}

/* Where it went is told by the packet at `used`; but a call that failed may have gone on by one. */
void pt_lose_track(struct trace_queue *queue, enum pt_error error, uint64_t ip)
{
	struct pt_queue *own = queue->decoder;
	struct pt_packet packet;
	const bool moved = error != PT_NO_CODE && position_of(own) != own->position;
	const uint64_t used = moved ? own->position : own->used;
	own->has_last = own->has_event = own->aborts = own->synced = false;
	own->told_damage = error == PT_BAD_PACKET;
	own->prelude = 0;
	own->prelude_stops = false;
	own->error = error;
	own->error_passed = moved;
	own->kept_ip = ip;
	guess_ticks(queue, error);
	if (own->last.ip)
		own->mode = own->last.mode == ptem_64bit ? MODE_64 : own->last.mode == ptem_32bit ? 2 : 0;
	if (used >= own->walk.offset) {
		pt_walk_to(&own->walk, used);
		pt_walk_next(&own->walk, &packet);
	}
}

/* ── Points of synchronization ── */

/* The next point that libipt comes to, from `offset` on. */
static void expect_point(struct trace_queue *queue, uint64_t offset)
{
	struct pt_queue *own = queue->decoder;
	const struct pt_state *state = queue->itrace->state;
	struct pt_walk walk;
	struct pt_packet packet;
	if (own->next_end && own->next_point >= offset)
		return;
	own->next_point = pt_walk_find_point(&own->walk, offset);
	own->next = (struct pt_point){0};
	own->next_end = UINT64_MAX;
	if (own->next_point == UINT64_MAX)
		return;
	pt_walk_begin(&walk, &state->config, own->trace, own->size);
	walk.offset = own->next_point;
	if (pt_walk_next(&walk, &packet))
		pt_walk_point(&walk, &own->next);
	own->next_end = walk.offset;
	pt_walk_end(&walk);
}

static void begin_at(struct trace_queue *queue, uint64_t offset)
{
	struct pt_queue *own = queue->decoder;
	own->status = pt.insn_sync_set(own->decoder, offset);
	own->synced = own->status >= 0;
	own->position = position_of(own);
	own->position_before = own->used = 0;
	own->has_last = own->has_event = false;
	own->since_position = 0;
	expect_point(queue, own->walk.offset);
}

static void tell_damage(struct trace_queue *queue)
{
	struct pt_queue *own = queue->decoder;
	if (!own->told_damage)
		pt_tell_error(queue, PT_BAD_PACKET, own->ip);
	own->told_damage = true;
	own->walk.offset = pt_walk_find_point(&own->walk, own->walk.offset);
}

/* After a packet was passed: first it is the time's turn, which may be others' as well. */
static bool time_goes_on(struct pt_queue *own)
{
	if (own->walk.time.ticks <= own->ticks)
		return false;
	pt_take_ticks(own, own->walk.time.ticks);
	return true;
}

/* Behind the PSB packet of a point. */
static void take_point(struct trace_queue *queue)
{
	struct pt_queue *own = queue->decoder;
	struct pt_point point;
	const uint64_t offset = own->walk.offset - SIZE_PSB;
	if (!pt_walk_point(&own->walk, &point))
		return tell_damage(queue);
	if (time_goes_on(own)) {
		own->walk.offset = offset;
		return;
	}
	own->call_count = 0;
	own->kept_ip = 0;
	pt_put_point(queue, offset, &point);
	if (point.has_ip)
		begin_at(queue, offset + own->shift);
}

void pt_tell_points(struct trace_queue *queue)
{
	struct pt_queue *own = queue->decoder;
	while (own->next_point < own->next_end && own->next_end <= own->position_before) {
		pt_put_point(queue, own->next_point, &own->next);
		own->call_count = 0;
		expect_point(queue, own->next_point + SIZE_PSB);
	}
}

/* ── A point that is made ── */

static uint8_t *add_ip(uint8_t *to, uint8_t header, uint64_t ip)
{
	*to = header | IP_FULL;
	memcpy(to + 1, &ip, sizeof(ip));
	return to + SIZE_IP;
}

enum { HEADER_PGD = 0x01, HEADER_TIP = 0x0d, HEADER_PGE = 0x11, HEADER_FUP = 0x1d };

/* Where libipt finds the call that puts calls[i] on its stack. */
static uint64_t prelude_ip(const struct pt_queue *own, unsigned int i)
{
	return own->calls[i] - CALL_SIZE;
}

/* With the slow clock, where it is known: a tick of it has just begun. */
static uint8_t *add_time(uint8_t *to, const struct pt_queue *own)
{
	const struct pt_time *time = &own->walk.time;
	const uint16_t ctc = (uint16_t)(time->last << time->shift);
	const bool stands = time->is_tied && time->ticks == own->ticks;
	if (!own->ticks)
		return to;
	*to = 0x19;
	memcpy(to + 1, &own->ticks, SIZE_TSC - 1);
	to += SIZE_TSC;
	if (!stands)
		return to;
	memcpy(to, (const uint8_t[]){0x02, 0x73, (uint8_t)ctc, (uint8_t)(ctc >> 8), 0, 0, 0}, SIZE_TMA);
	return to + SIZE_TMA;
}

/* Returns how long it is. What follows goes on at `ip`, or nothing runs (PGD), or tracing begins there (PGE). */
static size_t make_point(const struct pt_queue *own, enum pt_packet_type type, uint64_t ip, uint8_t *ret)
{
	uint8_t *to = ret;
	const bool runs = type != ppt_tip_pgd && type != ppt_tip_pge;
	for (; to < ret + SIZE_PSB; to += 2)
		memcpy(to, "\x02\x82", 2);
	to = add_time(to, own);
	if (own->ratio) {
		memcpy(to, (const uint8_t[]){0x02, 0x03, (uint8_t)own->ratio, 0}, SIZE_CBR);
		to += SIZE_CBR;
	}
	memcpy(to, (const uint8_t[]){0x99, own->mode}, SIZE_MODE);
	to += SIZE_MODE;
	if (own->call_count || runs)
		to = add_ip(to, HEADER_FUP, own->call_count ? prelude_ip(own, 0) : ip);
	memcpy(to, "\x02\x23", SIZE_PSBEND);
	to += SIZE_PSBEND;
	for (unsigned int i = 1; i < own->call_count; i++)
		to = add_ip(to, HEADER_TIP, prelude_ip(own, i));
	if (own->call_count && runs)
		to = add_ip(to, HEADER_TIP, ip);
	else if (own->call_count)
		to = add_ip(to, HEADER_PGD, ip);
	return (size_t)((type == ppt_tip_pge ? add_ip(to, HEADER_PGE, ip) : to) - ret);
}

size_t pt_prelude_code(const struct pt_queue *own, uint64_t ip, uint8_t *ret)
{
	if (!own->prelude || ip != prelude_ip(own, own->call_count - own->prelude))
		return 0;
	memcpy(ret, "\xff\xd0", CALL_SIZE);
	return CALL_SIZE;
}

/* Goes on behind a packet with an address. */
static void resume(struct trace_queue *queue, enum pt_packet_type type, uint64_t ip)
{
	struct pt_queue *own = queue->decoder;
	uint8_t point[POINT_MAX];
	const size_t length = make_point(own, type, ip, point);
	if (!own->copy) {
		own->copy = mem_zalloc(POINT_MAX + own->size);
		memcpy(own->copy + POINT_MAX, own->trace, own->size);
		own->shift = POINT_MAX;
		start_decoder(queue, own->copy, POINT_MAX + own->size);
	}
	const uint64_t begin = own->shift + own->walk.offset - length;
	memcpy(own->copy + begin, point, length);
	if (type != ppt_tip_pge)
		pt_put_branch(queue, 0, ip, TRACED_BEGIN | (type == ppt_tip_pgd ? TRACED_END : 0), 0);
	own->prelude = own->call_count;
	own->prelude_stops = own->call_count && (type == ppt_tip_pge || type == ppt_tip_pgd);
	own->ip = ip;
	begin_at(queue, begin);
}

/* ── The way there ── */

static bool tells_what_ran(enum pt_packet_type type)
{
	return type == ppt_tnt_8 || type == ppt_tnt_64 || type == ppt_tip || type == ppt_tip_pgd || type == ppt_fup;
}

static bool tells_state(enum pt_packet_type type)
{
	return type == ppt_psb || type == ppt_tip_pge || type == ppt_ovf || type == ppt_invalid;
}

static void end_error(struct trace_queue *queue, bool told)
{
	struct pt_queue *own = queue->decoder;
	if (told)
		pt_tell_error(queue, own->error, own->kept_ip);
	if (own->error == PT_NO_CODE)
		own->kept_ip = 0;
	if (own->error == PT_NO_CODE)
		own->walk.has_last_ip = false;
	own->error = PT_NO_ERROR;
}

/* The kernel's tool looks at code when a packet says that it ran: an error takes this packet with it, and where none comes before the
 * state is told anew there is no error. True: it is dealt with. */
static bool pass_error(struct trace_queue *queue)
{
	struct pt_queue *own = queue->decoder;
	struct pt_packet packet;
	bool told = own->error_passed || own->error != PT_NO_CODE;
	if (own->error == PT_BAD_PACKET) {
		const uint64_t at = own->position > own->walk.offset ? own->position : own->walk.offset;
		own->walk.offset = pt_walk_find_point(&own->walk, at);
		own->error_passed = true;
	}
	while (!own->error_passed && pt_walk_next(&own->walk, &packet)) {
		if (time_goes_on(own))
			return false;
		own->error_passed = tells_what_ran(packet.type);
		told |= own->error_passed;
		if (tells_state(packet.type)) {
			own->walk.offset -= packet.size;
			break;
		}
	}
	end_error(queue, told);
	return true;
}

static void take_packet(struct trace_queue *queue, const struct pt_packet *packet)
{
	struct pt_queue *own = queue->decoder;
	uint64_t ip = own->kept_ip;
	switch (packet->type) {
	case ppt_invalid:
		return tell_damage(queue);
	case ppt_psb:
		return take_point(queue);
	case ppt_ovf:
		return pt_tell_error(queue, PT_OVERFLOW, 0);
	case ppt_cbr:
		return pt_put_ratio(queue, own->ip, packet->payload.cbr.ratio);
	case ppt_mode:
		if (packet->payload.mode.leaf == pt_mol_exec)
			own->mode = (uint8_t)(packet->payload.mode.bits.exec.csl | packet->payload.mode.bits.exec.csd << 1);
		return;
	case ppt_tip:
	case ppt_fup:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		pt_walk_address(&own->walk, packet, &ip);
		if (ip)
			resume(queue, packet->type, ip);
		return;
	default:
		return;
	}
}

void pt_synchronize(struct trace_queue *queue)
{
	struct pt_queue *own = queue->decoder;
	struct pt_packet packet;
	const uint64_t ticks = own->ticks;
	if (own->error && !pass_error(queue))
		return;
	for (unsigned int i = 0; i < PACKETS_AT_ONCE && !own->synced && own->ticks == ticks; i++) {
		if (!pt_walk_next(&own->walk, &packet)) {
			own->status = -pte_eos;
			return;
		}
		if (!time_goes_on(own) || packet.type == ppt_psb)
			take_packet(queue, &packet);
	}
}
