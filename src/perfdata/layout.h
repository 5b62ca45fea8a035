/* Layout: where the fields of an event's samples are, computed once for each event from its attr.
 *
 * All decoding works on records in native byte order whose start is 8-byte aligned; perfdata/swap.h makes them so. Every size, offset and
 * count in a record is checked against the record's end before it is used.
 */
#pragma once

#include "base/error.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "event/event.h"
#include "perfdata/records.h"

#include <stdbool.h>
#include <stdint.h>

struct sample_layout {
	uint64_t sample_type;
	uint64_t variable_type; /* of sample_type what is behind the fixed part */
	uint64_t read_format;
	uint64_t branch_sample_type;
	uint64_t regs_user_mask;
	uint64_t regs_intr_mask;
	bool sample_id_all;
	/* Byte offsets from the record's start into the fixed part; 0 = the field isn't there. */
	uint16_t identifier, ip, tid, time, addr, id, stream_id, cpu, period;
	uint16_t variable; /* where the variable part begins */
	uint16_t trailer;  /* bytes of the sample_id trailer of non-sample records; 0 without sample_id_all */
	/* Distances of the trailer's fields back from the record's end; 0 = isn't there. */
	uint16_t trailer_tid, trailer_time, trailer_id, trailer_stream_id, trailer_cpu, trailer_identifier;
	/* Of an event that guests counted, which was put into the host's recording: id → struct sample_guest. NULL = the host counted it.
	 */
	const struct map64 *guests;
};

/* Where something with the id of a guest's counter happened. */
struct sample_guest {
	uint32_t machine_pid; /* the hypervisor's process on the host; 0 = on the host itself */
	uint32_t vcpu;	      /* -1 = unknown */
};
#define SAMPLE_ON_HOST ((struct sample_guest){0, UINT32_MAX})

void sample_layout_init(struct sample_layout *layout, const struct event_attr *attr);

struct branch_entry {
	uint64_t from;
	uint64_t to;
	uint64_t flags; /* bit 0 mispredicted, 1 predicted, 2 in_tx, 3 abort, 4-19 cycles, 20-23 type, 24-25 spec, 26-29 new_type, 30-32
			   priv */
};

/* Since the branch before it; 0 = not counted. */
static inline uint32_t branch_cycles(const struct branch_entry *branch)
{
	return branch->flags >> 4 & 0xffff;
}

struct sample_counter {
	uint64_t value;
	uint64_t id;   /* 0 without PERF_FORMAT_ID */
	uint64_t lost; /* 0 without PERF_FORMAT_LOST */
};

struct sample_regs {
	uint64_t abi; /* 0 = none, 1 = 32-bit, 2 = 64-bit */
	uint64_t mask;
	const uint64_t *values; /* one for each bit of mask, lowest first; NULL without registers */
};

/* On the host, too, when it is nobody's id. */
struct sample_guest sample_find_guest(const struct sample_layout *layout, uint64_t id);

/* One decoded sample. Pointers are into the record: valid as long as it is. Fields that the event doesn't have are 0 (ids, pid, tid and
 * cpu: -1). */
struct sample {
	const struct record_header *header;
	uint8_t cpumode; /* enum cpumode */
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
	uint64_t addr;
	uint64_t id;
	uint64_t stream_id;
	struct sample_guest guest; /* by its id */
	uint32_t cpu;
	uint64_t period; /* attr.sample_period where the sample has none */
	/* PERF_SAMPLE_READ */
	uint64_t time_enabled, time_running;
	uint64_t counter_count;	  /* 1 without PERF_FORMAT_GROUP */
	const uint64_t *counters; /* packed as in the record; sample_counter() reads one */
	/* PERF_SAMPLE_CALLCHAIN; with markers */
	uint64_t chain_count;
	const uint64_t *chain;
	/* Behind the chain: the user part that the kernel recorded later, with its marker. The session finds it; sample_decode() leaves
	 * 0. */
	uint64_t deferred_count;
	const uint64_t *deferred;
	const void *raw;
	uint32_t raw_size;
	uint64_t branch_count;
	uint64_t branch_hw_index; /* -1 = none */
	const struct branch_entry *branches;
	const uint64_t *branch_counters; /* or NULL */
	struct sample_regs regs_user;
	struct sample_regs regs_intr;
	const void *stack;    /* user stack copy, from its stack pointer upwards; with stack_size 0 there are no bytes */
	uint64_t stack_size;  /* as asked for */
	uint64_t stack_valid; /* bytes that were really copied */
	uint64_t weight;      /* WEIGHT, or var1_dw of WEIGHT_STRUCT */
	uint16_t ins_lat;     /* var2_w */
	uint16_t p_stage_cyc; /* var3_w (retire latency) */
	uint64_t data_src;
	uint64_t transaction;
	uint64_t phys_addr;
	uint64_t cgroup;
	uint64_t data_page_size;
	uint64_t code_page_size;
	uint64_t aux_size;
	const void *aux;
};

