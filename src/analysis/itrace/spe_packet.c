/* SPE packets: a header of one or two bytes that tells the type and how long the payload is. */
#include "analysis/itrace/spe_packet.h"

#include "base/strbuf.h"

#include <inttypes.h>
#include <stdbool.h>

static uint64_t payload_at(const uint8_t *at, size_t size)
{
	uint64_t value = 0;
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

/* By the last byte of the header. 0 = no packet. */
static enum spe_packet_type type_of(uint8_t header)
{
	if (header == 0x71)
		return SPE_TIMESTAMP;
	if ((header & 0xcf) == 0x42)
		return SPE_EVENTS;
	if ((header & 0xcf) == 0x43)
		return SPE_SOURCE;
	if ((header & 0xfc) == 0x48)
		return SPE_OPERATION;
	if ((header & 0xfc) == 0x64)
		return SPE_CONTEXT;
	if ((header & 0xf8) == 0xb0)
		return SPE_ADDRESS;
	return (header & 0xf8) == 0x98 ? SPE_COUNTER : SPE_BAD;
}

static size_t read_padding(size_t size, struct spe_packet *ret)
{
	ret->type = SPE_PAD;
	return size;
}

/* Zeros, taken together. */
static size_t count_zeros(const uint8_t *at, size_t size)
{
	enum { TOGETHER = 16 };
	size_t count = 1;
	while (count < size && count < TOGETHER && !at[count])
		count++;
	return count;
}

/* `extension` is the first byte of a long header, or 0. */
static size_t read_payload(const uint8_t *trace, size_t size, size_t offset, uint8_t extension, struct spe_packet *ret)
{
	uint8_t header = trace[offset];
	size_t length = (size_t)1 << (header >> 4 & 3);
	enum spe_packet_type type = type_of(header);
	if (extension && type != SPE_ADDRESS && type != SPE_COUNTER)
		return 1;
	if (size - offset - 1 < length)
		return 1;
	bool is_wide = type == SPE_ADDRESS || type == SPE_COUNTER;
	*ret = (struct spe_packet){
		.type = type,
		.index = is_wide ? (header & 7u) | (extension & 3u) << 3 : header & 3u,
		.payload = payload_at(trace + offset + 1, length),
	};
	return type == SPE_BAD ? 1 : 1 + length + (extension != 0);
}

size_t spe_packet_read(const uint8_t *trace, size_t size, size_t offset, struct spe_packet *ret)
{
	uint8_t header = trace[offset];
	*ret = (struct spe_packet){SPE_BAD};
	if (header == 0)
		return read_padding(count_zeros(trace + offset, size - offset), ret);
	if (header == 1) {
		ret->type = SPE_END;
		return 1;
	}
	if ((header & 0xfc) != 0x20)
		return read_payload(trace, size, offset, 0, ret);
	if (size - offset < 2)
		return 1;
	if (trace[offset + 1])
		return read_payload(trace, size, offset + 1, header, ret);
	/* Alignment: up to the next multiple. */
	size_t multiple = (size_t)1 << ((header & 0xf) + 1), length = multiple - (offset & (multiple - 1));
	if (length < 2)
		length += multiple;
	return length > size - offset ? 1 : read_padding(length, ret);
}

uint64_t spe_packet_address(const struct spe_packet *packet)
{
	const uint64_t top = 0xffull << 56;
	uint64_t address = packet->payload & ~top;
	unsigned int level = packet->payload >> 61 & 3;
	bool not_secure = packet->payload >> 63;
	switch (packet->index) {
	case SPE_ADDRESS_PC:
	case SPE_ADDRESS_TARGET:
		return not_secure && (level == 1 || level == 2) ? address | top : address;
	case SPE_ADDRESS_DATA:
		return (address >> 48 & 0xf0) == 0xf0 ? address | top : address;
	}
	return address;
}

/* ── Text ── */

static const char *const EVENTS[64] = {"EXCEPTION-GEN",
				       "RETIRED",
				       "L1D-ACCESS",
				       "L1D-REFILL",
				       "TLB-ACCESS",
				       "TLB-REFILL",
				       "NOT-TAKEN",
				       "MISPRED",
				       "LLC-ACCESS",
				       "LLC-REFILL",
				       "REMOTE-ACCESS",
				       "ALIGNMENT",
				       [17] = "SVE-PARTIAL-PRED",
				       [18] = "SVE-EMPTY-PRED"};

static void add_events(uint64_t events, struct strbuf *out)
{
	strbuf_add_str(out, "EV");
	for (unsigned int bit = 0; bit < 64; bit++)
		if (events >> bit & 1 && EVENTS[bit]) {
			strbuf_add_char(out, ' ');
			strbuf_add_str(out, EVENTS[bit]);
		}
}

static void add_flag(uint64_t payload, unsigned int bit, const char *name, struct strbuf *out)
{
	if (payload >> bit & 1)
		strbuf_add_str(out, name);
}

static void add_vector_length(uint64_t payload, struct strbuf *out)
{
	strbuf_printf(out, " EVLEN %u", 32u << (payload >> 4 & 7));
}

static void add_other(uint64_t payload, struct strbuf *out)
{
	if ((payload & 0x89) != 0x8) {
		strbuf_printf(out, "OTHER %s", payload & 1 ? "COND-SELECT" : "INSN-OTHER");
		return;
	}
	strbuf_add_str(out, "SVE-OTHER");
	add_vector_length(payload, out);
	add_flag(payload, 1, " FP", out);
	add_flag(payload, 2, " PRED", out);
}

/* Which registers a load or store is about. */
static const char *registers_name(uint64_t payload)
{
	switch (payload & 0xfe) {
	case 0x00:
		return " GP-REG";
	case 0x04:
		return " SIMD-FP";
	case 0x10:
		return " UNSPEC-REG";
	case 0x30:
		return " NV-SYSREG";
	}
	return "";
}

static void add_memory(uint64_t payload, struct strbuf *out)
{
	strbuf_add_str(out, payload & SPE_MEMORY_STORE ? "ST" : "LD");
	if ((payload & 0xe2) == 0x2) {
		add_flag(payload, 2, " AT", out);
		add_flag(payload, 3, " EXCL", out);
		add_flag(payload, 4, " AR", out);
	}
	strbuf_add_str(out, registers_name(payload));
	if ((payload & 0xa) != 0x8)
		return;
	add_vector_length(payload, out);
	add_flag(payload, 2, " PRED", out);
	add_flag(payload, 7, " SG", out);
}

static void add_operation(const struct spe_packet *packet, struct strbuf *out)
{
	switch (packet->index) {
	case SPE_CLASS_OTHER:
		return add_other(packet->payload, out);
	case SPE_CLASS_MEMORY:
		return add_memory(packet->payload, out);
	case SPE_CLASS_BRANCH:
		strbuf_add_str(out, "B");
		add_flag(packet->payload, 0, " COND", out);
		strbuf_add_str(out, (packet->payload & 0xfe) == 2 ? " IND" : "");
		return;
	}
	strbuf_printf(out, "OP-TYPE %#" PRIx64 " (%u)", packet->payload, packet->index);
}

static void add_address(const struct spe_packet *packet, struct strbuf *out)
{
	static const char *const NAMES[] = {"PC", "TGT", "VA", "PA", "PBT"};
	const uint64_t payload = packet->payload, address = payload & ~(0xffull << 56);
	if (packet->index >= sizeof(NAMES) / sizeof(NAMES[0])) {
		strbuf_printf(out, "ADDR %#" PRIx64 " (%u)", payload, packet->index);
		return;
	}
	strbuf_printf(out, "%s 0x%" PRIx64, NAMES[packet->index], packet->index == SPE_ADDRESS_DATA ? payload : address);
	if (packet->index == SPE_ADDRESS_DATA)
		return;
	strbuf_printf(out, packet->index == SPE_ADDRESS_PHYSICAL ? " ns=%u" : " el%u ns=%u",
		      packet->index == SPE_ADDRESS_PHYSICAL ? (unsigned int)(payload >> 63) : (unsigned int)(payload >> 61 & 3),
		      (unsigned int)(payload >> 63));
	if (packet->index == SPE_ADDRESS_PHYSICAL)
		strbuf_printf(out, " ch=%u pat=%x", (unsigned int)(payload >> 62 & 1), (unsigned int)(payload >> 56 & 0xf));
}

static const char *counter_name(unsigned int index)
{
	return index == SPE_COUNTER_TOTAL ? "TOT" : index == SPE_COUNTER_ISSUE ? "ISSUE" : index == SPE_COUNTER_TRANSLATION ? "XLAT" : "";
}

void spe_packet_text(const struct spe_packet *packet, struct strbuf *out)
{
	switch (packet->type) {
	case SPE_BAD:
		strbuf_add_str(out, "Bad packet!");
		break;
	case SPE_PAD:
		strbuf_add_str(out, "PAD");
		break;
	case SPE_END:
		strbuf_add_str(out, "END");
		break;
	case SPE_TIMESTAMP:
		strbuf_printf(out, "TS %" PRIu64, packet->payload);
		break;
	case SPE_ADDRESS:
		add_address(packet, out);
		break;
	case SPE_COUNTER:
		strbuf_printf(out, "LAT %" PRIu64 " %s", packet->payload, counter_name(packet->index));
		break;
	case SPE_CONTEXT:
		strbuf_printf(out, "CONTEXT 0x%" PRIx64 " el%u", packet->payload, packet->index + 1);
		break;
	case SPE_EVENTS:
		add_events(packet->payload, out);
		break;
	case SPE_OPERATION:
		add_operation(packet, out);
		break;
	case SPE_SOURCE:
		strbuf_printf(out, "DATA-SOURCE %" PRIu64, packet->payload);
		break;
	}
}
