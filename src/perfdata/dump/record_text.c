/* Fills in the texts of records. Numbers and names come by the table of fields; for what is more, as lists and flags, there is a function
 * for each part, in a table. Not done here: samples (dump_sample.c). */
#include "perfdata/dump/record_text.h"

#include "base/buildid.h"
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t number_at(const struct record_text *text, size_t offset, size_t size)
{
	uint64_t value = 0;
	if (offset + size <= text->end)
		memcpy(&value, (const uint8_t *)text->header + offset, size);
	return value;
}

#define NUMBER(text, record, field) number_at(text, offsetof(struct record_##record, field), sizeof(((struct record_##record *)0)->field))

static const uint8_t *bytes_at(const struct record_text *text, size_t offset)
{
	return (const uint8_t *)text->header + offset;
}

/* How many of `count` elements there really are behind `offset`. */
static uint64_t that_fit(const struct record_text *text, uint64_t count, size_t offset, size_t size)
{
	uint64_t room = offset < text->end ? (text->end - offset) / size : 0;
	return count < room ? count : room;
}

static void add_text_at(const struct record_text *text, size_t offset)
{
	const char *at = (const char *)text->header + offset;
	if (offset < text->end)
		text_add_safe(text->out, at, strnlen(at, text->end - offset));
}

static bool has(const struct record_text *text, uint16_t misc)
{
	return text->header->misc & misc;
}

/* ── Parts of the kernel's records ── */

static void add_data(const struct record_text *text)
{
	strbuf_add_char(text->out, has(text, RECORD_MISC_MMAP_DATA) ? 'r' : 'x');
}

static void add_exec(const struct record_text *text)
{
	strbuf_add_str(text->out, has(text, RECORD_MISC_COMM_EXEC) ? " exec" : "");
}

static void add_file(const struct record_text *text)
{
	struct buildid id = {0};
	char digits[2 * sizeof(id.data) + 1];
	if (!record_has_build_id(text->header)) {
		record_text_add(text, "{major:02x}:{minor:02x} {inode} {inode_generation}");
		return;
	}
	id.size = NUMBER(text, mmap2, build_id_size);
	memcpy(id.data, bytes_at(text, offsetof(struct record_mmap2, build_id)), id.size);
	strbuf_printf(text->out, "<%s>", buildid_format(&id, digits));
}

static void add_protection(const struct record_text *text)
{
	uint32_t protection = NUMBER(text, mmap2, prot), flags = NUMBER(text, mmap2, flags);
	strbuf_add_char(text->out, protection & PROT_READ ? 'r' : '-');
	strbuf_add_char(text->out, protection & PROT_WRITE ? 'w' : '-');
	strbuf_add_char(text->out, protection & PROT_EXEC ? 'x' : '-');
	strbuf_add_char(text->out, flags & MAP_SHARED ? 's' : 'p');
}

static void add_event(const struct record_text *text)
{
	if (text->event)
		text_add_safe(text->out, text->event->name, strlen(text->event->name));
}

static void add_values(const struct record_text *text)
{
	static const struct {
		uint64_t bit;
		const char *title;
	} parts[] = {
		{PERF_FORMAT_TOTAL_TIME_ENABLED, "... time enabled : "},
		{PERF_FORMAT_TOTAL_TIME_RUNNING, "... time running : "},
		{PERF_FORMAT_ID, "... id           : "},
		{EVENT_FORMAT_LOST, "... lost         : "},
	};
	uint64_t format = text->event ? text->event->attr.read_format : 0;
	size_t at = offsetof(struct record_read, values);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!(format & parts[i].bit))
			continue;
		strbuf_printf(text->out, "%s%" PRIu64 "\n", parts[i].title, number_at(text, at, sizeof(uint64_t)));
		at += sizeof(uint64_t);
	}
}

static void add_aux_flags(const struct record_text *text)
{
	uint64_t flags = NUMBER(text, aux, flags);
	strbuf_add_str(text->out, flags & PERF_AUX_FLAG_TRUNCATED ? "T" : "");
	strbuf_add_str(text->out, flags & PERF_AUX_FLAG_OVERWRITE ? "O" : "");
	strbuf_add_str(text->out, flags & PERF_AUX_FLAG_PARTIAL ? "P" : "");
}

static void add_id(const struct record_text *text)
{
	strbuf_add_u64(text->out, text->id.id, 0);
}

static void add_direction(const struct record_text *text)
{
	const char *out = has(text, RECORD_MISC_SWITCH_OUT_PREEMPT) ? "OUT preempt" : "OUT        ";
	strbuf_add_str(text->out, has(text, RECORD_MISC_SWITCH_OUT) ? out : "IN         ");
}

