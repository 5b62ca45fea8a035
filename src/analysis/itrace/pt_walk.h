/* Packets of Intel PT one after the other, apart from the instructions that they lead through: addresses that are told in part, points of
 * synchronization (PSB), time. Within analysis/itrace. */
#pragma once

#include "analysis/itrace/pt_library.h"

#include <stdbool.h>
#include <stdint.h>

/* Time stamps (TSC) are rare. In between a slower clock (CTC) tells some of its bits each time they have changed (MTC). */
struct pt_time {
	uint64_t ticks;	     /* 0 = not told yet */
	uint64_t base, ctc;  /* where the slow clock began to count, and how far it is since then */
	uint8_t last, shift; /* its bits that were told last, and which they are */
	bool is_tied;	     /* it is known how both clocks belong together */
	uint32_t numerator, denominator;
};

struct pt_walk {
	struct pt_packet_decoder *decoder;
	const uint8_t *trace;
	uint64_t size;
	uint64_t offset; /* of the packet that comes next */
	uint64_t last_ip;
	bool has_last_ip; /* parts of addresses can be put together */
	struct pt_time time;
};

/* A point of synchronization, and the state that stands behind it. */
struct pt_point {
	uint64_t ip, ticks;
	uint8_t ratio; /* 0 = not told */
	bool has_ip, has_ticks;
};

/* `config` is copied. */
void pt_walk_begin(struct pt_walk *walk, const struct pt_config *config, const uint8_t *trace, uint64_t size);
void pt_walk_end(struct pt_walk *walk);
/* False at the end; a packet that is none has the type ppt_invalid, and stays. */
bool pt_walk_next(struct pt_walk *walk, struct pt_packet *ret);
/* The address of the packet that was read last; false: it has none, or one that can't be put together. */
bool pt_walk_address(const struct pt_walk *walk, const struct pt_packet *packet, uint64_t *ret);
/* Passes packets up to `offset`. */
void pt_walk_to(struct pt_walk *walk, uint64_t offset);
/* Where the next point is, from `offset` on; UINT64_MAX = there is none. */
uint64_t pt_walk_find_point(const struct pt_walk *walk, uint64_t offset);
/* Reads what stands behind a PSB packet, which was read last; false: it is damaged. */
bool pt_walk_point(struct pt_walk *walk, struct pt_point *ret);
