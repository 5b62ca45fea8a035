/* Side-band records as lines: "PERF_RECORD_COMM exec: true:17/17". Before it stands what the lines of samples begin with, where the
 * record's event is known. */
#include "analysis/script_internal.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The bytes behind the header; fields are read with their bounds checked. */
struct payload {
	const uint8_t *data;
	size_t size;
};

static uint32_t get_u32(const struct payload *payload, size_t offset)
{
	uint32_t value = 0;
	if (offset + sizeof(value) <= payload->size)
		memcpy(&value, payload->data + offset, sizeof(value));
	return value;
}

static uint64_t get_u64(const struct payload *payload, size_t offset)
{
	uint64_t value = 0;
	if (offset + sizeof(value) <= payload->size)
		memcpy(&value, payload->data + offset, sizeof(value));
	return value;
}

static void add_name(const struct payload *payload, size_t offset, struct strbuf *out)
{
	if (offset < payload->size)
		text_add_safe(out, (const char *)payload->data + offset,
			      strnlen((const char *)payload->data + offset, payload->size - offset));
}

typedef void add_record_fn(const struct record_header *header, const struct payload *payload, struct strbuf *out);

static void add_comm(const struct record_header *header, const struct payload *payload, struct strbuf *out)
{
	strbuf_add_str(out, header->misc & RECORD_MISC_COMM_EXEC ? " exec: " : ": ");
	add_name(payload, 8, out);
	strbuf_printf(out, ":%d/%d", (int)get_u32(payload, 0), (int)get_u32(payload, 4));
}

static void add_task(const struct record_header *header, const struct payload *payload, struct strbuf *out)
{
	strbuf_printf(out, "(%d:%d):(%d:%d)", (int)get_u32(payload, 0), (int)get_u32(payload, 8), (int)get_u32(payload, 4),
		      (int)get_u32(payload, 12));
}

static void add_range(const struct payload *payload, struct strbuf *out)
{
	strbuf_printf(out, " %d/%d: [%#llx(%#llx) @ %#llx", (int)get_u32(payload, 0), (int)get_u32(payload, 4),
		      (unsigned long long)get_u64(payload, 8), (unsigned long long)get_u64(payload, 16),
		      (unsigned long long)get_u64(payload, 24));
}

static void add_mmap(const struct record_header *header, const struct payload *payload, struct strbuf *out)
{
	add_range(payload, out);
	strbuf_add_str(out, header->misc & RECORD_MISC_MMAP_DATA ? "]: r " : "]: x ");
	add_name(payload, 32, out);
}

static void add_mmap2(const struct record_header *header, const struct payload *payload, struct strbuf *out)
{
	enum { BUILD_ID_MAX = 20, READ = 1, WRITE = 2, EXEC = 4, SHARED = 1 };
	add_range(payload, out);
	if (header->misc & RECORD_MISC_MMAP_BUILD_ID) {
		unsigned int size = payload->size > 56 ? payload->data[32] : 0;
		strbuf_add_str(out, " <");
		for (unsigned int i = 0; i < size && i < BUILD_ID_MAX; i++)
			strbuf_printf(out, "%02x", payload->data[36 + i]);
		strbuf_add_char(out, '>');
	} else {
		strbuf_printf(out, " %02x:%02x %llu %llu", get_u32(payload, 32), get_u32(payload, 36),
			      (unsigned long long)get_u64(payload, 40), (unsigned long long)get_u64(payload, 48));
	}
	uint32_t prot = get_u32(payload, 56), flags = get_u32(payload, 60);
	strbuf_printf(out, "]: %c%c%c%c ", prot & READ ? 'r' : '-', prot & WRITE ? 'w' : '-', prot & EXEC ? 'x' : '-',
		      flags & SHARED ? 's' : 'p');
	add_name(payload, 64, out);
}

static void add_lost(const struct record_header *header, const struct payload *payload, struct strbuf *out)
{
	strbuf_printf(out, " lost %llu", (unsigned long long)get_u64(payload, 8));
}

static void add_switch(const struct record_header *header, const struct payload *payload, struct strbuf *out)
{
	bool leaves = header->misc & RECORD_MISC_SWITCH_OUT;
	const char *direction = !leaves ? "IN         " : header->misc & RECORD_MISC_SWITCH_OUT_PREEMPT ? "OUT preempt" : "OUT        ";
	strbuf_printf(out, " %s", direction);
	if (header->type == RECORD_SWITCH_CPU_WIDE)
		strbuf_printf(out, "  %s pid/tid: %5d/%-5d", leaves ? "next" : "prev", (int)get_u32(payload, 0), (int)get_u32(payload, 4));
}