/* The common tail of non-sample records (sample_id_all). Fields that aren't there: time 0, the others -1. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
	uint64_t id;
	uint64_t stream_id;
	uint32_t cpu;
};

/* Decodes a RECORD_SAMPLE. Returns NULL, or in words what is wrong with it (a literal, for counting and for -v). */
const char *sample_decode(const struct sample_layout *layout, const struct event_attr *attr, const struct record_header *header,
			  struct sample *ret);
/* The same into a sample that is all zero, or that this function has filled for an event with the same sample_type: where fields are always
 * there as a whole, the others aren't cleared again. */
const char *sample_decode_anew(const struct sample_layout *layout, const struct event_attr *attr, const struct record_header *header,
			       struct sample *ret);
/* Of a sample only `raw` and `chain`, as in struct sample. */
struct sample_raw {
	const void *raw;
	uint32_t raw_size;
	const uint64_t *chain;
	uint64_t chain_count;
};
/* False: the event has other things behind the fixed part than these, or the sample isn't sound. */
bool sample_find_raw(const struct sample_layout *layout, const struct record_header *header, struct sample_raw *ret);
/* Only the fixed part up to `period`: the fast path for keys that need no more. Same returns. */
const char *sample_decode_fixed(const struct sample_layout *layout, const struct event_attr *attr, const struct record_header *header,
				struct sample *ret);
/* The same into a sample that is all zero, or that this function has filled before: what isn't in the fixed part isn't cleared. */
const char *sample_decode_fixed_anew(const struct sample_layout *layout, const struct event_attr *attr, const struct record_header *header,
				     struct sample *ret);
void sample_id_decode(const struct sample_layout *layout, const struct record_header *header, struct sample_id *ret);
/* Bytes behind a record's trailer that mean nothing; `trailer`: that of the recording, bytes. Kernels (up to 6.18, the newest looked at)
 * make a KSYMBOL, BPF_EVENT or TEXT_POKE record longer by a trailer for each counter of the CPU that was told of it before, which may be
 * another recorder's: perf_event_ksymbol_output() and its like in kernel/events/core.c add to the size and don't set it back. The trailer
 * stands behind the fields then, and behind it what lay in the ring. 0 for all other records. */
size_t record_excess(const struct record_header *header, size_t trailer);
/* Where in a sample its call chain and its copy of user registers and stack are, for who puts it together anew. A part that the event
 * doesn't have is empty where it would be; the words before, between and behind them are other fields. */
struct sample_parts {
	const uint64_t *chain, *chain_end; /* the count and the addresses */
	const uint64_t *user, *user_end;
	const uint64_t *end; /* of the record */
};
/* Returns NULL, or in words what is wrong with the sample. */
const char *sample_find_parts(const struct sample_layout *layout, const struct record_header *header, struct sample_parts *ret);
/* Appends the sample to `out` as a record that has `count` addresses of user space, innermost first, at the end of its chain and no copy of
 * registers and stack. Addresses that chains can't hold end it. False, and nothing is appended: no record is that large. */
bool sample_put_user_chain(const struct sample *sample, const struct sample_parts *parts, const uint64_t *addresses, size_t count,
			   struct strbuf *out);

/* The opposite of sample_id_decode(): writes the layout.trailer bytes that end a record, before `end`. */
void sample_id_encode(const struct sample_layout *layout, const struct sample_id *id, void *end);
struct sample_counter sample_counter(const struct sample_layout *layout, const struct sample *sample, uint64_t index);
