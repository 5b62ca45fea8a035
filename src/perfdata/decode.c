/* Samples and record trailers into structures: the hottest code of every analysis. Fields of the fixed part are read at positions that were
 * computed once (layout.c); the variable part is walked once, each length checked against what is left before it is used.
 *
 * Not done here: byte order (swap.c did it), ids of events (reader_events.c). */
#include "perfdata/layout.h"

#include "base/files/mapping.h"

#include <linux/perf_event.h>
#include <string.h>

/* The record may lie in a file that somebody writes to: what is checked is read once (mapping_u64), and checked values only are handed out.
 *
 * The part of a record that is still to be read; all of it is 8-byte words. */
struct words {
	const uint64_t *at;
	const uint64_t *end;
};

static const char too_short[] = "sample shorter than its event's fields";

static inline uint64_t words_left(const struct words *words)
{
	return (uint64_t)(words->end - words->at);
}

static inline uint64_t field_u64(const uint8_t *record, uint16_t offset)
{
	return offset ? *(const uint64_t *)(record + offset) : 0;
}

struct sample_guest sample_find_guest(const struct sample_layout *layout, uint64_t id)
{
	const uint64_t *slot = layout->guests ? map64_find(layout->guests, id) : NULL;
	return slot ? (struct sample_guest){(uint32_t)(*slot >> 32), (uint32_t)*slot} : SAMPLE_ON_HOST;
}

static inline void decode_fixed(const struct sample_layout *layout, const struct event_attr *attr, const struct record_header *header,
				struct sample *ret)
{
	const uint8_t *record = (const uint8_t *)header;
	ret->header = header;
	ret->cpumode = header->misc & RECORD_MISC_CPUMODE;
	ret->ip = field_u64(record, layout->ip);
	ret->time = field_u64(record, layout->time);
	ret->addr = field_u64(record, layout->addr);
	ret->pid = ret->tid = ret->cpu = -1;
	ret->id = ret->stream_id = -1;
	if (layout->tid) {
		const uint32_t *ids = (const uint32_t *)(record + layout->tid);
		ret->pid = ids[0];
		ret->tid = ids[1];
	}
	if (layout->id)
		ret->id = *(const uint64_t *)(record + layout->id);
	else if (layout->identifier)
		ret->id = *(const uint64_t *)(record + layout->identifier);
	if (layout->stream_id)
		ret->stream_id = *(const uint64_t *)(record + layout->stream_id);
	if (layout->cpu)
		ret->cpu = *(const uint32_t *)(record + layout->cpu);
	ret->guest = SAMPLE_ON_HOST;
	if (layout->guests)
		ret->guest = sample_find_guest(layout, ret->id);
	ret->period = layout->period ? *(const uint64_t *)(record + layout->period) : attr->sample_period;
	ret->branch_hw_index = -1;
}

const char *sample_decode_fixed(const struct sample_layout *layout, const struct event_attr *attr, const struct record_header *header,
				struct sample *ret)
{
	if (mapping_u16(&header->size) < layout->variable)
		return too_short;
	memset(ret, 0, sizeof(*ret));
	decode_fixed(layout, attr, header, ret);
	return NULL;
}

const char *sample_decode_fixed_anew(const struct sample_layout *layout, const struct event_attr *attr, const struct record_header *header,
				     struct sample *ret)
{
	if (mapping_u16(&header->size) < layout->variable)
		return too_short;
	decode_fixed(layout, attr, header, ret);
	return NULL;
}

/* What is behind the fixed part. */
static const char *variable_part(const struct sample_layout *layout, const struct record_header *header, struct words *ret)
{
	const uint8_t *record = (const uint8_t *)header;
	uint16_t size = mapping_u16(&header->size);
	*ret = (struct words){(const uint64_t *)(record + layout->variable), (const uint64_t *)(record + (size & ~7u))};
	return size < layout->variable ? too_short : NULL;
}

