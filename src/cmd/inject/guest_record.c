/* A guest's record as the host's recording has it: with an id of its own, the host's time and CPU, and a mode that says whose it is.
 *
 *	guest   … MMAP2 user   | … | pid tid  guest's time   VCPU  guest's id
 *	host    … MMAP2 guest  | … | pid tid  host's time    CPU   host's id
 *
 * Where the guest's events have their ids elsewhere than the host's (no --sample-identifier), they get them where readers look for them. */
#include "cmd/inject/guest.h"

#include "perfdata/record_fields.h"

#include <linux/perf_event.h>
#include <string.h>

/* What means something in the host's recording. Not there: what describes the guest's hardware traces and BPF programs, which aren't put
 * in, and counts by ids. */
static bool is_meant(uint32_t type)
{
	switch (type) {
	case RECORD_MMAP:
	case RECORD_MMAP2:
	case RECORD_COMM:
	case RECORD_FORK:
	case RECORD_EXIT:
	case RECORD_SAMPLE:
	case RECORD_SWITCH:
	case RECORD_SWITCH_CPU_WIDE:
	case RECORD_NAMESPACES:
	case RECORD_KSYMBOL:
	case RECORD_CGROUP:
	case RECORD_TEXT_POKE:
	case RECORD_LOST:
	case RECORD_LOST_SAMPLES:
	case RECORD_CALLCHAIN_DEFERRED:
		return true;
	default:
		return false;
	}
}

/* As the kernel's tool has it, also of records that the kernel made without a mode. */
uint16_t inject_guest_mode(uint16_t misc)
{
	const uint16_t mode = misc & RECORD_MISC_CPUMODE, user = mode == CPUMODE_USER || mode == CPUMODE_GUEST_USER;
	return (misc & ~RECORD_MISC_CPUMODE) | (user ? CPUMODE_GUEST_USER : CPUMODE_GUEST_KERNEL);
}

/* Records that the recorder made up have the id 0: they are of the first event. */
static bool find_id(const struct inject_guest *guest, const struct event *event, uint64_t id, uint64_t *ret)
{
	const uint64_t *found = map64_find(&guest->ids, id ? id : event->ids.data[0]);
	if (found)
		*ret = *found;
	return found;
}

static void put(struct strbuf *out, uint16_t offset, const void *value, size_t size)
{
	if (offset && offset + size <= out->len)
		memcpy(out->data + offset, value, size);
}

/* What decodes the record goes by its size. */
static bool set_size(struct strbuf *out)
{
	if (out->len > UINT16_MAX)
		return false;
	((struct record_header *)out->data)->size = (uint16_t)out->len;
	return true;
}

/* Counters that were read with the sample have ids as well. */
static void put_counter_ids(struct inject_guest *guest, const struct sample_layout *layout, const struct event *event)
{
	const uint64_t format = layout->read_format;
	struct sample sample;
	uint64_t id;
	if (!(layout->sample_type & PERF_SAMPLE_READ) || !(format & PERF_FORMAT_ID) ||
	    sample_decode(layout, &event->attr, (const struct record_header *)guest->record.data, &sample))
		return;
	bool group = format & PERF_FORMAT_GROUP;
	unsigned int per_counter = 2 + !!(format & EVENT_FORMAT_LOST), first = 1;
	if (!group)
		first += !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	for (uint64_t i = 0; i < sample.counter_count; i++) {
		const uint64_t *word = &sample.counters[i * per_counter + first];
		if (find_id(guest, event, *word, &id))
			memcpy(guest->record.data + ((const char *)word - guest->record.data), &id, sizeof(id));
	}
}

static enum guest_verdict convert_sample(struct inject_guest *guest, const struct event *event, const struct sample_layout *layout)
{
	const struct sample_layout *from = &guest->session->reader->layouts[event->index];
	const struct record_header *header = guest->next.header;
	struct strbuf *out = &guest->record;
	struct sample sample;
	uint64_t id;
	if (sample_decode_fixed(from, &event->attr, header, &sample) || !find_id(guest, event, sample.id, &id))
		return GUEST_UNKNOWN;
	if (event->attr.type == PERF_TYPE_TRACEPOINT)
		return GUEST_TRACEPOINT;
	uint32_t cpu = sample.cpu == UINT32_MAX ? sample.cpu : inject_guest_place(guest, sample.cpu);
	strbuf_add(out, header, sizeof(*header));
	if (layout->identifier && !from->identifier)
		strbuf_add(out, &id, sizeof(id));
	strbuf_add(out, header + 1, header->size - sizeof(*header));
	put(out, layout->identifier, &id, sizeof(id));
	put(out, layout->id, &id, sizeof(id));
	put(out, layout->time, &guest->next_time, sizeof(guest->next_time));
	put(out, layout->cpu, &cpu, sizeof(cpu));
	if (!set_size(out))
		return GUEST_UNKNOWN;
	put_counter_ids(guest, layout, event);
	guest->first_time = guest->first_time ? guest->first_time : guest->next_time;
	guest->last_time = guest->next_time;
	return GUEST_PUT;
}

/* What the records say of times and ids in their own fields. */
static void convert_fields(struct inject_guest *guest, const struct event *event)
{
	struct record_header *header = (struct record_header *)guest->record.data;
	struct record_task *task = (struct record_task *)header;
	struct record_lost *lost = (struct record_lost *)header;
	if (header->type == RECORD_FORK || header->type == RECORD_EXIT)
		task->time = guest_time_on_host(&guest->time, task->time);
	if (header->type == RECORD_LOST && !find_id(guest, event, lost->id, &lost->id))
		lost->id = 0;
}

static enum guest_verdict convert_other(struct inject_guest *guest, const struct event *event, const struct sample_layout *layout)
{
	const struct sample_layout *from = &guest->session->reader->layouts[event->index];
	const struct record_header *header = guest->next.header;
	struct strbuf *out = &guest->record;
	struct sample_id id;
	size_t behind = record_excess(header, from->trailer) + from->trailer;
	sample_id_decode(from, header, &id);
	if (header->size < sizeof(*header) + behind || !find_id(guest, event, id.id, &id.id))
		return GUEST_UNKNOWN;
	strbuf_add(out, header, header->size - behind);
	if (!set_size(out) || record_check(record_kind(header->type), (const struct record_header *)out->data))
		return GUEST_UNKNOWN; /* fields that the trailer would have to lend its bytes */
	id.time = guest->next_time;
	if (id.time && id.cpu != UINT32_MAX) /* what the recorder made up was nowhere */
		id.cpu = inject_guest_place(guest, id.cpu);
	convert_fields(guest, event);
	strbuf_add_chars(out, '\0', layout->trailer);
	sample_id_encode(layout, &id, out->data + out->len);
	return GUEST_PUT;
}

enum guest_verdict inject_guest_convert(struct inject_guest *guest)
{
	const struct record_header *header = guest->next.header;
	const struct event *event = guest->next.event;
	struct strbuf *out = &guest->record;
	strbuf_clear(out);
	if (!is_meant(header->type))
		return GUEST_NOT_MEANT;
	if (!event || !event->ids.len || event->index >= guest->layouts.len)
		return GUEST_UNKNOWN;
	const struct sample_layout *layout = &guest->layouts.data[event->index];
	enum guest_verdict verdict =
		header->type == RECORD_SAMPLE ? convert_sample(guest, event, layout) : convert_other(guest, event, layout);
	if (verdict == GUEST_PUT && !set_size(out))
		return GUEST_UNKNOWN;
	if (verdict == GUEST_PUT)
		((struct record_header *)out->data)->misc = inject_guest_mode(header->misc);
	return verdict;
}
