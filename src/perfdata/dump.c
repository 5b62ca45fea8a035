/* Each record is shown as: where it is, its bytes, then a line with CPU, time, place and type, and its fields: one function a type, in a
 * table. Not done here: samples (dump_sample.c). */
#include "perfdata/dump.h"
#include "base/text.h"
#include "perfdata/dump_internal.h"
#include "perfdata/header.h"
#include "perfdata/records_internal.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t u64_at(const struct dump *dump, size_t offset)
{
	uint64_t value = 0;
	if (offset + sizeof(value) <= dump->header->size)
		memcpy(&value, (const uint8_t *)dump->header + offset, sizeof(value));
	return value;
}

static uint32_t u32_at(const struct dump *dump, size_t offset)
{
	uint32_t value = 0;
	if (offset + sizeof(value) <= dump->header->size)
		memcpy(&value, (const uint8_t *)dump->header + offset, sizeof(value));
	return value;
}

static uint16_t u16_at(const struct dump *dump, size_t offset)
{
	uint16_t value = 0;
	if (offset + sizeof(value) <= dump->header->size)
		memcpy(&value, (const uint8_t *)dump->header + offset, sizeof(value));
	return value;
}

static int s32_at(const struct dump *dump, size_t offset)
{
	return (int)u32_at(dump, offset);
}

static void add_text_at(struct dump *dump, size_t offset)
{
	if (offset < dump->header->size) {
		const char *text = (const char *)dump->header + offset;
		text_add_safe(dump->out, text, strnlen(text, dump->header->size - offset));
	}
}

/* ── Kernel records ── */

static void dump_mmap(struct dump *dump)
{
	strbuf_printf(dump->out, " %d/%d: [%#" PRIx64 "(%#" PRIx64 ") @ %#" PRIx64 "]: %c ", s32_at(dump, 8), s32_at(dump, 12),
		      u64_at(dump, 16), u64_at(dump, 24), u64_at(dump, 32), dump->header->misc & RECORD_MISC_MMAP_DATA ? 'r' : 'x');
	add_text_at(dump, 40);
	strbuf_add_char(dump->out, '\n');
}

static void dump_mmap2(struct dump *dump)
{
	uint32_t protection = u32_at(dump, 64), flags = u32_at(dump, 68);
	strbuf_printf(dump->out, " %d/%d: [%#" PRIx64 "(%#" PRIx64 ") @ %#" PRIx64 " ", s32_at(dump, 8), s32_at(dump, 12), u64_at(dump, 16),
		      u64_at(dump, 24), u64_at(dump, 32));
	if (dump->header->misc & RECORD_MISC_MMAP_BUILD_ID) {
		const uint8_t *at = (const uint8_t *)dump->header + 40;
		struct buildid id = {.size = at[0] <= 20 ? at[0] : 20};
		char text[41];
		memcpy(id.data, at + 4, id.size);
		strbuf_printf(dump->out, "<%s>", buildid_format(&id, text));
	} else {
		strbuf_printf(dump->out, "%02x:%02x %" PRIu64 " %" PRIu64, u32_at(dump, 40), u32_at(dump, 44), u64_at(dump, 48),
			      u64_at(dump, 56));
	}
	strbuf_printf(dump->out, "]: %c%c%c%c ", protection & PROT_READ ? 'r' : '-', protection & PROT_WRITE ? 'w' : '-',
		      protection & PROT_EXEC ? 'x' : '-', flags & MAP_SHARED ? 's' : 'p');
	add_text_at(dump, 72);
	strbuf_add_char(dump->out, '\n');
}

static void dump_comm(struct dump *dump)
{
	strbuf_add_str(dump->out, dump->header->misc & RECORD_MISC_COMM_EXEC ? " exec: " : ": ");
	add_text_at(dump, 16);
	strbuf_printf(dump->out, ":%d/%d\n", s32_at(dump, 8), s32_at(dump, 12));
}

