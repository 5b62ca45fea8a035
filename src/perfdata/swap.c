/* Byte order of records: the numbers of a record are in the table of its fields (records.def); samples are walked along their layout. */
#include "perfdata/swap.h"
#include "perfdata/record_fields.h"

#include <linux/perf_event.h>
#include <string.h>

struct swapper {
	uint8_t *at;
	uint8_t *end;
};

static bool swap_number(struct swapper *swapper, size_t size)
{
	uint8_t *at = swapper->at;
	if ((size_t)(swapper->end - at) < size)
		return false;
	for (size_t i = 0; i < size / 2; i++) {
		uint8_t byte = at[i];
		at[i] = at[size - 1 - i];
		at[size - 1 - i] = byte;
	}
	swapper->at += size;
	return true;
}

static void swap_row(struct swapper *swapper, const char *row)
{
	for (size_t size = 0; *row && *row != '.'; row++) {
		if (*row == '*') {
			while (swap_number(swapper, size))
				;
			return;
		}
		size = (size_t)(*row - '0');
		if (!swap_number(swapper, size))
			return;
	}
}

void swap_header(struct record_header *header)
{
	header->type = __builtin_bswap32(header->type);
	header->misc = __builtin_bswap16(header->misc);
	header->size = __builtin_bswap16(header->size);
}

/* Type, then a list of CPUs of 2 bytes each. Masks, whose words are as long as the recorder's machine had them, are left to their readers.
 */
static void swap_cpu_map(struct swapper *swapper)
{
	uint8_t *type = swapper->at;
	if (swap_number(swapper, 2) && !type[0] && !type[1])
		swap_row(swapper, "2*");
}

/* The fields of a record that is no sample, up to `end`. */
static void swap_fields(const struct record_kind *kind, struct record_header *header, uint8_t *end)
{
	uint8_t *record = (uint8_t *)header;
	struct record_walk walk = record_walk(kind, header, (size_t)(end - record));
	const struct record_field *field;
	size_t offset;
	while ((field = record_walk_next(&walk, &offset))) {
		struct swapper swapper = {record + offset, end};
		if (field->kind == FIELD_NUMBER || field->kind == FIELD_SIGNED)
			swap_number(&swapper, field->size);
		else if (field->kind == FIELD_WORDS)
			swap_row(&swapper, "8*");
		else if (field->kind == FIELD_CPUS)
			swap_cpu_map(&swapper);
	}
}

/* ── Samples ── */

static uint64_t swap_u64(struct swapper *swapper)
{
	uint64_t value = 0;
	if (swap_number(swapper, 8))
		memcpy(&value, swapper->at - 8, sizeof(value));
	return value;
}

static void swap_words(struct swapper *swapper, uint64_t count)
{
	while (count-- && swap_number(swapper, 8))
		;
}

static void skip(struct swapper *swapper, uint64_t bytes)
{
	uint64_t left = (uint64_t)(swapper->end - swapper->at);
	swapper->at += bytes < left ? bytes : left;
}

static void swap_fixed(struct swapper *swapper, uint64_t type)
{
	static const uint64_t order[] = {PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,   PERF_SAMPLE_TID,
					 PERF_SAMPLE_TIME,	 PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
					 PERF_SAMPLE_STREAM_ID,	 PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD};
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (!(type & order[i]))
			continue;
		bool halves = order[i] == PERF_SAMPLE_TID || order[i] == PERF_SAMPLE_CPU;
		swap_row(swapper, halves ? "44" : "8");
	}
}

static void swap_read(struct swapper *swapper, uint64_t format)
{
	uint64_t per_counter = 1 + !!(format & PERF_FORMAT_ID) + !!(format & EVENT_FORMAT_LOST);
	uint64_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	if (!(format & PERF_FORMAT_GROUP)) {
		swap_words(swapper, per_counter + times);
		return;
	}
	uint64_t count = swap_u64(swapper);
	swap_words(swapper, times);
	if (count <= UINT16_MAX)
		swap_words(swapper, count * per_counter);
}

/* The flags of a branch are a bit field, which compilers for the other byte order lay out from the other end. */
static uint64_t mirror_flags(uint64_t flags)
{
	static const uint8_t widths[] = {1, 1, 1, 1, 16, 4, 2, 4, 3, 31};
	uint64_t mirrored = 0;
	unsigned int low = 0, high = 64;
	for (size_t i = 0; i < sizeof(widths); i++) {
		high -= widths[i];
		mirrored |= (flags >> high & ((1ull << widths[i]) - 1)) << low;
		low += widths[i];
	}
	return mirrored;
}