/* {value, [enabled], [running], [id], [lost]}, or {count, [enabled], [running], count × {value, [id], [lost]}} */
static const char *decode_read(uint64_t format, struct words *words, struct sample *ret)
{
	unsigned int per_counter = 1 + !!(format & PERF_FORMAT_ID) + !!(format & EVENT_FORMAT_LOST);
	unsigned int times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	bool group = format & PERF_FORMAT_GROUP;
	if (words_left(words) < (group ? 1 : per_counter) + times)
		return "sample ends within its counters";
	ret->counters = words->at;
	ret->counter_count = group ? mapping_u64(words->at) : 1;
	const uint64_t *time = words->at + 1;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		ret->time_enabled = *time++;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		ret->time_running = *time++;
	if (!group) {
		words->at += per_counter + times;
		return NULL;
	}
	words->at = time;
	ret->counters = time;
	if (ret->counter_count > words_left(words) / per_counter)
		return "sample with more counters than fit in it";
	words->at += ret->counter_count * per_counter;
	return NULL;
}

static const char *decode_chain(struct words *words, struct sample *ret)
{
	uint64_t count = words_left(words) ? mapping_u64(words->at) : 0;
	if (!words_left(words) || count > words_left(words) - 1)
		return "call chain longer than its sample";
	ret->chain_count = count;
	ret->chain = words->at + 1;
	words->at += 1 + ret->chain_count;
	return NULL;
}

/* A 32-bit length, the bytes, and padding to the next word. */
static const char *decode_raw(struct words *words, struct sample *ret)
{
	if (!words_left(words))
		return "sample ends before its raw data";
	uint32_t size = mapping_u32(words->at);
	uint64_t taken = ((uint64_t)size + sizeof(size) + 7) / 8;
	if (taken > words_left(words))
		return "raw data longer than its sample";
	ret->raw = (const uint8_t *)words->at + sizeof(size);
	ret->raw_size = size;
	words->at += taken;
	return NULL;
}

static const char *decode_branches(const struct sample_layout *layout, struct words *words, struct sample *ret)
{
	bool hw_index = layout->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX;
	bool counters = layout->branch_sample_type & EVENT_BRANCH_COUNTERS;
	if (words_left(words) < 1u + hw_index)
		return "sample ends before its branches";
	uint64_t count = mapping_u64(words->at++);
	if (hw_index)
		ret->branch_hw_index = *words->at++;
	if (count > words_left(words) / (3 + counters))
		return "more branches than fit in the sample";
	ret->branch_count = count;
	ret->branches = (const struct branch_entry *)words->at;
	words->at += 3 * count;
	if (counters) {
		ret->branch_counters = words->at;
		words->at += count;
	}
	return NULL;
}

static const char *decode_regs(uint64_t mask, struct words *words, struct sample_regs *ret)
{
	if (!words_left(words))
		return "sample ends before its registers";
	ret->abi = mapping_u64(words->at++);
	if (!ret->abi)
		return NULL;
	unsigned int count = __builtin_popcountll(mask);
	if (count > words_left(words))
		return "sample ends within its registers";
	ret->mask = mask;
	ret->values = words->at;
	words->at += count;
	return NULL;
}

static const char *decode_stack(struct words *words, struct sample *ret)
{
	if (!words_left(words))
		return "sample ends before its stack";
	uint64_t size = mapping_u64(words->at++);
	ret->stack = words->at;
	if (!size)
		return NULL;
	uint64_t taken = size / 8 + !!(size % 8);
	if (taken >= words_left(words))
		return "stack copy longer than its sample";
	ret->stack_size = size;
	words->at += taken;
	uint64_t valid = mapping_u64(words->at++);
	ret->stack_valid = valid < size ? valid : size;
	return NULL;
}

static const char *decode_aux(struct words *words, struct sample *ret)
{
	if (!words_left(words))
		return "sample ends before its hardware trace";
	uint64_t size = mapping_u64(words->at++);
	uint64_t taken = size / 8 + !!(size % 8);
	if (taken > words_left(words))
		return "hardware trace longer than its sample";
	ret->aux = words->at;
	ret->aux_size = size;
	words->at += taken;
	return NULL;
}

static inline bool decode_u64(struct words *words, uint64_t *ret)
{
	if (words->at == words->end)
		return false;
	*ret = *words->at++;
	return true;
}