static void dump_task(struct dump *dump)
{
	strbuf_printf(dump->out, "(%d:%d):(%d:%d)\n", s32_at(dump, 8), s32_at(dump, 16), s32_at(dump, 12), s32_at(dump, 20));
}

static void dump_lost(struct dump *dump)
{
	strbuf_printf(dump->out, ": id:%" PRIu64 ": lost:%" PRIu64 "\n", u64_at(dump, 8), u64_at(dump, 16));
}

static void dump_lost_samples(struct dump *dump)
{
	strbuf_printf(dump->out, ": id:%" PRIu64 ": lost samples :%" PRIu64 "\n", dump->id.id, u64_at(dump, 8));
}

static void dump_read(struct dump *dump)
{
	uint64_t format = dump->event ? dump->event->attr.read_format : 0;
	size_t at = 24;
	const char *name = dump->event ? dump->event->name : "";
	strbuf_printf(dump->out, ": %d %d ", s32_at(dump, 8), s32_at(dump, 12));
	text_add_safe(dump->out, name, strlen(name));
	strbuf_printf(dump->out, " %" PRIu64 "\n", u64_at(dump, 16));
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) {
		strbuf_printf(dump->out, "... time enabled : %" PRIu64 "\n", u64_at(dump, at));
		at += 8;
	}
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING) {
		strbuf_printf(dump->out, "... time running : %" PRIu64 "\n", u64_at(dump, at));
		at += 8;
	}
	if (format & PERF_FORMAT_ID) {
		strbuf_printf(dump->out, "... id           : %" PRIu64 "\n", u64_at(dump, at));
		at += 8;
	}
	if (format & EVENT_FORMAT_LOST)
		strbuf_printf(dump->out, "... lost         : %" PRIu64 "\n", u64_at(dump, at));
}

static void dump_aux(struct dump *dump)
{
	uint64_t flags = u64_at(dump, 24);
	strbuf_printf(dump->out, " offset: %#" PRIx64 " size: %#" PRIx64 " flags: %#" PRIx64 " [%s%s%s]\n", u64_at(dump, 8),
		      u64_at(dump, 16), flags, flags & PERF_AUX_FLAG_TRUNCATED ? "T" : "", flags & PERF_AUX_FLAG_OVERWRITE ? "O" : "",
		      flags & PERF_AUX_FLAG_PARTIAL ? "P" : "");
}

static void dump_itrace_start(struct dump *dump)
{
	strbuf_printf(dump->out, " pid: %u tid: %u\n", u32_at(dump, 8), u32_at(dump, 12));
}

static void dump_switch(struct dump *dump)
{
	uint16_t misc = dump->header->misc;
	const char *direction = "IN         ";
	bool out = misc & RECORD_MISC_SWITCH_OUT;
	if (out)
		direction = misc & RECORD_MISC_SWITCH_OUT_PREEMPT ? "OUT preempt" : "OUT        ";
	if (dump->header->type == RECORD_SWITCH)
		strbuf_printf(dump->out, " %s\n", direction);
	else
		strbuf_printf(dump->out, " %s  %s pid/tid: %5d/%-5d\n", direction, out ? "next" : "prev", s32_at(dump, 8),
			      s32_at(dump, 12));
}

