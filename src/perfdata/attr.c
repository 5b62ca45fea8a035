/* Attributes out of a recording: of any size that kernels ever had, and of both byte orders.
 *
 * In a foreign recording the numbers are swapped field by field. The flags are a bit field, which compilers lay out from the other end of
 * each byte: their bytes stay in place and the bits of each byte are reversed. */
#include "perfdata/header.h"

#include <stddef.h>
#include <string.h>

#define FIELD(name)                                                                       \
	{                                                                                 \
		offsetof(struct event_attr, name), sizeof(((struct event_attr *)0)->name) \
	}

static const struct {
	uint8_t offset, size;
} numbers[] = {
	FIELD(type),
	FIELD(config),
	FIELD(sample_period),
	FIELD(sample_type),
	FIELD(read_format),
	FIELD(wakeup_events),
	FIELD(bp_type),
	FIELD(bp_addr),
	FIELD(bp_len),
	FIELD(branch_sample_type),
	FIELD(sample_regs_user),
	FIELD(sample_stack_user),
	FIELD(clockid),
	FIELD(sample_regs_intr),
	FIELD(aux_watermark),
	FIELD(sample_max_stack),
	FIELD(aux_sample_size),
	FIELD(aux_action),
	FIELD(sig_data),
	FIELD(config3),
};

enum { FLAGS_OFFSET = offsetof(struct event_attr, read_format) + 8 };

static uint8_t reverse_bits(uint8_t b)
{
	b = (b & 0xf0) >> 4 | (b & 0x0f) << 4;
	b = (b & 0xcc) >> 2 | (b & 0x33) << 2;
	return (b & 0xaa) >> 1 | (b & 0x55) << 1;
}

static void swap_field(uint8_t *at, size_t size)
{
	for (size_t i = 0; i < size / 2; i++) {
		uint8_t byte = at[i];
		at[i] = at[size - 1 - i];
		at[size - 1 - i] = byte;
	}
}

bool attr_read(const void *data, size_t size, bool swap, struct event_attr *ret, size_t *ret_size)
{
	struct event_attr attr = {0};
	uint32_t own;
	if (size < EVENT_ATTR_SIZE_MIN)
		return false;
	memcpy(&own, (const uint8_t *)data + offsetof(struct event_attr, size), sizeof(own));
	if (swap)
		own = __builtin_bswap32(own);
	if (!own)
		own = EVENT_ATTR_SIZE_MIN;
	if (own < EVENT_ATTR_SIZE_MIN || own > size)
		return false;
	memcpy(&attr, data, own < sizeof(attr) ? own : sizeof(attr));
	if (swap) {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			swap_field((uint8_t *)&attr + numbers[i].offset, numbers[i].size);
		for (size_t i = 0; i < 8; i++) {
			uint8_t *byte = (uint8_t *)&attr + FLAGS_OFFSET + i;
			*byte = reverse_bits(*byte);
		}
	}
	attr.size = own;
	*ret = attr;
	*ret_size = own;
	return true;
}