static void add_other(const struct record_text *text)
{
	strbuf_add_str(text->out, has(text, RECORD_MISC_SWITCH_OUT) ? "next" : "prev");
}

static void add_links(const struct record_text *text)
{
	static const char *const names[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
	const struct record_namespaces *record = (const void *)text->header;
	uint64_t count = that_fit(text, NUMBER(text, namespaces, count), sizeof(*record), sizeof(record->links[0]));
	strbuf_printf(text->out, "%u\n\t\t[", (unsigned int)count);
	for (unsigned int i = 0; i < count; i++) {
		if (i && i % 4 == 0)
			strbuf_add_str(text->out, "\n\t\t ");
		strbuf_printf(text->out, "%u/%s: %" PRIu64 "/%#" PRIx64 "%s", i, i < sizeof(names) / sizeof(*names) ? names[i] : "unknown",
			      record->links[i].device, record->links[i].inode, i + 1 < count ? ", " : "]\n");
	}
}

/* Lengths of the old and the new code, 0 when the record hasn't room for both. */
static unsigned int code_length(const struct record_text *text, bool new)
{
	unsigned int old_length = NUMBER(text, text_poke, old_length), new_length = NUMBER(text, text_poke, new_length);
	bool fit = offsetof(struct record_text_poke, bytes) + old_length + new_length <= text->end;
	return !fit ? 0 : new ? new_length : old_length;
}

static void add_old_length(const struct record_text *text)
{
	strbuf_add_u64(text->out, code_length(text, false), 0);
}

static void add_new_length(const struct record_text *text)
{
	strbuf_add_u64(text->out, code_length(text, true), 0);
}

/* Changed code, old or new, `per_line` bytes a line. */
static void add_code(const struct record_text *text, bool new, unsigned int per_line)
{
	size_t offset = offsetof(struct record_text_poke, bytes) + (new ? code_length(text, false) : 0);
	for (unsigned int i = 0; i < code_length(text, new); i++) {
		if (i && i % per_line == 0)
			strbuf_add_str(text->out, "\n               ");
		strbuf_printf(text->out, " %02x", *bytes_at(text, offset + i));
	}
}

static void add_old(const struct record_text *text)
{
	add_code(text, false, UINT16_MAX);
}

static void add_new(const struct record_text *text)
{
	add_code(text, true, UINT16_MAX);
}

static void add_old_lines(const struct record_text *text)
{
	add_code(text, false, 16);
}

static void add_new_lines(const struct record_text *text)
{
	add_code(text, true, 16);
}

void record_text_add_chain(struct strbuf *out, const uint64_t *words, uint64_t count)
{
	strbuf_printf(out, "... FP chain: nr:%" PRIu64 "\n", count);
	for (uint64_t i = 0; i < count; i++)
		strbuf_printf(out, "..... %2" PRIu64 ": %016" PRIx64 "\n", i, words[i]);
}

static void add_deferred(const struct record_text *text)
{
	const struct record_deferred *record = (const void *)text->header;
	strbuf_printf(text->out, "(IP, 0x%x): %d/%d: %#" PRIx64 "\n", text->header->misc, (int)text->id.pid, (int)text->id.tid,
		      record->cookie);
	record_text_add_chain(text->out, record->words, that_fit(text, record->count, sizeof(*record), sizeof(record->words[0])));
}

/* ── Parts of tools' records ── */

static void add_entries(const struct record_text *text)
{
	const struct record_id_index *record = (const void *)text->header;
	uint64_t count = that_fit(text, record->count, sizeof(*record), sizeof(record->entries[0]));
	/* Where there are guests, as many pairs follow. */
	size_t behind = sizeof(*record) + count * sizeof(record->entries[0]);
	const uint64_t *guests = (const uint64_t *)((const char *)record + behind);
	bool of_guests = text->end >= behind && (text->end - behind) / (2 * sizeof(*guests)) >= count;
	for (uint64_t i = 0; i < count; i++) {
		strbuf_printf(text->out, " ... id: %" PRIu64 "  idx: %" PRIu64 "  cpu: %" PRId64 "  tid: %" PRId64, record->entries[i].id,
			      record->entries[i].index, (int64_t)record->entries[i].cpu, (int64_t)record->entries[i].tid);
		if (of_guests)
			strbuf_printf(text->out, "  machine_pid: %" PRId64 "  vcpu: %" PRIu64, (int64_t)guests[2 * i], guests[2 * i + 1]);
		strbuf_add_char(text->out, '\n');
	}
}

static void add_threads(const struct record_text *text)
{
	const struct record_thread_map *record = (const void *)text->header;
	uint64_t count = that_fit(text, record->count, sizeof(*record), sizeof(record->threads[0]));
	strbuf_printf(text->out, "%" PRIu64 " thread%s", count, count > 1 ? "s:" : ":");
	for (uint64_t i = 0; i < count; i++)
		strbuf_printf(text->out, "%s %d", i ? "," : "", (int)record->threads[i].tid);
}

static void add_round(const struct record_text *text)
{
	strbuf_add_str(text->out, NUMBER(text, stat_round, is_final) ? "FINAL" : "INTERVAL");
}

static void add_cycles(const struct record_text *text)
{
	if (text->end >= sizeof(struct record_time_conv))
		record_text_add(text, "... Time Cycles     {cycles}\n... Time Mask       {mask:#x}\n"
				      "... Cap Time Zero   {cap_zero}\n... Cap Time Short  {cap_short}\n");
}

/* Adds the CPUs first…last of a list "0-3,7". */
static void add_range(const struct record_text *text, bool *first, unsigned int from, unsigned int to)
{
	strbuf_printf(text->out, to > from ? "%s%u-%u" : "%s%u", *first ? " " : ",", from, to);
	*first = false;
}

enum { CPU_MAP_LIST, CPU_MAP_MASK, CPU_MAP_RANGE };

static unsigned int u16_at(const struct record_text *text, size_t offset)
{
	return number_at(text, offset, sizeof(uint16_t));
}

/* CPU number `index` of a list, whose count lies at `at`. */
static bool cpu_list_has(const struct record_text *text, size_t at, unsigned int index, unsigned int *ret_cpu)
{
	*ret_cpu = u16_at(text, at + 2 + 2 * index);
	return index < u16_at(text, at) && at + 2 + 2 * (index + 1) <= text->end;
}

static void add_cpu_list(const struct record_text *text, size_t at)
{
	bool first = true;
	unsigned int cpu, next;
	for (unsigned int i = 0; cpu_list_has(text, at, i, &cpu); i++) {
		unsigned int last = cpu;
		while (cpu_list_has(text, at, i + 1, &next) && next == last + 1) {
			last = next;
			i++;
		}
		add_range(text, &first, cpu, last);
	}
}

/* Count and width of the words, then the words; those of 8 bytes are padded to where an older structure had them. */
static void add_cpu_mask(const struct record_text *text, size_t start)
{
	bool first = true;
	unsigned int words = u16_at(text, start), width = u16_at(text, start + 2);
	unsigned int bits = words * width * 8;
	size_t at = start + (width == 8 ? 8 : 4);
	const uint8_t *mask = bytes_at(text, at);
	if (at + words * width > text->end)
		return;
	for (unsigned int i = 0; i < bits; i++) {
		unsigned int last = i;
		if (!(mask[i / 8] >> i % 8 & 1))
			continue;
		while (last + 1 < bits && mask[(last + 1) / 8] >> (last + 1) % 8 & 1)
			last++;
		add_range(text, &first, i, last);
		i = last;
	}
}

/* A set of CPUs in one of three forms, as " 0-3,7". */
static void add_cpus_at(const struct record_text *text, size_t at)
{
	bool first = true;
	if (u16_at(text, at) == CPU_MAP_LIST)
		add_cpu_list(text, at + 2);
	else if (u16_at(text, at) == CPU_MAP_MASK)
		add_cpu_mask(text, at + 2);
	else if (u16_at(text, at) == CPU_MAP_RANGE)
		add_range(text, &first, u16_at(text, at + 4), u16_at(text, at + 6));
}

static void add_cpus(const struct record_text *text)
{
	add_cpus_at(text, offsetof(struct record_cpu_map, cpus_form));
}

static void add_update(const struct record_text *text)
{
	static const char *const titles[] = {"... unit:  ", "... scale: ", "... name:  ", "..."};
	uint64_t what = NUMBER(text, event_update, what);
	size_t at = offsetof(struct record_event_update, value);
	strbuf_add_str(text->out, what < sizeof(titles) / sizeof(*titles) ? titles[what] : "... unknown type");
	if (what == EVENT_UPDATE_SCALE) {
		uint64_t bits = number_at(text, at, sizeof(bits));
		double scale;
		memcpy(&scale, &bits, sizeof(scale));
		strbuf_printf(text->out, "%f", scale);
	} else if (what == EVENT_UPDATE_UNIT || what == EVENT_UPDATE_NAME) {
		add_text_at(text, at);
	} else if (what == EVENT_UPDATE_CPUS) {
		add_cpus_at(text, at);
	}
	strbuf_add_char(text->out, '\n');
}

static const struct {
	const char *name;
	void (*add)(const struct record_text *text);
} parts[] = {
	{"data", add_data},
	{"exec", add_exec},
	{"file", add_file},
	{"protection", add_protection},
	{"event", add_event},
	{"values", add_values},
	{"aux_flags", add_aux_flags},
	{"id", add_id},
	{"direction", add_direction},
	{"other", add_other},
	{"links", add_links},
	{"old_length", add_old_length},
	{"new_length", add_new_length},
	{"old", add_old},
	{"new", add_new},
	{"old_lines", add_old_lines},
	{"new_lines", add_new_lines},
	{"deferred", add_deferred},
	{"entries", add_entries},
	{"threads", add_threads},
	{"round", add_round},
	{"cycles", add_cycles},
	{"cpus", add_cpus},
	{"update", add_update},
};

/* ── Texts ── */

static bool is_called(const char *name, const char *at, size_t length)
{
	return *name == *at && !strncmp(name, at, length) && !name[length];
}

static void add_part(const struct record_text *text, const char *name, size_t length)
{
	size_t i = 0;
	while (i < sizeof(parts) / sizeof(*parts) && !is_called(parts[i].name, name, length))
		i++;
	assert(i < sizeof(parts) / sizeof(*parts));
	parts[i].add(text);
}

/* FORM: flags, width, d or x. */
static void add_number(struct strbuf *out, uint64_t value, size_t size, const char *form)
{
	bool left = *form == '-', zeros = *form == '0', prefix = *form == '#';
	const char *end = form + (left || zeros || prefix);
	int width = 0;
	for (; *end >= '0' && *end <= '9'; end++)
		width = 10 * width + (*end - '0');
	int64_t number = size == sizeof(uint32_t) ? (int32_t)value : (int64_t)value;
	if (*end != 'd' && *end != 'x')
		strbuf_add_u64(out, value, 0);
	else if (*end == 'd' && (width || number < 0))
		strbuf_printf(out, left ? "%-*" PRId64 : "%*" PRId64, width, number);
	else if (*end == 'd')
		strbuf_add_u64(out, value, 0);
	else if (width)
		strbuf_printf(out, zeros ? "%0*" PRIx64 : "%*" PRIx64, width, value);
	else {
		strbuf_add_str(out, prefix && value ? "0x" : "");
		strbuf_add_hex(out, value, 0);
	}
}

/* The fields of a record, walked over while its text is made: texts name them mostly in their order. */
struct fields {
	const struct record_kind *kind;
	struct record_walk walk;
};

static const struct record_field *find_field(const struct record_text *text, struct fields *fields, const char *name, size_t length,
					     size_t *ret_offset)
{
	for (unsigned int round = 0; fields->kind && round < 2; round++) {
		const struct record_field *field;
		while ((field = record_walk_next(&fields->walk, ret_offset)))
			if (is_called(field->name, name, length))
				return field;
		fields->walk = record_walk(fields->kind, text->header, text->end);
	}
	return NULL;
}

static void add_field(const struct record_text *text, struct fields *fields, const char *name, size_t length, const char *form)
{
	size_t offset;
	const struct record_field *field = find_field(text, fields, name, length, &offset);
	if (!field)
		add_number(text->out, 0, sizeof(uint64_t), form);
	else if (field->kind == FIELD_TEXT)
		add_text_at(text, offset);
	else
		add_number(text->out, number_at(text, offset, field->size), field->size, form);
}

void record_text_add(const struct record_text *text, const char *template)
{
	struct fields fields = {.kind = record_kind(text->header->type)};
	if (fields.kind)
		fields.walk = record_walk(fields.kind, text->header, text->end);
	while (*template) {
		size_t plain = (size_t)(strchrnul(template, '{') - template);
		strbuf_add(text->out, template, plain);
		template += plain;
		if (!*template)
			return;
		template += 1;
		size_t form = (size_t)(strchrnul(template, '}') - template);
		const char *colon = memchr(template, ':', form);
		size_t length = colon ? (size_t)(colon - template) : form;
		if (*template == '!')
			add_part(text, template + 1, length - 1);
		else
			add_field(text, &fields, template, length, template[length] == ':' ? template + length + 1 : "");
		template += form + 1;
	}
}
