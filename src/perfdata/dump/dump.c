/* Each record is shown as: where it is, its bytes, then a line with CPU, time, place and type, and its fields: by the text of its row
 * (record_text.c), or as a sample (dump_sample.c). */
#include "perfdata/dump/dump.h"
#include "base/text.h"
#include "perfdata/dump/dump_internal.h"
#include "perfdata/dump/record_text.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>

/* ".  0010:  00 11 …  ..": 16 bytes a line, and as text. By hand: half of a dump consists of this. */
static void add_bytes(struct strbuf *out, const uint8_t *bytes, size_t size)
{
	enum { PER_LINE = 16, HEX = 10, TEXT = HEX + 3 * PER_LINE + 2, LINE = TEXT + PER_LINE + 1 };
	static const char digits[] = "0123456789abcdef";
	for (size_t at = 0; at < size; at += PER_LINE) {
		char *line = strbuf_reserve(out, LINE);
		memset(line, ' ', LINE - 1);
		line[0] = '.';
		for (int i = 0; i < 4; i++)
			line[3 + i] = digits[at >> (12 - 4 * i) & 15];
		line[7] = ':';
		for (size_t i = 0; i < PER_LINE && at + i < size; i++) {
			uint8_t byte = bytes[at + i];
			line[HEX + 3 * i] = digits[byte >> 4];
			line[HEX + 3 * i + 1] = digits[byte & 15];
			line[TEXT - 1 + i] = byte >= ' ' && byte < 127 ? (char)byte : '.';
		}
		line[LINE - 2] = '\n';
		strbuf_advance(out, LINE - 1);
	}
}

/* CPU and time as far as any event of the recording has them. */
static void add_stamp(const struct dump *dump)
{
	const struct event_list *list = &dump->reader->events;
	uint64_t type = 0;
	for (size_t i = 0; i < list->events.len; i++)
		type |= list->events.data[i]->attr.sample_type;
	if (dump->header->type != RECORD_SAMPLE && (!list->events.len || !list->events.data[0]->attr.sample_id_all)) {
		strbuf_add_str(dump->out, "-1 -1 ");
		return;
	}
	if (type & PERF_SAMPLE_CPU)
		strbuf_printf(dump->out, "%u ", dump->id.cpu);
	if (type & PERF_SAMPLE_TIME)
		strbuf_printf(dump->out, "%" PRIu64 " ", dump->id.time);
}

static void find_stamp(struct dump *dump)
{
	const struct reader *reader = dump->reader;
	if (!reader->events.events.len || dump->header->type >= RECORD_USER_START)
		return;
	const struct sample_layout *layout = &reader->layouts[dump->event ? dump->event->index : 0];
	if (dump->header->type != RECORD_SAMPLE) {
		sample_id_decode(layout, dump->header, &dump->id);
	} else if (dump->event) {
		dump->broken = sample_decode(layout, &dump->event->attr, dump->header, &dump->sample);
		if (!dump->broken)
			dump->id = (struct sample_id){.cpu = dump->sample.cpu, .time = dump->sample.time, .id = dump->sample.id};
	}
}

static void add_fields(struct dump *dump)
{
	const struct record_kind *kind = record_kind(dump->header->type);
	if (dump->header->type == RECORD_SAMPLE) {
		dump_sample(dump);
	} else if (kind && record_dump_text(kind)) {
		const struct record_text text = {dump->header, dump->header->size, dump->event, dump->id, dump->out};
		record_text_add(&text, record_dump_text(kind));
	} else {
		strbuf_add_str(dump->out, ": unhandled!\n");
	}
}

void dump_record(const struct reader *reader, const struct record_header *header, uint64_t offset, const struct event *event,
		 const struct dump_options *options, struct strbuf *out)
{
	struct dump dump = {.reader = reader, .header = header, .event = event, .options = options, .out = out};
	find_stamp(&dump);
	if (reader->pipe && reader->stable)
		offset -= reader->data_offset;
	strbuf_printf(out, "\n%#" PRIx64 "@", offset);
	const char *path = reader->pipe ? "pipe" : reader->path;
	text_add_safe(out, path, strlen(path));
	strbuf_printf(out, " [%#x]: event: %u\n.\n. ... raw event: size %u bytes\n", header->size, header->type, header->size);
	add_bytes(out, (const uint8_t *)header, header->size);
	strbuf_add_char(out, '\n');
	add_stamp(&dump);
	strbuf_printf(out, "%#" PRIx64 " [%#x]: %s", offset, header->size, record_type_name(header->type));
	add_fields(&dump);
}