static void add_namespaces(const struct record_header *header, const struct payload *payload, struct strbuf *out)
{
	static const char *const names[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
	uint64_t count = get_u64(payload, 8);
	strbuf_printf(out, " %d/%d - nr_namespaces: %u\n\t\t[", (int)get_u32(payload, 0), (int)get_u32(payload, 4), (unsigned int)count);
	for (uint64_t i = 0; i < count && 16 + (i + 1) * 16 <= payload->size; i++) {
		if (i && i % 4 == 0)
			strbuf_add_str(out, "\n\t\t ");
		strbuf_printf(out, "%u/%s: %llu/%#llx%s", (unsigned int)i, i < sizeof(names) / sizeof(*names) ? names[i] : "unknown",
			      (unsigned long long)get_u64(payload, 16 + i * 16), (unsigned long long)get_u64(payload, 24 + i * 16),
			      i + 1 != count ? ", " : "]");
	}
}

static void add_ksymbol(const struct record_header *header, const struct payload *payload, struct strbuf *out)
{
	uint32_t kind = get_u32(payload, 12);
	strbuf_printf(out, " addr %llx len %u type %u flags 0x%x name ", (unsigned long long)get_u64(payload, 0), get_u32(payload, 8),
		      kind & 0xffff, kind >> 16);
	add_name(payload, 16, out);
}

static void add_bpf_event(const struct record_header *header, const struct payload *payload, struct strbuf *out)
{
	uint32_t kind = get_u32(payload, 0);
	strbuf_printf(out, " type %u, flags %u, id %u", kind & 0xffff, kind >> 16, get_u32(payload, 4));
}

static void add_cgroup(const struct record_header *header, const struct payload *payload, struct strbuf *out)
{
	strbuf_printf(out, " cgroup: %llu ", (unsigned long long)get_u64(payload, 0));
	add_name(payload, 8, out);
}

static void add_bytes(const struct payload *payload, size_t offset, size_t count, const char *title, struct strbuf *out)
{
	enum { BYTES_PER_LINE = 16 };
	strbuf_printf(out, "     %s bytes:", title);
	for (size_t i = 0; i < count && offset + i < payload->size; i++) {
		if (i && i % BYTES_PER_LINE == 0)
			strbuf_add_str(out, "\n               ");
		strbuf_printf(out, " %02x", payload->data[offset + i]);
	}
}

static void add_text_poke(const struct record_header *header, const struct payload *payload, struct strbuf *out)
{
	uint32_t lengths = get_u32(payload, 8), old_length = lengths & 0xffff, new_length = lengths >> 16;
	strbuf_printf(out, " addr %llx old len %u new len %u\n", (unsigned long long)get_u64(payload, 0), old_length, new_length);
	add_bytes(payload, 12, old_length, "old", out);
	strbuf_add_char(out, '\n');
	add_bytes(payload, 12 + old_length, new_length, "new", out);
}

/* Where a record says whose it is: offsets of pid and tid, or none: the sample_id trailer's. */
enum { IN_TRAILER = -1 };

static const struct record_row {
	uint32_t type;
	int pid_offset, tid_offset, time_offset;
	add_record_fn *add;
} record_table[] = {
	{RECORD_MMAP, 0, 4, -1, add_mmap},
	{RECORD_MMAP2, 0, 4, -1, add_mmap2},
	{RECORD_COMM, 0, 4, -1, add_comm},
	{RECORD_FORK, 0, 8, 16, add_task},
	{RECORD_EXIT, 0, 8, 16, add_task},
	{RECORD_NAMESPACES, 0, 4, -1, add_namespaces},
	{RECORD_CGROUP, IN_TRAILER, IN_TRAILER, -1, add_cgroup},
	{RECORD_LOST, IN_TRAILER, IN_TRAILER, -1, add_lost},
	{RECORD_SWITCH, IN_TRAILER, IN_TRAILER, -1, add_switch},
	{RECORD_SWITCH_CPU_WIDE, IN_TRAILER, IN_TRAILER, -1, add_switch},
	{RECORD_KSYMBOL, IN_TRAILER, IN_TRAILER, -1, add_ksymbol},
	{RECORD_BPF_EVENT, IN_TRAILER, IN_TRAILER, -1, add_bpf_event},
	{RECORD_TEXT_POKE, IN_TRAILER, IN_TRAILER, -1, add_text_poke},
};

static const struct record_row *record_row_of(uint32_t type)
{
	for (size_t i = 0; i < sizeof(record_table) / sizeof(*record_table); i++)
		if (record_table[i].type == type)
			return &record_table[i];
	return NULL;
}

/* A new thread has its parent's name. Asking for the parent's gives the one that it had then, also among the records of time 0, where the
 * new one's own name may have followed; of an unknown parent it has none. */
static const struct untrusted *name_after_fork(struct machine *machine, const struct record *record, const struct payload *payload,
				   const struct thread *thread, char buffer[16])
{
	const struct thread *parent = machine_thread_or_new(machine, get_u32(payload, 4), get_u32(payload, 12), record->model_time);
	const struct untrusted *name = thread_comm(parent, record->model_time);
	if (untrusted_raw(name)[0] != ':')
		return name;
	snprintf(buffer, 16, ":%d", (int)thread->tid);
	return untrusted(buffer);
}

static void add_prefix(struct script_text *text, const struct record *record, const struct record_row *row, const struct payload *payload,
		       struct strbuf *out)
{
	const struct sample_layout *layout = &text->session->reader->layouts[record->event->index];
	struct sample_id id;
	sample_id_decode(layout, record->header, &id);
	uint32_t pid = row->pid_offset < 0 ? id.pid : get_u32(payload, (size_t)row->pid_offset);
	uint32_t tid = row->tid_offset < 0 ? id.tid : get_u32(payload, (size_t)row->tid_offset);
	struct machine *machine = text->session->machine;
	struct thread *thread = (int32_t)tid == -1 ? NULL : machine_thread_or_new(machine, pid, tid, record->model_time);
	char buffer[16];
	struct sample sample = {.header = record->header, .pid = id.pid, .tid = id.tid, .time = id.time, .cpu = id.cpu};
	if (!layout->sample_id_all) {
		sample.pid = pid;
		sample.tid = tid;
		sample.cpu = 0;
		sample.time = row->time_offset < 0 ? 0 : get_u64(payload, (size_t)row->time_offset);
	}
	const struct script_sample at = {
		.event = record->event,
		.sample = &sample,
		.thread = thread,
		.model_time = record->model_time,
		.plan = script_plan_of(text, record->event),
		.type = record->header->type,
		.misc = record->header->misc,
		.comm = thread && record->header->type == RECORD_FORK ? name_after_fork(machine, record, payload, thread, buffer) : NULL,
	};
	script_text_prefix(text, &at, out);
}

bool script_text_is_count(const struct record *record)
{
	switch (record->header->type) {
	case RECORD_STAT:
	case RECORD_STAT_ROUND:
	case RECORD_STAT_CONFIG:
	case RECORD_THREAD_MAP:
	case RECORD_CPU_MAP:
		return true;
	}
	return false;
}

static void add_count(const struct counted_row *row, struct strbuf *out)
{
	strbuf_printf(out, "%3d %8d %15" PRIu64 " %15" PRIu64 " %15" PRIu64 " %15" PRIu64 " ", row->cpu, row->thread, row->value, row->enabled_ns,
		      row->running_ns, row->time_ns);
	text_add_safe(out, row->event->name, strlen(row->event->name));
	strbuf_add_char(out, '\n');
}

static void add_counts(struct script_text *text, const struct record_header *header, struct strbuf *out)
{
	uint64_t time_ns;
	struct counted_row row;
	if (!text->counted)
		text->counted = counted_create(text->session->reader, false);
	if (!counted_take(text->counted, header, &time_ns))
		return;
	while (counted_next(text->counted, &row)) {
		if (!text->counts_shown && !text->options.json)
			strbuf_printf(out, "%3s %8s %15s %15s %15s %15s %s\n", "CPU", "THREAD", "VAL", "ENA", "RUN", "TIME", "EVENT");
		text->counts_shown = true;
		if (text->options.json)
			script_json_count(&row, out);
		else
			add_count(&row, out);
	}
}

void script_text_record(struct script_text *text, const struct record *record, struct strbuf *out)
{
	if (script_text_is_count(record)) {
		add_counts(text, record->header, out);
		return;
	}
	const struct record_header *header = record->header;
	const struct record_row *row = record_row_of(header->type);
	size_t trailer = record->event ? text->session->reader->layouts[record->event->index].trailer : 0,
	       size = header->size - sizeof(*header);
	struct payload payload = {(const uint8_t *)(header + 1), size > trailer ? size - trailer : 0};
	if (row && record->event)
		add_prefix(text, record, row, &payload, out);
	strbuf_add_str(out, record_type_name(header->type));
	if (row)
		row->add(header, &payload, out);
	strbuf_add_char(out, '\n');
}
