/* Side-band records as lines: "PERF_RECORD_COMM exec: true:17/17". Before it stands what the lines of samples begin with, where the
 * record's event is known. */
#include "analysis/script/internal.h"

#include "base/text.h"
#include "perfdata/dump/record_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A new thread has its parent's name. Asking for the parent's gives the one that it had then, also among the records of time 0, where the
 * new one's own name may have followed; of an unknown parent it has none. */
static const struct untrusted *name_after_fork(struct machine *machine, const struct record *record, const struct thread *thread,
					       char buffer[16])
{
	const struct record_task *task = (const void *)record->header;
	const struct thread *parent = machine_thread_or_new(machine, task->ppid, task->ptid, record->model_time);
	const struct untrusted *name = thread_comm(parent, record->model_time);
	if (untrusted_raw(name)[0] != ':')
		return name;
	snprintf(buffer, 16, ":%d", (int)thread->tid);
	return untrusted(buffer);
}

/* Whose a record is, when it says so itself: its fields pid and tid. Otherwise its trailer tells. */
static uint64_t own_or(const struct record_text *at, const char *field, uint64_t otherwise)
{
	uint64_t value;
	return record_number(at->header, at->end, field, &value) ? value : otherwise;
}

static void add_prefix(struct script_text *text, const struct record *record, const struct record_text *from, struct strbuf *out)
{
	const struct sample_layout *layout = &text->session->reader->layouts[record->event->index];
	const struct sample_id id = from->id;
	uint32_t pid = own_or(from, "pid", id.pid), tid = own_or(from, "tid", id.tid);
	const struct sample_guest guest = sample_find_guest(layout, id.id);
	struct machine *machine = machine_of_guest(text->session->machine, guest.machine_pid);
	struct thread *thread = (int32_t)tid == -1 ? NULL : machine_thread_or_new(machine, pid, tid, record->model_time);
	char buffer[16];
	struct sample sample = {.header = record->header, .pid = id.pid, .tid = id.tid, .time = id.time, .cpu = id.cpu, .guest = guest};
	if (!layout->sample_id_all) {
		sample.pid = pid;
		sample.tid = tid;
		sample.cpu = 0;
		sample.time = own_or(from, "time", 0);
	}
	const struct script_sample at = {
		.event = record->event,
		.sample = &sample,
		.thread = thread,
		.model_time = record->model_time,
		.plan = script_plan_of(text, record->event),
		.type = record->header->type,
		.misc = record->header->misc,
		.comm = thread && record->header->type == RECORD_FORK ? name_after_fork(machine, record, thread, buffer) : NULL,
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
	strbuf_printf(out, "%3d %8d %15" PRIu64 " %15" PRIu64 " %15" PRIu64 " %15" PRIu64 " ", row->cpu, row->thread, row->value,
		      row->enabled_ns, row->running_ns, row->time_ns);
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

/* Where a hardware trace couldn't be followed. Older recorders told neither time nor message. */
static void add_trace_error(const struct record_header *header, struct strbuf *out)
{
	const struct record_auxtrace_error *error = (const struct record_auxtrace_error *)header;
	bool is_full = header->size >= sizeof(*error);
	strbuf_printf(out, " instruction trace error type %u", error->type);
	if (is_full && error->format && error->time)
		strbuf_printf(out, " time %" PRIu64 ".%09" PRIu64, error->time / 1000000000, error->time % 1000000000);
	strbuf_printf(out, " cpu %d pid %d tid %d ip %#" PRIx64 " code %u: ", error->cpu, error->pid, error->tid, error->ip, error->code);
	if (is_full)
		text_add_safe(out, (const char *)error->message, strnlen((const char *)error->message, sizeof(error->message)));
	strbuf_add_char(out, '\n');
}

void script_text_record(struct script_text *text, const struct record *record, struct strbuf *out)
{
	if (script_text_is_count(record)) {
		add_counts(text, record->header, out);
		return;
	}
	const struct record_header *header = record->header;
	if (header->type == RECORD_AUXTRACE_ERROR) {
		add_trace_error(header, out);
		return;
	}
	const struct record_kind *kind = record_kind(header->type);
	const char *template = kind ? record_script_text(kind) : NULL;
	struct record_text from = {.header = header, .end = header->size, .event = record->event, .out = out};
	if (record->event) {
		const struct sample_layout *layout = &text->session->reader->layouts[record->event->index];
		sample_id_decode(layout, header, &from.id);
		size_t ends = sizeof(*header) + layout->trailer;
		from.end = header->size >= ends ? (size_t)header->size - layout->trailer : sizeof(*header);
	}
	if (template && record->event)
		add_prefix(text, record, &from, out);
	strbuf_add_str(out, record_type_name(header->type));
	if (template)
		record_text_add(&from, template);
	if (out->data[out->len - 1] != '\n')
		strbuf_add_char(out, '\n');
}
