/* Packets of the Arm Statistical Profiling Extension (Arm Architecture Reference Manual, chapter "Statistical Profiling Extension Sample
 * Record Specification"). Bytes are hostile: each packet is checked to lie in the trace. */
#pragma once

#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

enum spe_packet_type {
	SPE_BAD, /* a byte that begins no packet */
	SPE_PAD,
	SPE_END,
	SPE_TIMESTAMP,
	SPE_ADDRESS,
	SPE_COUNTER,
	SPE_CONTEXT,
	SPE_EVENTS,
	SPE_OPERATION,
	SPE_SOURCE,
};

struct spe_packet {
	enum spe_packet_type type;
	unsigned int index; /* of an address, a counter, a context; class of an operation */
	uint64_t payload;
};

/* Kinds of addresses. */
enum { SPE_ADDRESS_PC, SPE_ADDRESS_TARGET, SPE_ADDRESS_DATA, SPE_ADDRESS_PHYSICAL, SPE_ADDRESS_PREVIOUS };
enum { SPE_COUNTER_TOTAL, SPE_COUNTER_ISSUE, SPE_COUNTER_TRANSLATION };
enum { SPE_CLASS_OTHER, SPE_CLASS_MEMORY, SPE_CLASS_BRANCH };
enum { SPE_MEMORY_STORE = 1 };
/* Bits of the events packet. */
enum {
	SPE_EVENT_L1D_ACCESS = 1 << 2,
	SPE_EVENT_L1D_REFILL = 1 << 3,
	SPE_EVENT_TLB_ACCESS = 1 << 4,
	SPE_EVENT_TLB_WALK = 1 << 5,
	SPE_EVENT_MISPREDICTED = 1 << 7,
	SPE_EVENT_LLC_ACCESS = 1 << 8,
	SPE_EVENT_LLC_MISS = 1 << 9,
	SPE_EVENT_REMOTE = 1 << 10,
};

/* The packet at `offset` of a trace, which is below `size`. Returns its bytes, at least 1; one that doesn't end in the trace is SPE_BAD. */
size_t spe_packet_read(const uint8_t *trace, size_t size, size_t offset, struct spe_packet *ret);
/* The address that a packet tells, as programs use it: addresses of the kernel begin with ones, tags are taken away. */
uint64_t spe_packet_address(const struct spe_packet *packet);
/* What a packet says, in the kernel tool's words. */
void spe_packet_text(const struct spe_packet *packet, struct strbuf *out);