static void dump_namespaces(struct dump *dump)
{
	static const char *const names[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
	uint64_t count = u64_at(dump, 16), room = (dump->header->size - 24u) / 16;
	count = count < room ? count : room;
	strbuf_printf(dump->out, " %d/%d - nr_namespaces: %u\n\t\t[", s32_at(dump, 8), s32_at(dump, 12), (unsigned int)count);
	for (unsigned int i = 0; i < count; i++) {
		if (i && i % 4 == 0)
			strbuf_add_str(dump->out, "\n\t\t ");
		strbuf_printf(dump->out, "%u/%s: %" PRIu64 "/%#" PRIx64 "%s", i, i < 7 ? names[i] : "unknown", u64_at(dump, 24 + 16 * i),
			      u64_at(dump, 32 + 16 * i), i + 1 < count ? ", " : "]\n");
	}
}

static void dump_ksymbol(struct dump *dump)
{
	strbuf_printf(dump->out, " addr %" PRIx64 " len %u type %u flags 0x%x name ", u64_at(dump, 8), u32_at(dump, 16), u16_at(dump, 20),
		      u16_at(dump, 22));
	add_text_at(dump, 24);
	strbuf_add_char(dump->out, '\n');
}

static void dump_bpf_event(struct dump *dump)
{
	strbuf_printf(dump->out, " type %u, flags %u, id %u\n", u16_at(dump, 8), u16_at(dump, 10), u32_at(dump, 12));
}

static void dump_cgroup(struct dump *dump)
{
	strbuf_printf(dump->out, " cgroup: %" PRIu64 " ", u64_at(dump, 8));
	add_text_at(dump, 16);
	strbuf_add_char(dump->out, '\n');
}

static void dump_text_poke(struct dump *dump)
{
	unsigned int old = u16_at(dump, 16), new = u16_at(dump, 18);
	const uint8_t *bytes = (const uint8_t *)dump->header + 20;
	if (old + new > dump->header->size - 20u)
		old = new = 0;
	strbuf_printf(dump->out, " %" PRIx64 " old len %u new len %u\n            old bytes:", u64_at(dump, 8), old, new);
	for (unsigned int i = 0; i < old; i++)
		strbuf_printf(dump->out, " %02x", bytes[i]);
	strbuf_add_str(dump->out, "\n            new bytes:");
	for (unsigned int i = 0; i < new; i++)
		strbuf_printf(dump->out, " %02x", bytes[old + i]);
	strbuf_add_char(dump->out, '\n');
}

static void dump_hw_id(struct dump *dump)
{
	strbuf_printf(dump->out, " hw_id: %#" PRIx64 "\n", u64_at(dump, 8));
}

/* ── Records of tools ── */

static void dump_id_index(struct dump *dump)
{
	uint64_t count = u64_at(dump, 8), room = (dump->header->size - 16u) / 32;
	strbuf_printf(dump->out, " nr: %" PRIu64 "\n", count);
	for (uint64_t i = 0; i < count && i < room; i++) {
		size_t at = 16 + 32 * i;
		strbuf_printf(dump->out, " ... id: %" PRIu64 "  idx: %" PRIu64 "  cpu: %" PRId64 "  tid: %" PRId64 "\n", u64_at(dump, at),
			      u64_at(dump, at + 8), (int64_t)u64_at(dump, at + 16), (int64_t)u64_at(dump, at + 24));
	}
}

static void dump_thread_map(struct dump *dump)
{
	uint64_t count = u64_at(dump, 8), room = (dump->header->size - 16u) / 24;
	count = count < room ? count : room;
	strbuf_printf(dump->out, " nr: %" PRIu64 " thread%s", count, count > 1 ? "s:" : ":");
	for (uint64_t i = 0; i < count; i++)
		strbuf_printf(dump->out, "%s %d", i ? "," : "", (int)u64_at(dump, 16 + 24 * i));
	strbuf_add_char(dump->out, '\n');
}

/* Adds the CPUs first…last of a list "0-3,7". */
static void add_range(struct dump *dump, bool *first, unsigned int from, unsigned int to)
{
	strbuf_printf(dump->out, to > from ? "%s%u-%u" : "%s%u", *first ? " " : ",", from, to);
	*first = false;
}

enum { CPU_MAP_LIST, CPU_MAP_MASK, CPU_MAP_RANGE };

/* CPU number `index` of a list, whose count lies at `at`. */
static bool cpu_list_has(const struct dump *dump, size_t at, unsigned int index, unsigned int *ret_cpu)
{
	*ret_cpu = u16_at(dump, at + 2 + 2 * index);
	return index < u16_at(dump, at) && at + 2 + 2 * (index + 1) <= dump->header->size;
}

static void dump_cpu_list(struct dump *dump, size_t at)
{
	bool first = true;
	unsigned int cpu, next;
	for (unsigned int i = 0; cpu_list_has(dump, at, i, &cpu); i++) {
		unsigned int last = cpu;
		while (cpu_list_has(dump, at, i + 1, &next) && next == last + 1) {
			last = next;
			i++;
		}
		add_range(dump, &first, cpu, last);
	}
}

/* Count and width of the words, then the words; those of 8 bytes are padded to where an older structure had them. */
static void dump_cpu_mask(struct dump *dump, size_t start)
{
	bool first = true;
	unsigned int words = u16_at(dump, start), width = u16_at(dump, start + 2);
	unsigned int bits = words * width * 8;
	size_t at = start + (width == 8 ? 8 : 4);
	const uint8_t *mask = (const uint8_t *)dump->header + at;
	if (at + words * width > dump->header->size)
		return;
	for (unsigned int i = 0; i < bits; i++) {
		unsigned int last = i;
		if (!(mask[i / 8] >> i % 8 & 1))
			continue;
		while (last + 1 < bits && mask[(last + 1) / 8] >> (last + 1) % 8 & 1)
			last++;
		add_range(dump, &first, i, last);
		i = last;
	}
}

/* A set of CPUs in one of three forms, as " 0-3,7" and a newline. */
static void dump_cpus(struct dump *dump, size_t at)
{
	bool first = true;
	if (u16_at(dump, at) == CPU_MAP_LIST)
		dump_cpu_list(dump, at + 2);
	else if (u16_at(dump, at) == CPU_MAP_MASK)
		dump_cpu_mask(dump, at + 2);
	else if (u16_at(dump, at) == CPU_MAP_RANGE)
		add_range(dump, &first, u16_at(dump, at + 4), u16_at(dump, at + 6));
	strbuf_add_char(dump->out, '\n');
}

static void dump_cpu_map(struct dump *dump)
{
	strbuf_add_char(dump->out, ':');
	dump_cpus(dump, 8);
}

static void dump_event_update(struct dump *dump)
{
	uint64_t what = u64_at(dump, 8);
	strbuf_printf(dump->out, "\n... id:    %" PRIu64 "\n", u64_at(dump, 16));
	if (what == EVENT_UPDATE_SCALE) {
		uint64_t bits = u64_at(dump, 24);
		double scale;
		memcpy(&scale, &bits, sizeof(scale));
		strbuf_printf(dump->out, "... scale: %f\n", scale);
	} else if (what == EVENT_UPDATE_UNIT || what == EVENT_UPDATE_NAME) {
		strbuf_add_str(dump->out, what == EVENT_UPDATE_UNIT ? "... unit:  " : "... name:  ");
		add_text_at(dump, 24);
		strbuf_add_char(dump->out, '\n');
	} else if (what == EVENT_UPDATE_CPUS) {
		strbuf_add_str(dump->out, "...");
		dump_cpus(dump, 24);
	} else {
		strbuf_add_str(dump->out, "... unknown type\n");
	}
}

static void dump_time_conv(struct dump *dump)
{
	strbuf_printf(dump->out, "\n... Time Shift      %" PRIu64 "\n... Time Muliplier  %" PRIu64 "\n... Time Zero       %" PRIu64 "\n",
		      u64_at(dump, 8), u64_at(dump, 16), u64_at(dump, 24));
	if (dump->header->size >= 56) {
		const uint8_t *flags = (const uint8_t *)dump->header + 48;
		strbuf_printf(dump->out, "... Time Cycles     %" PRIu64 "\n... Time Mask       %#" PRIx64 "\n", u64_at(dump, 32),
			      u64_at(dump, 40));
		strbuf_printf(dump->out, "... Cap Time Zero   %d\n... Cap Time Short  %d\n", flags[0], flags[1]);
	}
	strbuf_add_str(dump->out, ": unhandled!\n");
}

static void dump_auxtrace(struct dump *dump)
{
	strbuf_printf(dump->out, " size: %#" PRIx64 "  offset: %#" PRIx64 "  ref: %#" PRIx64 "  idx: %u  tid: %d  cpu: %d\n",
		      u64_at(dump, 8), u64_at(dump, 16), u64_at(dump, 24), u32_at(dump, 32), s32_at(dump, 36), s32_at(dump, 40));
}

static void dump_auxtrace_info(struct dump *dump)
{
	strbuf_printf(dump->out, " type: %u\n", u32_at(dump, 8));
}

static void dump_stat(struct dump *dump)
{
	strbuf_printf(dump->out,
		      "\n... id %" PRIu64 ", cpu %d, thread %d\n... value %" PRIu64 ", enabled %" PRIu64 ", running %" PRIu64 "\n",
		      u64_at(dump, 8), s32_at(dump, 16), s32_at(dump, 20), u64_at(dump, 24), u64_at(dump, 32), u64_at(dump, 40));
}

static void dump_stat_round(struct dump *dump)
{
	strbuf_printf(dump->out, "\n... time %" PRIu64 ", type %s\n", u64_at(dump, 16), u64_at(dump, 8) ? "FINAL" : "INTERVAL");
}

static void dump_nothing(struct dump *dump)
{
	strbuf_add_char(dump->out, '\n');
}

/* Those whose bytes say all there is; the next record's line begins with the newline. */
static void dump_header_record(struct dump *dump)
{
	(void)dump;
}

static void (*const dumpers[RECORD_USER_MAX])(struct dump *) = {
	[RECORD_MMAP] = dump_mmap,
	[RECORD_LOST] = dump_lost,
	[RECORD_COMM] = dump_comm,
	[RECORD_EXIT] = dump_task,
	[RECORD_THROTTLE] = dump_nothing,
	[RECORD_UNTHROTTLE] = dump_nothing,
	[RECORD_FORK] = dump_task,
	[RECORD_READ] = dump_read,
	[RECORD_SAMPLE] = dump_sample,
	[RECORD_MMAP2] = dump_mmap2,
	[RECORD_AUX] = dump_aux,
	[RECORD_ITRACE_START] = dump_itrace_start,
	[RECORD_LOST_SAMPLES] = dump_lost_samples,
	[RECORD_SWITCH] = dump_switch,
	[RECORD_SWITCH_CPU_WIDE] = dump_switch,
	[RECORD_NAMESPACES] = dump_namespaces,
	[RECORD_KSYMBOL] = dump_ksymbol,
	[RECORD_BPF_EVENT] = dump_bpf_event,
	[RECORD_CGROUP] = dump_cgroup,
	[RECORD_TEXT_POKE] = dump_text_poke,
	[RECORD_AUX_OUTPUT_HW_ID] = dump_hw_id,
	[RECORD_CALLCHAIN_DEFERRED] = dump_callchain_deferred,
	[RECORD_HEADER_ATTR] = dump_header_record,
	[RECORD_HEADER_TRACING_DATA] = dump_header_record,
	[RECORD_HEADER_BUILD_ID] = dump_header_record,
	[RECORD_HEADER_FEATURE] = dump_header_record,
	[RECORD_FINISHED_ROUND] = dump_nothing,
	[RECORD_ID_INDEX] = dump_id_index,
	[RECORD_AUXTRACE_INFO] = dump_auxtrace_info,
	[RECORD_AUXTRACE] = dump_auxtrace,
	[RECORD_THREAD_MAP] = dump_thread_map,
	[RECORD_CPU_MAP] = dump_cpu_map,
	[RECORD_STAT] = dump_stat,
	[RECORD_STAT_ROUND] = dump_stat_round,
	[RECORD_EVENT_UPDATE] = dump_event_update,
	[RECORD_TIME_CONV] = dump_time_conv,
};

/* ── All ── */

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
	if (header->type < RECORD_USER_MAX && dumpers[header->type])
		dumpers[header->type](&dump);
	else
		strbuf_add_str(out, ": unhandled!\n");
}
