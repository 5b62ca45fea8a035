/* Packets of Intel PT in a row. Facts: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3, chapter "Intel Processor
 * Trace": compression of addresses by the one before, which a PSB forgets. */
#include "analysis/itrace/pt_walk.h"

#include <string.h>

static const uint8_t PSB[] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};

void pt_walk_begin(struct pt_walk *walk, const struct pt_config *config, const uint8_t *trace, uint64_t size)
{
	struct pt_config own = *config;
	own.begin = (uint8_t *)trace;
	own.end = own.begin + size;
	*walk = (struct pt_walk){.decoder = size ? pt.pkt_alloc_decoder(&own) : NULL, .trace = trace, .size = size};
	walk->time =
		(struct pt_time){.shift = config->mtc_freq, .numerator = config->cpuid_0x15_ebx, .denominator = config->cpuid_0x15_eax};
}

void pt_walk_end(struct pt_walk *walk)
{
	pt.pkt_free_decoder(walk->decoder);
	walk->decoder = NULL;
}

static bool has_address(const struct pt_packet *packet)
{
	return packet->type == ppt_fup || packet->type == ppt_tip || packet->type == ppt_tip_pge || packet->type == ppt_tip_pgd;
}

static uint64_t address_of(uint64_t last, const struct pt_packet_ip *packet)
{
	const uint64_t ip = packet->ip;
	switch (packet->ipc) {
	case pt_ipc_update_16:
		return (last & ~0xffffull) | (ip & 0xffff);
	case pt_ipc_update_32:
		return (last & ~0xffffffffull) | (ip & 0xffffffff);
	case pt_ipc_update_48:
		return (last & ~0xffffffffffffull) | (ip & 0xffffffffffff);
	case pt_ipc_sext_48:
		return (uint64_t)((int64_t)(ip << 16) >> 16);
	default:
		return ip;
	}
}

static void take_address(struct pt_walk *walk, const struct pt_packet *packet)
{
	const struct pt_packet_ip *ip = &packet->payload.ip;
	if (ip->ipc == pt_ipc_suppressed)
		return;
	walk->has_last_ip |= ip->ipc == pt_ipc_full || ip->ipc == pt_ipc_sext_48;
	walk->last_ip = address_of(walk->last_ip, ip);
}

static uint64_t ticks_of(const struct pt_time *time, uint64_t ctc)
{
	return time->denominator ? (uint64_t)((unsigned __int128)ctc * time->numerator / time->denominator) : 0;
}

/* A time stamp is followed by what the slow clock was then (TMA), to a part of its tick: `fc` ticks of the fast one. */
static void tie_clocks(struct pt_time *time, uint32_t ctc, uint32_t fc)
{
	time->base = time->ticks - fc - ticks_of(time, ctc & ((1u << time->shift) - 1));
	time->last = (uint8_t)(ctc >> time->shift);
	time->ctc = 0;
	time->is_tied = time->ticks && time->denominator;
}

static void take_time(struct pt_time *time, const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_tsc:
		time->ticks = packet->payload.tsc.tsc;
		time->is_tied = false;
		break;
	case ppt_tma:
		tie_clocks(time, packet->payload.tma.ctc, packet->payload.tma.fc);
		break;
	case ppt_mtc:
		time->ctc += (uint64_t)(uint8_t)(packet->payload.mtc.ctc - time->last) << time->shift;
		time->last = packet->payload.mtc.ctc;
		if (time->is_tied)
			time->ticks = time->base + ticks_of(time, time->ctc);
		break;
	default:
		break;
	}
}

bool pt_walk_next(struct pt_walk *walk, struct pt_packet *ret)
{
	if (!walk->decoder || walk->offset >= walk->size)
		return false;
	int got = pt.pkt_sync_set(walk->decoder, walk->offset);
	if (got >= 0)
		got = pt.pkt_next(walk->decoder, ret, sizeof(*ret));
	if (got == -pte_eos)
		return false;
	if (got <= 0 || (uint64_t)got > walk->size - walk->offset) {
		*ret = (struct pt_packet){.type = ppt_invalid};
		return true;
	}
	walk->offset += (uint64_t)got;
	take_time(&walk->time, ret);
	if (ret->type == ppt_psb) {
		walk->last_ip = 0;
		walk->has_last_ip = true;
	} else if (has_address(ret)) {
		take_address(walk, ret);
	}
	return true;
}

bool pt_walk_address(const struct pt_walk *walk, const struct pt_packet *packet, uint64_t *ret)
{
	if (!has_address(packet) || packet->payload.ip.ipc == pt_ipc_suppressed || !walk->has_last_ip)
		return false;
	*ret = walk->last_ip;
	return true;
}

void pt_walk_to(struct pt_walk *walk, uint64_t offset)
{
	struct pt_packet packet;
	while (walk->offset < offset && pt_walk_next(walk, &packet))
		if (packet.type == ppt_invalid)
			walk->offset++;
}

uint64_t pt_walk_find_point(const struct pt_walk *walk, uint64_t offset)
{
	const uint8_t *found = offset < walk->size ? memmem(walk->trace + offset, walk->size - offset, PSB, sizeof(PSB)) : NULL;
	return found ? (uint64_t)(found - walk->trace) : UINT64_MAX;
}

bool pt_walk_point(struct pt_walk *walk, struct pt_point *ret)
{
	struct pt_packet packet;
	*ret = (struct pt_point){0};
	while (pt_walk_next(walk, &packet)) {
		switch (packet.type) {
		case ppt_psbend:
			return true;
		case ppt_tsc:
			ret->ticks = packet.payload.tsc.tsc;
			ret->has_ticks = true;
			break;
		case ppt_cbr:
			ret->ratio = packet.payload.cbr.ratio;
			break;
		case ppt_fup:
			ret->has_ip = pt_walk_address(walk, &packet, &ret->ip);
			break;
		case ppt_invalid:
		case ppt_ovf:
		case ppt_psb:
		case ppt_tip:
		case ppt_tip_pge:
		case ppt_tip_pgd:
		case ppt_tnt_8:
		case ppt_tnt_64:
			return false;
		default:
			break;
		}
	}
	return false;
}