static void swap_branches(struct swapper *swapper, uint64_t branch_type)
{
	uint64_t count = swap_u64(swapper);
	if (branch_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		swap_u64(swapper);
	for (uint64_t i = 0; i < count && swapper->at < swapper->end; i++) {
		swap_words(swapper, 2);
		if (swapper->end - swapper->at < 8)
			return;
		uint64_t flags = mirror_flags(swap_u64(swapper));
		memcpy(swapper->at - 8, &flags, sizeof(flags));
	}
	if (branch_type & EVENT_BRANCH_COUNTERS)
		swap_words(swapper, count);
}

static void swap_regs(struct swapper *swapper, uint64_t mask)
{
	if (swap_u64(swapper))
		swap_words(swapper, (uint64_t)__builtin_popcountll(mask));
}

/* What a tracepoint's fields are is not known here: its bytes stay, and their readers take the recording's byte order from the format. */
static void swap_raw(struct swapper *swapper)
{
	if (!swap_number(swapper, 4))
		return;
	uint32_t size;
	memcpy(&size, swapper->at - 4, sizeof(size));
	skip(swapper, (((uint64_t)size + 4 + 7) & ~7ull) - 4);
}

static void swap_stack(struct swapper *swapper)
{
	uint64_t size = swap_u64(swapper);
	if (!size)
		return;
	skip(swapper, size);
	swap_u64(swapper);
}

static void swap_sample(const struct reader *reader, struct record_header *header, struct swapper *swapper)
{
	/* The fixed part of the first event leads to the id, and that to the event. */
	static const uint64_t fixed_bits = PERF_SAMPLE_IDENTIFIER | (PERF_SAMPLE_CALLCHAIN - 1) | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
					   PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	if (!reader->events.events.len)
		return;
	struct swapper start = *swapper;
	swap_fixed(swapper, reader->layouts[0].sample_type);
	const struct event *event = reader_event(reader, header);
	const struct sample_layout *layout = &reader->layouts[event ? event->index : 0];
	if ((layout->sample_type ^ reader->layouts[0].sample_type) & fixed_bits) {
		struct swapper back = start;
		swap_fixed(&back, reader->layouts[0].sample_type);
		*swapper = start;
		swap_fixed(swapper, layout->sample_type);
	}
	uint64_t type = layout->sample_type;
	if (type & PERF_SAMPLE_READ)
		swap_read(swapper, layout->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		swap_words(swapper, swap_u64(swapper));
	if (type & PERF_SAMPLE_RAW)
		swap_raw(swapper);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		swap_branches(swapper, layout->branch_sample_type);
	if (type & PERF_SAMPLE_REGS_USER)
		swap_regs(swapper, layout->regs_user_mask);
	if (type & PERF_SAMPLE_STACK_USER)
		swap_stack(swapper);
	if (type & PERF_SAMPLE_WEIGHT)
		swap_u64(swapper);
	if (type & PERF_SAMPLE_WEIGHT_STRUCT)
		swap_row(swapper, "422");
	if (type & PERF_SAMPLE_DATA_SRC)
		swap_u64(swapper);
	if (type & PERF_SAMPLE_TRANSACTION)
		swap_u64(swapper);
	if (type & PERF_SAMPLE_REGS_INTR)
		swap_regs(swapper, layout->regs_intr_mask);
	swap_row(swapper, "8*"); /* physical address, cgroup, page sizes */
}

/* ── All ── */

static void swap_trailer(const struct sample_layout *layout, struct record_header *header)
{
	uint8_t *end = (uint8_t *)header + header->size;
	struct swapper swapper = {end - layout->trailer, end};
	static const uint64_t order[] = {PERF_SAMPLE_TID,	PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
					 PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER};
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (layout->sample_type & order[i])
			swap_row(&swapper, order[i] == PERF_SAMPLE_TID || order[i] == PERF_SAMPLE_CPU ? "44" : "8");
}

void swap_record(const struct reader *reader, struct record_header *header)
{
	struct swapper swapper = {(uint8_t *)(header + 1), (uint8_t *)header + header->size};
	if (header->type == RECORD_SAMPLE) {
		swap_sample(reader, header, &swapper);
		return;
	}
	/* While the recording is still being described, there are events without layouts: no kernel record comes then. */
	bool from_kernel = header->type < RECORD_USER_START && reader->events.events.len;
	const struct sample_layout *first = from_kernel ? &reader->layouts[0] : NULL;
	if (first && first->trailer && header->size >= sizeof(*header) + first->trailer) {
		swapper.end -= first->trailer;
		swap_trailer(first, header);
	}
	const struct record_kind *kind = record_kind(header->type);
	if (kind && !kind->any_order)
		swap_fields(kind, header, swapper.end);
}