static bool decode_weight(uint64_t type, struct words *words, struct sample *ret)
{
	uint64_t weight;
	if (!decode_u64(words, &weight))
		return false;
	ret->weight = weight;
	if (type & PERF_SAMPLE_WEIGHT_STRUCT) {
		ret->weight = (uint32_t)weight;
		ret->ins_lat = weight >> 32;
		ret->p_stage_cyc = weight >> 48;
	}
	return true;
}

/* What comes behind the user stack: rare fields. */
static const char *decode_rest(const struct sample_layout *layout, struct words *words, struct sample *ret)
{
	static const char cut_short[] = "sample ends before its last fields";
	uint64_t type = layout->sample_type;
	const char *broken;

	if ((type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) && !decode_weight(type, words, ret))
		return cut_short;
	if ((type & PERF_SAMPLE_DATA_SRC) && !decode_u64(words, &ret->data_src))
		return cut_short;
	if ((type & PERF_SAMPLE_TRANSACTION) && !decode_u64(words, &ret->transaction))
		return cut_short;
	if ((type & PERF_SAMPLE_REGS_INTR) && (broken = decode_regs(layout->regs_intr_mask, words, &ret->regs_intr)))
		return broken;
	if ((type & PERF_SAMPLE_PHYS_ADDR) && !decode_u64(words, &ret->phys_addr))
		return cut_short;
	if ((type & PERF_SAMPLE_CGROUP) && !decode_u64(words, &ret->cgroup))
		return cut_short;
	if ((type & PERF_SAMPLE_DATA_PAGE_SIZE) && !decode_u64(words, &ret->data_page_size))
		return cut_short;
	if ((type & PERF_SAMPLE_CODE_PAGE_SIZE) && !decode_u64(words, &ret->code_page_size))
		return cut_short;
	if ((type & PERF_SAMPLE_AUX) && (broken = decode_aux(words, ret)))
		return broken;
	return NULL;
}

const char *sample_decode(const struct sample_layout *layout, const struct event_attr *attr, const struct record_header *header,
			  struct sample *ret)
{
	struct words words;
	const char *broken = variable_part(layout, header, &words);
	if (broken)
		return broken;
	memset(ret, 0, sizeof(*ret));
	decode_fixed(layout, attr, header, ret);
	uint64_t type = layout->sample_type;

	if ((type & PERF_SAMPLE_READ) && (broken = decode_read(layout->read_format, &words, ret)))
		return broken;
	if ((type & PERF_SAMPLE_CALLCHAIN) && (broken = decode_chain(&words, ret)))
		return broken;
	if ((type & PERF_SAMPLE_RAW) && (broken = decode_raw(&words, ret)))
		return broken;
	if ((type & PERF_SAMPLE_BRANCH_STACK) && (broken = decode_branches(layout, &words, ret)))
		return broken;
	if ((type & PERF_SAMPLE_REGS_USER) && (broken = decode_regs(layout->regs_user_mask, &words, &ret->regs_user)))
		return broken;
	if ((type & PERF_SAMPLE_STACK_USER) && (broken = decode_stack(&words, ret)))
		return broken;
	if (type >= PERF_SAMPLE_WEIGHT)
		return decode_rest(layout, &words, ret);
	return NULL;
}

enum { ALWAYS_WHOLE = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW };

bool sample_find_raw(const struct sample_layout *layout, const struct record_header *header, struct sample_raw *ret)
{
	const uint8_t *record = (const uint8_t *)header, *at = record + layout->variable,
		      *end = record + (mapping_u16(&header->size) & ~7u);
	uint32_t size;
	ret->chain_count = 0;
	if ((layout->variable_type | PERF_SAMPLE_CALLCHAIN) != ALWAYS_WHOLE || end - at < (ptrdiff_t)sizeof(uint64_t))
		return false;
	if (layout->variable_type & PERF_SAMPLE_CALLCHAIN) {
		ret->chain = (const uint64_t *)at + 1;
		ret->chain_count = mapping_u64(at);
		const uint64_t words = (uint64_t)(end - at) / sizeof(uint64_t); /* the count, the chain, at least one of what is raw */
		if (words < 2 || ret->chain_count > words - 2)
			return false;
		at = (const uint8_t *)(ret->chain + ret->chain_count);
	}
	size = mapping_u32(at);
	ret->raw = at + sizeof(size);
	ret->raw_size = size;
	return size <= (uint64_t)(end - at) - sizeof(size);
}

const char *sample_decode_anew(const struct sample_layout *layout, const struct event_attr *attr, const struct record_header *header,
			       struct sample *ret)
{
	struct words words;
	const char *broken;
	if (layout->variable_type & ~(uint64_t)ALWAYS_WHOLE)
		return sample_decode(layout, attr, header, ret);
	if ((broken = variable_part(layout, header, &words)))
		return broken;
	decode_fixed(layout, attr, header, ret);
	if ((layout->variable_type & PERF_SAMPLE_CALLCHAIN) && (broken = decode_chain(&words, ret)))
		return broken;
	return layout->variable_type & PERF_SAMPLE_RAW ? decode_raw(&words, ret) : NULL;
}

const char *sample_find_parts(const struct sample_layout *layout, const struct record_header *header, struct sample_parts *ret)
{
	struct words words;
	struct sample sample;
	uint64_t type = layout->sample_type;
	const char *broken = variable_part(layout, header, &words);
	if (broken)
		return broken;
	if ((type & PERF_SAMPLE_READ) && (broken = decode_read(layout->read_format, &words, &sample)))
		return broken;
	ret->chain = words.at;
	if ((type & PERF_SAMPLE_CALLCHAIN) && (broken = decode_chain(&words, &sample)))
		return broken;
	ret->chain_end = words.at;
	if ((type & PERF_SAMPLE_RAW) && (broken = decode_raw(&words, &sample)))
		return broken;
	if ((type & PERF_SAMPLE_BRANCH_STACK) && (broken = decode_branches(layout, &words, &sample)))
		return broken;
	ret->user = words.at;
	if ((type & PERF_SAMPLE_REGS_USER) && (broken = decode_regs(layout->regs_user_mask, &words, &sample.regs_user)))
		return broken;
	if ((type & PERF_SAMPLE_STACK_USER) && (broken = decode_stack(&words, &sample)))
		return broken;
	ret->user_end = words.at;
	ret->end = words.end;
	return NULL;
}

static bool reaches_user(const struct sample *sample)
{
	for (uint64_t i = 0; i < sample->chain_count; i++)
		if (sample->chain[i] == CALLCHAIN_USER)
			return true;
	return false;
}

static void put_words(struct strbuf *out, const uint64_t *from, const uint64_t *to)
{
	strbuf_add(out, from, (size_t)(to - from) * sizeof(*from));
}

bool sample_put_user_chain(const struct sample *sample, const struct sample_parts *parts, const uint64_t *addresses, size_t count,
			   struct strbuf *out)
{
	const uint64_t *words = (const uint64_t *)sample->header, marker = CALLCHAIN_USER;
	size_t fit = 0, begin = out->len;
	while (fit < count && addresses[fit] < CALLCHAIN_CONTEXT_MAX)
		fit++;
	bool marked = fit && !reaches_user(sample);
	uint64_t length = sample->chain_count + marked + fit;
	size_t kept = (size_t)((parts->chain - words) + (parts->user - parts->chain_end) + (parts->end - parts->user_end));
	size_t size = (kept + 1 + length) * sizeof(uint64_t);
	if (size > UINT16_MAX)
		return false;
	put_words(out, words, parts->chain);
	put_words(out, &length, &length + 1);
	put_words(out, sample->chain, sample->chain + sample->chain_count);
	put_words(out, &marker, &marker + marked);
	put_words(out, addresses, addresses + fit);
	put_words(out, parts->chain_end, parts->user);
	put_words(out, parts->user_end, parts->end);
	((struct record_header *)(out->data + begin))->size = (uint16_t)size;
	return true;
}

/* Where the fields end, by what they say; 0 = not known. */
static size_t fields_end(const struct record_header *header, size_t size)
{
	enum { KSYMBOL_NAME = 24, BPF_EVENT_END = 24, POKE_OLD = 16, POKE_NEW = 18, POKE_BYTES = 20, UNIT = 8 };
	const uint8_t *record = (const uint8_t *)header;
	size_t end = 0;
	switch (mapping_u32(&header->type)) {
	case PERF_RECORD_KSYMBOL:
		end = size > KSYMBOL_NAME ? KSYMBOL_NAME + strnlen((const char *)record + KSYMBOL_NAME, size - KSYMBOL_NAME) + 1 : 0;
		break;
	case PERF_RECORD_BPF_EVENT:
		end = BPF_EVENT_END;
		break;
	case PERF_RECORD_TEXT_POKE:
		if (size > POKE_BYTES)
			end = POKE_BYTES + (size_t)mapping_u16(record + POKE_OLD) + mapping_u16(record + POKE_NEW);
		break;
	}
	return (end + UNIT - 1) / UNIT * UNIT;
}

size_t record_excess(const struct record_header *header, size_t trailer)
{
	size_t size = mapping_u16(&header->size), end = trailer ? fields_end(header, size) : 0;
	return end && end + trailer < size ? size - end - trailer : 0;
}

/* Records of tools have no trailer and may have any size: what is read from their end means nothing, but it must not be misaligned. */
static inline uint64_t trailer_u64(const uint8_t *end, uint16_t distance)
{
	uint64_t value;
	memcpy(&value, end - distance, sizeof(value));
	return value;
}

void sample_id_decode(const struct sample_layout *layout, const struct record_header *header, struct sample_id *ret)
{
	*ret = (struct sample_id){.pid = -1, .tid = -1, .id = -1, .stream_id = -1, .cpu = -1};
	uint16_t size = mapping_u16(&header->size);
	if (!layout->trailer || size < sizeof(*header) + layout->trailer)
		return;
	const uint8_t *end = (const uint8_t *)header + size - record_excess(header, layout->trailer);
	if (layout->trailer_tid) {
		uint64_t ids = trailer_u64(end, layout->trailer_tid);
		memcpy(&ret->pid, &ids, sizeof(ret->pid));
		memcpy(&ret->tid, (const uint8_t *)&ids + sizeof(ret->pid), sizeof(ret->tid));
	}
	if (layout->trailer_time)
		ret->time = trailer_u64(end, layout->trailer_time);
	if (layout->trailer_id)
		ret->id = trailer_u64(end, layout->trailer_id);
	else if (layout->trailer_identifier)
		ret->id = trailer_u64(end, layout->trailer_identifier);
	if (layout->trailer_stream_id)
		ret->stream_id = trailer_u64(end, layout->trailer_stream_id);
	if (layout->trailer_cpu)
		memcpy(&ret->cpu, end - layout->trailer_cpu, sizeof(ret->cpu));
}

static void put_trailer(uint8_t *end, uint16_t distance, const void *value, size_t size)
{
	if (distance)
		memcpy(end - distance, value, size);
}

void sample_id_encode(const struct sample_layout *layout, const struct sample_id *id, void *end)
{
	memset((uint8_t *)end - layout->trailer, 0, layout->trailer);
	if (layout->trailer_tid) {
		put_trailer(end, layout->trailer_tid, &id->pid, sizeof(id->pid));
		put_trailer(end, layout->trailer_tid - sizeof(id->pid), &id->tid, sizeof(id->tid));
	}
	put_trailer(end, layout->trailer_time, &id->time, sizeof(id->time));
	put_trailer(end, layout->trailer_id, &id->id, sizeof(id->id));
	put_trailer(end, layout->trailer_stream_id, &id->stream_id, sizeof(id->stream_id));
	put_trailer(end, layout->trailer_cpu, &id->cpu, sizeof(id->cpu));
	put_trailer(end, layout->trailer_identifier, &id->id, sizeof(id->id));
}

struct sample_counter sample_counter(const struct sample_layout *layout, const struct sample *sample, uint64_t index)
{
	uint64_t format = layout->read_format;
	const uint64_t *at = sample->counters;
	struct sample_counter counter = {0};
	if (index >= sample->counter_count)
		return counter;
	if (format & PERF_FORMAT_GROUP)
		at += index * (1 + !!(format & PERF_FORMAT_ID) + !!(format & EVENT_FORMAT_LOST));
	counter.value = *at++;
	if (!(format & PERF_FORMAT_GROUP))
		at += !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	if (format & PERF_FORMAT_ID)
		counter.id = *at++;
	if (format & EVENT_FORMAT_LOST)
		counter.lost = *at;
	return counter;
}
